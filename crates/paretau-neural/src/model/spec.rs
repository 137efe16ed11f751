//! What a representation net looks like and what it is asked to do.

use std::ops::Range;

use paretau_core::{Error, Result};
use paretau_kernels::weights::{Pooling, Weighting};
use serde::{Deserialize, Deserializer, Serialize};

use crate::engine::{Activation, Norm};
use crate::loss::{OutcomeLoss, Penalty};

/// Encoders side by side, a propensity net on some of them, two outcome heads on some of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RepSpec {
    /// Columns that encoders read: features, and pieces beside them.
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
    /// Normalisation of hidden layers. Files of older versions have a flag for layer normalisation.
    #[serde(alias = "layer_norm", deserialize_with = "norm")]
    pub norm: Norm,
}

/// The losses of a representation net.
#[derive(Debug, Clone, PartialEq)]
pub struct Objective {
    /// Loss per row.
    pub loss: OutcomeLoss,
    /// How rows are weighted.
    pub weighting: Weighting,
    /// Over which rows a tail is fitted.
    pub pooling: Pooling,
    /// Tempering exponent of the weights.
    pub gamma: f64,
    /// Balance penalty.
    pub penalty: Penalty,
    /// Strength of the cross-entropy inside the outcome phase, which then moves the propensity net too.
    pub joint: f64,
    /// Strength of targeted regularisation.
    pub targeted: f64,
    /// Strength of the independence penalty between encoders.
    pub independence: f64,
    /// Strength of the cross-entropy of the propensity net, its parameters frozen, in the loss of the first encoder alone.
    pub instruments: f64,
    /// Strength of the penalty on what the first encoder reads and the others read too.
    pub separation: f64,
}

/// A normalisation by its name, or as the flag that it once was.
fn norm<'de, D: Deserializer<'de>>(input: D) -> Result<Norm, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Stored {
        Flag(bool),
        Name(Norm),
    }
    Ok(match Stored::deserialize(input)? {
        Stored::Flag(false) => Norm::None,
        Stored::Flag(true) => Norm::Layer,
        Stored::Name(norm) => norm,
    })
}

impl RepSpec {
    /// Refuses shapes that a file could claim but no fit makes.
    pub fn check(&self) -> Result<()> {
        let reads = |r: &Range<usize>| r.start < r.end && r.end <= self.groups;
        let sane = |w: usize| (1..=1 << 20).contains(&w);
        let widths = self.encoder.iter().chain(&self.heads).chain(self.propensity.iter().flat_map(|(w, _)| w));
        let ok = (1..=3).contains(&self.groups)
            && sane(self.d)
            && sane(self.representation)
            && widths.copied().all(sane)
            && reads(&self.head_reads)
            && self.propensity.as_ref().is_none_or(|(_, r)| reads(r))
            && self.balanced < self.groups;
        if ok { Ok(()) } else { Err(Error::bad_model("a net's shape makes no sense")) }
    }
}
