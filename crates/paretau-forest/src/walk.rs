//! How rows find their leaves in all trees of a forest.
//!
//! Rows are coded once and go down as bin codes, in blocks. New rows with few columns have their codes side by side in a
//! cache line or two and walk down a small copy of the tree, eight at a time, since each step waits for the last; tree
//! and rows then stay in the nearest cache. Other rows are divided node by node, which reads one column at a time; the
//! last few of a branch, and single rows in all trees, walk eight at a time again. Every row ends in the same leaf
//! whichever way it goes.

use std::convert::Infallible;
use std::ops::Range;

use paretau_core::Features;
use rayon::prelude::*;

use crate::codes::Codes;
use crate::forest::{Forest, InBag};
use crate::sample::is_set;
use crate::tree::{INDEX, LevelSet, Node};

/// Stands for "no leaf": the tree has nothing to say about the row.
pub(crate) const NO_LEAF: u32 = u32::MAX;

/// Most rows of a block; their numbers fit 16 bits.
const MAX_BLOCK: usize = 4096;

/// Fewest rows of a block when there are more.
const MIN_BLOCK: usize = 128;

/// Walks that go on at a time.
const WAYS: usize = 8;

/// Columns whose codes are put side by side: few, and some more.
const FEW_COLUMNS: usize = 32;
const SOME_COLUMNS: usize = 128;

/// Most nodes of a tree that is copied for walks.
const SMALL_TREE: usize = 2048;

/// A block of rows and the leaves they fall into.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    pub(crate) forest: &'a Forest,
    pub(crate) n_rows: usize,
    leaves: &'a [u32],
}

impl Block<'_> {
    /// Leaves of all rows of the block in one tree; [`NO_LEAF`] where it has nothing to say.
    #[inline(always)]
    pub(crate) fn tree(&self, tree: usize) -> &[u32] {
        &self.leaves[tree * self.n_rows..(tree + 1) * self.n_rows]
    }
}

/// Buffers of one thread.
#[derive(Debug)]
struct Walker {
    /// Codes of the block, column after column.
    codes: Vec<u16>,
    leaves: Vec<u32>,
    /// Rows, before and after they are divided; the children of a node find theirs in the other one.
    rows: [Box<[u16; MAX_BLOCK]>; 2],
    stack: Vec<Pending>,
    /// Codes row after row.
    lines: Vec<u16>,
    small: SmallTree,
}

/// A tree of thresholds as walks want it: 16 bits each for the left child, the column, and the two numbers of
/// [`Node::threshold`]. A leaf is its own child, and nothing is above its threshold.
#[derive(Debug)]
struct SmallTree {
    nodes: Box<[u64; SMALL_TREE]>,
}

/// A node and its rows.
#[derive(Debug, Clone, Copy)]
struct Pending {
    node: u32,
    start: u16,
    end: u16,
    /// Which of the two lists holds the rows.
    side: usize,
}

impl Default for Walker {
    fn default() -> Self {
        let rows = [Box::new([0; MAX_BLOCK]), Box::new([0; MAX_BLOCK])];
        let small = SmallTree { nodes: Box::new([0; SMALL_TREE]) };
        Self { codes: Vec::new(), leaves: Vec::new(), rows, stack: Vec::new(), lines: Vec::new(), small }
    }
}

impl Forest {
    /// Calls `each` for blocks of new rows, with the leaves they fall into; results in the rows' order.
    pub(crate) fn map_blocks<T: Send>(&self, x: &Features, each: impl Fn(&Block<'_>) -> Vec<T> + Sync) -> Vec<T> {
        let used = self.few_columns();
        let encode = |rows: Range<usize>, codes: &mut Vec<u16>| match &used {
            Some(used) => self.bins.encode_some(x, used, rows, codes),
            None => self.bins.encode(x, rows, codes),
        };
        match self.blocks(x.n_rows(), None, || Ok::<(), Infallible>(()), encode, each) {
            Ok(found) => found,
            Err(never) => match never {},
        }
    }

    /// The columns that the trees look at, if they are few among many.
    fn few_columns(&self) -> Option<Vec<usize>> {
        if self.nodes.len() >= self.bins.n_cols() {
            return None;
        }
        let inner = (0..self.nodes.len() as u32).filter(|&at| !self.nodes[at as usize].is_leaf());
        let mut used: Vec<usize> = inner.map(|at| self.column(at)).collect();
        used.sort_unstable();
        used.dedup();
        Some(used)
    }

    /// The same for the training rows, with only those trees that have not seen the row; `watch` may end it before a block.
    pub(crate) fn map_blocks_out_of_bag<T: Send, E: Send>(
        &self,
        codes: &Codes,
        in_bag: &InBag,
        watch: impl Fn() -> Result<(), E> + Sync,
        each: impl Fn(&Block<'_>) -> Vec<T> + Sync,
    ) -> Result<Vec<T>, E> {
        self.blocks(codes.n_rows, Some(in_bag), watch, |rows, out| codes.decode(rows, out), each)
    }

    fn blocks<T: Send, E: Send>(
        &self,
        n: usize,
        in_bag: Option<&InBag>,
        watch: impl Fn() -> Result<(), E> + Sync,
        encode: impl Fn(Range<usize>, &mut Vec<u16>) + Sync,
        each: impl Fn(&Block<'_>) -> Vec<T> + Sync,
    ) -> Result<Vec<T>, E> {
        let block = n.div_ceil(4 * rayon::current_num_threads()).clamp(MIN_BLOCK, MAX_BLOCK);
        let run = |walker: &mut Walker, start: usize| {
            watch()?;
            let rows = start..(start + block).min(n);
            encode(rows.clone(), &mut walker.codes);
            walker.leaves(self, rows.clone(), in_bag);
            Ok(each(&Block { forest: self, n_rows: rows.len(), leaves: &walker.leaves }))
        };
        if n <= block {
            return if n == 0 { Ok(vec![]) } else { run(&mut Walker::default(), 0) };
        }
        let parts: Vec<Vec<T>> = (0..n.div_ceil(block))
            .into_par_iter()
            .map_init(Walker::default, |walker, k| run(walker, k * block))
            .collect::<Result<_, E>>()?;
        Ok(parts.into_iter().flatten().collect())
    }
}

impl Walker {
    /// The leaf of every (tree, row): `leaves[tree * n_rows + row]`.
    fn leaves(&mut self, forest: &Forest, rows: Range<usize>, in_bag: Option<&InBag>) {
        let n = rows.len();
        self.leaves.clear();
        self.leaves.resize(n * forest.n_trees(), NO_LEAF);
        if n < WAYS && in_bag.is_none() {
            self.few(forest, n);
            return;
        }
        let p = forest.bins.n_cols();
        let side_by_side = in_bag.is_none() && forest.sets.is_empty() && p <= SOME_COLUMNS;
        if side_by_side {
            if p <= FEW_COLUMNS {
                self.put_side_by_side::<FEW_COLUMNS>(n);
            } else {
                self.put_side_by_side::<SOME_COLUMNS>(n);
            }
        }
        for tree in 0..forest.n_trees() {
            if side_by_side && self.small.copy(forest, tree) {
                let out = &mut self.leaves[tree * n..(tree + 1) * n];
                if p <= FEW_COLUMNS {
                    self.small.walk::<FEW_COLUMNS>(forest, tree, &self.lines, out);
                } else {
                    self.small.walk::<SOME_COLUMNS>(forest, tree, &self.lines, out);
                }
                continue;
            }
            let list = &mut self.rows[0];
            let count = match in_bag.map(|bag| bag.of(tree)) {
                None => {
                    list[..n].iter_mut().zip(0..).for_each(|(place, row)| *place = row);
                    n
                }
                Some(bits) => {
                    let mut count = 0;
                    for row in 0..n {
                        list[count % MAX_BLOCK] = row as u16;
                        count += usize::from(!is_set(bits, rows.start + row));
                    }
                    count
                }
            };
            self.part(forest, tree, n, count);
        }
    }

    /// Turns codes column after column into codes row after row, `S` places each.
    fn put_side_by_side<const S: usize>(&mut self, n: usize) {
        self.lines.clear();
        self.lines.resize(n * S, 0);
        let (lines, _) = self.lines.as_chunks_mut::<S>();
        for (j, column) in self.codes.chunks_exact(n).enumerate() {
            lines.iter_mut().zip(column).for_each(|(line, &code)| line[j] = code);
        }
    }

    /// One row down many trees at a time.
    fn few(&mut self, forest: &Forest, n: usize) {
        for row in 0..n {
            for first in (0..forest.n_trees()).step_by(WAYS) {
                // The last trees fill up the ways; walking one twice does no harm.
                let trees: [usize; WAYS] = std::array::from_fn(|k| (first + k).min(forest.n_trees() - 1));
                let sets = trees.map(|tree| forest.first_set[tree]);
                let ends = walk(forest, trees.map(|tree| forest.roots[tree]), &self.codes, n, [row; WAYS], sets);
                trees.iter().zip(ends).for_each(|(&tree, end)| self.leaves[tree * n + row] = leaf_of(forest, end));
            }
        }
    }

    /// The first `count` rows of the list down one tree, divided node by node.
    fn part(&mut self, forest: &Forest, tree: usize, n: usize, count: usize) {
        let first_set = forest.first_set[tree];
        let sets = &forest.sets[first_set as usize..];
        let out = &mut self.leaves[tree * n..(tree + 1) * n];
        let [even, odd] = &mut self.rows;
        self.stack.clear();
        self.stack.push(Pending { node: forest.roots[tree], start: 0, end: count as u16, side: 0 });
        while let Some(Pending { node: at, start, end, side }) = self.stack.pop() {
            let node = forest.nodes[at as usize];
            let range = usize::from(start)..usize::from(end);
            let (rows, other) = if side == 0 { (&even[range], &mut **odd) } else { (&odd[range], &mut **even) };
            if node.is_leaf() {
                let leaf = leaf_of(forest, at);
                rows.iter().for_each(|&row| out[usize::from(row)] = leaf);
            } else if rows.len() <= WAYS {
                let Some(&last) = rows.last() else { continue };
                let ways: [usize; WAYS] = std::array::from_fn(|k| usize::from(*rows.get(k).unwrap_or(&last)));
                let ends = walk(forest, [at; WAYS], &self.codes, n, ways, [first_set; WAYS]);
                ways.iter().zip(ends).for_each(|(&row, end)| out[row] = leaf_of(forest, end));
            } else {
                let feature = forest.column(at);
                let column = &self.codes[feature * n..(feature + 1) * n];
                let middle = part_rows(node, rows, (other, usize::from(start)), column, sets) as u16;
                self.stack.push(Pending { node: node.index() + 1, start: middle, end, side: 1 - side });
                self.stack.push(Pending { node: node.index(), start, end: middle, side: 1 - side });
            }
        }
    }
}

impl SmallTree {
    /// Copies a tree; false if it is too large.
    fn copy(&mut self, forest: &Forest, tree: usize) -> bool {
        let root = forest.roots[tree] as usize;
        let end = forest.roots.get(tree + 1).map_or(forest.nodes.len(), |&next| next as usize);
        if end - root > SMALL_TREE {
            return false;
        }
        for (k, (to, node)) in self.nodes.iter_mut().zip(&forest.nodes[root..end]).enumerate() {
            *to = if node.is_leaf() {
                k as u64 | u64::from(u16::MAX) << 32
            } else {
                let (cut, shift) = node.threshold();
                let child = u64::from(node.index()) - root as u64;
                child | u64::from(node.feature) << 16 | u64::from(cut) << 32 | u64::from(shift) << 48
            };
        }
        true
    }

    /// All rows down the tree.
    fn walk<const S: usize>(&self, forest: &Forest, tree: usize, lines: &[u16], out: &mut [u32]) {
        let root = forest.roots[tree];
        let (lines, _) = lines.as_chunks::<S>();
        let (groups, rest) = lines.as_chunks::<WAYS>();
        let (group_out, rest_out) = out.as_chunks_mut::<WAYS>();
        let leaf = |at: u32| leaf_of(forest, root + at);
        for (group, out) in groups.iter().zip(group_out) {
            *out = self.descend(std::array::from_fn(|k| &group[k])).map(leaf);
        }
        let Some(last) = rest.last() else { return };
        let ends = self.descend(std::array::from_fn(|k| rest.get(k).unwrap_or(last)));
        rest_out.iter_mut().zip(ends).for_each(|(out, at)| *out = leaf(at));
    }

    /// Eight rows down the tree, until none of them moves.
    #[inline(always)]
    fn descend<const S: usize>(&self, lines: [&[u16; S]; WAYS]) -> [u32; WAYS] {
        let mut at = [0; WAYS];
        loop {
            let before = self.step(self.step(at, &lines), &lines);
            at = self.step(before, &lines);
            // All differences together are compared with 0; comparing the arrays would pack their numbers first.
            if before.iter().zip(at).fold(0, |moved, (b, a)| moved | (b ^ a)) == 0 {
                return at;
            }
        }
    }

    #[inline(always)]
    fn step<const S: usize>(&self, at: [u32; WAYS], lines: &[&[u16; S]; WAYS]) -> [u32; WAYS] {
        std::array::from_fn(|k| {
            // The remainders change nothing but spare checks of the bounds.
            let node = self.nodes[at[k] as usize % SMALL_TREE];
            let code = lines[k][(node >> 16) as usize % S];
            let right = code.wrapping_add((node >> 48) as u16) > (node >> 32) as u16;
            u32::from(node as u16) + u32::from(right)
        })
    }
}

/// Writes the rows that go left to `to` from `start` on and the others behind them; gives back where those begin.
#[inline]
fn part_rows(
    node: Node,
    rows: &[u16],
    (to, start): (&mut [u16; MAX_BLOCK], usize),
    column: &[u16],
    sets: &[LevelSet],
) -> usize {
    if node.is_set() {
        return part_by(rows, to, start, |row| node.right(column[usize::from(row)], sets) as usize);
    }
    let (cut, shift) = node.threshold();
    let goes_right = |code: u16| usize::from(code.wrapping_add(shift) > cut);
    // Most blocks are full; the compiler then knows the column's length, and that no index is beyond it.
    match <&[u16; MAX_BLOCK]>::try_from(column) {
        Ok(column) => part_by(rows, to, start, |row| goes_right(column[usize::from(row) % MAX_BLOCK])),
        Err(_) => part_by(rows, to, start, |row| goes_right(column[usize::from(row)])),
    }
}

#[inline(always)]
fn part_by(rows: &[u16], to: &mut [u16; MAX_BLOCK], start: usize, right_of: impl Fn(u16) -> usize) -> usize {
    let (mut left, mut right) = (start, start + rows.len() - 1);
    for &row in rows {
        let goes_right = right_of(row);
        // Both places are free until the last row, when they are the same one. The remainders change nothing but spare
        // a check of the bounds.
        to[left % MAX_BLOCK] = row;
        to[right % MAX_BLOCK] = row;
        left += 1 - goes_right;
        right = right.wrapping_sub(goes_right);
    }
    left
}

/// Eight walks a step at a time until all stand on leaves; gives back the nodes they stand on.
#[inline]
fn walk(
    forest: &Forest,
    mut at: [u32; WAYS],
    codes: &[u16],
    n: usize,
    row: [usize; WAYS],
    first_set: [u32; WAYS],
) -> [u32; WAYS] {
    let nodes = &forest.nodes[..];
    let has_sets = !forest.sets.is_empty();
    let is_wide = !forest.high.is_empty();
    loop {
        let mut moving = false;
        for k in 0..WAYS {
            let node = nodes[at[k] as usize];
            let column = if is_wide { forest.column(at[k]) } else { usize::from(node.feature) };
            let code = codes[column * n + row[k]];
            let right = if has_sets {
                node.right(code, &forest.sets[first_set[k] as usize..])
            } else {
                node.right_of_cut(code)
            };
            at[k] = if node.is_leaf() { at[k] } else { node.index() + right };
            moving |= !node.is_leaf();
        }
        if !moving {
            return at;
        }
    }
}

fn leaf_of(forest: &Forest, at: u32) -> u32 {
    let index = forest.nodes[at as usize].index();
    if index == INDEX { NO_LEAF } else { index }
}
