//! The rows a causal forest learns from: a design with two arms, or any treatment that is a number.

use paretau_core::{Column, Design, Error, Features, Result};
use paretau_kernels::numeric::weighted_mean;

use crate::input::{MIN_ROWS, check_not_all_missing, check_rows, check_values, check_weight};

/// Rows for a causal forest. The treatment is a number: 0 or 1 for two arms, else an amount, and the effect is then
/// the partial effect of one unit more of it.
#[derive(Debug, Clone, Copy)]
pub struct CausalRows<'a> {
    /// Features.
    pub x: &'a Features,
    /// Their names and kinds.
    pub columns: &'a [Column],
    /// Treatment.
    pub treatment: &'a [f64],
    /// Outcome.
    pub y: &'a [f64],
    /// Row weights.
    pub weight: Option<&'a [f64]>,
    /// Groups whose rows are drawn together.
    pub groups: Option<&'a [u32]>,
    /// Expected outcome of each row, when known or estimated elsewhere (not from the row itself).
    pub y_hat: Option<&'a [f64]>,
    /// Expected treatment of each row, when known or estimated elsewhere; for two arms the propensity.
    pub e_hat: Option<&'a [f64]>,
}

impl<'a> CausalRows<'a> {
    /// The rows of a design; `treatment` holds its arms as numbers.
    pub fn of_design(design: &'a Design, treatment: &'a [f64]) -> Self {
        Self {
            x: design.x(),
            columns: design.columns(),
            treatment,
            y: design.y(),
            weight: design.weight(),
            groups: design.groups(),
            y_hat: None,
            e_hat: design.propensity(),
        }
    }

    /// Whether the treatment is 0 or 1 in every row.
    pub fn is_binary(&self) -> bool {
        self.treatment.iter().all(|&w| w == 0.0 || w == 1.0)
    }

    /// Refuses what no causal forest could use.
    pub(crate) fn check(&self) -> Result<()> {
        let n = self.x.n_rows();
        check_rows(n, MIN_ROWS)?;
        check_values("treatment", self.treatment, n)?;
        check_values("outcome", self.y, n)?;
        check_weight(self.weight, n)?;
        check_not_all_missing(self.x, self.columns)?;
        if let Some(groups) = self.groups
            && groups.len() != n
        {
            return Err(Error::LengthMismatch { what: "groups", expected: n, found: groups.len() });
        }
        for (what, given) in [("y_hat", self.y_hat), ("e_hat", self.e_hat)] {
            given.map_or(Ok(()), |values| check_values(what, values, n))?;
        }
        if self.treatment_variance() <= 0.0 {
            return Err(Error::unfit(format!(
                "treatment: every row holds {}; an effect needs rows that were treated differently",
                self.treatment[0]
            )));
        }
        Ok(())
    }

    /// Variance of the treatment.
    pub(crate) fn treatment_variance(&self) -> f64 {
        let mean = weighted_mean(self.treatment, self.weight);
        let squares: Vec<f64> = self.treatment.iter().map(|w| (w - mean).powi(2)).collect();
        weighted_mean(&squares, self.weight)
    }
}

/// The arms of a two-arm design as numbers; more arms are refused.
pub(crate) fn two_arms(design: &Design, estimator: &str) -> Result<Vec<f64>> {
    if design.n_arms() == 2 {
        return Ok(design.t().iter().map(|&t| f64::from(t)).collect());
    }
    Err(Error::Unsupported {
        estimator: estimator.to_owned(),
        message: format!(
            "compares two arms, the data have {}; choose two of them, or use `causal-forest`, which takes several",
            design.n_arms()
        ),
    })
}
