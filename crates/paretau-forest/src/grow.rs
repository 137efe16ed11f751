//! Growing one tree: rows are partitioned in place, depth first; leaves are summarised as soon as they are final.
//!
//! [`TreeGrower::train`] is the loop; a node is searched by `find_split`, then divided by `split_node` or closed by
//! `make_leaf`. The codes that the search reads are copied together first ([`crate::code_copies`]).

use std::ops::Range;

use paretau_core::Rng;

use crate::bins::NARROW;
use crate::code_copies::CodeCopies;
use crate::codes::{Code, Codes};
use crate::leaf::LeafRule;
use crate::relabel::Relabel;
use crate::sample::{TreeSample, poisson};
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

impl Growth {
    /// About how many columns the nodes of a tree look at, those that several look at counted as often.
    fn tried(&self, n_columns: usize, n_rows: usize) -> usize {
        let per_node = match self.candidates {
            Candidates::Poisson(mean) => mean as usize + 1,
            Candidates::Fixed(k) => k.min(n_columns),
        };
        per_node.saturating_mul(n_rows / self.min_node_size.max(1) + 1)
    }
}

/// The three rules that make a forest what it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TreeRules<R, S, F> {
    pub(crate) relabel: R,
    pub(crate) split: S,
    pub(crate) leaf: F,
}

/// Buffers of one thread.
#[derive(Debug)]
pub(crate) struct Workspace<C, const L: usize> {
    pub(crate) sample: TreeSample,
    copies: CodeCopies<C>,
    /// Places of the growing rows in the sample, partitioned as the tree grows.
    places: Vec<u32>,
    /// Nodes that wait.
    stack: Vec<Pending>,
    /// Growing rows of the current node.
    rows: Vec<u32>,
    /// Their lanes.
    lanes: Vec<[f64; L]>,
    marks: Marks,
    search: Search<L>,
    /// Columns in the order in which they are tried.
    columns: Vec<u32>,
    spare: Vec<u32>,
}

impl<C, const L: usize> Default for Workspace<C, L> {
    fn default() -> Self {
        Self {
            sample: TreeSample::default(),
            copies: CodeCopies::default(),
            places: Vec::new(),
            stack: Vec::new(),
            rows: Vec::new(),
            lanes: Vec::new(),
            marks: Marks::default(),
            search: Search::default(),
            columns: Vec::new(),
            spare: Vec::new(),
        }
    }
}

impl<C: Code, const L: usize> Workspace<C, L> {
    /// Makes the buffers ready for the rows in `sample`, all of which wait at the root.
    fn start(&mut self, codes: &Codes, cells: &[C], growth: &Growth) {
        let (n_grow, n_honest) = (self.sample.grow.len(), self.sample.honest.len());
        let tried = growth.tried(codes.n_cols(), n_grow);
        self.copies.start(codes, cells, &self.sample.grow, tried >= codes.n_cols());
        self.places.clear();
        self.places.extend(0..n_grow as u32);
        self.columns.clear();
        self.columns.extend(0..codes.n_cols() as u32);
        self.spare.resize(n_grow.max(n_honest).max(self.spare.len()), 0);
        self.stack.clear();
        self.stack.push(Pending { node: 0, grow: 0..n_grow, honest: 0..n_honest, depth: 0 });
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
pub(crate) const MAX_SETS: usize = u16::MAX as usize;

/// Grows a tree on the rows in `work.sample`. `cells` are the columns of `codes`.
pub(crate) fn grow<R, S, F, C, const L: usize>(
    rules: &TreeRules<R, S, F>,
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
    work.start(codes, cells, growth);
    let is_honest = !work.sample.honest.is_empty();
    let has_lists = codes.unusual.iter().any(|list| !list.is_empty());
    let high = if codes.n_cols() > NARROW { vec![0] } else { vec![] };
    let tree = Tree { nodes: vec![Node::leaf(INDEX)], high, ..Tree::default() };
    TreeGrower { rules, growth, codes, cells, is_honest, has_lists, rng, work, tree }.train()
}

/// One tree while it grows.
struct TreeGrower<'a, R, S, F, C, const L: usize> {
    rules: &'a TreeRules<R, S, F>,
    growth: &'a Growth,
    codes: &'a Codes,
    /// The codes of all training rows, column after column.
    cells: &'a [C],
    /// Whether other rows fill the leaves than those that choose splits.
    is_honest: bool,
    /// Whether some columns list the few rows with an unusual code.
    has_lists: bool,
    rng: &'a mut Rng,
    work: &'a mut Workspace<C, L>,
    tree: Tree,
}

impl<R, S, F, C, const L: usize> TreeGrower<'_, R, S, F, C, L>
where
    R: Relabel,
    S: SplitRule<R::Label, L>,
    F: LeafRule,
    C: Code,
{
    /// Splits nodes, depth first, until only leaves are left.
    fn train(mut self) -> Tree {
        while let Some(node) = self.work.stack.pop() {
            let work = &mut *self.work;
            work.copies.enter_node(work.stack.len(), &work.sample.grow, &mut work.places[node.grow.clone()]);
            let is_final = node.grow.len() <= self.growth.min_node_size.max(1) || node.depth >= self.growth.max_depth;
            if !is_final || !self.is_honest {
                self.gather_rows(&node);
            }
            match if is_final { None } else { self.find_split(&node) } {
                Some(split) => self.split_node(&node, &split),
                None => self.make_leaf(&node),
            }
        }
        self.tree.prune();
        self.tree.nodes.shrink_to_fit();
        self.tree.leaves.shrink_to_fit();
        self.tree
    }

    /// Writes down which growing rows are in the node.
    fn gather_rows(&mut self, node: &Pending) {
        let work = &mut *self.work;
        let copied = work.copies.current(&work.sample.grow);
        work.rows.clear();
        work.rows.extend(work.places[node.grow.clone()].iter().map(|&place| copied.rows[place as usize]));
    }

    /// Labels the node's rows anew and searches columns drawn at random for the best split, if there is any.
    fn find_split(&mut self, node: &Pending) -> Option<Best> {
        let (codes, cells, rules, halfway) = (self.codes, self.cells, self.rules, self.growth.halfway);
        let work = &mut *self.work;
        let honest_rows = &work.sample.honest[node.honest.clone()];
        let of_node = rules.relabel.node(&work.rows)?;
        work.lanes.clear();
        work.lanes.extend(work.rows.iter().map(|&i| rules.split.lanes(&rules.relabel.label(&of_node, i))));
        if self.has_lists {
            work.marks.next(codes.n_rows, &work.rows, if S::HONEST_LANE.is_some() { honest_rows } else { &[] });
        }
        let marks = self.has_lists.then_some(&work.marks);
        let here = (&work.places[node.grow.clone()], &work.rows[..]);
        let view = node_view::<R, S, L>(&rules.split, here, &work.lanes, (honest_rows, marks));
        let copied = work.copies.current(&work.sample.grow);
        let column = |feature: u32| {
            let j = feature as usize;
            ColumnView {
                feature,
                codes: copied.column(j),
                all_codes: column_of(cells, codes, j),
                missing: codes.missing[j],
                categorical: codes.categorical[j],
                usual: codes.usual[j],
                unusual: &codes.unusual[j],
                halfway,
            }
        };
        let tools = (&mut work.columns[..], &mut *self.rng, &mut work.search);
        let best = best_of_columns(&rules.split, self.growth.candidates, &view, column, tools)?;
        (matches!(best.cut, Cut::Threshold(_)) || self.tree.sets.len() < MAX_SETS).then_some(best)
    }

    /// Sends the node's rows to two children, which then wait to be split in turn.
    fn split_node(&mut self, node: &Pending, split: &Best) {
        let (n_left, n_honest_left) = self.partition_rows(node, split);
        let child = self.tree.nodes.len() as u32;
        self.tree.nodes[node.node as usize] = inner(split, child, &mut self.tree.sets);
        self.tree.nodes.extend([Node::leaf(INDEX); 2]);
        if !self.tree.high.is_empty() {
            self.tree.high[node.node as usize] = (split.feature >> 16) as u16;
            self.tree.high.extend([0; 2]);
        }
        let (grow_at, honest_at) = (node.grow.start + n_left, node.honest.start + n_honest_left);
        let depth = node.depth + 1;
        self.work.stack.push(Pending {
            node: child + 1,
            grow: grow_at..node.grow.end,
            honest: honest_at..node.honest.end,
            depth,
        });
        self.work.stack.push(Pending {
            node: child,
            grow: node.grow.start..grow_at,
            honest: node.honest.start..honest_at,
            depth,
        });
    }

    /// Moves the rows that go left to the front of the node's ranges; how many growing and honest rows that are.
    fn partition_rows(&mut self, node: &Pending, split: &Best) -> (usize, usize) {
        let j = split.feature as usize;
        let (missing, all) = (self.codes.missing[j], column_of(self.cells, self.codes, j));
        let goes_left = |code: C| sends_left(split, code.into(), missing);
        let Workspace { sample, copies, places, spare, .. } = &mut *self.work;
        let copied = copies.current(&sample.grow);
        let places = &mut places[node.grow.clone()];
        let n_left = match copied.column(j) {
            Some(column) => partition(places, spare, |k| goes_left(column[k as usize])),
            None => partition(places, spare, |k| goes_left(all[copied.rows[k as usize] as usize])),
        };
        (n_left, partition(&mut sample.honest[node.honest.clone()], spare, |i| goes_left(all[i as usize])))
    }

    /// Makes the node a leaf that keeps the statistics of its rows, or an empty one when they weigh nothing.
    fn make_leaf(&mut self, node: &Pending) {
        let leaf = &self.rules.leaf;
        let rows = if self.is_honest { &self.work.sample.honest[node.honest.clone()] } else { &self.work.rows[..] };
        let index = (self.tree.leaves.len() / leaf.width().max(1)) as u32;
        let kept = leaf.summarise(rows, &mut self.tree.leaves);
        self.tree.nodes[node.node as usize] = Node::leaf(if kept { index } else { INDEX });
    }
}

/// The codes of all training rows in column `j`.
fn column_of<'a, C>(cells: &'a [C], codes: &Codes, j: usize) -> &'a [C] {
    &cells[j * codes.n_rows..(j + 1) * codes.n_rows]
}

/// Sums over the node, and the rule's limits for it.
fn node_view<'a, R: Relabel, S: SplitRule<R::Label, L>, const L: usize>(
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
fn best_of_columns<'a, Label, S: SplitRule<Label, L>, C: Code, const L: usize>(
    rule: &S,
    candidates: Candidates,
    node: &NodeView<'_, S::Bounds, L>,
    column: impl Fn(u32) -> ColumnView<'a, C>,
    (columns, rng, search): (&mut [u32], &mut Rng, &mut Search<L>),
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

pub(crate) fn sends_left(best: &Best, code: u16, missing: u16) -> bool {
    if code == missing {
        return best.missing_left;
    }
    match &best.cut {
        Cut::Threshold(cut) => code <= *cut,
        Cut::Set(set) => contains(set, code),
    }
}

pub(crate) fn inner(best: &Best, child: u32, sets: &mut Vec<crate::tree::LevelSet>) -> Node {
    let mut marks = if best.missing_left { MISSING_LEFT } else { 0 };
    let cut = match best.cut {
        Cut::Threshold(cut) => cut,
        Cut::Set(set) => {
            marks |= SET;
            sets.push(set);
            (sets.len() - 1) as u16
        }
    };
    Node { child: child | marks, feature: best.feature as u16, cut }
}

/// Moves rows that go left to the front, keeping the order on both sides; gives back how many there are.
pub(crate) fn partition(rows: &mut [u32], spare: &mut [u32], goes_left: impl Fn(u32) -> bool) -> usize {
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
        let rules = TreeRules { relabel: Outcome { y: &y, weight: None }, split, leaf: Mean { y: &y, weight: None } };
        let growth =
            Growth { candidates: Candidates::Fixed(2), min_node_size: 5, max_depth: usize::MAX, halfway: true };
        let tree = |far_cells: usize| {
            let mut work = Workspace::<u8, 2> { copies: CodeCopies::with_far_cells(far_cells), ..Workspace::default() };
            // The root is too large to be copied; its branches are not.
            work.sample.grow = (0..n as u32).collect();
            grow(&rules, &growth, &codes, cells, &mut Seed(2).rng(), &mut work)
        };
        let (copied, plain) = (tree(0), tree(usize::MAX));
        assert!(n * p > crate::code_copies::NEAR_CELLS && copied.nodes.len() > 10_000);
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
        let rules = TreeRules { relabel, split, leaf: Moments { residual: &zy[..], weight: None } };
        let growth =
            Growth { candidates: Candidates::Fixed(p), min_node_size: 9, max_depth: usize::MAX, halfway: true };
        let tree = |codes: &Codes| {
            let Cells::Byte(cells) = &codes.cells else { unreachable!() };
            let mut work = Workspace::<u8, 7>::default();
            work.sample.grow = (0..n as u32).step_by(2).collect();
            work.sample.honest = (1..n as u32).step_by(2).collect();
            grow(&rules, &growth, codes, cells, &mut Seed(2).rng(), &mut work)
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
