//! DR-learner: a regression of doubly robust scores, whose conditional mean is the effect if either the outcomes or
//! the propensity are right.
//!
//! The scores `mu1 - mu0 + w (2t - 1)(y - mu_t)` hold inverse propensity weights, which poor overlap makes wild: a few
//! rows then decide the regression. They are clipped, trimmed, or, by default, Pareto-smoothed within each arm.

use paretau_core::{
    Abilities, BaseSpec, BuildContext, ConfigEntry, Design, Diagnostics, Effects, Estimator, EstimatorInfo, Family,
    Features, FitContext, FittedModel, ParamKind, ParamSpec, Result, Target,
};
use paretau_nuisance::{CrossTask, HeldOut, NuisanceFit, NuisancePlan, Rule, Weights, fit_all, two_arms};
use serde::{Deserialize, Serialize};

use super::base_learner::{BaseLearner, able_to_fit, regressors};
use super::model::{BaseModels, MetaModel, Recipe, around_mean, load, mixed};
use super::setup::{
    BASE, CALIBRATE, CROSS_FIT, EFFECT_BASE, FOLDS, HANDLES, PROPENSITY_BASE, enough_of_each_arm, no_empty_column,
    stage,
};

/// Parameters of the DR-learner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrConfig {
    /// Base learner of the outcomes.
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
    /// What to do about propensities near 0 and 1.
    pub overlap: Rule,
    /// Lowest propensity of clipping and trimming.
    pub clip: f64,
}

const PARAMS: &[ParamSpec] = &[
    BASE,
    EFFECT_BASE,
    PROPENSITY_BASE,
    CALIBRATE,
    CROSS_FIT,
    FOLDS,
    ParamSpec::new(
        "overlap",
        ParamKind::Choice(Rule::CHOICES),
        "inverse weights of poor overlap: `pareto` smooths each arm's tail, `clip` bounds the propensity, `trim` \
               leaves rows out",
    ),
    ParamSpec::new(
        "clip",
        ParamKind::Float { min: 1e-9, max: 0.49 },
        "lowest propensity (and one minus the highest) of clipping and trimming, and where no tail can be fitted",
    ),
];

/// `dr-learner`.
pub const DR_LEARNER: ConfigEntry<DrConfig> = ConfigEntry {
    info: EstimatorInfo {
        name: "dr-learner",
        aliases: &["DRL"],
        family: Family::MetaLearner,
        class: "DRLearner",
        summary: "Regression of doubly robust scores with Pareto-smoothed inverse weights",
        reference: "Kennedy (2023)",
        handles: HANDLES,
        abilities: Abilities::NONE,
    },
    params: PARAMS,
    preset: || DrConfig {
        base: "forest".into(),
        effect_base: None,
        propensity_base: None,
        calibrate: false,
        cross_fit: HeldOut::Oob,
        folds: 5,
        overlap: Rule::Pareto,
        clip: 0.01,
    },
    build,
    load: |state, tools| load(&DrRecipe, state, tools),
};

fn build(config: DrConfig, ctx: &BuildContext<'_>) -> Result<Box<dyn Estimator>> {
    let base = &config.base;
    Ok(Box::new(DrLearner {
        name: ctx.name,
        outcome: BaseLearner::new(ctx, "base", base)?,
        effect: BaseLearner::noisy_effect(ctx, base, config.effect_base.as_ref())?,
        propensity: BaseLearner::propensity(ctx, base, config.propensity_base.as_ref())?,
        config,
    }))
}

#[derive(Debug)]
struct DrLearner {
    name: &'static str,
    outcome: BaseLearner,
    effect: BaseLearner,
    propensity: Vec<BaseLearner>,
    config: DrConfig,
}

impl Estimator for DrLearner {
    fn fit(&self, design: &Design, ctx: &FitContext<'_>) -> Result<Box<dyn FittedModel>> {
        two_arms(design, self.name)?;
        no_empty_column(design)?;
        enough_of_each_arm(design)?;
        let candidates = able_to_fit(&self.propensity, design);
        let propensity = regressors(&candidates);
        let plan = NuisancePlan {
            outcome: self.outcome.learner.as_ref(),
            propensity: &propensity,
            held_out: self.config.cross_fit,
            folds: self.config.folds,
        };
        let mut nuisance = NuisanceFit::fit(design, &plan, ctx)?;
        if self.config.calibrate {
            nuisance.calibrate(design)?;
        }
        let inverse = Weights::inverse(&nuisance.e, design.t(), self.config.overlap, self.config.clip)?;
        let scores = nuisance.scores(design, &inverse.smooth);
        let kept: Vec<bool> = inverse.smooth.iter().map(|w| *w > 0.0).collect();
        let mut task = CrossTask::of(design, &scores, Target::Mean);
        if kept.contains(&false) {
            task = task.from_rows(&kept);
        }
        let tau = fit_all(&task, self.effect.learner.as_ref(), &stage(ctx, "effects")?)?;
        let held_out = tau.held_out.map(|tau| around_mean(&nuisance.mean_outcome(), nuisance.e.clone(), tau));
        let mut diagnostics = self.describe(design, &nuisance.e, &inverse, &scores);
        diagnostics.note("propensity_log_loss", nuisance.e_model.log_loss);
        let mut models = BaseModels::default();
        models.add("mu0", &self.outcome.base, nuisance.mu0.model);
        models.add("mu1", &self.outcome.base, nuisance.mu1.model);
        let e_model = nuisance.e_model;
        models.add_calibrated("e", &candidates[e_model.index].base, e_model.fit.model, e_model.calibration);
        models.add("tau", &self.effect.base, tau.model);
        Ok(Box::new(MetaModel { recipe: &DrRecipe, models, n_features: design.x().n_cols(), diagnostics, held_out }))
    }
}

impl DrLearner {
    fn describe(&self, design: &Design, e: &[f64], inverse: &Weights, scores: &[f64]) -> Diagnostics {
        let mut diagnostics = Diagnostics::default();
        let n = scores.len() as f64;
        let (mut total, mut sum) = (0.0, 0.0);
        for (i, score) in scores.iter().enumerate().filter(|(i, _)| inverse.smooth[*i] > 0.0) {
            let w = design.weight().map_or(1.0, |w| w[i]);
            total += w;
            sum += w * score;
        }
        diagnostics.note("mean_score", sum / total);
        diagnostics.note("propensity_min", e.iter().copied().fold(1.0, f64::min));
        diagnostics.note("propensity_max", e.iter().copied().fold(0.0, f64::max));
        diagnostics.note("weight_max", inverse.smooth.iter().copied().fold(0.0, f64::max));
        diagnostics.note("rows_beyond_clip", inverse.extreme.beyond as f64);
        if inverse.extreme.beyond as f64 > 0.01 * n {
            let (share, clip) = (100.0 * inverse.extreme.beyond as f64 / n, self.config.clip);
            let done = match self.config.overlap {
                Rule::Clip => "their propensity was clipped, which biases the effect of such rows",
                Rule::Trim => "they were left out, so effects of such rows are extrapolated",
                Rule::Pareto | Rule::Psis => "the largest weights were Pareto-smoothed",
                Rule::Raw => "their weights were left as they are",
            };
            diagnostics.warn(
                "poor-overlap",
                format!("{share:.1} % of the rows have a propensity below {clip} or above {}; {done}", 1.0 - clip),
            );
        }
        diagnostics
    }
}

/// How the fitted models answer.
#[derive(Debug)]
struct DrRecipe;

impl Recipe for DrRecipe {
    fn name(&self) -> &'static str {
        "dr"
    }

    fn models(&self) -> &'static [&'static str] {
        &["mu0", "mu1", "e", "tau"]
    }

    fn effects(&self, models: &BaseModels, x: &Features) -> Result<Effects> {
        let (e, tau) = (models.predict("e", x)?, models.predict("tau", x)?);
        let m = mixed(&models.predict("mu0", x)?, &models.predict("mu1", x)?, &e);
        Ok(around_mean(&m, e, tau))
    }

    fn effect_model(&self) -> Option<&'static str> {
        Some("tau")
    }
}
