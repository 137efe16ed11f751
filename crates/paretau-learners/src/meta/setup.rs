//! What meta-learners share before fitting: naming base learners, their parameters, and small helpers.

use paretau_core::{Design, Error, Features, Handles, ParamKind, ParamSpec, Params, Regressor, Result, Toolbox};

pub(super) use paretau_nuisance::{outcome_target, stage};

/// A base learner ready to fit, with its name for the model's state.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) base: String,
    /// Whether it takes missing values.
    missing: bool,
    pub(super) learner: Box<dyn Regressor>,
}

impl Tool {
    /// The base learner of that name with parameters written as `key=value, key=value`.
    pub(super) fn new(owner: &str, base: &str, params: &str, tools: &Toolbox) -> Result<Self> {
        let entry = tools.base(base)?;
        let learner = entry.build(&parse(owner, params)?)?;
        Ok(Self { base: base.to_owned(), missing: entry.handles().missing, learner })
    }

    /// The effect stage's learner: `base` unless another is named, with the parameters given, or those of `base` when it
    /// is the same learner.
    pub(super) fn effect(
        owner: &str,
        (base, base_params): (&str, &str),
        (effect, effect_params): (Option<&str>, Option<&str>),
        tools: &Toolbox,
    ) -> Result<Self> {
        let name = effect.unwrap_or(base);
        Self::new(owner, name, effect_params.unwrap_or(if name == base { base_params } else { "" }), tools)
    }

    /// As [`Tool::effect`], for stages that regress noisy scores: a base that can be honest is, with larger leaves,
    /// unless the parameters say otherwise. Scores of single rows are mostly noise, which leaves must average out.
    pub(super) fn noisy_effect(
        owner: &str,
        (base, base_params): (&str, &str),
        (effect, effect_params): (Option<&str>, Option<&str>),
        tools: &Toolbox,
    ) -> Result<Self> {
        let name = effect.unwrap_or(base);
        let Some(own) = effect_params else {
            let mut params = parse(owner, if name == base { base_params } else { "" })?;
            let entry = tools.base(name)?;
            for (param, value) in [("honest", "true"), ("min_node_size", "20")] {
                if entry.params().iter().any(|spec| spec.name == param) && !params.0.contains_key(param) {
                    params = params.with(param, value);
                }
            }
            let missing = entry.handles().missing;
            return Ok(Self { base: name.to_owned(), missing, learner: entry.build(&params)? });
        };
        Self::new(owner, name, own, tools)
    }

    /// Candidates for the propensity: the one named, or logistic regression and `base`.
    pub(super) fn propensity(
        owner: &str,
        (base, base_params): (&str, &str),
        (named, params): (Option<&str>, &str),
        tools: &Toolbox,
    ) -> Result<Vec<Self>> {
        if let Some(named) = named {
            return Ok(vec![Self::new(owner, named, params, tools)?]);
        }
        let mut candidates = Vec::with_capacity(2);
        if base != "ridge" && tools.base("ridge").is_ok() {
            candidates.push(Self::new(owner, "ridge", params, tools)?);
            candidates.push(Self::new(owner, base, base_params, tools)?);
        } else {
            candidates.push(Self::new(owner, base, if params.is_empty() { base_params } else { params }, tools)?);
        }
        Ok(candidates)
    }
}

fn parse(owner: &str, text: &str) -> Result<Params> {
    let mut params = Params::none();
    for piece in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
        let Some((name, value)) = piece.split_once('=') else {
            return Err(Error::BadParameter {
                owner: owner.to_owned(),
                name: "base parameters".into(),
                value: text.to_owned(),
                expected: "pairs like `n_trees=500, min_leaf=5`".into(),
            });
        };
        params = params.with(name.trim(), value.trim());
    }
    Ok(params)
}

/// Takes what every base learner takes, so that the base can be changed without changing the data.
pub(super) const HANDLES: Handles = Handles { missing: false, sparse: true, categories: false, many_arms: false };

pub(super) const BASE: ParamSpec =
    ParamSpec::new("base", ParamKind::Text, "base learner of the outcome models, by name (forest, ridge, …)");
pub(super) const BASE_PARAMS: ParamSpec =
    ParamSpec::new("base_params", ParamKind::Text, "parameters of `base`, as `key=value` pairs with commas between");
pub(super) const EFFECT_BASE: ParamSpec = ParamSpec::new(
    "effect_base",
    ParamKind::Auto(&ParamKind::Text),
    "base learner of the effect model; auto is `base`",
);
pub(super) const EFFECT_PARAMS: ParamSpec = ParamSpec::new(
    "effect_params",
    ParamKind::Auto(&ParamKind::Text),
    "parameters of `effect_base` as `key=value` pairs; auto is those of `base`, and in the r- and dr-learner honest \
           trees with larger leaves where the base has them",
);
pub(super) const PROPENSITY_BASE: ParamSpec = ParamSpec::new(
    "propensity_base",
    ParamKind::Auto(&ParamKind::Text),
    "base learner of the propensity (`ridge` is penalised logistic regression); auto takes the better held out of \
           `ridge` and `base`",
);
pub(super) const PROPENSITY_PARAMS: ParamSpec = ParamSpec::new(
    "propensity_params",
    ParamKind::Text,
    "parameters of `propensity_base` (of `ridge` when that is auto), as `key=value` pairs with commas between",
);
pub(super) const CROSS_FIT: ParamSpec = ParamSpec::new(
    "cross_fit",
    ParamKind::Choice(&["oob", "folds"]),
    "held-out nuisance predictions: `oob` takes the base's out-of-bag ones where it has any, `folds` never does",
);
pub(super) const FOLDS: ParamSpec = ParamSpec::new(
    "folds",
    ParamKind::Int { min: 2, max: 50 },
    "folds of cross-fitting; fewer are used when an arm is small",
);

pub(super) const CALIBRATE: ParamSpec = ParamSpec::new(
    "calibrate",
    ParamKind::Bool,
    "calibrate the propensity by isotonic regression on held-out predictions",
);

/// The tools that take the design's features, missing values and all; every tool when none does, so that the first
/// says in its own words what is wrong.
pub(super) fn fit_for<'a>(tools: &'a [Tool], design: &Design) -> Vec<&'a Tool> {
    let able: Vec<&Tool> = tools.iter().filter(|tool| tool.missing || !design.x().has_missing()).collect();
    if able.is_empty() { tools.iter().collect() } else { able }
}

/// The learners of some tools.
pub(super) fn learners<'a>(tools: &[&'a Tool]) -> Vec<&'a dyn Regressor> {
    tools.iter().map(|tool| tool.learner.as_ref()).collect()
}

/// Refuses a feature column without a single value, which is a slip in the data rather than something to learn from.
pub(super) fn no_empty_column(design: &Design) -> Result<()> {
    let Features::Dense(m) = design.x() else { return Ok(()) };
    let gone = |j: &usize| (0..m.n_rows()).all(|i| m.get(i, *j).is_nan());
    match (0..m.n_cols()).filter(|&j| m.get(0, j).is_nan()).find(gone) {
        None => Ok(()),
        Some(j) => Err(Error::unfit(format!(
            "feature column `{}` has no value in any row; leave the column out or fill it",
            design.columns().get(j).map_or("?", |c| c.name.as_str())
        ))),
    }
}

/// Refuses an arm of a single row (or none with weight), from which no outcome can be learned.
pub(super) fn enough_of_each_arm(design: &Design) -> Result<()> {
    for arm in [0, 1] {
        let weighs = |i: &usize| design.weight().is_none_or(|w| w[*i] > 0.0);
        let n = design.rows_of_arm(arm).iter().filter(|i| weighs(i)).count();
        if n < 2 {
            return Err(Error::unfit(format!(
                "treatment: {n} row{} of arm {arm}, but at least two rows of each arm are needed; give more rows of it",
                if n == 1 { "" } else { "s" }
            )));
        }
    }
    Ok(())
}

/// Rows of one arm, marked.
pub(super) fn arm_mask(design: &Design, arm: u8) -> Vec<bool> {
    design.t().iter().map(|&a| a == arm).collect()
}

/// The treatment as numbers.
pub(super) fn treatment(design: &Design) -> Vec<f64> {
    design.t().iter().map(|&a| f64::from(a)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn base_parameters_are_pairs() {
        let params = parse("m", "n_trees=500, min_leaf = 5,").unwrap();
        assert_eq!(params, Params::none().with("n_trees", "500").with("min_leaf", "5"));
        assert_eq!(parse("m", " ").unwrap(), Params::none());
        assert!(parse("m", "#").unwrap_err().to_string().contains("n_trees=500"));
    }
}
