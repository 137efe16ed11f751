//! Growing one tree, best leaf first: the leaf whose split gains most is split next.
//!
//! Of two siblings only the smaller one's rows are read; the other's histogram is what is left of the parent's. Columns are
//! shared out among threads, each column's work being the same whoever does it.

use std::ops::Range;

use super::fixed::plus;
use super::histogram::{Layout, NodeRows, build, subtract};
use super::split::{BestCut, ColumnFacts, SplitRule, TIE, best, right_of};
use crate::codes::Codes;
use crate::grow::{MAX_SETS, inner, partition, sends_left};
use crate::split::search::{Best, Cut, Marks};
use crate::tree::{Node, Tree};

/// Steps of work that are worth another thread.
const SHARED_WORK: usize = 60_000;
/// Numbers of all histograms together above which parents' histograms are not kept, and both children are read.
const MOST_KEPT: usize = 1 << 26;

/// Limits of a tree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Limits {
    pub(crate) max_leaves: usize,
    pub(crate) max_depth: usize,
    pub(crate) rule: SplitRule,
}

/// Buffers that trees use again and again.
#[derive(Debug)]
pub(crate) struct Workspace<const L: usize> {
    /// Rows that grow the tree, by leaves.
    pub(crate) rows: Vec<u32>,
    /// Rows that only follow it, by leaves.
    pub(crate) others: Vec<u32>,
    /// The integers of all rows.
    pub(crate) values: Vec<[i64; L]>,
    spare: Vec<u32>,
    ordered: Vec<[i64; L]>,
    marks: Marks,
    histograms: Vec<Vec<[i64; L]>>,
    found: Vec<Pair<L>>,
}

/// A column's best split of one child and of the other.
type Pair<const L: usize> = [Option<BestCut<L>>; 2];

impl<const L: usize> Default for Workspace<L> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            others: Vec::new(),
            values: Vec::new(),
            spare: Vec::new(),
            ordered: Vec::new(),
            marks: Marks::default(),
            histograms: Vec::new(),
            found: Vec::new(),
        }
    }
}

/// Rows of a finished leaf: ranges of the workspace's growing and other rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeafRows {
    pub(crate) rows: Range<usize>,
    pub(crate) others: Range<usize>,
}

#[derive(Debug)]
struct Leaf<const L: usize> {
    node: u32,
    depth: usize,
    at: LeafRows,
    total: [i64; L],
    split: Option<(u16, BestCut<L>)>,
    histogram: Option<Vec<[i64; L]>>,
}

/// Grows a tree on `work.rows` with `work.values`; leaf `k` has the `k`-th of the returned rows, and no value yet. Both lists
/// of rows are ascending.
pub(crate) fn grow<const L: usize>(
    limits: &Limits,
    layout: &Layout,
    codes: &Codes,
    cells: &[u8],
    work: &mut Workspace<L>,
) -> (Tree, Vec<LeafRows>) {
    let longest = work.rows.len().max(work.others.len());
    work.spare.resize(longest.max(work.spare.len()), 0);
    let keeps = layout.n_bins().saturating_mul(limits.max_leaves * L) <= MOST_KEPT;
    let has_lists = layout.columns.iter().any(|&j| !codes.unusual[usize::from(j)].is_empty());
    Grower { limits, layout, codes, cells, keeps, has_lists, work, tree: Tree::default() }.train()
}

struct Grower<'a, const L: usize> {
    limits: &'a Limits,
    layout: &'a Layout,
    codes: &'a Codes,
    cells: &'a [u8],
    /// Whether leaves keep their histograms until they are split.
    keeps: bool,
    /// Whether some columns list the few rows with an unusual code.
    has_lists: bool,
    work: &'a mut Workspace<L>,
    tree: Tree,
}

impl<'a, const L: usize> Grower<'a, L> {
    fn train(mut self) -> (Tree, Vec<LeafRows>) {
        let at = LeafRows { rows: 0..self.work.rows.len(), others: 0..self.work.others.len() };
        let total = self.work.rows.iter().fold([0; L], |sum, &row| plus(sum, self.work.values[row as usize]));
        self.tree.nodes.push(Node::leaf(0));
        let mut root = Leaf { node: 0, depth: 0, at, total, split: None, histogram: None };
        if self.is_splittable(&root) {
            self.search(&mut root, None);
        }
        let mut leaves = vec![root];
        while leaves.len() < self.limits.max_leaves {
            let Some((next, feature, found)) = most_gaining(&leaves) else { break };
            let is_last = leaves.len() + 1 == self.limits.max_leaves;
            let [left, right] = self.split(&mut leaves[next], (feature, found), is_last);
            leaves[next] = left;
            leaves.push(right);
        }
        for (k, leaf) in leaves.iter_mut().enumerate() {
            self.tree.nodes[leaf.node as usize] = Node::leaf(k as u32);
            self.work.histograms.extend(leaf.histogram.take());
        }
        self.tree.leaves = vec![0.0; leaves.len()];
        (self.tree, leaves.into_iter().map(|leaf| leaf.at).collect())
    }

    fn is_splittable(&self, leaf: &Leaf<L>) -> bool {
        let least = 2 * self.limits.rule.min_leaf_size.max(1) as usize;
        leaf.depth < self.limits.max_depth && leaf.at.rows.len() >= least
    }

    /// Divides a leaf's rows; the children know their own best splits, unless the tree is complete with them.
    fn split(&mut self, leaf: &mut Leaf<L>, (feature, found): (u16, BestCut<L>), is_last: bool) -> [Leaf<L>; 2] {
        let split =
            Best { gain: found.gain, feature: u32::from(feature), cut: found.cut, missing_left: found.missing_left };
        let (missing, column) = (self.codes.missing[usize::from(feature)], self.column(usize::from(feature)));
        let goes_left = |row: u32| sends_left(&split, u16::from(column[row as usize]), missing);
        let LeafRows { rows, others } = leaf.at.clone();
        let work = &mut *self.work;
        let n_rows = partition(&mut work.rows[rows.clone()], &mut work.spare, goes_left);
        let n_others = partition(&mut work.others[others.clone()], &mut work.spare, goes_left);
        let child = self.tree.nodes.len() as u32;
        self.tree.nodes[leaf.node as usize] = inner(&split, child, &mut self.tree.sets);
        self.tree.nodes.extend([Node::leaf(0); 2]);
        let (row_at, other_at) = (rows.start + n_rows, others.start + n_others);
        let depth = leaf.depth + 1;
        let make = |node, rows, others, total| Leaf {
            node,
            depth,
            at: LeafRows { rows, others },
            total,
            split: None,
            histogram: None,
        };
        let mut left = make(child, rows.start..row_at, others.start..other_at, found.left);
        let mut right = make(child + 1, row_at..rows.end, other_at..others.end, right_of(leaf.total, &found));
        let parent = leaf.histogram.take();
        let (small, large) =
            if n_rows <= rows.len() - n_rows { (&mut left, &mut right) } else { (&mut right, &mut left) };
        match parent {
            Some(parent) if is_last || !self.is_splittable(large) => self.work.histograms.push(parent),
            Some(parent) => self.search(small, Some((large, parent))),
            None => {
                for one in [small, large] {
                    if !is_last && self.is_splittable(one) {
                        self.search(one, None);
                    }
                }
            }
        }
        [left, right]
    }

    /// Finds the best split of a leaf, and of its larger sibling from their parent's histogram.
    fn search(&mut self, leaf: &mut Leaf<L>, sibling: Option<(&mut Leaf<L>, Vec<[i64; L]>)>) {
        let wants_own = self.is_splittable(leaf);
        let work = &mut *self.work;
        let mut own = work.histograms.pop().unwrap_or_default();
        own.resize(self.layout.n_bins(), [0; L]);
        let rows = &work.rows[leaf.at.rows.clone()];
        work.ordered.clear();
        work.ordered.extend(rows.iter().map(|&row| work.values[row as usize]));
        if self.has_lists {
            work.marks.next(self.codes.n_rows, rows, &[]);
        }
        let marks = self.has_lists.then_some(&work.marks);
        let node = NodeRows { rows, values: &work.ordered, total: leaf.total, marks };
        let search = Search {
            node,
            layout: self.layout,
            codes: self.codes,
            cells: self.cells,
            rule: &self.limits.rule,
            wants_own,
            sibling: sibling.as_ref().map(|(leaf, _)| leaf.total),
        };
        work.found.clear();
        work.found.resize(self.layout.columns.len(), [None; 2]);
        let (sibling, mut parent) = match sibling {
            Some((sibling, parent)) => (Some(sibling), parent),
            None => (None, Vec::new()),
        };
        search.columns(0, self.layout.columns.len(), &mut own, &mut parent, &mut work.found);
        let sets_left = self.tree.sets.len() < MAX_SETS;
        leaf.split = self.best_column(0, sets_left);
        match sibling {
            Some(sibling) => {
                sibling.split = self.best_column(1, sets_left);
                sibling.histogram = Some(parent);
            }
            None if !self.keeps => {
                self.work.histograms.push(own);
                return;
            }
            None => {}
        }
        if wants_own {
            leaf.histogram = Some(own);
        } else {
            self.work.histograms.push(own);
        }
    }

    /// The best of the columns' splits for one of two siblings; of equal ones the first column's.
    fn best_column(&self, which: usize, sets_left: bool) -> Option<(u16, BestCut<L>)> {
        let mut chosen: Option<(u16, BestCut<L>)> = None;
        for (&feature, pair) in self.layout.columns.iter().zip(&self.work.found) {
            let Some(found) = pair[which] else { continue };
            let is_possible = sets_left || matches!(found.cut, Cut::Threshold(_));
            if is_possible && chosen.as_ref().is_none_or(|(_, best)| found.gain > best.gain * TIE) {
                chosen = Some((feature, found));
            }
        }
        chosen
    }

    fn column(&self, j: usize) -> &'a [u8] {
        &self.cells[j * self.codes.n_rows..(j + 1) * self.codes.n_rows]
    }
}

/// The leaf whose split gains most, the oldest of equals, and that split.
fn most_gaining<const L: usize>(leaves: &[Leaf<L>]) -> Option<(usize, u16, BestCut<L>)> {
    let mut chosen: Option<(usize, u16, BestCut<L>)> = None;
    for (k, leaf) in leaves.iter().enumerate() {
        if let Some((feature, found)) = leaf.split
            && chosen.is_none_or(|(_, _, best)| found.gain > best.gain)
        {
            chosen = Some((k, feature, found));
        }
    }
    chosen
}

/// One node's columns, and its sibling's.
#[derive(Debug)]
struct Search<'a, const L: usize> {
    node: NodeRows<'a, L>,
    layout: &'a Layout,
    codes: &'a Codes,
    cells: &'a [u8],
    rule: &'a SplitRule,
    /// Whether the node itself may be split.
    wants_own: bool,
    /// The sum of its sibling, whose histogram is made from the parent's.
    sibling: Option<[i64; L]>,
}

impl<const L: usize> Search<'_, L> {
    /// Works on the tree's columns `from..to`: `own` and `parent` are their parts of the histograms, `found` their results.
    fn columns(&self, from: usize, to: usize, own: &mut [[i64; L]], parent: &mut [[i64; L]], found: &mut [Pair<L>]) {
        let n_columns = to - from;
        let work = n_columns * self.node.rows.len() + 4 * self.layout.bins_between(from, to);
        if n_columns > 1 && work > SHARED_WORK {
            let middle = from + n_columns / 2;
            let n_bins = self.layout.bins_between(from, middle);
            let (own, own_rest) = own.split_at_mut(n_bins);
            let (parent, parent_rest) = parent.split_at_mut(n_bins.min(parent.len()));
            let (found, found_rest) = found.split_at_mut(middle - from);
            rayon::join(
                || self.columns(from, middle, own, parent, found),
                || self.columns(middle, to, own_rest, parent_rest, found_rest),
            );
            return;
        }
        let (mut own, mut parent) = (own, parent);
        for (k, found) in (from..to).zip(found) {
            let n_bins = self.layout.bins_between(k, k + 1);
            let (bins, own_rest) = own.split_at_mut(n_bins);
            let (parent_bins, parent_rest) = parent.split_at_mut(n_bins.min(parent.len()));
            let j = usize::from(self.layout.columns[k]);
            let facts = ColumnFacts { missing: self.codes.missing[j], categorical: self.codes.categorical[j] };
            build(&self.node, self.codes, self.cells, j, bins);
            if self.wants_own {
                found[0] = best(self.rule, bins, self.node.total, facts);
            }
            if let Some(total) = self.sibling {
                subtract(parent_bins, bins);
                found[1] = best(self.rule, parent_bins, total, facts);
            }
            (own, parent) = (own_rest, parent_rest);
        }
    }
}
