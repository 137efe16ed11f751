//! Parameters of boosting and what they may be.

use paretau_core::{
    Error, FitContext, FittedRegressor, ParamKind, ParamSpec, RegressionTask, Regressor, Result, SearchRange, Target,
};
use serde::{Deserialize, Serialize};

use super::loss::Loss;
use super::model::BoostedTrees;
use crate::input;

/// What boosting of means makes small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BoostingLoss {
    /// Squared error: predictions are means. Probabilities always go by log-loss instead.
    Squared,
    /// Absolute error: predictions are medians, which outliers do not move.
    Absolute,
}

/// Parameters of boosting.
///
/// | name | default | meaning |
/// |---|---|---|
/// | `loss` | squared | what boosting of means makes small; probabilities go by log-loss |
/// | `n_estimators` | 1000 | rounds at most; without folds, rounds |
/// | `learning_rate` | 0.1 | share of a tree's step that is taken |
/// | `max_leaves` | chosen on held-out rows | leaves per tree |
/// | `max_depth` | no limit | deepest level |
/// | `min_leaf_size` | 20 | fewest rows of a leaf |
/// | `l2` | 1 | penalty on leaf values, in rows |
/// | `max_samples` | 1 | share of the rows that a tree sees |
/// | `feature_share` | 1 | share of the columns that a tree sees |
/// | `folds` | 5 | models, each stopped by the rows it holds out; 1 is one model of all rows and rounds |
/// | `patience` | 30 | rounds without a better prediction of held-out rows before stopping |
/// | `max_bins` | 256 | bins per column at most, one of them for missing values; of few rows there are fewer |
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoostingConfig {
    /// What boosting of means makes small.
    pub loss: BoostingLoss,
    /// Rounds at most; without folds, rounds.
    pub n_estimators: usize,
    /// Share of a tree's step that is taken.
    pub learning_rate: f64,
    /// Leaves per tree; chosen on held-out rows if `None`.
    pub max_leaves: Option<usize>,
    /// Deepest level.
    pub max_depth: Option<usize>,
    /// Fewest rows of a leaf.
    pub min_leaf_size: usize,
    /// Penalty on leaf values, in rows.
    pub l2: f64,
    /// Share of the rows that a tree sees.
    pub max_samples: f64,
    /// Share of the columns that a tree sees.
    pub feature_share: f64,
    /// Models, each stopped by the rows it holds out.
    pub folds: usize,
    /// Rounds without a better prediction of held-out rows before stopping.
    pub patience: usize,
    /// Bins per column, at most.
    pub max_bins: usize,
}

impl Default for BoostingConfig {
    fn default() -> Self {
        Self {
            loss: BoostingLoss::Squared,
            n_estimators: 1000,
            learning_rate: 0.1,
            max_leaves: None,
            max_depth: None,
            min_leaf_size: 20,
            l2: 1.0,
            max_samples: 1.0,
            feature_share: 1.0,
            folds: 5,
            patience: 30,
            max_bins: 256,
        }
    }
}

/// Leaves of a tree, at most: their numbers and sums must stay small beside the rows.
const LEAVES: ParamKind = ParamKind::Int { min: 2, max: 65_536 };

/// Specifications of [`BoostingConfig`]'s fields.
pub(super) const PARAMS: &[ParamSpec] = &[
    ParamSpec::new(
        "loss",
        ParamKind::Choice(&["squared", "absolute"]),
        "What boosting of means makes small; with absolute, predictions are medians. Probabilities go by log-loss.",
    ),
    ParamSpec::new("n_estimators", input::COUNT, "Rounds at most; with folds=1, rounds."),
    ParamSpec::new(
        "learning_rate",
        ParamKind::Float { min: 1e-4, max: 1.0 },
        "Share of a tree's step that is taken; smaller takes more rounds and is often better.",
    )
    .searched(SearchRange::Ratio(0.02, 0.2)),
    ParamSpec::new(
        "max_leaves",
        ParamKind::Auto(&LEAVES),
        "Leaves per tree; auto tries few and many and keeps what predicts held-out rows better.",
    )
    .searched(SearchRange::WholeRatio(3.0, 64.0)),
    ParamSpec::new("max_depth", ParamKind::Auto(&input::COUNT), "Deepest level; auto is no limit."),
    ParamSpec::new("min_leaf_size", input::COUNT, "Fewest rows of a leaf.")
        .searched(SearchRange::WholeRatio(2.0, 64.0)),
    ParamSpec::new(
        "l2",
        ParamKind::Float { min: 0.0, max: f64::MAX },
        "Penalty on leaf values: as if so many rows of a leaf wanted no change.",
    )
    .searched(SearchRange::Ratio(0.1, 30.0)),
    ParamSpec::new("max_samples", ParamKind::Float { min: 0.01, max: 1.0 }, "Share of the rows that a tree sees.")
        .searched(SearchRange::Between(0.5, 1.0)),
    ParamSpec::new(
        "feature_share",
        ParamKind::Float { min: 0.001, max: 1.0 },
        "Share of the columns that a tree sees.",
    )
    .searched(SearchRange::Between(0.3, 1.0)),
    ParamSpec::new(
        "folds",
        ParamKind::Int { min: 1, max: 100 },
        "Models whose mean is the prediction; each holds rows out, which decide when to stop. 1 is one model of all rows \
         with n_estimators rounds.",
    ),
    ParamSpec::new("patience", input::COUNT, "Rounds without a better prediction of held-out rows before stopping."),
    ParamSpec::new(
        "max_bins",
        input::BINS,
        "Bins per column at most, one of them for missing values; of few rows there are fewer.",
    ),
];

/// Boosting with checked parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoostingRegressor {
    pub(super) config: BoostingConfig,
}

impl BoostingRegressor {
    /// A learner with these parameters, which are checked.
    pub fn new(config: BoostingConfig) -> Result<Self> {
        Self::checked(input::checked("boosting", PARAMS, &config)?)
    }

    /// A learner whose parameters are each within bounds; what they are together is checked here.
    pub(super) fn checked(config: BoostingConfig) -> Result<Self> {
        if config.folds == 1 && config.max_leaves.is_none() {
            return Err(Error::Unsupported {
                estimator: "boosting".to_owned(),
                message: "with folds=1 no rows are held out to choose by; give max_leaves as well".to_owned(),
            });
        }
        Ok(Self { config })
    }

    /// Fits the boosted trees, with predictions of the training rows by models that have not seen them.
    pub fn fit_trees(&self, task: &RegressionTask<'_>, ctx: &FitContext<'_>) -> Result<BoostedTrees> {
        super::fit::fit(&self.config, task, ctx)
    }

    /// The loss for a target.
    pub(super) fn loss(config: &BoostingConfig, target: Target) -> Loss {
        match (target, config.loss) {
            (Target::Mean, BoostingLoss::Squared) => Loss::Squared,
            (Target::Mean, BoostingLoss::Absolute) => Loss::Absolute,
            // Propensities and 0/1 outcomes beside an outcome that goes by medians are still probabilities.
            (Target::Probability, _) => Loss::Logistic,
        }
    }
}

impl Regressor for BoostingRegressor {
    fn fit(&self, task: &RegressionTask<'_>, ctx: &FitContext<'_>) -> Result<Box<dyn FittedRegressor>> {
        Ok(Box::new(self.fit_trees(task, ctx)?))
    }
}
