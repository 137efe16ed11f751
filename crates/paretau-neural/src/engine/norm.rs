//! Which normalisation the hidden layers of a net have, and the two kinds behind one door.

use paretau_kernels::parallel::Parallelism;
use paretau_kernels::real::Real;
use serde::{Deserialize, Serialize};

use super::batch_norm::{BatchNormed, Running};
use super::layer_norm::LayerNormed;
use super::layout::Layout;

/// Keeps sums without any variation finite.
pub(super) const EPS: f64 = 1e-5;

/// What hidden layers do with their sums before bias and activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Norm {
    /// Nothing.
    None,
    /// Each row's sums are brought to mean zero and variance one over the units of a layer.
    Layer,
    /// Each unit's sums are brought to mean zero and variance one over the rows of a mini-batch; outside training, by the
    /// running mean and variance of the mini-batches.
    Batch,
}

/// The normalisation of one layer, with the place of what it remembers.
#[derive(Debug, Clone, Copy)]
pub(super) enum Normaliser {
    None,
    Layer,
    Batch(Running),
}

/// What the backward sweep needs of the forward one.
#[derive(Debug)]
pub(super) enum Normed<T> {
    None,
    Layer(LayerNormed<T>),
    Batch(BatchNormed<T>),
}

impl Normaliser {
    /// For a layer of `width` sums over all groups; what it remembers is appended to `layout`.
    pub(super) fn new(norm: Norm, width: usize, layout: &mut Layout) -> Self {
        match norm {
            Norm::None => Self::None,
            Norm::Layer => Self::Layer,
            Norm::Batch => Self::Batch(Running::new(width, layout)),
        }
    }

    /// Buffers for `rows` rows of `groups` nets of `units` units; without `gradients` only the forward pass works.
    pub(super) fn work<T: Real>(&self, rows: usize, (groups, units): (usize, usize), gradients: bool) -> Normed<T> {
        match self {
            Self::None => Normed::None,
            Self::Layer if gradients => Normed::Layer(LayerNormed::new(rows, groups, units)),
            Self::Layer => Normed::Layer(LayerNormed::default()),
            Self::Batch(_) => Normed::Batch(BatchNormed::new(rows, groups * units, gradients)),
        }
    }

    /// Normalises rows of sums in place; `units` are those of one net.
    pub(super) fn forward<T: Real>(
        &self,
        (z, units): (&mut [T], usize),
        (params, training): (&[T], bool),
        normed: &mut Normed<T>,
        parallelism: Parallelism,
    ) {
        match (self, normed) {
            (Self::Layer, Normed::Layer(normed)) => normed.forward(z, units),
            (Self::Batch(running), Normed::Batch(normed)) => {
                normed.forward(z, training, running.of(params), parallelism);
            }
            _ => {}
        }
    }
}

impl<T: Real> Normed<T> {
    /// From the gradient of the normalised sums to that of the sums, in place; `sums` holds its column sums.
    pub(super) fn backward(&mut self, (d, units): (&mut [T], usize), sums: &[T], parallelism: Parallelism) {
        match self {
            Self::None => {}
            Self::Layer(normed) => normed.backward(d, units),
            Self::Batch(normed) => normed.backward(d, sums, parallelism),
        }
    }
}
