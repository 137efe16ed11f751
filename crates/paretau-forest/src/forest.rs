//! A forest: the flat nodes and leaf statistics of many trees, and how it is grown.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use paretau_core::{Event, FitContext, Result};
use rayon::prelude::*;

use crate::bins::Bins;
use crate::codes::{Cells, Code, Codes};
use crate::grow::{Growth, TreeRules, Workspace, grow};
use crate::leaf::LeafRule;
use crate::relabel::Relabel;
use crate::sample::Sampler;
use crate::split::SplitRule;
use crate::tree::{LevelSet, Node, Tree};

/// A grown forest.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Forest {
    pub(crate) bins: Arc<Bins>,
    /// Statistics per leaf.
    pub(crate) width: usize,
    /// Trees per bag.
    pub(crate) bag: usize,
    pub(crate) nodes: Vec<Node>,
    /// Upper half of each node's column; empty where the lower halves are enough.
    pub(crate) high: Vec<u16>,
    pub(crate) leaves: Vec<f32>,
    pub(crate) sets: Vec<LevelSet>,
    /// Root of each tree.
    pub(crate) roots: Vec<u32>,
    /// First set of each tree.
    pub(crate) first_set: Vec<u32>,
}

/// Which rows each tree has seen, one bit per row.
#[derive(Debug, Clone)]
pub(crate) struct InBag {
    words: usize,
    bits: Vec<u64>,
}

impl InBag {
    /// Nothing seen yet by any of `n_trees` trees.
    pub(crate) fn none(n_rows: usize, n_trees: usize) -> Self {
        let words = n_rows.div_ceil(64);
        Self { words, bits: vec![0; words * n_trees] }
    }

    /// Marks a row as seen by a tree.
    pub(crate) fn mark(&mut self, tree: usize, row: usize) {
        self.bits[tree * self.words + row / 64] |= 1 << (row % 64);
    }

    /// The marks of one tree.
    pub(crate) fn of(&self, tree: usize) -> &[u64] {
        &self.bits[tree * self.words..(tree + 1) * self.words]
    }
}

/// Workspaces not in use; there are never more than threads.
struct Spare<C, const L: usize>(Mutex<Vec<Workspace<C, L>>>);

impl<C, const L: usize> Default for Spare<C, L> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<C, const L: usize> Spare<C, L> {
    fn take(&self) -> Workspace<C, L> {
        self.0.lock().ok().and_then(|mut all| all.pop()).unwrap_or_default()
    }

    fn put(&self, work: Workspace<C, L>) {
        if let Ok(mut all) = self.0.lock() {
            all.push(work);
        }
    }
}

/// The training rows as the engine sees them.
#[derive(Debug, Clone)]
pub(crate) struct BinnedRows {
    pub(crate) bins: Arc<Bins>,
    pub(crate) codes: Arc<Codes>,
}

/// What growing a forest needs beside its rules.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GrowContext<'a> {
    pub(crate) binned: &'a BinnedRows,
    pub(crate) growth: Growth,
    pub(crate) sampler: &'a Sampler,
    pub(crate) n_trees: usize,
    pub(crate) weight: Option<&'a [f64]>,
    pub(crate) ctx: &'a FitContext<'a>,
}

/// Grows the trees of a forest; also gives back which rows each has seen.
pub(crate) fn fit<R, S, F, const L: usize>(
    context: &GrowContext<'_>,
    rules: &TreeRules<R, S, F>,
) -> Result<(Forest, InBag)>
where
    R: Relabel,
    S: SplitRule<R::Label, L>,
    F: LeafRule,
{
    match &context.binned.codes.cells {
        Cells::Byte(cells) => fit_cells(cells, context, rules),
        Cells::Wide(cells) => fit_cells(cells, context, rules),
    }
}

fn fit_cells<C, R, S, F, const L: usize>(
    cells: &[C],
    context: &GrowContext<'_>,
    rules: &TreeRules<R, S, F>,
) -> Result<(Forest, InBag)>
where
    C: Code,
    R: Relabel,
    S: SplitRule<R::Label, L>,
    F: LeafRule,
{
    let GrowContext { binned, growth, sampler, n_trees, ctx, .. } = *context;
    let words = binned.codes.n_rows.div_ceil(64);
    let mut in_bag = InBag { words, bits: vec![0; words * n_trees] };
    let mut forest = Forest::empty(binned.bins.clone(), rules.leaf.width(), sampler.sampling.bag);
    let done = AtomicU64::new(0);
    let spare: Spare<C, L> = Spare::default();
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
                let mut rng = sampler.draw(tree, &mut work.sample, bits);
                let grown = grow(rules, &growth, &binned.codes, cells, &mut rng, &mut work);
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
    pub(crate) fn empty(bins: Arc<Bins>, width: usize, bag: usize) -> Self {
        Self {
            bins,
            width,
            bag,
            nodes: vec![],
            high: vec![],
            leaves: vec![],
            sets: vec![],
            roots: vec![],
            first_set: vec![],
        }
    }

    /// Makes room for `n_trees` trees like the given ones, so that the arrays need not double.
    fn reserve(&mut self, trees: &[Tree], n_trees: usize) {
        let share = 1.02 * n_trees as f64 / trees.len().max(1) as f64;
        let room = |size: usize| (size as f64 * share) as usize;
        self.nodes.reserve(room(trees.iter().map(|t| t.nodes.len()).sum()));
        self.leaves.reserve(room(trees.iter().map(|t| t.leaves.len()).sum()));
    }

    pub(crate) fn push(&mut self, tree: &Tree) {
        let (node_at, leaf_at) = (self.nodes.len() as u32, (self.leaves.len() / self.width.max(1)) as u32);
        self.roots.push(node_at);
        self.first_set.push(self.sets.len() as u32);
        self.nodes.extend(tree.nodes.iter().map(|node| node.moved(node_at, leaf_at)));
        self.high.extend_from_slice(&tree.high);
        self.leaves.extend_from_slice(&tree.leaves);
        self.sets.extend_from_slice(&tree.sets);
    }

    /// Puts the trees of another forest behind its own.
    pub(crate) fn append(&mut self, other: &Self) {
        let (node_at, leaf_at) = (self.nodes.len() as u32, (self.leaves.len() / self.width.max(1)) as u32);
        let set_at = self.sets.len() as u32;
        self.roots.extend(other.roots.iter().map(|root| root + node_at));
        self.first_set.extend(other.first_set.iter().map(|set| set + set_at));
        self.nodes.extend(other.nodes.iter().map(|node| node.moved(node_at, leaf_at)));
        self.high.extend_from_slice(&other.high);
        self.leaves.extend_from_slice(&other.leaves);
        self.sets.extend_from_slice(&other.sets);
    }

    /// The column that a node looks at.
    #[inline(always)]
    pub(crate) fn column(&self, at: u32) -> usize {
        let high = self.high.get(at as usize).map_or(0, |&high| usize::from(high));
        usize::from(self.nodes[at as usize].feature) | high << 16
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
}
