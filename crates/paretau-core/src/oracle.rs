//! The truth of a simulation, kept apart from the design so that fitting cannot see it.

use crate::{Error, Result};

/// Expected potential outcomes of each row. Used for scoring only.
#[derive(Debug, Clone, PartialEq)]
pub struct Oracle {
    mu0: Vec<f64>,
    mu1: Vec<f64>,
}

impl Oracle {
    /// The truth from both expected outcomes.
    pub fn new(mu0: Vec<f64>, mu1: Vec<f64>) -> Result<Self> {
        if mu0.len() != mu1.len() {
            return Err(Error::LengthMismatch { what: "mu1", expected: mu0.len(), found: mu1.len() });
        }
        for (what, values) in [("mu0", &mu0), ("mu1", &mu1)] {
            if let Some(i) = values.iter().position(|v| !v.is_finite()) {
                return Err(Error::NonFinite {
                    what: what.into(),
                    row: i + 1,
                    value: values[i],
                    remedy: "the truth must be finite",
                });
            }
        }
        Ok(Self { mu0, mu1 })
    }

    /// Expected outcome without treatment.
    pub fn mu0(&self) -> &[f64] {
        &self.mu0
    }

    /// Expected outcome with treatment.
    pub fn mu1(&self) -> &[f64] {
        &self.mu1
    }

    /// True effects.
    pub fn tau(&self) -> Vec<f64> {
        self.mu0.iter().zip(&self.mu1).map(|(a, b)| b - a).collect()
    }

    /// The given rows.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        let pick = |v: &[f64]| rows.iter().map(|&i| v[i]).collect();
        Self { mu0: pick(&self.mu0), mu1: pick(&self.mu1) }
    }
}
