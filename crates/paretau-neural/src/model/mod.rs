//! Models: what is computed from a batch, its losses phase by phase, and what moves in each phase. How often, how long and
//! how fast is the training loop's business.

pub mod ganite;
mod held_out;
mod nets;
mod pair;
pub mod plain;
pub mod repnet;
mod score;
pub mod spec;

use std::collections::BTreeMap;

use paretau_core::Result;
use paretau_kernels::parallel::Parallelism;
use paretau_kernels::real::Real;

use crate::data::{Batch, Sample};
use crate::engine::{Layout, Move};

pub use ganite::Ganite;
pub use nets::Nets;
pub use plain::{PlainNet, PlainSpec};
pub use repnet::RepNet;
pub use spec::{Objective, RepSpec};

/// What a validation pass found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scores {
    /// What stops training and chooses the best weights; smaller is better.
    pub objective: f64,
    /// Named numbers for the history.
    pub values: BTreeMap<String, f64>,
}

/// A model that the training loop can move.
pub trait Model<T: Real>: Send {
    /// The blocks of its parameters.
    fn layout(&self) -> &Layout;

    /// The stretches that each phase moves.
    fn moves(&self, phase: usize) -> Vec<Move>;

    /// A new batch is at hand.
    fn begin(&mut self, sample: &Sample<T>, batch: &Batch) -> Result<()>;

    /// Loss of a phase on the batch; `at` holds the parameters and where the gradient of the phase's stretches goes.
    fn loss(&mut self, phase: usize, sample: &Sample<T>, at: (&[T], &mut [T]), parallelism: Parallelism)
    -> Result<f64>;

    /// The step of a phase on the batch was taken: folds what the nets remember of batches into `params`.
    fn absorb(&mut self, _phase: usize, _params: &mut [T]) {}

    /// Scores on held-out rows, without dropout. `stage` is the part of the training that asks.
    fn validate(
        &mut self,
        stage: usize,
        sample: &Sample<T>,
        rows: &[usize],
        params: &[T],
        parallelism: Parallelism,
    ) -> Result<Scores>;

    /// Numbers gathered over the steps since the last call (largest weight, tail fits left as they were).
    fn gathered(&mut self) -> BTreeMap<String, f64> {
        BTreeMap::new()
    }
}
