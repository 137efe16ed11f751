//! What a fitted model says about each row.

/// Estimates for a batch of rows, in the rows' order. All vectors have one length, but that expected outcomes are empty where
/// only the effect was wanted.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Effects {
    /// Expected outcome without treatment.
    pub mu0: Vec<f64>,
    /// Expected outcome with treatment.
    pub mu1: Vec<f64>,
    /// Effect of treatment. Usually `mu1 - mu0`, but some estimators target it directly.
    pub tau: Vec<f64>,
    /// The model's own propensity, when it has one.
    pub e: Option<Vec<f64>>,
    /// Standard error of `tau`, when the estimator can tell.
    pub se: Option<Vec<f64>>,
}

impl Effects {
    /// Effects from both expected outcomes.
    pub fn from_outcomes(mu0: Vec<f64>, mu1: Vec<f64>) -> Self {
        let tau = mu0.iter().zip(&mu1).map(|(a, b)| b - a).collect();
        Self { mu0, mu1, tau, e: None, se: None }
    }

    /// Remarks on some of the rows.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        let pick = |values: &Vec<f64>| -> Vec<f64> {
            if values.is_empty() { vec![] } else { rows.iter().map(|&i| values[i]).collect() }
        };
        Self {
            mu0: pick(&self.mu0),
            mu1: pick(&self.mu1),
            tau: pick(&self.tau),
            e: self.e.as_ref().map(pick),
            se: self.se.as_ref().map(pick),
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.tau.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.tau.is_empty()
    }

    /// Whether every number is finite; a model that cannot say so must return an error instead.
    pub fn is_finite(&self) -> bool {
        let finite = |v: &[f64]| v.iter().all(|x| x.is_finite());
        finite(&self.mu0)
            && finite(&self.mu1)
            && finite(&self.tau)
            && self.e.as_deref().is_none_or(finite)
            && self.se.as_deref().is_none_or(finite)
    }
}
