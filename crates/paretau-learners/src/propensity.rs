//! The propensity model that accompanies every estimator: who tends to be treated?
//!
//! Logistic regression with a penalty chosen by cross-validation, by default; isotonic calibration on held-out
//! predictions on request.

use paretau_core::{Design, Error, Features, FitContext, Result, State, Target};
use serde::{Deserialize, Serialize};

use crate::base::RidgeBase;
use crate::calibrate::Calibrator;
use crate::crossfit::{CrossTask, HeldOut, cross_predict, design_folds};
use crate::linear::two_arms;
use crate::{Logistic, LogisticOptions, LogisticTask};

/// How to fit a propensity model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PropensityOptions {
    /// Penalty of the logistic regression; `None` chooses by cross-validation.
    pub penalty: Option<f64>,
    /// Folds for held-out propensities of the training rows.
    pub folds: usize,
    /// Whether to calibrate by isotonic regression of the treatment on held-out propensities.
    pub calibrate: bool,
}

impl Default for PropensityOptions {
    fn default() -> Self {
        Self { penalty: None, folds: 5, calibrate: false }
    }
}

/// A propensity model for new rows.
#[derive(Debug, Clone, PartialEq)]
pub struct PropensityModel {
    logistic: Logistic,
    calibration: Option<Calibrator>,
}

/// A propensity model with held-out propensities of the rows it was fitted on.
#[derive(Debug, Clone, PartialEq)]
pub struct PropensityFit {
    /// For new rows.
    pub model: PropensityModel,
    /// Of the training rows: the design's known propensities, or predictions of models that did not see the row.
    pub held_out: Vec<f64>,
}

impl PropensityModel {
    /// Fits on a design with two arms.
    pub fn fit(design: &Design, options: &PropensityOptions, ctx: &FitContext<'_>) -> Result<PropensityFit> {
        two_arms(design, "propensity")?;
        let ctx = &ctx.with_seed(ctx.seed.named("propensity"));
        let t: Vec<f64> = design.t().iter().map(|&a| f64::from(a)).collect();
        let task = LogisticTask { x: design.x(), y: &t, weight: design.weight(), groups: design.groups() };
        let logistic = Logistic::fit(
            &task,
            &LogisticOptions { penalty: options.penalty, ..LogisticOptions::default() },
            ctx.seed.named("full"),
        )?;
        let mut held_out = if let (Some(known), false) = (design.propensity(), options.calibrate) {
            known.to_vec()
        } else {
            // The penalty chosen on all rows serves the folds too: it hardly tells of single rows.
            let fixed = paretau_core::Params::none().with("penalty", logistic.penalty);
            let learner = paretau_core::BaseEntry::build(&RidgeBase, &fixed)?;
            let parts = design_folds(design, options.folds, ctx.seed.named("folds"))?;
            let task = CrossTask::of(design, &t, Target::Probability);
            cross_predict(&task, learner.as_ref(), &parts, HeldOut::Folds, ctx)?
        };
        let calibration = if options.calibrate {
            let map = Calibrator::fit(&held_out, &t, design.weight())?;
            held_out.iter_mut().for_each(|p| *p = map.apply(*p));
            Some(map)
        } else {
            None
        };
        if let Some(known) = design.propensity() {
            held_out = known.to_vec();
        }
        Ok(PropensityFit { model: Self { logistic, calibration }, held_out })
    }

    /// Propensities of new rows, strictly between 0 and 1.
    pub fn predict(&self, x: &Features) -> Result<Vec<f64>> {
        if x.n_cols() != self.n_features() {
            return Err(Error::SchemaMismatch {
                message: format!(
                    "the propensity model was fitted on {} feature columns, the data have {}",
                    self.n_features(),
                    x.n_cols()
                ),
            });
        }
        crate::design_matrix::refuse_missing(x, "the propensity model")?;
        let mut e = self.logistic.predict(x);
        if let Some(map) = &self.calibration {
            e.iter_mut().for_each(|p| *p = map.apply(*p));
        }
        Ok(e)
    }

    /// Number of feature columns it was fitted on.
    pub fn n_features(&self) -> usize {
        self.logistic.coef.len()
    }

    /// The logistic regression inside.
    pub fn logistic(&self) -> &Logistic {
        &self.logistic
    }

    /// Everything needed to bring it back.
    pub fn state(&self) -> Result<State> {
        let mut state = State::new(&Saved {
            n_features: self.n_features(),
            knots: self.calibration.as_ref().map(Calibrator::len),
        })?;
        self.logistic.put(&mut state, "logistic");
        if let Some(map) = &self.calibration {
            map.put(&mut state, "calibration");
        }
        Ok(state)
    }

    /// The model from its state.
    pub fn load(state: &State) -> Result<Self> {
        let saved: Saved = state.parse()?;
        let logistic = Logistic::get(state, "logistic", saved.n_features)?;
        let calibration = saved.knots.map(|n| Calibrator::get(state, "calibration", n)).transpose()?;
        Ok(Self { logistic, calibration })
    }
}

#[derive(Serialize, Deserialize)]
struct Saved {
    n_features: usize,
    knots: Option<usize>,
}
