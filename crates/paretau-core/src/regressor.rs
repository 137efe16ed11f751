//! Base learners: plain regressions that meta-learners are built on. They are handed over through the
//! [`Toolbox`](crate::Toolbox), so that meta-learners need not know who wrote them.

use std::fmt;

use crate::{Column, Features, FitContext, Handles, ParamSpec, Params, Result, State, UnitRegressor};

/// What a regression predicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The mean of a real outcome.
    Mean,
    /// The probability that a 0/1 outcome is 1; predictions lie strictly between 0 and 1.
    Probability,
}

/// Rows to learn a regression from.
#[derive(Debug, Clone, Copy)]
pub struct RegressionTask<'a> {
    /// Features.
    pub x: &'a Features,
    /// Their names and kinds.
    pub columns: &'a [Column],
    /// Outcome of the regression.
    pub y: &'a [f64],
    /// Row weights.
    pub weight: Option<&'a [f64]>,
    /// Groups that must not be split.
    pub groups: Option<&'a [u32]>,
    /// What to predict.
    pub target: Target,
}

/// A base learner with checked parameters.
pub trait Regressor: Send + Sync + fmt::Debug {
    /// Learns from the task.
    fn fit(&self, task: &RegressionTask<'_>, ctx: &FitContext<'_>) -> Result<Box<dyn FittedRegressor>>;

    /// The learner for rows outside of memory, where it can learn from such.
    fn over_units(&self) -> Option<&dyn UnitRegressor> {
        None
    }
}

/// A fitted base learner.
pub trait FittedRegressor: Send + Sync + fmt::Debug {
    /// Predictions for each row, finite.
    fn predict(&self, x: &Features) -> Result<Vec<f64>>;

    /// Predictions of the training rows by parts that did not see them (out of bag), when there are any.
    fn held_out(&self) -> Option<&[f64]> {
        None
    }

    /// Everything needed to bring it back.
    fn state(&self) -> Result<State>;
}

/// A base learner in the list of base learners.
pub trait BaseEntry: Sync {
    /// Its name, e.g. `forest`.
    fn name(&self) -> &'static str;
    /// One line about it.
    fn summary(&self) -> &'static str;
    /// What kinds of input it takes.
    fn handles(&self) -> Handles;
    /// Its parameters.
    fn params(&self) -> &'static [ParamSpec];
    /// Parameters that it recommends where targets are mostly noise, as the scores of single rows are, and predictions
    /// must average it out.
    fn for_noisy_targets(&self) -> Params {
        Params::none()
    }
    /// Whether it takes part in the stack of nuisances, and with which parameters for so many rows: it should be quick and
    /// good without tuning.
    fn for_nuisances(&self, _n_rows: usize) -> Option<Params> {
        None
    }
    /// The most feature columns that it takes, where there is such a number; the stack leaves it out beyond them.
    fn most_columns(&self) -> Option<usize> {
        None
    }
    /// A checked regressor.
    fn build(&self, params: &Params) -> Result<Box<dyn Regressor>>;
    /// A fitted regressor from its state.
    fn load(&self, state: &State) -> Result<Box<dyn FittedRegressor>>;
}
