//! Overlap on a knob, in any dimension: how well methods bear propensities near 0 and 1.
//!
//! x ~ N(0, I_d); `z = (x_1 + … + x_k)/√k` over the k confounders; `e = sigmoid(strength·z)`;
//! `mu0 = z + (x_1² - 1)/2`; `tau = 1 + tanh(z) + x_d/2`. Strength 0 is a trial, 1 good overlap, 3 poor, 6 nearly none;
//! since z is standard normal whatever k and d are, the propensities' distribution depends on the strength alone.

use paretau_core::{ParamKind, ParamSpec, Result, Seed};
use serde::{Deserialize, Serialize};

use super::outcome::{Rows, Simulated};
use super::{Simulator, bad, configure, defaults, sigmoid};

/// Parameters of the overlap study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OverlapConfig {
    /// Rows.
    pub n: usize,
    /// Features.
    pub d: usize,
    /// Standard deviation of the outcome's noise.
    pub noise: f64,
    /// How strongly the confounders drive the treatment.
    pub strength: f64,
    /// Number of confounders; the lesser of 10 and `d` when not given.
    pub confounders: Option<usize>,
}

impl Default for OverlapConfig {
    fn default() -> Self {
        Self { n: 5_000, d: 20, noise: 1.0, strength: 2.0, confounders: None }
    }
}

const PARAMS: &[ParamSpec] = &[
    super::N,
    super::D,
    super::NOISE,
    ParamSpec::new(
        "strength",
        ParamKind::Float { min: 0.0, max: 100.0 },
        "How strongly confounders drive the treatment: 0 a trial, 1 good overlap, 3 poor, 6 nearly none.",
    ),
    ParamSpec::new(
        "confounders",
        ParamKind::Auto(&ParamKind::Int { min: 1, max: i64::MAX }),
        "Number of confounders, at most d.",
    ),
];

pub(super) const ENTRY: Simulator = Simulator {
    name: "overlap",
    summary: "one process whose overlap is set by a knob, in any dimension",
    reference: "",
    params: PARAMS,
    defaults: defaults::<OverlapConfig>,
    feature_thirds: false,
    run: |params, seed| overlap(&configure("overlap", PARAMS, params)?, seed),
};

/// Draws the overlap study.
pub fn overlap(config: &OverlapConfig, seed: Seed) -> Result<Simulated> {
    let OverlapConfig { n, d, noise, strength, confounders } = *config;
    let k = confounders.unwrap_or(10.min(d));
    if k > d {
        return Err(bad("overlap", "confounders", k, &format!("at most the number of features, {d}")));
    }
    let scale = 1.0 / (k as f64).sqrt();
    let mut rng = seed.named("rows").rng();
    let mut rows = Rows::with_capacity(n, d);
    let mut x = vec![0.0; d];
    for _ in 0..n {
        x.iter_mut().for_each(|v| *v = rng.normal());
        let z = scale * x[..k].iter().sum::<f64>();
        let mu0 = z + (x[0] * x[0] - 1.0) / 2.0;
        let tau = 1.0 + z.tanh() + x[d - 1] / 2.0;
        rows.push(&x, (mu0, mu0 + tau, sigmoid(strength * z)), noise, &mut rng);
    }
    rows.finish(d)
}
