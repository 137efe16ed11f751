//! The named designs that grf's manual lists, from the papers that it cites.
//!
//! | design | features | baseline m | effect tau | propensity e |
//! |---|---|---|---|---|
//! | `simple` | N(0,1) | x2 + min(x3,0) + tau/2 | max(x1,0) | 0.4 + 0.2·1(x1>0) |
//! | `aw1` | U(0,1) | 2x1 - 1 | 0 | (1 + β(x1))/4, β the Beta(2,4) density |
//! | `aw2` | U(0,1) | 0 | ς(x1)ς(x2), ς(u) = 1 + 1/(1+exp(-20(u-1/3))) | 1/2 |
//! | `aw3` | U(0,1) | as aw1 | as aw2 | as aw1 |
//! | `aw3reverse` | U(0,1) | aw3's at 1-x1 | as aw2 | aw3's at 1-x1 |
//! | `ai1` | N(0,1) | x1/2 + x2 | x1/2 | 1/2 |
//! | `ai2` | N(0,1) | (x1+x2)/2 + x3+…+x6 | max(x1,0) + max(x2,0) | 1/2 |
//! | `kunzel` | N(0,Σ) | x·c + 5·1(x1>1/2) + tau/2, c ~ U(-5,5) | 8·1(x2>0.1) | 0.01 |
//! | `nw1`…`nw4` | setups A to D of Nie and Wager | | | |
//!
//! `mu0 = m - tau/2`, `mu1 = m + tau/2`. Künzel et al. draw Σ at random; here it is 0.5^|i-j|, which is close and repeatable.

use paretau_core::{ParamKind, ParamSpec, Result, Seed};
use paretau_kernels::numeric::dot_in_order as dot;
use serde::{Deserialize, Serialize};

use super::draws::beta_2_4;
use super::nie_wager::Setup;
use super::outcome::{Rows, Simulated};
use super::{Simulator, bad, configure, defaults};

/// Parameters of grf's designs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrfConfig {
    /// Rows.
    pub n: usize,
    /// Features.
    pub d: usize,
    /// Standard deviation of the outcome's noise.
    pub noise: f64,
    /// Name of the design.
    pub design: String,
    /// Standard deviation to which the baseline is scaled; as the papers have it when not given.
    pub sd_baseline: Option<f64>,
    /// Standard deviation to which the effect is scaled; as the papers have it when not given.
    pub sd_effect: Option<f64>,
    /// Seed of the coefficients (of `kunzel`); derived from the main seed when not given.
    pub coefficient_seed: Option<u64>,
}

impl Default for GrfConfig {
    fn default() -> Self {
        Self {
            n: 5_000,
            d: 10,
            noise: 1.0,
            design: "simple".into(),
            sd_baseline: None,
            sd_effect: None,
            coefficient_seed: None,
        }
    }
}

const DESIGNS: &[&str] =
    &["simple", "aw1", "aw2", "aw3", "aw3reverse", "ai1", "ai2", "kunzel", "nw1", "nw2", "nw3", "nw4"];
const SD: ParamKind = ParamKind::Auto(&ParamKind::Float { min: 0.0, max: f64::INFINITY });

const PARAMS: &[ParamSpec] = &[
    super::N,
    super::D,
    super::NOISE,
    ParamSpec::new("design", ParamKind::Choice(DESIGNS), "Name of the design."),
    ParamSpec::new("sd_baseline", SD, "Scale the baseline to this standard deviation."),
    ParamSpec::new("sd_effect", SD, "Scale the effect to this standard deviation."),
    super::COEFFICIENT_SEED,
];

pub(super) const ENTRY: Simulator = Simulator {
    name: "grf",
    summary: "the named designs of grf's manual: simple, aw1-3, ai1-2, kunzel, nw1-4",
    reference: "Wager and Athey 2018; Athey and Imbens 2016; Künzel et al. 2019; Nie and Wager 2021",
    params: PARAMS,
    defaults: defaults::<GrfConfig>,
    feature_thirds: false,
    run: |params, seed| grf(&configure("grf", PARAMS, params)?, seed),
};

/// Draws a named design.
pub fn grf(config: &GrfConfig, seed: Seed) -> Result<Simulated> {
    let GrfConfig { n, d, noise, .. } = *config;
    let design = config.design.as_str();
    let fewest = match design {
        "simple" => 3,
        "aw1" => 1,
        "aw2" | "aw3" | "aw3reverse" | "ai1" | "kunzel" => 2,
        "ai2" => 6,
        "nw1" | "nw2" | "nw3" | "nw4" => 5,
        other => return Err(bad("grf", "design", other, &format!("one of {}", DESIGNS.join(", ")))),
    };
    if d < fewest {
        return Err(bad("grf", "d", d, &format!("at least {fewest} for the design {design}")));
    }
    let mut rng = config.coefficient_seed.map_or_else(|| seed.named("coefficients"), Seed).rng();
    let beta: Vec<f64> = (0..d).map(|_| 10.0 * rng.uniform() - 5.0).collect();
    let mut rng = seed.named("rows").rng();
    let mut x = vec![0.0; n * d];
    let mut truth: Vec<(f64, f64, f64)> = Vec::with_capacity(n);
    for row in x.chunks_exact_mut(d) {
        draw(design, row, &mut rng);
        truth.push(baseline_effect_propensity(design, row, &beta));
    }
    if let Some(sd) = config.sd_baseline {
        rescale(truth.iter_mut().map(|t| &mut t.0).collect(), sd);
    }
    if let Some(sd) = config.sd_effect {
        rescale(truth.iter_mut().map(|t| &mut t.1).collect(), sd);
    }
    let mut rows = Rows::with_capacity(n, d);
    for (row, (m, tau, e)) in x.chunks_exact(d).zip(truth) {
        rows.push(row, (m - tau / 2.0, m + tau / 2.0, e), noise, &mut rng);
    }
    rows.finish(d)
}

fn draw(design: &str, row: &mut [f64], rng: &mut paretau_core::Rng) {
    match setup(design) {
        Some(setup) => setup.draw(row, rng),
        None if design.starts_with("aw") => row.iter_mut().for_each(|v| *v = rng.uniform()),
        None => {
            row.iter_mut().for_each(|v| *v = rng.normal());
            if design == "kunzel" {
                // A first-order autoregression has the correlations 0.5^|i-j|.
                for j in 1..row.len() {
                    row[j] = 0.5 * row[j - 1] + 0.75_f64.sqrt() * row[j];
                }
            }
        }
    }
}

fn setup(design: &str) -> Option<Setup> {
    match design {
        "nw1" => Some(Setup::A),
        "nw2" => Some(Setup::B),
        "nw3" => Some(Setup::C),
        "nw4" => Some(Setup::D),
        _ => None,
    }
}

/// The truth of a row: (m, tau, e).
fn baseline_effect_propensity(design: &str, x: &[f64], beta: &[f64]) -> (f64, f64, f64) {
    let step = |u: f64| 1.0 + super::sigmoid(20.0 * (u - 1.0 / 3.0));
    let if_above = |v: f64, bound: f64| f64::from(u8::from(v > bound));
    let confounded = |u: f64| (2.0 * u - 1.0, (1.0 + beta_2_4(u)) / 4.0);
    if let Some(setup) = setup(design) {
        return setup.truth(x);
    }
    match design {
        "aw1" => (confounded(x[0]).0, 0.0, confounded(x[0]).1),
        "aw2" => (0.0, step(x[0]) * step(x[1]), 0.5),
        "aw3" | "aw3reverse" => {
            let (m, e) = confounded(if design == "aw3" { x[0] } else { 1.0 - x[0] });
            (m, step(x[0]) * step(x[1]), e)
        }
        "ai1" => (x[0] / 2.0 + x[1], x[0] / 2.0, 0.5),
        "ai2" => (0.5 * (x[0] + x[1]) + x[2..6].iter().sum::<f64>(), x[0].max(0.0) + x[1].max(0.0), 0.5),
        "kunzel" => {
            let tau = 8.0 * if_above(x[1], 0.1);
            (dot(x, beta) + 5.0 * if_above(x[0], 0.5) + tau / 2.0, tau, 0.01)
        }
        _ => {
            let tau = x[0].max(0.0);
            (x[1] + x[2].min(0.0) + tau / 2.0, tau, 0.4 + 0.2 * if_above(x[0], 0.0))
        }
    }
}

/// Scales values to a standard deviation, leaving constant ones as they are.
fn rescale(mut values: Vec<&mut f64>, sd: f64) {
    let n = values.len() as f64;
    let mean = values.iter().map(|v| **v).sum::<f64>() / n;
    let now = (values.iter().map(|v| (**v - mean).powi(2)).sum::<f64>() / n).sqrt();
    if now > 1e-12 {
        values.iter_mut().for_each(|v| **v *= sd / now);
    }
}
