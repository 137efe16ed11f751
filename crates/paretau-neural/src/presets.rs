//! The presets: one configuration type, one build, different defaults.

use paretau_core::{
    Abilities, BuildContext, ConfigEntry, Estimator, EstimatorEntry, EstimatorInfo, Family, FittedModel, Handles,
    ParamSpec, Result, State, Toolbox,
};

use crate::config::{NetConfig, Network, WeightingName};
use crate::estimator::NetEstimator;
use crate::fitted::NetModel;
use crate::loss::Balance;
use crate::second_stage::{self, SecondStage};
use crate::specs::{BALANCED, DISENTANGLED, PARETO, PLAIN};

const HANDLES: Handles = Handles { missing: false, sparse: true, categories: false, many_arms: false };
const ABILITIES: Abilities = Abilities { checkpoints: true, early_stopping: true, intervals: false };
const DPSW: &str = "Chikahara and Ushiyama, UAI 2024";
const DRCFR: &str = "Hassanpour and Greiner, ICLR 2020";

const fn entry(
    name: &'static str,
    (aliases, class): (&'static [&'static str], &'static str),
    (summary, reference): (&'static str, &'static str),
    params: &'static [ParamSpec],
    preset: fn() -> NetConfig,
) -> ConfigEntry<NetConfig> {
    let info = EstimatorInfo {
        name,
        aliases,
        family: Family::Neural,
        class,
        summary,
        reference,
        handles: HANDLES,
        abilities: ABILITIES,
    };
    ConfigEntry { info, params, preset, build, load }
}

fn build(config: NetConfig, ctx: &BuildContext<'_>) -> Result<Box<dyn Estimator>> {
    let second = config.second_stage.clone();
    let nets = NetEstimator::new(config)?;
    if second == "none" {
        return Ok(Box::new(nets));
    }
    Ok(Box::new(SecondStage::new(nets, &second, ctx.tools)?))
}

fn load(state: &State, tools: &Toolbox) -> Result<Box<dyn FittedModel>> {
    if second_stage::is_second(state) {
        return second_stage::load(state, tools);
    }
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

const CFR: &str = "Shalit, Johansson and Sontag, ICML 2017";

/// The entry of `tarnet`.
pub static TARNET: ConfigEntry<NetConfig> = entry(
    "tarnet",
    (&["TARNet"], "TARNet"),
    ("One shared representation, one outcome head an arm", CFR),
    PLAIN,
    shared,
);

/// The entry of `cfr-mmd`.
pub static CFR_MMD: ConfigEntry<NetConfig> = entry(
    "cfr-mmd",
    (&["CFR MMD", "CFR"], "CFR"),
    ("One shared representation, balanced between arms by maximum mean discrepancy", CFR),
    BALANCED,
    || NetConfig {
        weighting: WeightingName::InverseShare,
        balance: Balance::Rbf,
        balance_weight: Some(1.0),
        gamma: Some(1.0),
        ..shared()
    },
);

/// The entry of `cfr-wass`.
pub static CFR_WASS: ConfigEntry<NetConfig> = entry(
    "cfr-wass",
    (&["CFR Wass"], "CFR"),
    ("One shared representation, balanced between arms by Wasserstein distance", CFR),
    BALANCED,
    || NetConfig {
        weighting: WeightingName::InverseShare,
        balance: Balance::Wasserstein,
        balance_weight: Some(0.1),
        gamma: Some(1.0),
        ..shared()
    },
);

/// The entry of `dragonnet`.
pub static DRAGONNET: ConfigEntry<NetConfig> = entry(
    "dragonnet",
    (&["DragonNet"], "DragonNet"),
    (
        "One shared representation that also predicts the treatment, with targeted regularisation",
        "Shi, Blei and Veitch, NeurIPS 2019",
    ),
    PLAIN,
    || NetConfig { network: Network::Dragon, joint: 1.0, targeted: 1.0, ..shared() },
);

/// The entry of `ganite`.
pub static GANITE: ConfigEntry<NetConfig> = entry(
    "ganite",
    (&["GANITE"], "GANITE"),
    (
        "A generator completes the outcomes against a discriminator, an inference net learns from the completed rows",
        "Yoon, Jordon and van der Schaar, ICLR 2018",
    ),
    PLAIN,
    || NetConfig { network: Network::Ganite, ..shared() },
);

/// The entry of `drcfr`.
pub static DRCFR_RAW: ConfigEntry<NetConfig> = entry(
    "drcfr",
    (&["DRCFR"], "DRCFR"),
    ("Three representations, propensity-weighted outcome loss", DRCFR),
    DISENTANGLED,
    || disentangled(WeightingName::Ipw),
);

/// The entry of `drcfr-norm`.
pub static DRCFR_NORM: ConfigEntry<NetConfig> = entry(
    "drcfr-norm",
    (&["DRCFR Norm."], "DRCFR"),
    ("drcfr with weights divided by their arm's mean", DPSW),
    DISENTANGLED,
    || disentangled(WeightingName::Norm),
);

/// The entry of `drcfr-trunc`.
pub static DRCFR_TRUNC: ConfigEntry<NetConfig> = entry(
    "drcfr-trunc",
    (&["DRCFR Trunc."], "DRCFR"),
    ("drcfr with propensities clamped to [0.1, 0.9]", DPSW),
    DISENTANGLED,
    || disentangled(WeightingName::Trunc),
);

/// The entry of `drcfr-ignore`.
pub static DRCFR_IGNORE: ConfigEntry<NetConfig> = entry(
    "drcfr-ignore",
    (&["DRCFR Ignore"], "DRCFR"),
    ("drcfr without the rows whose propensity is below 0.1 or above 0.9", DPSW),
    DISENTANGLED,
    || disentangled(WeightingName::Ignore),
);

/// The entry of `psw`.
pub static PSW: ConfigEntry<NetConfig> = entry(
    "psw",
    (&["PSW"], "PSW"),
    ("A propensity net first, then two representations trained with its Pareto-smoothed weights", DPSW),
    BALANCED,
    || NetConfig { network: Network::TwoStep, ..disentangled(WeightingName::Psis) },
);

/// The entry of `dpsw-norm`.
pub static DPSW_NORM: ConfigEntry<NetConfig> = entry(
    "dpsw-norm",
    (&["DPSW Norm."], "DPSW"),
    ("Three representations, differentiable Pareto-smoothed weights divided by their arm's mean", DPSW),
    PARETO,
    NetConfig::default,
);

/// The entry of `dpsw`.
pub static DPSW_RAW: ConfigEntry<NetConfig> = entry(
    "dpsw",
    (&["DPSW"], "DPSW"),
    ("Three representations, differentiable Pareto-smoothed weights", DPSW),
    PARETO,
    || disentangled(WeightingName::Pareto),
);

/// The entry of `dpsw-dr`.
pub static DPSW_DR: ConfigEntry<NetConfig> = entry(
    "dpsw-dr",
    (&["DPSW DR"], "DPSW"),
    ("dpsw-norm with a doubly robust second stage on Pareto-smoothed pseudo-outcomes", DPSW),
    PARETO,
    || NetConfig { second_stage: "auto".to_owned(), ..NetConfig::default() },
);

/// All neural estimators; the first of a class is the class's default.
pub const ENTRIES: &[&'static dyn EstimatorEntry] = &[
    &TARNET,
    &CFR_MMD,
    &CFR_WASS,
    &DRAGONNET,
    &GANITE,
    &DRCFR_RAW,
    &DRCFR_NORM,
    &DRCFR_TRUNC,
    &DRCFR_IGNORE,
    &PSW,
    &DPSW_NORM,
    &DPSW_RAW,
    &DPSW_DR,
];
