//! Base learners of a meta-learner: which one each stage uses, and with which parameters.

use paretau_core::{BaseSpec, BuildContext, Design, Params, Regressor, Result};

/// A base learner ready to fit, with its name for the model's state.
#[derive(Debug)]
pub(super) struct BaseLearner {
    pub(super) base: String,
    /// Whether it takes missing values.
    missing: bool,
    pub(super) learner: Box<dyn Regressor>,
}

impl BaseLearner {
    /// The base learner that a parameter describes.
    pub(super) fn new(ctx: &BuildContext<'_>, parameter: &str, spec: &BaseSpec) -> Result<Self> {
        let learner = ctx.tools.regressor(parameter, spec)?;
        Ok(Self { base: spec.name.clone(), missing: ctx.tools.base(&spec.name)?.handles().missing, learner })
    }

    /// The effect stage's learner: `base` unless another is named. A name alone takes over the parameters of `base` when
    /// it is the same learner.
    pub(super) fn effect(ctx: &BuildContext<'_>, base: &BaseSpec, effect: Option<&BaseSpec>) -> Result<Self> {
        let (parameter, spec) = effect_spec(base, effect);
        Self::new(ctx, parameter, spec)
    }

    /// As [`BaseLearner::effect`], for stages that regress noisy scores: what the learner recommends for them holds
    /// unless `base` says otherwise. Parameters of the effect's own learner are taken as they are.
    pub(super) fn noisy_effect(ctx: &BuildContext<'_>, base: &BaseSpec, effect: Option<&BaseSpec>) -> Result<Self> {
        if effect.is_some_and(|own| !own.params.0.is_empty()) {
            return Self::effect(ctx, base, effect);
        }
        let (parameter, spec) = effect_spec(base, effect);
        let mut params: Params = ctx.tools.base(&spec.name)?.for_noisy_targets();
        params.0.extend(spec.params.0.clone());
        Self::new(ctx, parameter, &BaseSpec { name: spec.name.clone(), params })
    }

    /// Candidates for the propensity: the one named, or logistic regression and `base`.
    pub(super) fn propensity(
        ctx: &BuildContext<'_>,
        base: &BaseSpec,
        propensity: Option<&BaseSpec>,
    ) -> Result<Vec<Self>> {
        if let Some(named) = propensity {
            return Ok(vec![Self::new(ctx, "propensity_base", named)?]);
        }
        let mut candidates = Vec::with_capacity(2);
        if base.name != "ridge" && ctx.tools.base("ridge").is_ok() {
            candidates.push(Self::new(ctx, "propensity_base", &BaseSpec::new("ridge"))?);
        }
        candidates.push(Self::new(ctx, "base", base)?);
        Ok(candidates)
    }
}

/// The spec of the effect stage, and the parameter that it comes from.
fn effect_spec<'a>(base: &'a BaseSpec, effect: Option<&'a BaseSpec>) -> (&'static str, &'a BaseSpec) {
    match effect {
        Some(own) if own.name != base.name || !own.params.0.is_empty() => ("effect_base", own),
        _ => ("base", base),
    }
}

/// The learners that take the design's features, missing values and all; every one when none does, so that the first
/// says in its own words what is wrong.
pub(super) fn able_to_fit<'a>(learners: &'a [BaseLearner], design: &Design) -> Vec<&'a BaseLearner> {
    let able: Vec<&BaseLearner> = learners.iter().filter(|one| one.missing || !design.x().has_missing()).collect();
    if able.is_empty() { learners.iter().collect() } else { able }
}

/// The regressors of some learners.
pub(super) fn regressors<'a>(learners: &[&'a BaseLearner]) -> Vec<&'a dyn Regressor> {
    learners.iter().map(|one| one.learner.as_ref()).collect()
}
