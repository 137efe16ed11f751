//! The five synthetic modes that CausalML offers, from their published formulas.
//!
//! Modes 1 to 4 are setups A to D of Nie and Wager (2021). Mode 5 is the hidden confounder after Louizos et al. (2017):
//! z ~ Ber(1/2), x ~ N(z, (5z + 3(1-z))²), t ~ Ber(0.75z + 0.25(1-z)), y ~ Ber(sigmoid(3(z + 2(2t-2)))). The paper has
//! 2t-1 where CausalML has 2t-2; this follows CausalML, whose mode it is.
//! Its truth is given z, which no estimator sees: the effect cannot be recovered exactly from x.

use paretau_core::{ParamKind, ParamSpec, Result, Seed};
use serde::{Deserialize, Serialize};

use super::nie_wager::Setup;
use super::outcome::{Rows, Simulated};
use super::{Simulator, configure, defaults, sigmoid};

/// Parameters of CausalML's modes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CausalmlConfig {
    /// Rows.
    pub n: usize,
    /// Features, at least 5.
    pub d: usize,
    /// Standard deviation of the outcome's noise; mode 5 has a binary outcome and none.
    pub noise: f64,
    /// Mode, 1 to 5.
    pub mode: u8,
}

impl Default for CausalmlConfig {
    fn default() -> Self {
        Self { n: 10_000, d: 5, noise: 1.0, mode: 1 }
    }
}

const PARAMS: &[ParamSpec] = &[
    super::N,
    super::D5,
    super::NOISE,
    ParamSpec::new(
        "mode",
        ParamKind::Int { min: 1, max: 5 },
        "1 difficult nuisance and easy effect, 2 trial, 3 easy propensity and difficult baseline, 4 unrelated \
               arms, 5 hidden confounder.",
    ),
];

pub(super) const ENTRY: Simulator = Simulator {
    name: "causalml",
    summary: "the five synthetic modes that CausalML offers",
    reference: "Nie and Wager, Biometrika 2021; Louizos et al., NeurIPS 2017",
    params: PARAMS,
    defaults: defaults::<CausalmlConfig>,
    feature_thirds: false,
    run: |params, seed| causalml(&configure("causalml", PARAMS, params)?, seed),
};

/// Draws one of the modes.
pub fn causalml(config: &CausalmlConfig, seed: Seed) -> Result<Simulated> {
    let CausalmlConfig { n, d, noise, mode } = *config;
    let mut rng = seed.named("rows").rng();
    let mut rows = Rows::with_capacity(n, d);
    let mut x = vec![0.0; d];
    let setup = match mode {
        1 => Setup::A,
        2 => Setup::B,
        3 => Setup::C,
        4 => Setup::D,
        _ => {
            for _ in 0..n {
                let z = f64::from(u8::from(rng.bernoulli(0.5)));
                let sd = 5.0 * z + 3.0 * (1.0 - z);
                x.iter_mut().for_each(|v| *v = z + sd * rng.normal());
                let mu = |t: f64| sigmoid(3.0 * (z + 2.0 * (2.0 * t - 2.0)));
                rows.push_binary(&x, (mu(0.0), mu(1.0), 0.75 * z + 0.25 * (1.0 - z)), &mut rng);
            }
            return rows.finish(d);
        }
    };
    for _ in 0..n {
        setup.draw(&mut x, &mut rng);
        let (b, tau, e) = setup.truth(&x);
        rows.push(&x, (b - tau / 2.0, b + tau / 2.0, e), noise, &mut rng);
    }
    rows.finish(d)
}
