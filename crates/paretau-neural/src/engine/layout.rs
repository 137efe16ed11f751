//! All parameters of a model live in one flat vector; a layout knows which stretch is which matrix.
//!
//! One vector makes the optimiser, clipping, snapshots and checkpoints one loop each.

use std::ops::Range;

use paretau_core::{Rng, Seed};
use paretau_kernels::real::Real;

/// What the values of a block are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Weights: optimisers move them and L2 pulls on them.
    Weights,
    /// Biases: optimisers move them.
    Biases,
    /// Running means: no optimiser moves them, batches are folded into them.
    Means,
    /// Running variances, likewise.
    Variances,
}

/// A matrix of weights (`rows × cols`, row-major, inputs by outputs), a row of biases or a row of running statistics within the
/// flat vector.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Block {
    /// First element.
    pub start: usize,
    /// Inputs; 1 for all but weights.
    pub rows: usize,
    /// Outputs.
    pub cols: usize,
    /// What it holds.
    pub kind: Kind,
    /// Standard deviation of its initial values.
    pub spread: f64,
}

impl Block {
    /// Its stretch of the flat vector.
    pub fn range(&self) -> Range<usize> {
        self.start..self.start + self.rows * self.cols
    }
}

/// A stretch of parameters that a phase moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// The stretch.
    pub range: Range<usize>,
    /// Whether L2 pulls on it.
    pub decays: bool,
}

/// The blocks of a model, in the order of the flat vector.
#[derive(Debug, Clone, Default)]
pub struct Layout {
    blocks: Vec<Block>,
    len: usize,
}

impl Layout {
    /// Appends a weight matrix whose initial values have the given standard deviation.
    pub fn weights(&mut self, rows: usize, cols: usize, spread: f64) -> Block {
        self.push(Block { start: self.len, rows, cols, kind: Kind::Weights, spread })
    }

    /// Appends a row of biases that start at zero.
    pub fn biases(&mut self, cols: usize) -> Block {
        self.row(cols, Kind::Biases)
    }

    /// Appends a row of running means that start at zero.
    pub fn means(&mut self, cols: usize) -> Block {
        self.row(cols, Kind::Means)
    }

    /// Appends a row of running variances that start at one.
    pub fn variances(&mut self, cols: usize) -> Block {
        self.row(cols, Kind::Variances)
    }

    fn row(&mut self, cols: usize, kind: Kind) -> Block {
        self.push(Block { start: self.len, rows: 1, cols, kind, spread: 0.0 })
    }

    fn push(&mut self, block: Block) -> Block {
        self.blocks.push(block);
        self.len += block.rows * block.cols;
        block
    }

    /// Number of parameters.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no parameters.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All blocks.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The stretches of `range` that optimisers move, neighbours of one kind joined.
    pub fn moves(&self, range: &Range<usize>) -> Vec<Move> {
        let mut moves: Vec<Move> = Vec::new();
        for block in self.blocks.iter().filter(|b| b.start >= range.start && b.range().end <= range.end) {
            let decays = match block.kind {
                Kind::Weights => true,
                Kind::Biases => false,
                Kind::Means | Kind::Variances => continue,
            };
            match moves.last_mut() {
                Some(last) if last.decays == decays && last.range.end == block.start => {
                    last.range.end = block.range().end;
                }
                _ => moves.push(Move { range: block.range(), decays }),
            }
        }
        moves
    }

    /// Initial values: each block normal with its spread, from a stream of its own.
    pub fn initial<T: Real>(&self, seed: Seed) -> Vec<T> {
        let mut values = vec![T::ZERO; self.len];
        for (index, block) in self.blocks.iter().enumerate().filter(|(_, b)| b.spread > 0.0) {
            let mut rng: Rng = seed.named("initial").indexed(index as u64).rng();
            values[block.range()].iter_mut().for_each(|v| *v = T::from_f64(block.spread * rng.normal()));
        }
        for block in self.blocks.iter().filter(|b| b.kind == Kind::Variances) {
            values[block.range()].fill(T::ONE);
        }
        values
    }

    /// Whether `values` could be those of a net: as many as there are places, all finite, no variance below zero.
    pub fn admits<T: Real>(&self, values: &[T]) -> bool {
        let variances = || self.blocks.iter().filter(|b| b.kind == Kind::Variances);
        values.len() == self.len
            && values.iter().all(|v| v.is_finite())
            && variances().all(|b| values[b.range()].iter().all(|v| *v >= T::ZERO))
    }
}
