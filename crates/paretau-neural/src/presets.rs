//! The presets: one configuration type, one build, different defaults.

use paretau_core::{
    ConfigEntry, Estimator, EstimatorEntry, EstimatorInfo, Family, FittedModel, Handles, Result, State, Toolbox,
};

use crate::config::{NetConfig, Network, WeightingName};
use crate::estimator::NetEstimator;
use crate::fitted::NetModel;
use crate::loss::Balance;
use crate::specs::SPECS;

const HANDLES: Handles = Handles { missing: false, sparse: true, categories: false, many_arms: false };
const DPSW: &str = "Chikahara and Ushiyama, UAI 2024";
const DRCFR: &str = "Hassanpour and Greiner, ICLR 2020";

const fn entry(
    name: &'static str,
    (aliases, class): (&'static [&'static str], &'static str),
    (summary, reference): (&'static str, &'static str),
    preset: fn() -> NetConfig,
) -> ConfigEntry<NetConfig> {
    let info = EstimatorInfo { name, aliases, family: Family::Neural, class, summary, reference, handles: HANDLES };
    ConfigEntry { info, params: SPECS, preset, build, load }
}

#[allow(clippy::unnecessary_wraps)]
fn build(config: NetConfig, _: &Toolbox) -> Result<Box<dyn Estimator>> {
    Ok(Box::new(NetEstimator::new(config)?))
}

fn load(state: &State, _: &Toolbox) -> Result<Box<dyn FittedModel>> {
    Ok(Box::new(NetModel::load(state)?))
}

fn shared() -> NetConfig {
    NetConfig {
        network: Network::Shared,
        weighting: WeightingName::Uniform,
        balance: Balance::None,
        gamma: Some(0.0),
        ..NetConfig::default()
    }
}

fn disentangled(weighting: WeightingName) -> NetConfig {
    NetConfig { weighting, gamma: Some(1.0), ..NetConfig::default() }
}

/// `tarnet`.
pub static TARNET: ConfigEntry<NetConfig> = entry(
    "tarnet",
    (&["TARNet"], "TARNet"),
    ("One shared representation, one outcome head an arm", "Shalit, Johansson and Sontag, ICML 2017"),
    shared,
);

/// `drcfr`.
pub static DRCFR_RAW: ConfigEntry<NetConfig> =
    entry("drcfr", (&["DRCFR"], "DRCFR"), ("Three representations, propensity-weighted outcome loss", DRCFR), || {
        disentangled(WeightingName::Ipw)
    });

/// `drcfr-norm`.
pub static DRCFR_NORM: ConfigEntry<NetConfig> =
    entry("drcfr-norm", (&["DRCFR Norm."], "DRCFR"), ("drcfr with weights divided by their arm's mean", DPSW), || {
        disentangled(WeightingName::Norm)
    });

/// `dpsw-norm`.
pub static DPSW_NORM: ConfigEntry<NetConfig> = entry(
    "dpsw-norm",
    (&["DPSW Norm."], "DPSW"),
    ("Three representations, differentiable Pareto-smoothed weights divided by their arm's mean", DPSW),
    NetConfig::default,
);

/// `dpsw`.
pub static DPSW_RAW: ConfigEntry<NetConfig> =
    entry("dpsw", (&["DPSW"], "DPSW"), ("Three representations, differentiable Pareto-smoothed weights", DPSW), || {
        disentangled(WeightingName::Pareto)
    });

/// All neural estimators.
pub const ENTRIES: &[&'static dyn EstimatorEntry] = &[&TARNET, &DRCFR_RAW, &DRCFR_NORM, &DPSW_NORM, &DPSW_RAW];
