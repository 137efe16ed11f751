//! The base learner `ridge`: ridge regression for means, penalised logistic regression for probabilities.

use paretau_core::{
    BaseEntry, Error, Features, FitContext, FittedRegressor, Handles, ParamKind, ParamSpec, Params, RegressionTask,
    Regressor, Result, State, Target, resolve,
};
use serde::{Deserialize, Serialize};

use crate::{Logistic, LogisticOptions, LogisticTask, Ridge, RidgeOptions, RidgeTask};

/// Entry of the base learner `ridge`.
#[derive(Debug, Clone, Copy)]
pub struct RidgeBase;

/// The entry for the list of base learners.
pub const RIDGE: RidgeBase = RidgeBase;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RidgeConfig {
    penalty: Option<f64>,
    folds: Option<usize>,
}

const PARAMS: &[ParamSpec] = &[
    ParamSpec::new(
        "penalty",
        ParamKind::Auto(&ParamKind::Float { min: 0.0, max: f64::INFINITY }),
        "ridge penalty on standardised features; auto chooses by cross-validation",
    ),
    ParamSpec::new(
        "folds",
        ParamKind::Auto(&ParamKind::Int { min: 2, max: 100 }),
        "folds for choosing the penalty; auto is leave-one-out for means and 5 for probabilities",
    ),
];

impl BaseEntry for RidgeBase {
    fn name(&self) -> &'static str {
        "ridge"
    }

    fn summary(&self) -> &'static str {
        "Ridge regression (means) and penalised logistic regression (probabilities)"
    }

    fn handles(&self) -> Handles {
        Handles { missing: false, sparse: true, categories: false, many_arms: false }
    }

    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }

    fn for_nuisances(&self, _n_rows: usize) -> Option<Params> {
        Some(Params::none())
    }

    fn build(&self, params: &Params) -> Result<Box<dyn Regressor>> {
        let config: RidgeConfig = resolve("ridge", PARAMS, &RidgeConfig { penalty: None, folds: None }, params)?;
        Ok(Box::new(RidgeRegressor { config }))
    }

    fn load(&self, state: &State) -> Result<Box<dyn FittedRegressor>> {
        let saved: Saved = state.parse()?;
        Ok(Box::new(if saved.probability {
            FittedRidge::Probability(Logistic::get(state, "logistic", saved.n_features)?)
        } else {
            FittedRidge::Mean(Ridge::get(state, "ridge", saved.n_features)?)
        }))
    }
}

#[derive(Debug)]
struct RidgeRegressor {
    config: RidgeConfig,
}

impl Regressor for RidgeRegressor {
    fn fit(&self, task: &RegressionTask<'_>, ctx: &FitContext<'_>) -> Result<Box<dyn FittedRegressor>> {
        let RegressionTask { x, y, weight, groups, .. } = *task;
        Ok(Box::new(match task.target {
            Target::Mean => {
                let options = RidgeOptions { penalty: self.config.penalty, folds: self.config.folds };
                FittedRidge::Mean(Ridge::fit_watched(
                    &RidgeTask { x, y, free: None, weight, groups },
                    &options,
                    ctx.seed,
                    &|| ctx.check_interrupt(),
                )?)
            }
            Target::Probability => {
                let default = LogisticOptions::default();
                let folds = self.config.folds.unwrap_or(default.folds);
                let options = LogisticOptions { penalty: self.config.penalty, folds };
                FittedRidge::Probability(Logistic::fit_watched(
                    &LogisticTask { x, y, weight, groups },
                    &options,
                    ctx.seed,
                    &|| ctx.check_interrupt(),
                )?)
            }
        }))
    }
}

#[derive(Debug)]
enum FittedRidge {
    Mean(Ridge),
    Probability(Logistic),
}

#[derive(Serialize, Deserialize)]
struct Saved {
    probability: bool,
    n_features: usize,
}

impl FittedRegressor for FittedRidge {
    fn predict(&self, x: &Features) -> Result<Vec<f64>> {
        let expected = match self {
            Self::Mean(m) => m.coef.len(),
            Self::Probability(m) => m.coef.len(),
        };
        if x.n_cols() != expected {
            return Err(Error::SchemaMismatch {
                message: format!(
                    "the regression was fitted on {expected} feature columns, the data have {}",
                    x.n_cols()
                ),
            });
        }
        crate::design_matrix::refuse_missing(x, "ridge regression")?;
        Ok(match self {
            Self::Mean(m) => m.predict(x),
            Self::Probability(m) => m.predict(x),
        })
    }

    fn state(&self) -> Result<State> {
        match self {
            Self::Mean(m) => {
                let mut state = State::new(&Saved { probability: false, n_features: m.coef.len() })?;
                m.put(&mut state, "ridge");
                Ok(state)
            }
            Self::Probability(m) => {
                let mut state = State::new(&Saved { probability: true, n_features: m.coef.len() })?;
                m.put(&mut state, "logistic");
                Ok(state)
            }
        }
    }
}
