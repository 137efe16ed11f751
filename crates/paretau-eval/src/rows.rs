//! What metrics without the truth need: the observed rows, and nuisance predictions made without them.

use paretau_core::{Design, Error, Result};

/// Observed treatment and outcome of the rows to score on.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    /// Arm, 0 or 1.
    pub t: &'a [u8],
    /// Outcome.
    pub y: &'a [f64],
    /// Row weights.
    pub weight: Option<&'a [f64]>,
    /// Groups: rows of one group are not independent, so standard errors are clustered by them.
    pub groups: Option<&'a [u32]>,
}

impl<'a> Observed<'a> {
    /// Unweighted, ungrouped rows.
    pub fn new(t: &'a [u8], y: &'a [f64]) -> Result<Self> {
        let rows = Self { t, y, weight: None, groups: None };
        rows.check()?;
        Ok(rows)
    }

    /// The rows of a design with two arms.
    pub fn of(design: &'a Design) -> Result<Self> {
        if design.n_arms() != 2 {
            return Err(Error::unfit(format!("metrics compare two arms, the data have {}", design.n_arms())));
        }
        Ok(Self { t: design.t(), y: design.y(), weight: design.weight(), groups: design.groups() })
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.t.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.t.is_empty()
    }

    /// Weight of row `i`.
    pub(crate) fn w(&self, i: usize) -> f64 {
        self.weight.map_or(1.0, |w| w[i])
    }

    /// Sum of the weights.
    pub(crate) fn total_weight(&self) -> f64 {
        (0..self.len()).map(|i| self.w(i)).sum()
    }

    /// Checks lengths and arms.
    pub fn check(&self) -> Result<()> {
        let n = self.t.len();
        if n == 0 {
            return Err(Error::unfit("there are no rows to score on"));
        }
        same_length("outcome", n, self.y.len())?;
        if let Some(w) = self.weight {
            same_length("row weights", n, w.len())?;
        }
        if let Some(g) = self.groups {
            same_length("groups", n, g.len())?;
        }
        for arm in [0, 1] {
            if !self.t.contains(&arm) {
                return Err(Error::unfit(format!("no row to score on has treatment {arm}")));
            }
        }
        match self.t.iter().position(|&a| a > 1) {
            None => Ok(()),
            Some(i) => Err(Error::unfit(format!("treatment: row {} holds {}, not 0 or 1", i + 1, self.t[i]))),
        }
    }
}

/// Predictions of the nuisance functions for the rows to score on, by models that did not see these rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Nuisance {
    /// Expected outcome given the features, treatment not looked at.
    pub m: Vec<f64>,
    /// Propensity, strictly between 0 and 1.
    pub e: Vec<f64>,
    /// Expected outcome without treatment.
    pub mu0: Vec<f64>,
    /// Expected outcome with treatment.
    pub mu1: Vec<f64>,
}

impl Nuisance {
    /// Nuisances from arm-wise predictions and the propensity; `m` follows from them.
    pub fn from_arms(mu0: Vec<f64>, mu1: Vec<f64>, e: Vec<f64>) -> Self {
        let m = mu0.iter().zip(&mu1).zip(&e).map(|((a, b), e)| a + e * (b - a)).collect();
        Self { m, e, mu0, mu1 }
    }

    /// Checks lengths and ranges against the rows.
    pub fn check(&self, n: usize) -> Result<()> {
        for (what, v) in [("m", &self.m), ("e", &self.e), ("mu0", &self.mu0), ("mu1", &self.mu1)] {
            same_length(what, n, v.len())?;
            if let Some(i) = v.iter().position(|x| !x.is_finite()) {
                return Err(Error::NonFinite {
                    what: what.to_owned(),
                    row: i + 1,
                    value: v[i],
                    remedy: "nuisance predictions must be finite",
                });
            }
        }
        match self.e.iter().position(|e| *e <= 0.0 || *e >= 1.0) {
            None => Ok(()),
            Some(i) => Err(Error::unfit(format!(
                "propensity: row {} holds {}, which is not strictly between 0 and 1",
                i + 1,
                self.e[i]
            ))),
        }
    }

    /// Doubly robust scores `mu1 - mu0 + w (2t - 1)(y - mu_t)`, whose mean is the average effect if either the
    /// outcomes or the inverse weights `w = 1/P(t | x)` are right.
    pub fn scores(&self, rows: &Observed<'_>, inverse_weights: &[f64]) -> Vec<f64> {
        (0..rows.len())
            .map(|i| {
                let (mu0, mu1) = (self.mu0[i], self.mu1[i]);
                let correction = if rows.t[i] == 1 { rows.y[i] - mu1 } else { mu0 - rows.y[i] };
                mu1 - mu0 + inverse_weights[i] * correction
            })
            .collect()
    }
}

/// An error that names the vector whose length is wrong.
pub(crate) fn same_length(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if expected == found { Ok(()) } else { Err(Error::LengthMismatch { what, expected, found }) }
}
