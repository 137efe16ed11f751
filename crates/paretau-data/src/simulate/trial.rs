//! A randomised trial: treatment by coin, an effect that is constant or grows with the first feature.
//!
//! x ~ N(0, I_d), e = `share`, `mu0 = x1 + x2/2`, `tau = effect + heterogeneity·x1`.

use paretau_core::{ParamKind, ParamSpec, Result, Seed};
use serde::{Deserialize, Serialize};

use super::outcome::{Rows, Simulated};
use super::{Simulator, configure, defaults};

/// Parameters of the trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrialConfig {
    /// Rows.
    pub n: usize,
    /// Features.
    pub d: usize,
    /// Standard deviation of the outcome's noise.
    pub noise: f64,
    /// Mean effect.
    pub effect: f64,
    /// How much the effect changes with the first feature; 0 for a constant effect.
    pub heterogeneity: f64,
    /// Probability of treatment.
    pub share: f64,
}

impl Default for TrialConfig {
    fn default() -> Self {
        Self { n: 5_000, d: 10, noise: 1.0, effect: 1.0, heterogeneity: 0.0, share: 0.5 }
    }
}

const ANY: ParamKind = ParamKind::Float { min: f64::NEG_INFINITY, max: f64::INFINITY };

const PARAMS: &[ParamSpec] = &[
    super::N,
    super::D,
    super::NOISE,
    ParamSpec::new("effect", ANY, "Mean effect."),
    ParamSpec::new("heterogeneity", ANY, "How much the effect changes with the first feature; 0 makes it constant."),
    ParamSpec::new("share", ParamKind::Float { min: 0.001, max: 0.999 }, "Probability of treatment."),
];

pub(super) const ENTRY: Simulator = Simulator {
    name: "trial",
    summary: "a randomised trial with a constant effect, or one that grows with a feature",
    reference: "",
    params: PARAMS,
    defaults: defaults::<TrialConfig>,
    feature_thirds: false,
    run: |params, seed| trial(&configure("trial", PARAMS, params)?, seed),
};

/// Draws a trial.
pub fn trial(config: &TrialConfig, seed: Seed) -> Result<Simulated> {
    let TrialConfig { n, d, noise, effect, heterogeneity, share } = *config;
    let mut rng = seed.named("rows").rng();
    let mut rows = Rows::with_capacity(n, d);
    let mut x = vec![0.0; d];
    for _ in 0..n {
        x.iter_mut().for_each(|v| *v = rng.normal());
        let mu0 = x[0] + x.get(1).map_or(0.0, |v| v / 2.0);
        rows.push(&x, (mu0, mu0 + effect + heterogeneity * x[0], share), noise, &mut rng);
    }
    rows.finish(d)
}
