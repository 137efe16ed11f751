//! The nuisances behind doubly robust scores: both arms' outcomes and the propensity, predicted for every row by models
//! that did not see it. The DR-learner is built on them, and so are metrics without the truth.

use paretau_core::{Design, Error, FitContext, Regressor, Result};

use crate::crossfit::{CrossFit, CrossTask, HeldOut, cross_fit};
use crate::folds::design_folds;
use crate::propensity::PropensityChoice;
use crate::rows::{Observed, outcome_target, same_length, stage, two_arms};
use crate::scores::doubly_robust;

/// How nuisances are learned.
#[derive(Debug, Clone, Copy)]
pub struct NuisancePlan<'a> {
    /// Learner of both arms' outcomes.
    pub outcome: &'a dyn Regressor,
    /// Learners of the propensity; the one that predicts the treatment best held out is kept.
    pub propensity: &'a [&'a dyn Regressor],
    /// Where held-out predictions come from.
    pub held_out: HeldOut,
    /// Folds of cross-fitting; fewer are used when an arm is small.
    pub folds: usize,
}

/// Cross-fitted nuisances of a design.
#[derive(Debug)]
pub struct NuisanceFit {
    /// Expected outcome without treatment: probabilities when the outcome is binary.
    pub mu0: CrossFit,
    /// Expected outcome with treatment.
    pub mu1: CrossFit,
    /// Propensity model.
    pub e_model: PropensityChoice,
    /// Propensities to use for the design's rows: the known ones if the design has them, else the held-out ones.
    pub e: Vec<f64>,
}

impl NuisanceFit {
    /// Learns all three from a design with two arms.
    pub fn fit(design: &Design, plan: &NuisancePlan<'_>, ctx: &FitContext<'_>) -> Result<Self> {
        two_arms(design, "cross-fitting")?;
        let parts = design_folds(design, plan.folds, ctx.seed)?;
        let target = outcome_target(design);
        let outcome = |arm: u8, label: &str| -> Result<CrossFit> {
            let mask: Vec<bool> = design.t().iter().map(|&a| a == arm).collect();
            let task = CrossTask::of(design, design.y(), target).from_rows(&mask);
            cross_fit(&task, plan.outcome, &parts, plan.held_out, &stage(ctx, label)?)
        };
        let (mu0, mu1) = (outcome(0, "control outcomes")?, outcome(1, "treated outcomes")?);
        let e_model = PropensityChoice::fit(design, plan.propensity, &parts, plan.held_out, ctx)?;
        let e = design.propensity().unwrap_or(&e_model.fit.held_out).to_vec();
        Ok(Self { mu0, mu1, e_model, e })
    }

    /// Calibrates the propensities by isotonic regression; known ones stay as they are.
    pub fn calibrate(&mut self, design: &Design) -> Result<()> {
        self.e_model.calibrate(design)?;
        if design.propensity().is_none() {
            self.e.clone_from(&self.e_model.fit.held_out);
        }
        Ok(())
    }

    /// The mean outcome of each row, treatment not looked at: `mu0 + e (mu1 - mu0)`.
    pub fn mean_outcome(&self) -> Vec<f64> {
        let mu = self.mu0.held_out.iter().zip(&self.mu1.held_out);
        mu.zip(&self.e).map(|((a, b), e)| a + e * (b - a)).collect()
    }

    /// Doubly robust scores `mu1 - mu0 + w (2t - 1)(y - mu_t)` of the design's rows, for inverse weights `w`.
    pub fn scores(&self, design: &Design, inverse_weights: &[f64]) -> Vec<f64> {
        doubly_robust((design.t(), design.y()), (&self.mu0.held_out, &self.mu1.held_out), inverse_weights)
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
        doubly_robust((rows.t, rows.y), (&self.mu0, &self.mu1), inverse_weights)
    }
}
