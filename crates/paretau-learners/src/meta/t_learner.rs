//! T-learner: one outcome model per arm.

use paretau_core::{
    Abilities, BaseSpec, ConfigEntry, Design, Diagnostics, Effects, Estimator, EstimatorInfo, Family, Features,
    FitContext, FittedModel, ParamSpec, Result,
};
use paretau_nuisance::{CrossTask, fit_all, two_arms};
use serde::{Deserialize, Serialize};

use super::base_learner::BaseLearner;
use super::model::{BaseModels, MetaModel, Recipe, load};
use super::setup::{BASE, HANDLES, arm_mask, enough_of_each_arm, no_empty_column, outcome_target, stage};

/// Parameters of the T-learner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TConfig {
    /// Base learner.
    pub base: BaseSpec,
}

const PARAMS: &[ParamSpec] = &[BASE];

/// `t-learner`.
pub const T_LEARNER: ConfigEntry<TConfig> = ConfigEntry {
    info: EstimatorInfo {
        name: "t-learner",
        aliases: &["TL"],
        family: Family::MetaLearner,
        class: "TLearner",
        summary: "One outcome model per arm",
        reference: "Künzel, Sekhon, Bickel and Yu (2019)",
        handles: HANDLES,
        abilities: Abilities::NONE,
    },
    params: PARAMS,
    preset: || TConfig { base: "forest".into() },
    build: |config, ctx| {
        Ok(Box::new(TLearner { name: ctx.name, outcome: BaseLearner::new(ctx, "base", &config.base)? }))
    },
    load: |state, tools| load(&TRecipe, state, tools),
};

#[derive(Debug)]
struct TLearner {
    name: &'static str,
    outcome: BaseLearner,
}

impl Estimator for TLearner {
    fn fit(&self, design: &Design, ctx: &FitContext<'_>) -> Result<Box<dyn FittedModel>> {
        two_arms(design, self.name)?;
        no_empty_column(design)?;
        enough_of_each_arm(design)?;
        let mut models = BaseModels::default();
        let mut held_out = Vec::new();
        for (arm, name, label) in [(0, "mu0", "control outcomes"), (1, "mu1", "treated outcomes")] {
            let mask = arm_mask(design, arm);
            let task = CrossTask::of(design, design.y(), outcome_target(design)).from_rows(&mask);
            let fitted = fit_all(&task, self.outcome.learner.as_ref(), &stage(ctx, label)?)?;
            models.add(name, &self.outcome.base, fitted.model);
            held_out.extend(fitted.held_out);
        }
        let held_out = <[Vec<f64>; 2]>::try_from(held_out).ok().map(|[mu0, mu1]| Effects::from_outcomes(mu0, mu1));
        Ok(Box::new(MetaModel {
            recipe: &TRecipe,
            models,
            n_features: design.x().n_cols(),
            diagnostics: Diagnostics::default(),
            held_out,
        }))
    }
}

/// How the fitted models answer.
#[derive(Debug)]
struct TRecipe;

impl Recipe for TRecipe {
    fn name(&self) -> &'static str {
        "t"
    }

    fn models(&self) -> &'static [&'static str] {
        &["mu0", "mu1"]
    }

    fn effects(&self, models: &BaseModels, x: &Features) -> Result<Effects> {
        Ok(Effects::from_outcomes(models.predict("mu0", x)?, models.predict("mu1", x)?))
    }
}
