//! R-learner: what the treatment adds to the outcome beyond what the features explain of either.
//!
//! With m(x) the mean outcome and e(x) the propensity, both cross-fitted, the effect minimises
//! `Σ w ((y - m) - (t - e) tau(x))²`, that is, a regression of `(y - m)/(t - e)` with weights `w (t - e)²`.

use paretau_core::{
    Abilities, BaseSpec, BuildContext, ConfigEntry, Design, Diagnostics, Effects, Estimator, EstimatorInfo, Family,
    Features, FitContext, FittedModel, ParamKind, ParamSpec, RegressionTask, Result, Target,
};
use paretau_nuisance::{CrossTask, HeldOut, PropensityChoice, cross_fit, design_folds, fit_all, two_arms};
use serde::{Deserialize, Serialize};

use super::base_learner::{BaseLearner, able_to_fit, regressors};
use super::model::{BaseModels, MetaModel, Recipe, around_mean, load};
use super::setup::{
    BASE, CALIBRATE, CROSS_FIT, EFFECT_BASE, FOLDS, HANDLES, PROPENSITY_BASE, enough_of_each_arm, no_empty_column,
    outcome_target, stage, treatment,
};

/// Propensities are held this far from 0 and 1, so that no residual treatment is 0.
const LEAST_PROPENSITY: f64 = 1e-3;
/// Rows of each arm that trimming must leave.
const LEAST_ROWS: usize = 10;

/// Parameters of the R-learner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RConfig {
    /// Base learner of the mean outcome.
    pub base: BaseSpec,
    /// Base learner of the effect; `None` is `base`.
    pub effect_base: Option<BaseSpec>,
    /// Base learner of the propensity; `None` takes the better of logistic regression and `base`.
    pub propensity_base: Option<BaseSpec>,
    /// Whether the propensity is calibrated.
    pub calibrate: bool,
    /// Where held-out nuisances come from.
    pub cross_fit: HeldOut,
    /// Folds of cross-fitting.
    pub folds: usize,
    /// Rows with a propensity below this, or above one minus this, take no part in learning the effect.
    pub trim: f64,
}

const PARAMS: &[ParamSpec] = &[
    BASE,
    EFFECT_BASE,
    PROPENSITY_BASE,
    CALIBRATE,
    CROSS_FIT,
    FOLDS,
    ParamSpec::new(
        "trim",
        ParamKind::Float { min: 0.0, max: 0.49 },
        "rows with a propensity below this, or above one minus this, take no part in learning the effect: they tell \
               next to nothing of it, with a lot of noise",
    ),
];

/// `r-learner`.
pub const R_LEARNER: ConfigEntry<RConfig> = ConfigEntry {
    info: EstimatorInfo {
        name: "r-learner",
        aliases: &["RL"],
        family: Family::MetaLearner,
        class: "RLearner",
        summary: "Regression of outcome residuals on treatment residuals",
        reference: "Nie and Wager (2021)",
        handles: HANDLES,
        abilities: Abilities::NONE,
    },
    params: PARAMS,
    preset: || RConfig {
        base: "forest".into(),
        effect_base: None,
        propensity_base: None,
        calibrate: false,
        cross_fit: HeldOut::Oob,
        folds: 5,
        trim: 0.1,
    },
    build: |config, ctx| build(&config, ctx),
    load: |state, tools| load(&RRecipe, state, tools),
};

fn build(config: &RConfig, ctx: &BuildContext<'_>) -> Result<Box<dyn Estimator>> {
    let base = &config.base;
    Ok(Box::new(RLearner {
        name: ctx.name,
        outcome: BaseLearner::new(ctx, "base", base)?,
        effect: BaseLearner::noisy_effect(ctx, base, config.effect_base.as_ref())?,
        propensity: BaseLearner::propensity(ctx, base, config.propensity_base.as_ref())?,
        calibrate: config.calibrate,
        cross_fit: config.cross_fit,
        folds: config.folds,
        trim: config.trim,
    }))
}

#[derive(Debug)]
struct RLearner {
    name: &'static str,
    outcome: BaseLearner,
    effect: BaseLearner,
    propensity: Vec<BaseLearner>,
    calibrate: bool,
    cross_fit: HeldOut,
    folds: usize,
    trim: f64,
}

impl Estimator for RLearner {
    fn fit(&self, design: &Design, ctx: &FitContext<'_>) -> Result<Box<dyn FittedModel>> {
        two_arms(design, self.name)?;
        no_empty_column(design)?;
        enough_of_each_arm(design)?;
        let candidates = able_to_fit(&self.propensity, design);
        let folds = design_folds(design, self.folds, ctx.seed)?;
        let (n, t) = (design.n_rows(), treatment(design));
        let task = CrossTask::of(design, design.y(), outcome_target(design));
        let m = cross_fit(&task, self.outcome.learner.as_ref(), &folds, self.cross_fit, &stage(ctx, "mean outcomes")?)?;
        let mut e = PropensityChoice::fit(design, &regressors(&candidates), &folds, self.cross_fit, ctx)?;
        if self.calibrate {
            e.calibrate(design)?;
        }
        let e_hat = design.propensity().unwrap_or(&e.fit.held_out);
        let mut diagnostics = Diagnostics::default();
        let kept = self.informative(design, e_hat, &mut diagnostics);
        note_held(&kept, e_hat, &mut diagnostics);
        let mut weight = vec![0.0; n];
        let mut ratio = vec![0.0; n];
        for i in 0..n {
            let gap = t[i] - e_hat[i].clamp(LEAST_PROPENSITY, 1.0 - LEAST_PROPENSITY);
            ratio[i] = (design.y()[i] - m.held_out[i]) / gap;
            weight[i] = design.weight().map_or(1.0, |w| w[i]) * gap * gap;
        }
        let task = CrossTask::of(design, &ratio, Target::Mean);
        let task = CrossTask::new(RegressionTask { weight: Some(&weight), ..task.rows }).from_rows(&kept);
        let tau = fit_all(&task, self.effect.learner.as_ref(), &stage(ctx, "effects")?)?;
        let held_out = tau.held_out.map(|tau| around_mean(&m.held_out, e_hat.to_vec(), tau));
        let loss = |values: &[f64]| -> f64 {
            let total: f64 = design.weight().map_or(n as f64, |w| w.iter().sum());
            (0..n).map(|i| design.weight().map_or(1.0, |w| w[i]) * values[i]).sum::<f64>() / total
        };
        diagnostics.note("outcome_residual_variance", loss(&squares(design.y(), &m.held_out)));
        diagnostics.note("propensity_log_loss", e.log_loss);
        diagnostics.note("treatment_residual_variance", loss(&squares(&t, e_hat)));
        let mut models = BaseModels::default();
        models.add("m", &self.outcome.base, m.model);
        models.add_calibrated("e", &candidates[e.index].base, e.fit.model, e.calibration);
        models.add("tau", &self.effect.base, tau.model);
        Ok(Box::new(MetaModel { recipe: &RRecipe, models, n_features: design.x().n_cols(), diagnostics, held_out }))
    }
}

/// Counts the rows that the effect is learned from with another propensity than their own.
fn note_held(kept: &[bool], e: &[f64], diagnostics: &mut Diagnostics) {
    let usable = LEAST_PROPENSITY..=1.0 - LEAST_PROPENSITY;
    let held = kept.iter().zip(e).filter(|(kept, e)| **kept && !usable.contains(*e)).count();
    diagnostics.note("propensities_held", held as f64);
    if held > 0 {
        diagnostics.warn(
            "propensities-held",
            format!(
                "{held} rows have a propensity below {LEAST_PROPENSITY} or above {}, and were taken to have that one: the effect \
                 learned from them is drawn towards zero; set `trim` to leave them out",
                1.0 - LEAST_PROPENSITY
            ),
        );
    }
}

impl RLearner {
    /// Rows whose treatment was uncertain enough to tell of the effect. When hardly any are left of an arm, all are kept:
    /// a poor answer with a warning is better than none.
    fn informative(&self, design: &Design, e: &[f64], diagnostics: &mut Diagnostics) -> Vec<bool> {
        let kept: Vec<bool> = e.iter().map(|e| *e >= self.trim && *e <= 1.0 - self.trim).collect();
        let left = |arm: u8| {
            (0..e.len())
                .filter(|&i| kept[i] && design.t()[i] == arm && design.weight().is_none_or(|w| w[i] > 0.0))
                .count()
        };
        let dropped = kept.iter().filter(|k| !**k).count();
        diagnostics.note("rows_trimmed", dropped as f64);
        if dropped == 0 {
            return kept;
        }
        if left(0).min(left(1)) < LEAST_ROWS {
            diagnostics.warn(
                "arms-hardly-overlap",
                format!(
                    "hardly any row has a propensity between {} and {}: effects rest on extrapolation",
                    self.trim,
                    1.0 - self.trim
                ),
            );
            return vec![true; e.len()];
        }
        if dropped * 100 > e.len() {
            diagnostics.warn(
                "poor-overlap",
                format!(
                    "{dropped} rows with a propensity below {} or above {} took no part in learning the effect; theirs is \
                     extrapolated",
                    self.trim,
                    1.0 - self.trim
                ),
            );
        }
        kept
    }
}

fn squares(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).collect()
}

/// How the fitted models answer.
#[derive(Debug)]
struct RRecipe;

impl Recipe for RRecipe {
    fn name(&self) -> &'static str {
        "r"
    }

    fn models(&self) -> &'static [&'static str] {
        &["m", "e", "tau"]
    }

    fn effects(&self, models: &BaseModels, x: &Features) -> Result<Effects> {
        let (m, e, tau) = (models.predict("m", x)?, models.predict("e", x)?, models.predict("tau", x)?);
        Ok(around_mean(&m, e, tau))
    }

    fn effect_model(&self) -> Option<&'static str> {
        Some("tau")
    }
}
