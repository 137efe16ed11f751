//! Growing one tree: rows are partitioned in place, depth first; leaves are summarised as soon as they are final.
//!
//! The codes of the growing rows are copied together first. The search reads them over and over, and a quarter of a
//! long column fits a cache where the column does not. Of very many rows not even that fits: there the codes of a branch
//! are copied together once more as soon as the branch is small enough.

use std::ops::Range;

use paretau_core::Rng;

use crate::codes::{Code, Codes};
use crate::leaf::LeafRule;
use crate::relabel::Relabel;
use crate::sample::{Drawn, poisson};
use crate::split::SplitRule;
use crate::split::search::{Best, ColumnView, Cut, Marks, NodeView, Search};
use crate::tree::{INDEX, MISSING_LEFT, Node, SET, Tree, contains};

/// How many columns are tried at a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Candidates {
    /// A Poisson number with this mean, at least one.
    Poisson(f64),
    /// This many; if none of them can be split on, more are tried.
    Fixed(usize),
}

/// Limits of a tree's growth that no split rule knows about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Growth {
    pub(crate) candidates: Candidates,
    /// Nodes of at most this many rows are leaves.
    pub(crate) min_node_size: usize,
    /// Deepest level, the root being 0.
    pub(crate) max_depth: usize,
    /// Whether thresholds lie halfway between the codes of the two sides.
    pub(crate) halfway: bool,
}

/// The three pieces that make a forest what it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pieces<R, S, F> {
    pub(crate) relabel: R,
    pub(crate) split: S,
    pub(crate) leaf: F,
}

/// Buffers of one thread.
#[derive(Debug)]
pub(crate) struct Workspace<C, const L: usize> {
    pub(crate) drawn: Drawn,
    search: Search<L>,
    lanes: Vec<[f64; L]>,
    /// Codes of the growing rows, column after column, without the columns whose unusual rows are listed.
    cells: Vec<C>,
    /// Where each column is among them; `None` for the listed ones.
    copied: Vec<Option<usize>>,
    /// Places of the growing rows in the draw, partitioned as the tree grows.
    places: Vec<u32>,
    /// The branch whose codes were copied together once more.
    near: Near<C>,
    /// Growing cells above which branches are copied.
    far_cells: usize,
    /// Growing rows of the current node.
    rows: Vec<u32>,
    spare: Vec<u32>,
    columns: Vec<u16>,
    stack: Vec<Pending>,
    marks: Marks,
}

impl<C, const L: usize> Default for Workspace<C, L> {
    fn default() -> Self {
        Self {
            drawn: Drawn::default(),
            search: Search::default(),
            lanes: Vec::new(),
            cells: Vec::new(),
            copied: Vec::new(),
            places: Vec::new(),
            near: Near { cells: Vec::new(), rows: Vec::new() },
            far_cells: FAR_CELLS,
            rows: Vec::new(),
            spare: Vec::new(),
            columns: Vec::new(),
            stack: Vec::new(),
            marks: Marks::default(),
        }
    }
}

/// Codes of a branch's growing rows, column after column, and the rows themselves; places count within them.
#[derive(Debug)]
struct Near<C> {
    cells: Vec<C>,
    rows: Vec<u32>,
}

/// Cells of a branch that are copied together: what stays in a core's own cache.
const NEAR_CELLS: usize = 1 << 17;

/// Growing cells above which branches are copied: what does not.
const FAR_CELLS: usize = 1 << 21;

impl<C: Code> Near<C> {
    /// Copies the codes of the rows at `places`, out of those of all `grow`ing rows, and renumbers the places.
    fn copy(&mut self, own: &[C], grow: &[u32], places: &mut [u32]) {
        self.cells.clear();
        for column in own.chunks_exact(grow.len()) {
            self.cells.extend(places.iter().map(|&place| column[place as usize]));
        }
        self.rows.clear();
        self.rows.extend(places.iter().map(|&place| grow[place as usize]));
        places.iter_mut().zip(0..).for_each(|(place, k)| *place = k);
    }
}

/// A node that still has to be split or made a leaf.
#[derive(Debug)]
struct Pending {
    node: u32,
    grow: Range<usize>,
    honest: Range<usize>,
    depth: usize,
}

/// Sets a tree can number; splits on categories stop beyond.
const MAX_SETS: usize = u16::MAX as usize;

/// Grows a tree on the rows in `work.drawn`. `cells` are the columns of `codes`.
pub(crate) fn grow<R, S, F, C, const L: usize>(
    pieces: &Pieces<R, S, F>,
    growth: &Growth,
    codes: &Codes,
    cells: &[C],
    rng: &mut Rng,
    work: &mut Workspace<C, L>,
) -> Tree
where
    R: Relabel,
    S: SplitRule<R::Label, L>,
    F: LeafRule,
    C: Code,
{
    let Workspace {
        drawn,
        search,
        lanes,
        cells: own,
        copied,
        places,
        near,
        far_cells,
        rows,
        spare,
        columns,
        stack,
        marks,
    } = work;
    let Drawn { grow, honest, .. } = drawn;
    let is_honest = !honest.is_empty();
    let has_lists = codes.unusual.iter().any(|list| !list.is_empty());
    let (p, m) = (codes.n_cols(), grow.len());
    own.clear();
    copied.clear();
    for (column, unusual) in cells.chunks_exact(codes.n_rows).zip(&codes.unusual) {
        copied.push(unusual.is_empty().then_some(own.len() / m.max(1)));
        if unusual.is_empty() {
            own.extend(grow.iter().map(|&row| column[row as usize]));
        }
    }
    let n_copied = copied.iter().flatten().count();
    places.clear();
    places.extend(0..m as u32);
    columns.clear();
    columns.extend(0..p as u16);
    spare.resize(m.max(honest.len()).max(spare.len()), 0);
    let mut tree = Tree { nodes: vec![Node::leaf(INDEX)], ..Tree::default() };
    stack.clear();
    stack.push(Pending { node: 0, grow: 0..m, honest: 0..honest.len(), depth: 0 });
    // While a copied branch is worked on: how many nodes wait below it on the stack.
    let mut branch: Option<usize> = None;
    while let Some(pending) = stack.pop() {
        branch = branch.filter(|&below| stack.len() >= below);
        if branch.is_none() && m * n_copied > *far_cells && pending.grow.len() * n_copied <= NEAR_CELLS {
            near.copy(own, grow, &mut places[pending.grow.clone()]);
            branch = Some(stack.len());
        }
        let (cells_here, grow_here) = if branch.is_some() { (&near.cells, &near.rows) } else { (&*own, &*grow) };
        let width = grow_here.len();
        let here = &places[pending.grow.clone()];
        let honest_rows = &honest[pending.honest.clone()];
        let is_final = here.len() <= growth.min_node_size.max(1) || pending.depth >= growth.max_depth;
        if !is_final || !is_honest {
            rows.clear();
            rows.extend(here.iter().map(|&place| grow_here[place as usize]));
        }
        let best = if is_final { None } else { pieces.relabel.node(rows) }.and_then(|node| {
            lanes.clear();
            lanes.extend(rows.iter().map(|&i| pieces.split.lanes(&pieces.relabel.label(&node, i))));
            if has_lists {
                marks.next(codes.n_rows, rows, if S::HONEST_LANE.is_some() { honest_rows } else { &[] });
            }
            let marks = has_lists.then_some(&*marks);
            let view = view::<R, S, L>(&pieces.split, (here, rows), lanes, (honest_rows, marks));
            let column = |feature: u16| {
                let j = usize::from(feature);
                ColumnView {
                    feature,
                    codes: copied[j].map_or(&[][..], |k| &cells_here[k * width..(k + 1) * width]),
                    all_codes: &cells[j * codes.n_rows..(j + 1) * codes.n_rows],
                    missing: codes.missing[j],
                    categorical: codes.categorical[j],
                    usual: codes.usual[j],
                    unusual: &codes.unusual[j],
                    halfway: growth.halfway,
                }
            };
            choose(&pieces.split, growth.candidates, &view, column, (&mut *columns, &mut *rng, &mut *search))
        });
        let best = best.filter(|b| matches!(b.cut, Cut::Threshold(_)) || tree.sets.len() < MAX_SETS);
        let Some(best) = best else {
            let index = (tree.leaves.len() / pieces.leaf.width().max(1)) as u32;
            let kept = pieces.leaf.summarise(if is_honest { honest_rows } else { rows }, &mut tree.leaves);
            tree.nodes[pending.node as usize] = Node::leaf(if kept { index } else { INDEX });
            continue;
        };
        let j = usize::from(best.feature);
        let all = &cells[j * codes.n_rows..(j + 1) * codes.n_rows];
        let goes_left = |code: C| sends_left(&best, code.into(), codes.missing[j]);
        let here = &mut places[pending.grow.clone()];
        let n_left = match copied[j].map(|k| &cells_here[k * width..(k + 1) * width]) {
            Some(column) => partition(here, spare, |k| goes_left(column[k as usize])),
            None => partition(here, spare, |k| goes_left(all[grow_here[k as usize] as usize])),
        };
        let n_honest_left = partition(&mut honest[pending.honest.clone()], spare, |i| goes_left(all[i as usize]));
        let child = tree.nodes.len() as u32;
        tree.nodes[pending.node as usize] = inner(&best, child, &mut tree.sets);
        tree.nodes.extend([Node::leaf(INDEX); 2]);
        let (grow_at, honest_at) = (pending.grow.start + n_left, pending.honest.start + n_honest_left);
        let depth = pending.depth + 1;
        stack.push(Pending {
            node: child + 1,
            grow: grow_at..pending.grow.end,
            honest: honest_at..pending.honest.end,
            depth,
        });
        stack.push(Pending {
            node: child,
            grow: pending.grow.start..grow_at,
            honest: pending.honest.start..honest_at,
            depth,
        });
    }
    tree.prune();
    tree.nodes.shrink_to_fit();
    tree.leaves.shrink_to_fit();
    tree
}

/// Sums over the node, and the rule's limits for it.
fn view<'a, R: Relabel, S: SplitRule<R::Label, L>, const L: usize>(
    rule: &S,
    (places, rows): (&'a [u32], &'a [u32]),
    lanes: &'a [[f64; L]],
    (honest, marks): (&'a [u32], Option<&'a Marks>),
) -> NodeView<'a, S::Bounds, L> {
    let mut total = [0.0; L];
    for row in lanes {
        (0..L).for_each(|k| total[k] += row[k]);
    }
    if let Some(lane) = S::HONEST_LANE {
        total[lane] += honest.len() as f64;
    }
    NodeView { places, rows, lanes, honest, total, bounds: rule.bounds(&total), marks }
}

/// The best split over columns drawn at random.
fn choose<'a, Label, S: SplitRule<Label, L>, C: Code, const L: usize>(
    rule: &S,
    candidates: Candidates,
    node: &NodeView<'_, S::Bounds, L>,
    column: impl Fn(u16) -> ColumnView<'a, C>,
    (columns, rng, search): (&mut [u16], &mut Rng, &mut Search<L>),
) -> Option<Best> {
    let p = columns.len();
    let wanted = match candidates {
        Candidates::Poisson(mean) => poisson(rng, mean).clamp(1, p),
        Candidates::Fixed(k) => k.clamp(1, p),
    };
    let mut best = Best { gain: 0.0, feature: 0, cut: Cut::Threshold(0), missing_left: false };
    for k in 0..p {
        let enough = k >= wanted && (best.gain > 0.0 || matches!(candidates, Candidates::Poisson(_)));
        if enough {
            break;
        }
        if wanted < p {
            let other = k + rng.below(p - k);
            columns.swap(k, other);
        }
        search.improve(rule, node, &column(columns[k]), &mut best);
    }
    (best.gain > 0.0).then_some(best)
}

fn sends_left(best: &Best, code: u16, missing: u16) -> bool {
    if code == missing {
        return best.missing_left;
    }
    match &best.cut {
        Cut::Threshold(cut) => code <= *cut,
        Cut::Set(set) => contains(set, code),
    }
}

fn inner(best: &Best, child: u32, sets: &mut Vec<crate::tree::LevelSet>) -> Node {
    let mut marks = if best.missing_left { MISSING_LEFT } else { 0 };
    let cut = match best.cut {
        Cut::Threshold(cut) => cut,
        Cut::Set(set) => {
            marks |= SET;
            sets.push(set);
            (sets.len() - 1) as u16
        }
    };
    Node { child: child | marks, feature: best.feature, cut }
}

/// Moves rows that go left to the front, keeping the order on both sides; gives back how many there are.
fn partition(rows: &mut [u32], spare: &mut [u32], goes_left: impl Fn(u32) -> bool) -> usize {
    let (mut left, mut right) = (0, 0);
    for k in 0..rows.len() {
        let row = rows[k];
        let is_left = goes_left(row);
        rows[left] = row;
        spare[right] = row;
        left += usize::from(is_left);
        right += usize::from(!is_left);
    }
    rows[left..].copy_from_slice(&spare[..right]);
    left
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::bins::Bins;
    use crate::codes::Cells;
    use crate::leaf::{Mean, Moments};
    use crate::relabel::{Outcome, Residuals};
    use crate::split::{Balance, Exact, Variance};
    use paretau_core::{Column, Dense, Features, Seed};

    #[test]
    fn a_copied_branch_grows_the_same_tree() {
        let (n, p) = (100_000, 3);
        let mut rng = Seed(1).rng();
        let values: Vec<f64> = (0..n * p).map(|_| rng.normal()).collect();
        let y: Vec<f64> = values.chunks(p).map(|x| x[0].signum() + x[1] * x[2] + rng.normal()).collect();
        let x = Features::Dense(Dense::new(n, p, values).unwrap());
        let bins = Bins::fit(&x, &Column::numbered(p), 256).unwrap();
        let codes = Codes::new(&x, &bins, false);
        let Cells::Byte(cells) = &codes.cells else { unreachable!() };
        let split = Variance { min_rows: 1.0, alpha: 0.0, imbalance_penalty: 0.0 };
        let pieces = Pieces { relabel: Outcome { y: &y, weight: None }, split, leaf: Mean { y: &y, weight: None } };
        let growth =
            Growth { candidates: Candidates::Fixed(2), min_node_size: 5, max_depth: usize::MAX, halfway: true };
        let tree = |far_cells: usize| {
            let mut work = Workspace::<u8, 2> { far_cells, ..Workspace::default() };
            // The root is too large to be copied; its branches are not.
            work.drawn.grow = (0..n as u32).collect();
            grow(&pieces, &growth, &codes, cells, &mut Seed(2).rng(), &mut work)
        };
        let (copied, plain) = (tree(0), tree(usize::MAX));
        assert!(n * p > NEAR_CELLS && copied.nodes.len() > 10_000);
        assert_eq!(copied, plain);
    }

    #[test]
    fn listed_rows_grow_the_same_tree() {
        let (n, p) = (3000, 40);
        let mut rng = Seed(3).rng();
        // Counts that are mostly 0, as words in texts are.
        let count = |u: f64| if u < 0.94 { 0.0 } else { (50.0 * (u - 0.94)).ceil() };
        let values: Vec<f64> = (0..n * p).map(|_| count(rng.uniform())).collect();
        let zy: Vec<[f64; 2]> = values
            .chunks(p)
            .map(|x| {
                let z = rng.uniform() - 0.5;
                [z, x[0] + z * (1.0 + 2.0 * x[1] - x[2]) + 0.5 * rng.normal()]
            })
            .collect();
        let x = Features::Dense(Dense::new(n, p, values).unwrap());
        let bins = Bins::fit(&x, &Column::numbered(p), 256).unwrap();
        let listed = Codes::new(&x, &bins, false);
        assert!(listed.unusual.iter().all(|list| !list.is_empty()));
        let plain = Codes { unusual: vec![Vec::new(); p], ..listed.clone() };
        let split = Exact(Balance { min_rows: 5.0, min_share: 0.05, honest: true });
        let relabel = Residuals { zy: &zy, weight: None, min_variance: 1e-10 };
        let pieces = Pieces { relabel, split, leaf: Moments { residual: &zy[..], weight: None } };
        let growth =
            Growth { candidates: Candidates::Fixed(p), min_node_size: 9, max_depth: usize::MAX, halfway: true };
        let tree = |codes: &Codes| {
            let Cells::Byte(cells) = &codes.cells else { unreachable!() };
            let mut work = Workspace::<u8, 7>::default();
            work.drawn.grow = (0..n as u32).step_by(2).collect();
            work.drawn.honest = (1..n as u32).step_by(2).collect();
            grow(&pieces, &growth, codes, cells, &mut Seed(2).rng(), &mut work)
        };
        let found = tree(&listed);
        assert!(found.nodes.len() > 20, "{}", found.nodes.len());
        assert_eq!(found, tree(&plain));
    }

    #[test]
    fn partition_is_stable() {
        let mut rows = [5, 2, 8, 1, 4, 7];
        let mut spare = [0; 6];
        assert_eq!(partition(&mut rows, &mut spare, |r| r % 2 == 0), 3);
        assert_eq!(rows, [2, 8, 4, 5, 1, 7]);
    }
}
