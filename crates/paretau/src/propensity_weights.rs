//! The propensity and the weights that come with every model, whatever its estimator.
//!
//! An estimator with a propensity of its own is taken at its word; for the others a companion, the first base
//! learner that can read the features, is fitted beside them. Weights are inverse probabilities of the arm that was
//! received, those that the averages and the page use, smoothed row by row with the tails that were fitted on the training
//! rows, so that a row's weight does not depend on the batch it comes in.

use paretau_core::{
    BaseEntry, ColumnKind, Design, Error, Features, FitContext, FittedRegressor, RegressionTask, Result, State, Target,
};
use paretau_kernels::pareto::TailMap;
use paretau_nuisance::{Kind, Rule, WeightMap};
use serde::{Deserialize, Serialize};

use crate::registry::{BASES, TOOLBOX};

/// Propensity and weights of one fitted model.
#[derive(Debug)]
pub struct PropensityWeights {
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
    /// `1/P(t | x)`; not a number where the arm is not known.
    pub raw: Vec<f64>,
    /// The same with its tail smoothed.
    pub smooth: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    companion: Option<String>,
    kind: Kind,
    rule: Rule,
    bound: Option<f64>,
    share: f64,
    /// Start, scale and shape of each arm's tail.
    tails: [(f64, f64, f64); 2],
}

impl PropensityWeights {
    /// Fits on the training rows. `own` is the estimator's own propensity of these rows, when it has one.
    /// Returns the training rows' propensities too: known ones, held-out ones where there are any.
    pub(crate) fn fit(
        design: &Design,
        own: Option<&[f64]>,
        ctx: &FitContext<'_>,
    ) -> Result<(PropensityModel, Vec<f64>)> {
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
        Ok((PropensityModel { companion }, e))
    }

    /// Propensities of rows from the companion; `None` when the estimator has its own.
    pub fn propensity(&self, x: &Features) -> Result<Option<Vec<f64>>> {
        self.companion.as_ref().map(|companion| companion.regressor.predict(x)).transpose()
    }

    /// Weights of rows; those of unknown arm have none, which is not a number.
    pub fn weights(&self, e: &[f64], t: &[Option<u8>]) -> Result<RowWeights> {
        let known = |t: &Option<u8>| t.filter(|&t| t < 2);
        let raw = e.iter().zip(t).map(|(&e, t)| known(t).map_or(f64::NAN, |t| self.map.raw(e, t))).collect();
        let smooth = e.iter().zip(t).map(|(&e, t)| known(t).map_or(Ok(f64::NAN), |t| self.map.weight(e, t)));
        Ok(RowWeights { raw, smooth: smooth.collect::<Result<_>>()? })
    }

    /// Everything needed to bring it back.
    pub fn state(&self) -> Result<State> {
        let map = &self.map;
        let tails = map.tails.each_ref().map(|tail| (tail.mu, tail.sigma, tail.xi));
        let mut state = State::new(&Saved {
            companion: self.companion.as_ref().map(|c| c.base.name().to_owned()),
            kind: map.kind,
            rule: map.rule,
            bound: map.bound,
            share: map.share,
            tails,
        })?;
        for (arm, tail) in map.tails.iter().enumerate() {
            state.put_f64(TAILS[arm], &[tail.tail.len()], tail.tail.clone());
        }
        if let Some(companion) = &self.companion {
            state.nest("regressor", companion.regressor.state()?);
        }
        Ok(state)
    }

    /// The propensity and weights of a saved model.
    pub fn load(state: &State) -> Result<Self> {
        let Saved { companion, kind, rule, bound, share, tails } = state.parse()?;
        let tail = |arm: usize| -> Result<TailMap> {
            let length = state.tensors.get(TAILS[arm]).map_or(0, |tail| tail.shape().iter().product());
            let (mu, sigma, xi) = tails[arm];
            let tail = TailMap { mu, sigma, xi, tail: state.f64(TAILS[arm], &[length])?.to_vec() };
            tail.check().map_err(|e| Error::bad_model(format!("its weight tail is damaged: {e}")))?;
            Ok(tail)
        };
        let companion = companion
            .map(|name| -> Result<Companion> {
                let base = TOOLBOX.base(&name).map_err(|e| Error::bad_model(e.to_string()))?;
                Ok(Companion { base, regressor: base.load(&state.nested("regressor")?)? })
            })
            .transpose()?;
        if !(share > 0.0 && share < 1.0) {
            return Err(Error::bad_model("its share of treated rows is not between 0 and 1"));
        }
        if bound.is_some_and(|bound| !(bound > 0.0 && bound < 0.5)) {
            return Err(Error::bad_model("the bound of its propensities is not between 0 and 1/2"));
        }
        Ok(Self { companion, map: WeightMap { kind, rule, bound, share, tails: [tail(0)?, tail(1)?] } })
    }
}

/// Names of the tails' largest weights in the state.
const TAILS: [&str; 2] = ["tail0", "tail1"];

/// A propensity whose weights are still to come.
#[derive(Debug)]
pub(crate) struct PropensityModel {
    companion: Option<Companion>,
}

impl PropensityModel {
    /// The propensity with the weights of the training rows.
    pub(crate) fn with_weights(self, map: WeightMap) -> PropensityWeights {
        PropensityWeights { companion: self.companion, map }
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
