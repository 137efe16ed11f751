//! The propensity and the weights that come with every model, whatever its estimator.
//!
//! The propensity is the stack's that belongs to the data, fitted on all rows. Weights are inverse probabilities of the arm
//! that was received, those that the averages and the page use, smoothed row by row with the tails that were fitted on
//! the training rows, so that a row's weight does not depend on the batch it comes in.

use paretau_core::{Dense, Error, Features, FittedRegressor, Result, State};
use paretau_data::{Encoder, Table};
use paretau_kernels::pareto::TailMap;
use paretau_nuisance::{Kind, LogitMap, PropensityStack, Rule, WeightMap};
use serde::{Deserialize, Serialize};

use crate::registry::TOOLBOX;

/// Propensity and weights of one fitted model.
#[derive(Debug)]
pub struct PropensityWeights {
    /// How tables become the features that the propensity reads; `None` when they are the estimator's own.
    encoder: Option<Encoder>,
    stack: PropensityStack,
    map: WeightMap,
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
    encoder: Option<Encoder>,
    /// Base learners with their shares.
    members: Vec<(String, f64)>,
    /// The share of treated rows, and how much it counts.
    mean: (f64, f64),
    calibration: LogitMap,
    kind: Kind,
    rule: Rule,
    bound: Option<f64>,
    share: f64,
    /// Start, scale and shape of each arm's tail.
    tails: [(f64, f64, f64); 2],
}

impl PropensityWeights {
    pub(crate) fn new(encoder: Option<Encoder>, stack: PropensityStack, map: WeightMap) -> Self {
        Self { encoder, stack, map }
    }

    /// Propensities of a table's rows, whose features are `x` by the model's own encoder.
    pub fn propensity(&self, table: &Table, x: &Features) -> Result<Vec<f64>> {
        match &self.encoder {
            None => self.stack.predict(x),
            Some(encoder) => self.stack.predict(&encoder.transform(table)?.0),
        }
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
        let PropensityStack { members, mean, calibration } = &self.stack;
        let mut state = State::new(&Saved {
            encoder: self.encoder.clone(),
            members: members.iter().map(|(name, share, _)| ((*name).to_owned(), *share)).collect(),
            mean: *mean,
            calibration: *calibration,
            kind: map.kind,
            rule: map.rule,
            bound: map.bound,
            share: map.share,
            tails,
        })?;
        for (arm, tail) in map.tails.iter().enumerate() {
            state.put_f64(TAILS[arm], &[tail.tail.len()], tail.tail.clone());
        }
        for (k, (_, _, model)) in members.iter().enumerate() {
            state.nest(&format!("member{k}"), model.state()?);
        }
        Ok(state)
    }

    /// The propensity and weights of a saved model; `n_features` columns come out of the model's own encoder.
    pub fn load(state: &State, n_features: usize) -> Result<Self> {
        let Saved { encoder, members, mean, calibration, kind, rule, bound, share, tails } = state.parse()?;
        let tail = |arm: usize| -> Result<TailMap> {
            let length = state.tensors.get(TAILS[arm]).map_or(0, |tail| tail.shape().iter().product());
            let (mu, sigma, xi) = tails[arm];
            let tail = TailMap { mu, sigma, xi, tail: state.f64(TAILS[arm], &[length])?.to_vec() };
            tail.check().map_err(|e| Error::bad_model(format!("its weight tail is damaged: {e}")))?;
            Ok(tail)
        };
        if let Some(encoder) = &encoder {
            encoder.check()?;
        }
        let columns = encoder.as_ref().map_or(n_features, |encoder| encoder.columns().len());
        let member = |(k, (name, share)): (usize, &(String, f64))| -> Result<Member> {
            let base = TOOLBOX.base(name).map_err(|e| Error::bad_model(e.to_string()))?;
            let model = base.load(&state.nested(&format!("member{k}"))?)?;
            Ok((base.name(), *share, model))
        };
        let members = members.iter().enumerate().map(member).collect::<Result<Vec<_>>>()?;
        let shares = members.iter().map(|(_, share, _)| *share).chain([mean.1]);
        let total: f64 = shares.clone().sum();
        if shares.into_iter().any(|s| !(0.0..=1.0).contains(&s))
            || (total - 1.0).abs() > 1e-6
            || !(mean.0 > 0.0 && mean.0 < 1.0)
        {
            return Err(Error::bad_model("the shares of its propensity's learners do not sum to 1"));
        }
        let stack = PropensityStack { members, mean, calibration: calibration.checked()? };
        // A member that was fitted on other columns says so when it is asked, which is here and not at the first row.
        stack.predict(&Features::Dense(Dense::new(1, columns, vec![0.0; columns])?))?;
        if !(share > 0.0 && share < 1.0) {
            return Err(Error::bad_model("its share of treated rows is not between 0 and 1"));
        }
        if bound.is_some_and(|bound| !(bound > 0.0 && bound < 0.5)) {
            return Err(Error::bad_model("the bound of its propensities is not between 0 and 1/2"));
        }
        Ok(Self { encoder, stack, map: WeightMap { kind, rule, bound, share, tails: [tail(0)?, tail(1)?] } })
    }
}

/// Names of the tails' largest weights in the state.
const TAILS: [&str; 2] = ["tail0", "tail1"];

/// A base learner's name, its share and its model.
type Member = (&'static str, f64, Box<dyn FittedRegressor>);
