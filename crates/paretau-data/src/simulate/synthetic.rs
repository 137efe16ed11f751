//! The synthetic study of the paper: a third of the features are instruments, a third confounders and a third
//! adjustment variables.
//!
//! With x ~ N(0, I_d) in thirds (X_Γ, X_Δ, X_Υ), ψ = (X_Γ, X_Δ), φ = (X_Δ, X_Υ) and coefficients c ~ N(0, 1):
//! `t ~ Ber(sigmoid(c_A·(ψ+1)))`, `mu0 = 3/(2d) c_0·φ`, `mu1 = 3/(2d) c_1·(φ∘φ)`, `y = mu_t + ε`.

use paretau_core::{ParamKind, ParamSpec, Result, Seed};
use paretau_kernels::numeric::dot_in_order as dot;
use serde::{Deserialize, Serialize};

use super::outcome::{Rows, Simulated};
use super::{Simulator, bad, configure, defaults, sigmoid};

/// Parameters of the synthetic study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SyntheticConfig {
    /// Rows.
    pub n: usize,
    /// Features, a multiple of 3.
    pub d: usize,
    /// Standard deviation of the outcome's noise.
    pub noise: f64,
    /// Seed of the coefficients; derived from the main seed when not given.
    pub coefficient_seed: Option<u64>,
}

impl Default for SyntheticConfig {
    fn default() -> Self {
        Self { n: 20_000, d: 15, noise: 1.0, coefficient_seed: None }
    }
}

const PARAMS: &[ParamSpec] = &[
    super::N,
    ParamSpec::new(
        "d",
        ParamKind::Int { min: 3, max: 1_000_000 },
        "Number of features, a multiple of 3: instruments, confounders, adjustment variables.",
    ),
    super::NOISE,
    super::COEFFICIENT_SEED,
];

pub(super) const ENTRY: Simulator = Simulator {
    name: "synthetic",
    summary: "the paper's study: instruments, confounders and adjustment variables in equal thirds",
    reference: "Chikahara and Ushiyama, UAI 2024",
    params: PARAMS,
    defaults: defaults::<SyntheticConfig>,
    feature_thirds: true,
    run: |params, seed| synthetic(&configure("synthetic", PARAMS, params)?, seed),
};

/// Draws the synthetic study.
pub fn synthetic(config: &SyntheticConfig, seed: Seed) -> Result<Simulated> {
    let SyntheticConfig { n, d, noise, coefficient_seed } = *config;
    if d == 0 || d % 3 != 0 {
        let near = (d / 3 * 3).max(3);
        let expected = format!("a multiple of 3 (thirds have different roles), e.g. {near}");
        return Err(bad("synthetic", "d", d, &expected));
    }
    let third = d / 3;
    let mut rng = coefficient_seed.map_or_else(|| seed.named("coefficients"), Seed).rng();
    let mut coefficients = || (0..2 * third).map(|_| rng.normal()).collect::<Vec<f64>>();
    let (c_a, c_0, c_1) = (coefficients(), coefficients(), coefficients());
    let scale = 3.0 / (2.0 * d as f64);
    let offset: f64 = c_a.iter().sum();
    let mut rng = seed.named("rows").rng();
    let mut rows = Rows::with_capacity(n, d);
    let mut x = vec![0.0; d];
    for _ in 0..n {
        x.iter_mut().for_each(|v| *v = rng.normal());
        let (psi, phi) = (&x[..2 * third], &x[third..]);
        let e = sigmoid(dot(&c_a, psi) + offset);
        let mu0 = scale * dot(&c_0, phi);
        let mu1 = scale * c_1.iter().zip(phi).map(|(c, v)| c * v * v).sum::<f64>();
        rows.push(&x, (mu0, mu1, e), noise, &mut rng);
    }
    rows.finish(d)
}
