//! The base learner `lasso`: linear and logistic regression that leave most columns out.

use paretau_core::{
    BaseEntry, Error, Features, FitContext, FittedRegressor, Handles, ParamKind, ParamSpec, Params, RegressionTask,
    Regressor, Result, State, Target, resolve,
};
use serde::{Deserialize, Serialize};

use crate::lasso::{Lasso, LassoTask, Loss};

/// Entry of the base learner `lasso`.
#[derive(Debug, Clone, Copy)]
pub struct LassoBase;

/// The entry for the list of base learners.
pub const LASSO: LassoBase = LassoBase;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LassoConfig {
    penalty: Option<f64>,
    folds: usize,
}

const DEFAULTS: LassoConfig = LassoConfig { penalty: None, folds: 5 };

const PARAMS: &[ParamSpec] = &[
    ParamSpec::new(
        "penalty",
        ParamKind::Auto(&ParamKind::Float { min: 0.0, max: f64::INFINITY }),
        "absolute penalty on standardised features; auto chooses it, and how far kept columns are relieved of it, by cross-validation",
    ),
    ParamSpec::new("folds", ParamKind::Int { min: 2, max: 100 }, "folds for choosing the penalty"),
];

impl BaseEntry for LassoBase {
    fn name(&self) -> &'static str {
        "lasso"
    }

    fn summary(&self) -> &'static str {
        "Linear (means) and logistic regression (probabilities) with an absolute penalty, for few columns of many"
    }

    fn handles(&self) -> Handles {
        Handles { missing: false, sparse: true, categories: false, many_arms: false }
    }

    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }

    fn for_nuisances(&self, _n_rows: usize) -> Option<Params> {
        // Another fold or two would hardly move the penalty, and the stack holds each fit out again.
        Some(Params::none().with("folds", 3))
    }

    fn build(&self, params: &Params) -> Result<Box<dyn Regressor>> {
        Ok(Box::new(LassoRegressor { config: resolve("lasso", PARAMS, &DEFAULTS, params)? }))
    }

    fn load(&self, state: &State) -> Result<Box<dyn FittedRegressor>> {
        let Saved { probability, n_features } = state.parse()?;
        let loss = if probability { Loss::Logistic } else { Loss::Squared };
        Ok(Box::new(FittedLasso(Lasso::get(state, loss, n_features)?)))
    }
}

#[derive(Debug)]
struct LassoRegressor {
    config: LassoConfig,
}

impl Regressor for LassoRegressor {
    fn fit(&self, task: &RegressionTask<'_>, ctx: &FitContext<'_>) -> Result<Box<dyn FittedRegressor>> {
        let RegressionTask { x, y, weight, groups, .. } = *task;
        let loss = match task.target {
            Target::Mean => Loss::Squared,
            Target::Probability => Loss::Logistic,
        };
        let task = LassoTask { x, y, weight, groups, loss };
        Ok(Box::new(FittedLasso(Lasso::fit(&task, self.config.penalty, self.config.folds, ctx.seed, &|| {
            ctx.check_interrupt()
        })?)))
    }
}

#[derive(Debug)]
struct FittedLasso(Lasso);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    probability: bool,
    n_features: usize,
}

impl FittedRegressor for FittedLasso {
    fn predict(&self, x: &Features) -> Result<Vec<f64>> {
        let expected = self.0.coef.len();
        if x.n_cols() != expected {
            let message =
                format!("the regression was fitted on {expected} feature columns, the data have {}", x.n_cols());
            return Err(Error::SchemaMismatch { message });
        }
        crate::design_matrix::refuse_missing(x, "the lasso")?;
        Ok(self.0.predict(x))
    }

    fn state(&self) -> Result<State> {
        let probability = self.0.loss == Loss::Logistic;
        let mut state = State::new(&Saved { probability, n_features: self.0.coef.len() })?;
        self.0.put(&mut state);
        Ok(state)
    }
}
