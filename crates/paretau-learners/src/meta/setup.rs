//! What meta-learners share before fitting: specifications of common parameters, checks of the design, small helpers.

use paretau_core::{Design, Error, Features, Handles, ParamKind, ParamSpec, Result, SearchRange};

pub(super) use paretau_nuisance::{outcome_target, stage};

/// Takes what every base learner takes, so that the base can be changed without changing the data.
pub(super) const HANDLES: Handles = Handles { missing: false, sparse: true, categories: false, many_arms: false };

/// Base learners that a search tries.
const TRIED: SearchRange = SearchRange::Words(&["forest", "boosting", "stack", "ridge", "mlp"]);

pub(super) const BASE: ParamSpec = ParamSpec::new(
    "base",
    ParamKind::Base,
    "base learner of the outcome models (forest, ridge, …); its parameters are `base.KEY`",
)
.searched(TRIED);
pub(super) const EFFECT_BASE: ParamSpec = ParamSpec::new(
    "effect_base",
    ParamKind::Auto(&ParamKind::Base),
    "base learner of the effect model; auto is `base`, and in the r- and dr-learner with what it recommends for noisy \
           targets (of a forest, honest trees with larger leaves)",
);
pub(super) const PROPENSITY_BASE: ParamSpec = ParamSpec::new(
    "propensity_base",
    ParamKind::Auto(&ParamKind::Base),
    "base learner of the propensity (`ridge` is penalised logistic regression); auto takes the better held out of \
           `ridge` and `base`",
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
