//! A forest: the flat nodes and leaf statistics of many trees, and how rows find their leaves in all of them.
//!
//! Rows are coded once and then walk down as bin codes. Several walks go on at a time, since each step waits for
//! memory: eight rows down one tree in bulk, or one row down eight trees when there are few rows.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use paretau_core::{Event, Features, FitContext, Result};
use rayon::prelude::*;

use crate::bins::Bins;
use crate::codes::{Cells, Codes};
use crate::grow::{Growth, Pieces, Workspace, grow};
use crate::leaf::LeafRule;
use crate::relabel::Relabel;
use crate::sample::{Sampler, is_set};
use crate::split::SplitRule;
use crate::tree::{INDEX, LevelSet, Node, Tree};

/// Stands for "no leaf": the tree has nothing to say about the row.
pub(crate) const NO_LEAF: u32 = u32::MAX;

/// Rows that are walked together.
const BLOCK: usize = 128;

/// Walks that go on at a time.
const WAYS: usize = 8;

/// A grown forest.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Forest {
    pub(crate) bins: Arc<Bins>,
    /// Statistics a leaf.
    pub(crate) width: usize,
    /// Trees a bag.
    pub(crate) bag: usize,
    pub(crate) nodes: Vec<Node>,
    pub(crate) leaves: Vec<f32>,
    pub(crate) sets: Vec<LevelSet>,
    /// Root of each tree.
    pub(crate) roots: Vec<u32>,
    /// First set of each tree.
    pub(crate) first_set: Vec<u32>,
}

/// Which rows each tree has seen, one bit a row.
#[derive(Debug, Clone)]
pub(crate) struct InBag {
    words: usize,
    bits: Vec<u64>,
}

impl InBag {
    /// The marks of one tree.
    pub(crate) fn of(&self, tree: usize) -> &[u64] {
        &self.bits[tree * self.words..(tree + 1) * self.words]
    }
}

/// Workspaces not in use; there are never more than threads.
struct Spare<const L: usize>(Mutex<Vec<Workspace<L>>>);

impl<const L: usize> Default for Spare<L> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<const L: usize> Spare<L> {
    fn take(&self) -> Workspace<L> {
        self.0.lock().ok().and_then(|mut all| all.pop()).unwrap_or_default()
    }

    fn put(&self, work: Workspace<L>) {
        if let Ok(mut all) = self.0.lock() {
            all.push(work);
        }
    }
}

/// The training rows as the engine sees them.
#[derive(Debug, Clone)]
pub(crate) struct Ground {
    pub(crate) bins: Arc<Bins>,
    pub(crate) codes: Arc<Codes>,
}

/// Grows `n_trees` trees.
pub(crate) fn fit<R, S, F, const L: usize>(
    ground: &Ground,
    pieces: &Pieces<R, S, F>,
    growth: &Growth,
    sampler: &Sampler,
    n_trees: usize,
    ctx: &FitContext<'_>,
) -> Result<(Forest, InBag)>
where
    R: Relabel,
    S: SplitRule<R::Label, L>,
    F: LeafRule,
{
    let words = ground.codes.n_rows.div_ceil(64);
    let mut in_bag = InBag { words, bits: vec![0; words * n_trees] };
    let mut forest = Forest::empty(ground.bins.clone(), pieces.leaf.width(), sampler.sampling.bag);
    let done = AtomicU64::new(0);
    let spare = Spare::default();
    // Trees join the forest in batches: a tree's own arrays live only until then. Each thread should have several.
    let batch = (rayon::current_num_threads() * 16).clamp(16, 256);
    for first in (0..n_trees).step_by(batch) {
        let range = first..(first + batch).min(n_trees);
        let marks = &mut in_bag.bits[range.start * words..range.end * words];
        let trees: Vec<Tree> = range
            .clone()
            .into_par_iter()
            .zip(marks.par_chunks_mut(words.max(1)))
            .with_max_len(1)
            .map(|(tree, bits)| {
                ctx.check_interrupt()?;
                let mut work = spare.take();
                let mut rng = sampler.draw(tree, &mut work.drawn, bits);
                let codes = &ground.codes;
                let grown = match &codes.cells {
                    Cells::Byte(cells) => grow(pieces, growth, codes, cells, &mut rng, &mut work),
                    Cells::Wide(cells) => grow(pieces, growth, codes, cells, &mut rng, &mut work),
                };
                spare.put(work);
                ctx.event(&Event::Progress { done: done.fetch_add(1, Ordering::Relaxed) + 1 });
                Ok(grown)
            })
            .collect::<Result<_>>()?;
        if first == 0 {
            forest.reserve(&trees, n_trees);
        }
        trees.into_iter().for_each(|tree| forest.push(&tree));
    }
    Ok((forest, in_bag))
}

impl Forest {
    fn empty(bins: Arc<Bins>, width: usize, bag: usize) -> Self {
        Self { bins, width, bag, nodes: vec![], leaves: vec![], sets: vec![], roots: vec![], first_set: vec![] }
    }

    /// Makes room for `n_trees` trees like the given ones, so that the arrays need not double.
    fn reserve(&mut self, trees: &[Tree], n_trees: usize) {
        let share = 1.02 * n_trees as f64 / trees.len().max(1) as f64;
        let room = |size: usize| (size as f64 * share) as usize;
        self.nodes.reserve(room(trees.iter().map(|t| t.nodes.len()).sum()));
        self.leaves.reserve(room(trees.iter().map(|t| t.leaves.len()).sum()));
    }

    fn push(&mut self, tree: &Tree) {
        let (node_at, leaf_at) = (self.nodes.len() as u32, (self.leaves.len() / self.width.max(1)) as u32);
        self.roots.push(node_at);
        self.first_set.push(self.sets.len() as u32);
        self.nodes.extend(tree.nodes.iter().map(|node| match node {
            empty if empty.is_empty_leaf() => *empty,
            leaf if leaf.is_leaf() => Node { child: leaf.child + leaf_at, ..*leaf },
            inner => Node { child: inner.child + node_at, ..*inner },
        }));
        self.leaves.extend_from_slice(&tree.leaves);
        self.sets.extend_from_slice(&tree.sets);
    }

    /// Number of trees.
    pub(crate) fn n_trees(&self) -> usize {
        self.roots.len()
    }

    /// Statistics of a leaf.
    #[inline(always)]
    pub(crate) fn stats(&self, leaf: u32) -> &[f32] {
        let at = leaf as usize * self.width;
        &self.leaves[at..at + self.width]
    }

    /// Calls `each` for blocks of new rows, with the leaves they fall into; results in the rows' order.
    pub(crate) fn map_blocks<T: Send>(&self, x: &Features, each: impl Fn(&Block<'_>) -> Vec<T> + Sync) -> Vec<T> {
        self.blocks(x.n_rows(), None, |rows, codes| self.bins.encode(x, rows, codes), each)
    }

    /// The same for the training rows, with only those trees that have not seen the row.
    pub(crate) fn map_blocks_out_of_bag<T: Send>(
        &self,
        codes: &Codes,
        in_bag: &InBag,
        each: impl Fn(&Block<'_>) -> Vec<T> + Sync,
    ) -> Vec<T> {
        self.blocks(codes.n_rows, Some(in_bag), |rows, out| codes.decode(rows, out), each)
    }

    fn blocks<T: Send>(
        &self,
        n: usize,
        in_bag: Option<&InBag>,
        encode: impl Fn(Range<usize>, &mut Vec<u16>) + Sync,
        each: impl Fn(&Block<'_>) -> Vec<T> + Sync,
    ) -> Vec<T> {
        let run = |(codes, leaves): &mut (Vec<u16>, Vec<u32>), start: usize| {
            let rows = start..(start + BLOCK).min(n);
            encode(rows.clone(), codes);
            self.leaves_of(codes, rows.clone(), in_bag, leaves);
            each(&Block { forest: self, n_rows: rows.len(), leaves })
        };
        if n <= BLOCK {
            return if n == 0 { vec![] } else { run(&mut Default::default(), 0) };
        }
        let parts: Vec<Vec<T>> =
            (0..n.div_ceil(BLOCK)).into_par_iter().map_init(Default::default, |buf, k| run(buf, k * BLOCK)).collect();
        parts.into_iter().flatten().collect()
    }

    /// The leaf of every (tree, row): `leaves[tree * n_rows + row]`.
    fn leaves_of(&self, codes: &[u16], rows: Range<usize>, in_bag: Option<&InBag>, leaves: &mut Vec<u32>) {
        let (n, p) = (rows.len(), self.bins.n_cols());
        leaves.clear();
        leaves.resize(n * self.n_trees(), NO_LEAF);
        let mut ways = Ways::new(self, codes);
        if n < WAYS && in_bag.is_none() {
            for row in 0..n {
                for tree in 0..self.n_trees() {
                    ways.add(tree, row * p, tree * n + row, leaves);
                }
            }
        } else {
            for tree in 0..self.n_trees() {
                let seen = in_bag.map(|bag| bag.of(tree));
                for row in 0..n {
                    if seen.is_none_or(|bits| !is_set(bits, rows.start + row)) {
                        ways.add(tree, row * p, tree * n + row, leaves);
                    }
                }
            }
        }
        ways.flush(leaves);
    }
}

/// Walks that go on together.
struct Ways<'a> {
    forest: &'a Forest,
    codes: &'a [u16],
    has_sets: bool,
    used: usize,
    at: [u32; WAYS],
    /// Where the row's codes begin.
    base: [usize; WAYS],
    tree: [usize; WAYS],
    /// Where the leaf is to be written.
    out: [usize; WAYS],
}

impl<'a> Ways<'a> {
    fn new(forest: &'a Forest, codes: &'a [u16]) -> Self {
        let has_sets = !forest.sets.is_empty();
        Self { forest, codes, has_sets, used: 0, at: [0; WAYS], base: [0; WAYS], tree: [0; WAYS], out: [0; WAYS] }
    }

    #[inline(always)]
    fn add(&mut self, tree: usize, base: usize, out: usize, leaves: &mut [u32]) {
        let k = self.used;
        (self.at[k], self.base[k], self.tree[k], self.out[k]) = (self.forest.roots[tree], base, tree, out);
        self.used += 1;
        if self.used == WAYS {
            self.flush(leaves);
        }
    }

    fn flush(&mut self, leaves: &mut [u32]) {
        if self.has_sets {
            self.walk_with_sets();
        } else {
            self.walk();
        }
        for k in 0..self.used {
            let index = self.forest.nodes[self.at[k] as usize].index();
            leaves[self.out[k]] = if index == INDEX { NO_LEAF } else { index };
        }
        self.used = 0;
    }

    /// All walks a step at a time until all stand on leaves; no branch depends on the data.
    #[inline]
    fn walk(&mut self) {
        let (nodes, codes) = (&self.forest.nodes[..], self.codes);
        let (mut at, base) = (self.at, self.base);
        loop {
            let mut moving = false;
            for k in 0..WAYS {
                let node = nodes[at[k] as usize];
                let code = codes[base[k] + usize::from(node.feature)];
                let next = node.index() + node.right_of_cut(code);
                at[k] = if node.is_leaf() { at[k] } else { next };
                moving |= !node.is_leaf();
            }
            if !moving {
                break;
            }
        }
        self.at = at;
    }

    fn walk_with_sets(&mut self) {
        let forest = self.forest;
        for k in 0..self.used {
            let sets = &forest.sets[forest.first_set[self.tree[k]] as usize..];
            let mut node = forest.nodes[self.at[k] as usize];
            while !node.is_leaf() {
                let code = self.codes[self.base[k] + usize::from(node.feature)];
                self.at[k] = node.index() + node.right(code, sets);
                node = forest.nodes[self.at[k] as usize];
            }
        }
    }
}

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
