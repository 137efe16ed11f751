//! Small data sets with a known truth.
#![allow(dead_code, unreachable_pub, missing_docs, clippy::unwrap_used, clippy::expect_used)]

use paretau_core::{Column, Dense, Design, Features, Seed, State, Tensor};

/// Rows with everything known about them.
pub struct Known {
    pub x: Features,
    pub columns: Vec<Column>,
    pub t: Vec<u8>,
    pub w: Vec<f64>,
    pub y: Vec<f64>,
    pub e: Vec<f64>,
    pub m: Vec<f64>,
    pub tau: Vec<f64>,
}

impl Known {
    pub fn design(&self) -> Design {
        Design::new(self.x.clone(), self.t.clone(), self.y.clone()).unwrap()
    }
}

/// Uniform features; `baseline`, `propensity` and `effect` are functions of a row.
pub fn simulate(
    (n, p, seed): (usize, usize, u64),
    baseline: impl Fn(&[f64]) -> f64,
    propensity: impl Fn(&[f64]) -> f64,
    effect: impl Fn(&[f64]) -> f64,
) -> Known {
    let mut rng = Seed(seed).rng();
    let mut values = Vec::with_capacity(n * p);
    let (mut t, mut y, mut e, mut m, mut tau) = (vec![], vec![], vec![], vec![], vec![]);
    for _ in 0..n {
        let row: Vec<f64> = (0..p).map(|_| rng.uniform()).collect();
        let (b, prob, effect) = (baseline(&row), propensity(&row), effect(&row));
        let treated = rng.bernoulli(prob);
        t.push(u8::from(treated));
        y.push(b + if treated { effect } else { 0.0 } + rng.normal());
        e.push(prob);
        m.push(b + prob * effect);
        tau.push(effect);
        values.extend(row);
    }
    let w = t.iter().map(|&t| f64::from(t)).collect();
    let x = Features::Dense(Dense::new(n, p, values).unwrap());
    Known { x, columns: Column::numbered(p), t, w, y, e, m, tau }
}

/// A smooth effect under confounding (the second design of Wager and Athey 2018 without its first's confounding).
pub fn smooth(n: usize, p: usize, seed: u64) -> Known {
    let sigmoid = |v: f64| 1.0 + 1.0 / (1.0 + (-20.0 * (v - 1.0 / 3.0)).exp());
    simulate((n, p, seed), |_| 0.0, |_| 0.5, |x| sigmoid(x[0]) * sigmoid(x[1]))
}

/// Confounded, with an effect that rises with one feature.
pub fn confounded(n: usize, p: usize, seed: u64) -> Known {
    simulate((n, p, seed), |x| 2.0 * x[2] - 1.0, |x| 0.25 + 0.5 * x[2], |x| 1.0 + x[0])
}

/// Root mean squared difference.
pub fn rmse(a: &[f64], b: &[f64]) -> f64 {
    (a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>() / a.len() as f64).sqrt()
}

/// Mean.
pub fn mean(v: &[f64]) -> f64 {
    v.iter().sum::<f64>() / v.len() as f64
}

/// The tensors that hold a forest's splits, leaves left out.
pub fn splits(state: &State, part: &str) -> Vec<(String, Tensor)> {
    ["child", "feature", "cut", "roots", "sets"]
        .iter()
        .map(|name| format!("{part}{name}"))
        .map(|name| (name.clone(), state.tensors.get(&name).expect("a tensor of the forest").clone()))
        .collect()
}
