//! A tiny nearest-neighbour base learner with held-out predictions, so that meta-learners are tested with more than
//! one kind of base.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::needless_pass_by_value)]

use paretau_core::{
    BaseEntry, Dense, Design, Effects, Error, EstimatorEntry, Features, FitContext, FittedModel, FittedRegressor,
    Handles, ParamKind, ParamSpec, Params, RegressionTask, Regressor, Result, Seed, State, Target, Toolbox, resolve,
};
use paretau_learners::RidgeBase;
use serde::{Deserialize, Serialize};

pub const TOOLS: Toolbox = Toolbox { bases: &[&RidgeBase, &NeighbourBase] };

#[derive(Debug)]
pub struct NeighbourBase;

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Config {
    k: usize,
}

const PARAMS: &[ParamSpec] = &[ParamSpec::new("k", ParamKind::Int { min: 1, max: 1000 }, "neighbours")];

impl BaseEntry for NeighbourBase {
    fn name(&self) -> &'static str {
        "neighbours"
    }

    fn summary(&self) -> &'static str {
        "Mean of the nearest rows"
    }

    fn handles(&self) -> Handles {
        Handles::default()
    }

    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }

    fn build(&self, params: &Params) -> Result<Box<dyn Regressor>> {
        Ok(Box::new(Neighbours(resolve("neighbours", PARAMS, &Config { k: 10 }, params)?)))
    }

    fn load(&self, state: &State) -> Result<Box<dyn FittedRegressor>> {
        let (k, n, d, probability): (usize, usize, usize, bool) = state.parse()?;
        Ok(Box::new(Fitted {
            k,
            d,
            probability,
            x: state.f64("x", &[n, d])?.to_vec(),
            y: state.f64("y", &[n])?.to_vec(),
            w: state.f64("w", &[n])?.to_vec(),
            own: None,
        }))
    }
}

#[derive(Debug)]
struct Neighbours(Config);

#[derive(Debug)]
struct Fitted {
    k: usize,
    d: usize,
    probability: bool,
    x: Vec<f64>,
    y: Vec<f64>,
    w: Vec<f64>,
    own: Option<Vec<f64>>,
}

impl Fitted {
    fn at(&self, row: &[f64], without: Option<usize>) -> f64 {
        let mut near: Vec<(f64, usize)> = self
            .x
            .chunks(self.d)
            .map(|other| other.iter().zip(row).map(|(a, b)| (a - b).powi(2)).sum::<f64>())
            .zip(0..)
            .filter(|(_, i)| Some(*i) != without)
            .collect();
        if near.len() > self.k {
            near.select_nth_unstable_by(self.k, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            near.truncate(self.k);
        }
        near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let total: f64 = near.iter().map(|(_, i)| self.w[*i]).sum();
        let mean = near.iter().map(|(_, i)| self.w[*i] * self.y[*i]).sum::<f64>() / total.max(1e-300);
        if self.probability { mean.clamp(0.02, 0.98) } else { mean }
    }
}

impl Regressor for Neighbours {
    fn fit(&self, task: &RegressionTask<'_>, _: &FitContext<'_>) -> Result<Box<dyn FittedRegressor>> {
        let Features::Dense(m) = task.x else { return Err(Error::unfit("dense only")) };
        let n = m.n_rows();
        let mut fitted = Fitted {
            k: self.0.k,
            d: m.n_cols(),
            probability: task.target == Target::Probability,
            x: m.values().to_vec(),
            y: task.y.to_vec(),
            w: task.weight.map_or_else(|| vec![1.0; n], <[f64]>::to_vec),
            own: None,
        };
        fitted.own = Some((0..n).map(|i| fitted.at(m.row(i), Some(i))).collect());
        Ok(Box::new(fitted))
    }
}

impl FittedRegressor for Fitted {
    fn predict(&self, x: &Features) -> Result<Vec<f64>> {
        let mut row = vec![0.0; self.d];
        Ok((0..x.n_rows())
            .map(|i| {
                x.copy_row(i, &mut row);
                self.at(&row, None)
            })
            .collect())
    }

    fn held_out(&self) -> Option<&[f64]> {
        self.own.as_deref()
    }

    fn state(&self) -> Result<State> {
        let mut state = State::new(&(self.k, self.y.len(), self.d, self.probability))?;
        state.put_f64("x", &[self.y.len(), self.d], self.x.clone());
        state.put_f64("y", &[self.y.len()], self.y.clone());
        state.put_f64("w", &[self.y.len()], self.w.clone());
        Ok(state)
    }
}

pub fn fit(entry: &dyn EstimatorEntry, params: Params, design: &Design) -> Box<dyn FittedModel> {
    let name = entry.info().name;
    let estimator = entry.build(&params, &TOOLS).unwrap_or_else(|e| panic!("{name}: {e}"));
    estimator.fit(design, &FitContext::silent(Seed(7))).unwrap_or_else(|e| panic!("{name}: {e}"))
}

pub fn effects(entry: &dyn EstimatorEntry, params: Params, design: &Design) -> Effects {
    let effects = fit(entry, params, design).effects(design.x()).unwrap();
    assert!(effects.is_finite());
    effects
}

pub fn ridge() -> Params {
    Params::none().with("base", "ridge")
}

pub fn rmse(a: &[f64], b: &[f64]) -> f64 {
    (a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>() / a.len() as f64).sqrt()
}

pub fn sigmoid(v: f64) -> f64 {
    1.0 / (1.0 + (-v).exp())
}

/// Rows with effect `tau(x)`, baseline `mu0(x)`, and treatment of probability `sigmoid(logit(x))`.
pub fn simulate(
    n: usize,
    seed: u64,
    logit: fn(&[f64]) -> f64,
    mu0: fn(&[f64]) -> f64,
    tau: fn(&[f64]) -> f64,
) -> (Design, Vec<f64>, Vec<f64>) {
    let d = 3;
    let mut rng = Seed(seed).rng();
    let x: Vec<f64> = (0..n * d).map(|_| rng.normal()).collect();
    let e: Vec<f64> = x.chunks(d).map(|r| sigmoid(logit(r))).collect();
    let t: Vec<u8> = e.iter().map(|e| u8::from(rng.bernoulli(*e))).collect();
    let effect: Vec<f64> = x.chunks(d).map(tau).collect();
    let y = (0..n).map(|i| mu0(&x[i * d..(i + 1) * d]) + f64::from(t[i]) * effect[i] + 0.5 * rng.normal()).collect();
    (Design::new(Features::Dense(Dense::new(n, d, x).unwrap()), t, y).unwrap(), effect, e)
}
