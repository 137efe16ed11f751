//! The nuisances behind doubly robust scores: both arms' outcomes and the propensity, predicted for every row by models
//! that did not see it. The DR-learner is built on them, and so are metrics without the truth.

use paretau_core::{Design, Error, Event, FitContext, Fold, OutcomeKind, Regressor, Result, Target};

use crate::calibrate::Calibrator;
use crate::crossfit::{CrossFit, CrossTask, HeldOut, cross_fit, design_folds};
use crate::linear::two_arms;

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
        (0..design.n_rows())
            .map(|i| {
                let (mu0, mu1, y) = (self.mu0.held_out[i], self.mu1.held_out[i], design.y()[i]);
                let miss = if design.t()[i] == 1 { y - mu1 } else { mu0 - y };
                mu1 - mu0 + inverse_weights[i] * miss
            })
            .collect()
    }
}

/// The best of several cross-fitted propensity models.
#[derive(Debug)]
pub struct PropensityChoice {
    /// The model and its held-out propensities.
    pub fit: CrossFit,
    /// Which learner it is.
    pub index: usize,
    /// Its held-out log-loss, before calibration.
    pub log_loss: f64,
    /// The map that calibrates it, once asked for; held-out propensities are calibrated already.
    pub calibration: Option<Calibrator>,
}

impl PropensityChoice {
    /// Cross-fits each learner and keeps the one with the least held-out log-loss.
    pub(crate) fn fit(
        design: &Design,
        learners: &[&dyn Regressor],
        parts: &[Fold],
        held_out: HeldOut,
        ctx: &FitContext<'_>,
    ) -> Result<Self> {
        let ctx = stage(ctx, "propensity")?;
        let t: Vec<f64> = design.t().iter().map(|&a| f64::from(a)).collect();
        let task = CrossTask::of(design, &t, Target::Probability);
        let mut best: Option<Self> = None;
        for (index, learner) in learners.iter().enumerate() {
            let seed = ctx.seed.indexed(index as u64);
            let fit = cross_fit(&task, *learner, parts, held_out, &ctx.with_seed(seed))?;
            let log_loss = log_loss(design, &fit.held_out);
            if best.as_ref().is_none_or(|b| log_loss < b.log_loss) {
                best = Some(Self { fit, index, log_loss, calibration: None });
            }
        }
        best.ok_or_else(|| Error::Numeric { what: "fitting the propensity", message: "no learner was named".into() })
    }

    /// Calibrates by isotonic regression of the treatment on the held-out propensities.
    pub(crate) fn calibrate(&mut self, design: &Design) -> Result<()> {
        let t: Vec<f64> = design.t().iter().map(|&a| f64::from(a)).collect();
        let map = Calibrator::fit(&self.fit.held_out, &t, design.weight())?;
        self.fit.held_out.iter_mut().for_each(|p| *p = map.apply(*p));
        self.calibration = Some(map);
        Ok(())
    }
}

/// Weighted mean log-loss of propensities strictly between 0 and 1.
fn log_loss(design: &Design, e: &[f64]) -> f64 {
    let (mut sum, mut total) = (0.0, 0.0);
    for (i, e) in e.iter().enumerate() {
        let w = design.weight().map_or(1.0, |w| w[i]);
        sum -= w * if design.t()[i] == 1 { e.ln() } else { (-e).ln_1p() };
        total += w;
    }
    sum / total
}

/// What an outcome model predicts: probabilities for binary outcomes, means otherwise.
pub(crate) fn outcome_target(design: &Design) -> Target {
    match design.outcome() {
        OutcomeKind::Binary => Target::Probability,
        OutcomeKind::Continuous => Target::Mean,
    }
}

/// Announces a stage and derives its seed.
pub(crate) fn stage<'a>(ctx: &FitContext<'a>, name: &str) -> Result<FitContext<'a>> {
    ctx.check_interrupt()?;
    ctx.event(&Event::Stage { name: format!("fitting {name}"), total: None });
    Ok(ctx.with_seed(ctx.seed.named(name)))
}
