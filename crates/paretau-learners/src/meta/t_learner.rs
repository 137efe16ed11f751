//! T-learner: one outcome model an arm.

use paretau_core::{
    ConfigEntry, Design, Diagnostics, Effects, Estimator, EstimatorInfo, Family, Features, FitContext, FittedModel,
    ParamSpec, Result,
};
use paretau_nuisance::{CrossTask, fit_all, two_arms};
use serde::{Deserialize, Serialize};

use super::model::{MetaModel, Parts, Recipe, load};
use super::setup::{
    BASE, BASE_PARAMS, HANDLES, Tool, arm_mask, enough_of_each_arm, no_empty_column, outcome_target, stage,
};

pub(super) const PARTS: &[&str] = &["mu0", "mu1"];
const NAME: &str = "t-learner";

/// Parameters of the T-learner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TConfig {
    /// Base learner.
    pub base: String,
    /// Its parameters.
    pub base_params: String,
}

const PARAMS: &[ParamSpec] = &[BASE, BASE_PARAMS];

/// `t-learner`.
pub const T_LEARNER: ConfigEntry<TConfig> = ConfigEntry {
    info: EstimatorInfo {
        name: NAME,
        aliases: &["TL"],
        family: Family::MetaLearner,
        class: "TLearner",
        summary: "One outcome model an arm",
        reference: "Künzel, Sekhon, Bickel and Yu (2019)",
        handles: HANDLES,
    },
    params: PARAMS,
    preset: || TConfig { base: "forest".into(), base_params: String::new() },
    build: |config, tools| Ok(Box::new(TLearner { tool: Tool::new(NAME, &config.base, &config.base_params, tools)? })),
    load,
};

#[derive(Debug)]
struct TLearner {
    tool: Tool,
}

impl Estimator for TLearner {
    fn fit(&self, design: &Design, ctx: &FitContext<'_>) -> Result<Box<dyn FittedModel>> {
        two_arms(design, NAME)?;
        no_empty_column(design)?;
        enough_of_each_arm(design)?;
        let mut parts = Parts::default();
        let mut held_out = Vec::new();
        for (arm, name, label) in [(0, "mu0", "control outcomes"), (1, "mu1", "treated outcomes")] {
            let mask = arm_mask(design, arm);
            let task = CrossTask::of(design, design.y(), outcome_target(design)).from_rows(&mask);
            let fitted = fit_all(&task, self.tool.learner.as_ref(), &stage(ctx, label)?)?;
            parts.add(name, &self.tool.base, fitted.model);
            held_out.extend(fitted.held_out);
        }
        let held_out = <[Vec<f64>; 2]>::try_from(held_out).ok().map(|[mu0, mu1]| Effects::from_outcomes(mu0, mu1));
        Ok(Box::new(MetaModel {
            recipe: Recipe::T,
            parts,
            n_features: design.x().n_cols(),
            diagnostics: Diagnostics::default(),
            held_out,
        }))
    }
}

pub(super) fn effects(parts: &Parts, x: &Features) -> Result<Effects> {
    Ok(Effects::from_outcomes(parts.predict("mu0", x)?, parts.predict("mu1", x)?))
}
