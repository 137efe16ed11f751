//! What a learner can take decides how columns are encoded.

use paretau_core::Handles;
use serde::{Deserialize, Serialize};

/// How feature columns become a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EncoderPolicy {
    /// Missing values stay NaN; otherwise they are imputed and marked by an indicator.
    pub missing: bool,
    /// Text becomes codes of a categorical column; otherwise indicators.
    pub categories: bool,
    /// A sparse block stays sparse; otherwise it is made dense.
    pub sparse: bool,
    /// Text with more levels than this, rare ones pooled, is coded by the frequency of its level instead of
    /// by indicators (or codes, for which the limit is eight times as high).
    pub max_levels: usize,
    /// A level in fewer training rows than this (or than a twentieth of them, if that is less) is rare.
    pub rare_rows: usize,
    /// A level in a smaller share of the training rows than this is rare.
    pub rare_share: f64,
}

impl Default for EncoderPolicy {
    fn default() -> Self {
        Self { missing: false, categories: false, sparse: false, max_levels: 20, rare_rows: 10, rare_share: 0.005 }
    }
}

impl From<Handles> for EncoderPolicy {
    fn from(handles: Handles) -> Self {
        Self { missing: handles.missing, categories: handles.categories, sparse: handles.sparse, ..Self::default() }
    }
}

impl EncoderPolicy {
    /// Fewest rows of `n` that keep a level from being pooled with the other rare ones.
    pub(super) fn fewest(&self, n: usize) -> usize {
        // Ten rows are a lot in a set of forty: the twentieth keeps small data from losing their categories.
        self.rare_rows.min(n / 20).max(2).max((self.rare_share * n as f64).ceil() as usize)
    }
}
