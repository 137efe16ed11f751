//! The propensity and the weights that come with every model, whatever its estimator.
//!
//! An estimator with a propensity of its own is taken at its word; for the others a companion, the first base
//! learner that can read the features, is fitted beside them. Weights are the paper's, smoothed row by row with the
//! tail that was fitted on the training rows, so that a row's weight does not depend on the batch it comes in.

use paretau_core::{
    BaseEntry, ColumnKind, Design, Error, Features, FitContext, FittedRegressor, RegressionTask, Result, State, Target,
};
use paretau_kernels::pareto::TailMap;
use paretau_nuisance::{WeightMap, Weights};
use serde::{Deserialize, Serialize};

use crate::registry::{BASES, TOOLBOX};

/// Propensity and weights of one fitted model.
#[derive(Debug)]
pub struct Overlap {
    companion: Option<Companion>,
    map: WeightMap,
}

struct Companion {
    base: &'static dyn BaseEntry,
    regressor: Box<dyn FittedRegressor>,
}

impl std::fmt::Debug for Companion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Companion({})", self.base.name())
    }
}

/// Weights of some rows before and after smoothing.
#[derive(Debug, Clone, PartialEq)]
pub struct RowWeights {
    /// `1 + P(t)/P(1-t) (1/e_t - 1)`.
    pub raw: Vec<f64>,
    /// The same with its tail smoothed.
    pub smooth: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    companion: Option<String>,
    share: f64,
    mu: f64,
    sigma: f64,
    xi: f64,
}

impl Overlap {
    /// Fits on the training rows. `own` is the estimator's own propensity of these rows, when it has one.
    /// Returns the training rows' propensities too: known ones, held-out ones where there are any.
    pub fn fit(design: &Design, own: Option<&[f64]>, ctx: &FitContext<'_>) -> Result<(Self, Vec<f64>)> {
        let n = design.n_rows() as f64;
        let share = design.t().iter().map(|&t| f64::from(t)).sum::<f64>() / n;
        let companion = if own.is_some() { None } else { Some(Companion::fit(design, ctx)?) };
        let e = match (design.propensity(), own, &companion) {
            (Some(known), _, _) => known.to_vec(),
            (None, Some(own), _) => own.to_vec(),
            (None, None, Some(companion)) => match companion.regressor.held_out() {
                Some(held_out) => held_out.to_vec(),
                None => companion.regressor.predict(design.x())?,
            },
            (None, None, None) => vec![share; design.n_rows()],
        };
        let map = Weights::balancing(&e, design.t())?.map;
        Ok((Self { companion, map }, e))
    }

    /// Propensities of rows from the companion; `None` when the estimator has its own.
    pub fn propensity(&self, x: &Features) -> Result<Option<Vec<f64>>> {
        self.companion.as_ref().map(|companion| companion.regressor.predict(x)).transpose()
    }

    /// Weights of rows of known arm.
    pub fn weights(&self, e: &[f64], t: &[u8]) -> Result<RowWeights> {
        let raw = e.iter().zip(t).map(|(&e, &t)| self.map.raw(e, t)).collect();
        let smooth = e.iter().zip(t).map(|(&e, &t)| self.map.weight(e, t)).collect::<Result<_>>()?;
        Ok(RowWeights { raw, smooth })
    }

    /// Everything needed to bring it back.
    pub fn state(&self) -> Result<State> {
        // One tail of all rows: both arms have the same.
        let [tail, _] = &self.map.tails;
        let mut state = State::new(&Saved {
            companion: self.companion.as_ref().map(|c| c.base.name().to_owned()),
            share: self.map.share,
            mu: tail.mu,
            sigma: tail.sigma,
            xi: tail.xi,
        })?;
        state.put_f64("tail", &[tail.tail.len()], tail.tail.clone());
        if let Some(companion) = &self.companion {
            state.nest("regressor", companion.regressor.state()?);
        }
        Ok(state)
    }

    /// The overlap of a saved model.
    pub fn load(state: &State) -> Result<Self> {
        let saved: Saved = state.parse()?;
        let length = state.tensors.get("tail").map_or(0, |tail| tail.shape().iter().product());
        let tail = state.f64("tail", &[length])?.to_vec();
        let companion = saved
            .companion
            .map(|name| -> Result<Companion> {
                let base = TOOLBOX.base(&name).map_err(|e| Error::bad_model(e.to_string()))?;
                Ok(Companion { base, regressor: base.load(&state.nested("regressor")?)? })
            })
            .transpose()?;
        let tail = TailMap { mu: saved.mu, sigma: saved.sigma, xi: saved.xi, tail };
        tail.check().map_err(|e| Error::bad_model(format!("its weight tail is damaged: {e}")))?;
        if !(saved.share > 0.0 && saved.share < 1.0) {
            return Err(Error::bad_model("its share of treated rows is not between 0 and 1"));
        }
        Ok(Self { companion, map: WeightMap::balancing(saved.share, tail) })
    }
}

impl Companion {
    fn fit(design: &Design, ctx: &FitContext<'_>) -> Result<Self> {
        let missing = design.x().has_missing();
        let categories = design.columns().iter().any(|c| matches!(c.kind, ColumnKind::Categorical { .. }));
        let base = BASES
            .iter()
            .find(|base| (base.handles().missing || !missing) && (base.handles().categories || !categories))
            .ok_or_else(|| Error::unfit("no base learner can read these features for the propensity"))?;
        let y: Vec<f64> = design.t().iter().map(|&t| f64::from(t)).collect();
        let task = RegressionTask {
            x: design.x(),
            columns: design.columns(),
            y: &y,
            weight: design.weight(),
            groups: design.groups(),
            target: Target::Probability,
        };
        let regressor =
            base.build(&paretau_core::Params::none())?.fit(&task, &ctx.with_seed(ctx.seed.named("propensity")))?;
        Ok(Self { base: *base, regressor })
    }
}
