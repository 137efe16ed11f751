//! The propensity and the weights that come with every model, whatever its estimator.
//!
//! The propensity is the stack's that belongs to the data, fitted on all rows. Weights are inverse probabilities of the arm
//! that was received, those that the averages and the page use, smoothed row by row with the tails that were fitted on
//! the training rows, so that a row's weight does not depend on the batch it comes in.

use std::borrow::Cow;

use paretau_core::{Dense, Error, Features, FittedRegressor, Result, State};
use paretau_data::{Encoder, Table};
use paretau_kernels::pareto::TailMap;
use paretau_nuisance::{Kind, LogitMap, PropensityStack, Rule, WeightMap};
use serde::{Deserialize, Serialize};

use crate::registry::TOOLBOX;

/// Propensity and weights of one fitted model, per treated arm.
#[derive(Debug)]
pub struct PropensityWeights {
    /// How tables become the features that the propensities read; `None` when they are the estimator's own.
    encoder: Option<Encoder>,
    arms: Vec<ArmPropensity>,
}

/// The probability of a treated arm among its rows and the control's, and what weights they have.
#[derive(Debug)]
pub(crate) struct ArmPropensity {
    /// Stacks with their shares, which sum to 1; more than one where the rows were fitted in blocks.
    pub(crate) stacks: Vec<(f64, PropensityStack)>,
    pub(crate) map: WeightMap,
}

/// Weights of the rows of a treated arm and the control before and after smoothing.
#[derive(Debug, Clone, PartialEq)]
pub struct RowWeights {
    /// `1/P(t | x)`; not a number for rows of other or unknown arms.
    pub raw: Vec<f64>,
    /// The same with its tail smoothed.
    pub smooth: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    encoder: Option<Encoder>,
    n_treated_arms: usize,
}

#[derive(Serialize, Deserialize)]
struct SavedArm {
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
    /// Shares of all stacks, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    blocks: Vec<f64>,
}

/// A stack in figures.
#[derive(Serialize, Deserialize)]
struct SavedStack {
    members: Vec<(String, f64)>,
    mean: (f64, f64),
    calibration: LogitMap,
}

impl PropensityWeights {
    /// One propensity per treated arm, in their order.
    pub(crate) fn new(encoder: Option<Encoder>, arms: Vec<ArmPropensity>) -> Self {
        Self { encoder, arms }
    }

    /// Treated arms.
    pub(crate) fn n_arms(&self) -> usize {
        self.arms.len()
    }

    /// The features that the nuisances' learners read.
    pub(crate) fn features<'a>(&self, table: &Table, x: &'a Features) -> Result<Cow<'a, Features>> {
        match &self.encoder {
            None => Ok(Cow::Borrowed(x)),
            Some(encoder) => Ok(Cow::Owned(encoder.transform(table)?.0)),
        }
    }

    /// Propensities of rows with these features, as [`Self::features`] gives them, one vector per treated arm.
    pub(crate) fn propensities(&self, features: &Features) -> Result<Vec<Vec<f64>>> {
        self.arms.iter().map(|arm| arm.propensity(features)).collect()
    }

    /// Weights of rows with these propensities, one set per treated arm.
    pub(crate) fn weights(&self, e: &[Vec<f64>], t: &[Option<u8>]) -> Result<Vec<RowWeights>> {
        self.arms.iter().zip(e).enumerate().map(|(k, (arm, e))| arm.weights(e, t, k + 1)).collect()
    }

    /// Everything needed to bring it back.
    pub fn state(&self) -> Result<State> {
        let mut state = State::new(&Saved { encoder: self.encoder.clone(), n_treated_arms: self.arms.len() })?;
        for (k, arm) in self.arms.iter().enumerate() {
            state.nest(&format!("arm{}", k + 1), arm.state()?);
        }
        Ok(state)
    }

    /// The propensities and weights of a saved model; `n_features` columns come out of the model's own encoder.
    pub fn load(state: &State, n_features: usize) -> Result<Self> {
        let Saved { encoder, n_treated_arms } = state.parse()?;
        if let Some(encoder) = &encoder {
            encoder.check()?;
        }
        let columns = encoder.as_ref().map_or(n_features, |encoder| encoder.columns().len());
        // The number comes from a file: an arm that is not there ends the loop.
        let mut arms = vec![];
        for k in 1..=n_treated_arms {
            arms.push(ArmPropensity::load(&state.nested(&format!("arm{k}"))?, columns)?);
        }
        Ok(Self { encoder, arms })
    }
}

impl ArmPropensity {
    /// Of one stack.
    pub(crate) fn new(stack: PropensityStack, map: WeightMap) -> Self {
        Self { stacks: vec![(1.0, stack)], map }
    }

    /// Propensities of rows: the mean of the stacks' by their shares.
    fn propensity(&self, features: &Features) -> Result<Vec<f64>> {
        if let [(_, only)] = self.stacks.as_slice() {
            return only.predict(features);
        }
        let mut e = vec![0.0; features.n_rows()];
        for (share, stack) in &self.stacks {
            e.iter_mut().zip(stack.predict(features)?).for_each(|(sum, p)| *sum += share * p);
        }
        Ok(e)
    }

    /// Weights of rows; those that belong neither to the `k`-th arm nor to the control have none, which is not a number.
    fn weights(&self, e: &[f64], t: &[Option<u8>], k: usize) -> Result<RowWeights> {
        let side = |t: &Option<u8>| match t {
            Some(0) => Some(0),
            Some(t) if usize::from(*t) == k => Some(1),
            _ => None,
        };
        let raw = e.iter().zip(t).map(|(&e, t)| side(t).map_or(f64::NAN, |t| self.map.raw(e, t))).collect();
        let smooth = e.iter().zip(t).map(|(&e, t)| side(t).map_or(Ok(f64::NAN), |t| self.map.weight(e, t)));
        Ok(RowWeights { raw, smooth: smooth.collect::<Result<_>>()? })
    }

    fn state(&self) -> Result<State> {
        let map = &self.map;
        let tails = map.tails.each_ref().map(|tail| (tail.mu, tail.sigma, tail.xi));
        let [(_, PropensityStack { members, mean, calibration }), more @ ..] = self.stacks.as_slice() else {
            return Err(Error::internal("saving a model", "it has no propensity"));
        };
        let named = |members: &[Member]| members.iter().map(|(name, share, _)| ((*name).to_owned(), *share)).collect();
        let shares = self.stacks.iter().map(|(share, _)| *share);
        let mut state = State::new(&SavedArm {
            members: named(members),
            mean: *mean,
            calibration: *calibration,
            kind: map.kind,
            rule: map.rule,
            bound: map.bound,
            share: map.share,
            tails,
            blocks: if more.is_empty() { vec![] } else { shares.collect() },
        })?;
        for (arm, tail) in map.tails.iter().enumerate() {
            state.put_f64(TAILS[arm], &[tail.tail.len()], tail.tail.clone());
        }
        nest_members(&mut state, members)?;
        for (k, (_, stack)) in more.iter().enumerate() {
            let PropensityStack { members, mean, calibration } = stack;
            let saved = SavedStack { members: named(members), mean: *mean, calibration: *calibration };
            let mut own = State::new(&saved)?;
            nest_members(&mut own, members)?;
            state.nest(&block(k + 1), own);
        }
        Ok(state)
    }

    fn load(state: &State, columns: usize) -> Result<Self> {
        let SavedArm { members, mean, calibration, kind, rule, bound, share, tails, blocks } = state.parse()?;
        let tail = |arm: usize| -> Result<TailMap> {
            let length = state.tensors.get(TAILS[arm]).map_or(0, |tail| tail.shape().iter().product());
            let (mu, sigma, xi) = tails[arm];
            let tail = TailMap { mu, sigma, xi, tail: state.f64(TAILS[arm], &[length])?.to_vec() };
            tail.check().map_err(|e| Error::bad_model(format!("its weight tail is damaged: {e}")))?;
            Ok(tail)
        };
        let first = stack_of(state, &SavedStack { members, mean, calibration }, columns)?;
        let mut stacks = vec![(blocks.first().copied().unwrap_or(1.0), first)];
        for (k, share) in blocks.iter().enumerate().skip(1) {
            let own = state.nested(&block(k))?;
            stacks.push((*share, stack_of(&own, &own.parse()?, columns)?));
        }
        if stacks.iter().any(|(share, _)| !(0.0..=1.0).contains(share))
            || (stacks.iter().map(|(share, _)| share).sum::<f64>() - 1.0).abs() > 1e-6
        {
            return Err(Error::bad_model("the shares of its propensity's blocks do not sum to 1"));
        }
        if !(share > 0.0 && share < 1.0) {
            return Err(Error::bad_model("its share of treated rows is not between 0 and 1"));
        }
        if bound.is_some_and(|bound| !(bound > 0.0 && bound < 0.5)) {
            return Err(Error::bad_model("the bound of its propensities is not between 0 and 1/2"));
        }
        Ok(Self { stacks, map: WeightMap { kind, rule, bound, share, tails: [tail(0)?, tail(1)?] } })
    }
}

fn block(k: usize) -> String {
    format!("block{k}")
}

fn nest_members(state: &mut State, members: &[Member]) -> Result<()> {
    for (k, (_, _, model)) in members.iter().enumerate() {
        state.nest(&format!("member{k}"), model.state()?);
    }
    Ok(())
}

/// A stack whose members are nested in a state.
fn stack_of(state: &State, saved: &SavedStack, columns: usize) -> Result<PropensityStack> {
    let member = |(k, (name, share)): (usize, &(String, f64))| -> Result<Member> {
        let base = TOOLBOX.base(name).map_err(|e| Error::bad_model(e.to_string()))?;
        let model = base.load(&state.nested(&format!("member{k}"))?)?;
        Ok((base.name(), *share, model))
    };
    let members = saved.members.iter().enumerate().map(member).collect::<Result<Vec<_>>>()?;
    let mean = saved.mean;
    let shares = members.iter().map(|(_, share, _)| *share).chain([mean.1]);
    let total: f64 = shares.clone().sum();
    if shares.into_iter().any(|s| !(0.0..=1.0).contains(&s))
        || (total - 1.0).abs() > 1e-6
        || !(mean.0 > 0.0 && mean.0 < 1.0)
    {
        return Err(Error::bad_model("the shares of its propensity's learners do not sum to 1"));
    }
    let stack = PropensityStack { members, mean, calibration: saved.calibration.checked()? };
    // A member that was fitted on other columns says so when it is asked, which is here and not at the first row.
    stack.predict(&Features::Dense(Dense::new(1, columns, vec![0.0; columns])?))?;
    Ok(stack)
}

/// Names of the tails' largest weights in the state.
const TAILS: [&str; 2] = ["tail0", "tail1"];

/// A base learner's name, its share and its model.
type Member = (&'static str, f64, Box<dyn FittedRegressor>);
