//! Processes with a known truth, one file each, and the list that everything else iterates.
//!
//! Every process draws its coefficients and its rows from separate streams of one seed, so that fresh rows of
//! the same process can be drawn: keep `coefficient_seed` and change the seed.

mod acic;
mod causalml;
mod digamma;
mod draws;
mod grf;
mod lda;
mod news;
mod nie_wager;
mod outcome;
mod overlap;
mod synthetic;
mod trial;

use paretau_core::{Error, ParamKind, ParamSpec, Params, Result, Seed, resolve};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use acic::{AcicConfig, acic};
pub use causalml::{CausalmlConfig, causalml};
pub use grf::{GrfConfig, grf};
pub use news::{NewsConfig, news};
pub use outcome::Simulated;
pub use overlap::{OverlapConfig, overlap};
pub use synthetic::{SyntheticConfig, synthetic};
pub use trial::{TrialConfig, trial};

/// A process in the list.
#[derive(Clone, Copy)]
pub struct Simulator {
    /// Its name, e.g. `synthetic`.
    pub name: &'static str,
    /// One line about it.
    pub summary: &'static str,
    /// Where it comes from.
    pub reference: &'static str,
    /// Its parameters.
    pub params: &'static [ParamSpec],
    /// Their defaults as a JSON object.
    pub defaults: fn() -> Value,
    /// Whether its features come in equal thirds: instruments, confounders, adjustment variables, so that what encoders
    /// read of them can be scored.
    pub feature_thirds: bool,
    /// Draws a data set.
    pub run: fn(&Params, Seed) -> Result<Simulated>,
}

impl std::fmt::Debug for Simulator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Simulator").field("name", &self.name).finish_non_exhaustive()
    }
}

/// All processes.
pub const SIMULATORS: &[Simulator] =
    &[synthetic::ENTRY, news::ENTRY, acic::ENTRY, trial::ENTRY, overlap::ENTRY, causalml::ENTRY, grf::ENTRY];

/// The process of that name.
pub fn simulator(name: &str) -> Result<&'static Simulator> {
    SIMULATORS
        .iter()
        .find(|s| s.name.eq_ignore_ascii_case(name))
        .ok_or_else(|| Error::unknown_name("simulator", name, SIMULATORS.iter().map(|s| s.name)))
}

/// Parameters that several processes share.
const N: ParamSpec = ParamSpec::new("n", ParamKind::Int { min: 1, max: 100_000_000 }, "Number of rows.");
const D: ParamSpec = ParamSpec::new("d", ParamKind::Int { min: 1, max: 1_000_000 }, "Number of features.");
const D5: ParamSpec = ParamSpec::new("d", ParamKind::Int { min: 5, max: 1_000_000 }, "Number of features, at least 5.");
const NOISE: ParamSpec = ParamSpec::new(
    "noise",
    ParamKind::Float { min: 0.0, max: f64::INFINITY },
    "Standard deviation of the outcome's noise.",
);
const COEFFICIENT_SEED: ParamSpec = ParamSpec::new(
    "coefficient_seed",
    ParamKind::Auto(&ParamKind::Int { min: 0, max: i64::MAX }),
    "Seed of the process's own coefficients; with it fixed, other seeds draw fresh rows of one process.",
);

/// Defaults of a configuration type as JSON.
fn defaults<C: Default + Serialize>() -> Value {
    serde_json::to_value(C::default()).unwrap_or(Value::Null)
}

/// A configuration from parameters.
fn configure<C>(name: &str, specs: &[ParamSpec], params: &Params) -> Result<C>
where
    C: Default + Serialize + DeserializeOwned,
{
    let config: C = resolve(name, specs, &C::default(), params)?;
    let size = |key: &str| serde_json::to_value(&config).ok().and_then(|all| all.get(key)?.as_u64());
    // Drawn numbers and the table made of them.
    if let Some(n) = size("n") {
        let cells = n.saturating_mul(size("d").unwrap_or(1).saturating_add(8));
        if cells.saturating_mul(16) > crate::default_max_memory() {
            return Err(bad(name, "n", n, "a number of rows that fits into memory together with the features"));
        }
    }
    Ok(config)
}

/// The error for a value that its range allows but another parameter does not.
fn bad(owner: &str, name: &str, value: impl std::fmt::Display, expected: &str) -> Error {
    Error::BadParameter { owner: owner.into(), name: name.into(), value: value.to_string(), expected: expected.into() }
}

/// The logistic function as the published designs compute it; the numerically careful one of the kernels differs in last
/// bits, and with them the simulated arms would.
fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}
