//! The base learner `boosting`.

use paretau_core::{BaseEntry, FittedRegressor, Handles, ParamSpec, Params, Regressor, Result, State, resolve};

use super::config::{BoostingConfig, BoostingRegressor, PARAMS};
use super::model::BoostedTrees;
use crate::bins::NARROW;

/// The base learner `boosting`.
#[derive(Debug, Clone, Copy)]
pub struct BoostingBase;

/// The base learner `boosting` for the list of base learners.
pub const BOOSTING: BoostingBase = BoostingBase;

impl BaseEntry for BoostingBase {
    fn name(&self) -> &'static str {
        "boosting"
    }

    fn summary(&self) -> &'static str {
        "Gradient boosting on binned columns, stopped by held-out rows: squared or absolute loss for means, log-loss for 0/1 \
         outcomes"
    }

    fn handles(&self) -> Handles {
        Handles { missing: true, sparse: true, categories: true, many_arms: false }
    }

    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }

    fn for_nuisances(&self, n_rows: usize) -> Option<Params> {
        // With fewer rows, lines and forests predict as well in less time.
        const FEWEST_ROWS: usize = 400;
        const MANY_ROWS: usize = 5000;
        let quick = Params::none().with("n_estimators", 300).with("patience", 15);
        let leaves = if n_rows < MANY_ROWS { 4 } else { 8 };
        (n_rows >= FEWEST_ROWS).then(|| quick.with("max_leaves", leaves))
    }

    fn most_columns(&self) -> Option<usize> {
        Some(NARROW)
    }

    fn build(&self, params: &Params) -> Result<Box<dyn Regressor>> {
        let config = resolve("boosting", PARAMS, &BoostingConfig::default(), params)?;
        Ok(Box::new(BoostingRegressor::checked(config)?))
    }

    fn load(&self, state: &State) -> Result<Box<dyn FittedRegressor>> {
        Ok(Box::new(BoostedTrees::load(state)?))
    }
}
