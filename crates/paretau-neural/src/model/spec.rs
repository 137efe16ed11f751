//! What a representation net looks like and what it is asked to do.

use std::ops::Range;

use paretau_kernels::weights::{Pooling, Weighting};

use crate::engine::Activation;
use crate::loss::{Balance, OutcomeLoss};

/// Encoders side by side, a propensity net on some of them, two outcome heads on some of them.
#[derive(Debug, Clone, PartialEq)]
pub struct RepSpec {
    /// Feature columns.
    pub d: usize,
    /// Number of encoders: 3 for (Γ, Δ, Υ), 2 for (Δ, Υ), 1 for one shared representation.
    pub groups: usize,
    /// Hidden units of an encoder.
    pub encoder: Vec<usize>,
    /// Units of an encoder's output.
    pub representation: usize,
    /// Activation of an encoder's output.
    pub representation_activation: Activation,
    /// Hidden units of the propensity net and the encoders it reads; `None` for none.
    pub propensity: Option<(Vec<usize>, Range<usize>)>,
    /// Hidden units of an outcome head.
    pub heads: Vec<usize>,
    /// Encoders that the heads read.
    pub head_reads: Range<usize>,
    /// The encoder that the balance penalty looks at.
    pub balanced: usize,
    /// Activation of hidden units.
    pub activation: Activation,
    /// Share of hidden units dropped in training.
    pub dropout: f64,
}

/// The losses of a representation net.
#[derive(Debug, Clone, PartialEq)]
pub struct Objective {
    /// Loss of a row.
    pub loss: OutcomeLoss,
    /// How rows are weighted.
    pub weighting: Weighting,
    /// Over which rows a tail is fitted.
    pub pooling: Pooling,
    /// Tempering exponent of the weights.
    pub gamma: f64,
    /// Balance penalty.
    pub balance: Balance,
    /// Its strength.
    pub balance_weight: f64,
    /// Strength of the cross-entropy inside the outcome phase, which then moves the propensity net too.
    pub joint: f64,
    /// Strength of targeted regularisation.
    pub targeted: f64,
    /// Strength of the independence penalty between encoders.
    pub independence: f64,
}
