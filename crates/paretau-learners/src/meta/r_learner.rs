//! R-learner: what the treatment adds to the outcome beyond what the features explain of either.
//!
//! With m(x) the mean outcome and e(x) the propensity, both cross-fitted, the effect minimises
//! `Σ w ((y - m) - (t - e) tau(x))²`, that is, a regression of `(y - m)/(t - e)` with weights `w (t - e)²`.

use paretau_core::{
    ConfigEntry, Design, Diagnostics, Effects, Estimator, EstimatorInfo, Family, Features, FitContext, FittedModel,
    ParamSpec, Result, Target, Toolbox,
};
use serde::{Deserialize, Serialize};

use super::model::{MetaModel, Parts, Recipe, around_mean, load};
use super::setup::{
    BASE, BASE_PARAMS, CROSS_FIT, EFFECT_BASE, EFFECT_PARAMS, FOLDS, HANDLES, PROPENSITY_BASE, PROPENSITY_PARAMS, Tool,
    outcome_target, stage, treatment,
};
use crate::crossfit::{CrossTask, HeldOut, cross_fit, design_folds, fit_all};
use crate::linear::two_arms;

pub(super) const PARTS: &[&str] = &["m", "e", "tau"];
const NAME: &str = "r-learner";
/// Residual treatments nearer to 0 than this are taken as this: their weight is its square, so it hardly matters.
const LEAST_RESIDUAL: f64 = 1e-6;

/// Parameters of the R-learner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RConfig {
    /// Base learner of the mean outcome.
    pub base: String,
    /// Its parameters.
    pub base_params: String,
    /// Base learner of the effect; `None` is `base`.
    pub effect_base: Option<String>,
    /// Its parameters.
    pub effect_params: String,
    /// Base learner of the propensity.
    pub propensity_base: String,
    /// Its parameters.
    pub propensity_params: String,
    /// Where held-out nuisances come from.
    pub cross_fit: HeldOut,
    /// Folds of cross-fitting.
    pub folds: usize,
}

const PARAMS: &[ParamSpec] =
    &[BASE, BASE_PARAMS, EFFECT_BASE, EFFECT_PARAMS, PROPENSITY_BASE, PROPENSITY_PARAMS, CROSS_FIT, FOLDS];

/// `r-learner`.
pub const R_LEARNER: ConfigEntry<RConfig> = ConfigEntry {
    info: EstimatorInfo {
        name: NAME,
        aliases: &["RL"],
        family: Family::MetaLearner,
        class: "RLearner",
        summary: "Regression of outcome residuals on treatment residuals",
        reference: "Nie and Wager (2021)",
        handles: HANDLES,
    },
    params: PARAMS,
    preset: || RConfig {
        base: "forest".into(),
        base_params: String::new(),
        effect_base: None,
        effect_params: String::new(),
        propensity_base: "ridge".into(),
        propensity_params: String::new(),
        cross_fit: HeldOut::Oob,
        folds: 5,
    },
    build: |config, tools| build(&config, tools),
    load,
};

fn build(config: &RConfig, tools: &Toolbox) -> Result<Box<dyn Estimator>> {
    let effect = (config.effect_base.as_deref(), config.effect_params.as_str());
    Ok(Box::new(RLearner {
        outcome: Tool::new(NAME, &config.base, &config.base_params, tools)?,
        effect: Tool::effect(NAME, (&config.base, &config.base_params), effect, tools)?,
        propensity: Tool::new(NAME, &config.propensity_base, &config.propensity_params, tools)?,
        cross_fit: config.cross_fit,
        folds: config.folds,
    }))
}

#[derive(Debug)]
struct RLearner {
    outcome: Tool,
    effect: Tool,
    propensity: Tool,
    cross_fit: HeldOut,
    folds: usize,
}

impl Estimator for RLearner {
    fn fit(&self, design: &Design, ctx: &FitContext<'_>) -> Result<Box<dyn FittedModel>> {
        two_arms(design, NAME)?;
        let folds = design_folds(design, self.folds, ctx.seed)?;
        let (n, t) = (design.n_rows(), treatment(design));
        let task = CrossTask::of(design, design.y(), outcome_target(design));
        let m = cross_fit(&task, self.outcome.learner.as_ref(), &folds, self.cross_fit, &stage(ctx, "mean outcomes")?)?;
        let task = CrossTask::of(design, &t, Target::Probability);
        let e = cross_fit(&task, self.propensity.learner.as_ref(), &folds, self.cross_fit, &stage(ctx, "propensity")?)?;
        let e_hat = design.propensity().unwrap_or(&e.held_out);
        let mut weight = vec![0.0; n];
        let mut ratio = vec![0.0; n];
        for i in 0..n {
            let gap = t[i] - e_hat[i];
            let gap = if gap.abs() < LEAST_RESIDUAL { LEAST_RESIDUAL.copysign(t[i] - 0.5) } else { gap };
            ratio[i] = (design.y()[i] - m.held_out[i]) / gap;
            weight[i] = design.weight().map_or(1.0, |w| w[i]) * gap * gap;
        }
        let task = CrossTask { weight: Some(&weight), ..CrossTask::of(design, &ratio, Target::Mean) };
        let tau = fit_all(&task, self.effect.learner.as_ref(), &stage(ctx, "effects")?)?;
        let held_out = tau.held_out.map(|tau| around_mean(&m.held_out, e_hat.to_vec(), tau));
        let mut diagnostics = Diagnostics::default();
        let loss = |values: &[f64]| -> f64 {
            let total: f64 = design.weight().map_or(n as f64, |w| w.iter().sum());
            (0..n).map(|i| design.weight().map_or(1.0, |w| w[i]) * values[i]).sum::<f64>() / total
        };
        diagnostics.note("outcome_residual_variance", loss(&squares(design.y(), &m.held_out)));
        diagnostics.note("treatment_residual_variance", loss(&squares(&t, e_hat)));
        let mut parts = Parts::default();
        parts.add("m", &self.outcome.base, m.model);
        parts.add("e", &self.propensity.base, e.model);
        parts.add("tau", &self.effect.base, tau.model);
        Ok(Box::new(MetaModel { recipe: Recipe::R, parts, n_features: design.x().n_cols(), diagnostics, held_out }))
    }
}

fn squares(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).collect()
}

pub(super) fn effects(parts: &Parts, x: &Features) -> Result<Effects> {
    let (m, e, tau) = (parts.predict("m", x)?, parts.predict("e", x)?, parts.predict("tau", x)?);
    Ok(around_mean(&m, e, tau))
}
