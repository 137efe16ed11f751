//! Three encoders Γ, Δ, Υ, a propensity net on (Γ, Δ) and two heads on (Δ, Υ), trained with weights from that propensity:
//! `drcfr*`, and `dpsw*` with Pareto smoothing of the weights.

use paretau_core::{ConfigEntry, ParamKind, ParamSpec, Result, SearchRange};
use paretau_kernels::soft_pareto_options::SoftParetoOptions;
use paretau_kernels::weights::Pooling;
use serde::{Deserialize, Serialize};

use super::{Arrangement, FeatureReport, Keeping, NetJob, NetKind, build, info, load, train_representations};
use crate::config::{
    BalanceConfig, Schedule, SettingsName, SmoothingConfig, TrainingConfig, WeightingName, check_truncate,
    check_widths, loss_for,
};
use crate::loss::OutcomeLoss;
use crate::model::Objective;
use crate::model::repnet::{OUTCOME, PROPENSITY as PROPENSITY_PHASE};
use crate::settings::{BLOCK, Widths};
use crate::specs::{
    BALANCE, EPS, INDEPENDENCE, JOINT_PROPENSITY_RATE, KAPPA, LOSS, NOT_NEGATIVE, PROPENSITY, SETTINGS, TRAINING,
    TRUNCATE, UNITS, joined, spec, total, weighting,
};
use crate::train::{Plan, Run, Trained};

pub(super) const PAPER: &str = "Chikahara and Ushiyama, UAI 2024";
const DRCFR_PAPER: &str = "Hassanpour and Greiner, ICLR 2020";

/// Parameters of nets with three encoders; `S` are those of smoothing the weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DisentangledConfig<S> {
    /// Named set that fills in what is auto.
    pub settings: SettingsName,
    /// Weighting of the outcome loss.
    pub weighting: WeightingName,
    /// Tempering exponent.
    pub gamma: Option<f64>,
    /// Balance penalty on Υ.
    #[serde(flatten)]
    pub balance: BalanceConfig,
    /// Strength of the independence penalty.
    pub independence: f64,
    /// Strength of the propensity's cross-entropy on Γ alone.
    pub instruments: Option<f64>,
    /// Strength of the penalty on what Γ reads and the other encoders read too.
    pub separation: Option<f64>,
    /// Hidden units of the propensity net.
    pub propensity: Option<Vec<usize>>,
    /// Learning rate of the propensity net.
    pub propensity_rate: Option<f64>,
    /// When the propensity net steps.
    pub schedule: Option<Schedule>,
    /// Epochs per block.
    pub block: usize,
    /// Propensities outside `[truncate, 1 - truncate]` are extreme.
    pub truncate: f64,
    /// Smoothing of the weights.
    #[serde(flatten)]
    pub smoothing: S,
    /// Loss per row.
    pub loss: Option<OutcomeLoss>,
    /// Sizes and training.
    #[serde(flatten)]
    pub training: TrainingConfig,
}

/// Parameters of `drcfr` and its variants.
pub type DrcfrConfig = DisentangledConfig<Unsmoothed>;

/// Parameters of `dpsw` and its variants.
pub type DpswConfig = DisentangledConfig<ParetoConfig>;

/// Weights without smoothing have no parameters of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Unsmoothed {}

/// Pareto smoothing in every mini-batch.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ParetoConfig {
    /// Soft smoothing.
    #[serde(flatten)]
    pub soft: SmoothingConfig,
    /// Fit one tail per arm.
    pub per_arm: bool,
}

/// How weights are smoothed.
pub(crate) trait Smoothing: std::fmt::Debug + Send + Sync {
    /// Options of soft Pareto smoothing.
    fn options(&self, settings: SettingsName) -> SoftParetoOptions;
    /// Pooled or per-arm tails.
    fn pooling(&self) -> Pooling;
}

impl Smoothing for Unsmoothed {
    fn options(&self, settings: SettingsName) -> SoftParetoOptions {
        SmoothingConfig::default().options(settings)
    }

    fn pooling(&self) -> Pooling {
        Pooling::Pooled
    }
}

impl Smoothing for ParetoConfig {
    fn options(&self, settings: SettingsName) -> SoftParetoOptions {
        self.soft.options(settings)
    }

    fn pooling(&self) -> Pooling {
        if self.per_arm { Pooling::PerArm } else { Pooling::Pooled }
    }
}

impl<S: Default> DisentangledConfig<S> {
    /// The defaults with this weighting and exponent.
    pub fn new(weighting: WeightingName, gamma: Option<f64>) -> Self {
        Self {
            settings: SettingsName::Default,
            weighting,
            gamma,
            balance: BalanceConfig::default(),
            independence: 0.0,
            instruments: None,
            separation: None,
            propensity: None,
            propensity_rate: None,
            schedule: None,
            block: BLOCK,
            truncate: TRUNCATE_AT,
            smoothing: S::default(),
            loss: None,
            training: TrainingConfig::default(),
        }
    }
}

/// Strength of the propensity's cross-entropy on Γ by default.
const INSTRUMENTS: f64 = 0.1;
/// Strength of the penalty on what Γ and other encoders read by default.
const SEPARATION: f64 = 0.03;

/// Propensities nearer to 0 or 1 than this are extreme by default.
pub(super) const TRUNCATE_AT: f64 = 0.1;

const GAMMA: ParamSpec = spec(
    "gamma",
    ParamKind::Auto(&ParamKind::Float { min: 0.0, max: 1.0 }),
    "Tempering exponent of the weights: 1 is the paper's, 0 no weighting; auto trains nets of both, mixes them by their loss on held-out rows and corrects each arm's mean by those rows' smoothed residuals.",
);

const ENCODERS: &[ParamSpec] = &[
    INDEPENDENCE,
    spec(
        "instruments",
        ParamKind::Auto(&NOT_NEGATIVE),
        "Strength of the propensity's cross-entropy in Γ's loss, which makes Γ read what drives the treatment; with 0, as in the paper, Γ learns through the weights alone. Auto is 0.1 where weighting is pareto or pareto-norm and gamma is set, else 0.",
    ),
    spec(
        "separation",
        ParamKind::Auto(&NOT_NEGATIVE),
        "Strength of a penalty on Γ's first-layer weights of those columns that Δ and Υ read. Auto is 0.03 where weighting is pareto or pareto-norm and gamma is set, else 0.",
    ),
    PROPENSITY,
    JOINT_PROPENSITY_RATE,
    spec(
        "schedule",
        ParamKind::Auto(&ParamKind::Choice(&["each-step", "blocks"])),
        "Whether the propensity net steps on every mini-batch or in blocks of epochs.",
    )
    .searched(SearchRange::Words(&["each-step", "blocks"])),
    spec("block", ParamKind::Int { min: 1, max: 1_000_000 }, "Epochs per block when schedule is blocks."),
    TRUNCATE,
    LOSS,
];

const DRCFR_LISTS: &[&[ParamSpec]] = &[
    &[SETTINGS, weighting(&["uniform", "inverse-share", "ipw", "norm", "trunc", "ignore"]), GAMMA],
    BALANCE,
    ENCODERS,
    TRAINING,
];
const DRCFR_SPECS: &[ParamSpec] = &joined::<{ total(DRCFR_LISTS) }>(DRCFR_LISTS);

const DPSW_LISTS: &[&[ParamSpec]] = &[
    &[
        SETTINGS,
        weighting(&[
            "uniform",
            "inverse-share",
            "ipw",
            "norm",
            "trunc",
            "ignore",
            "pareto-hard",
            "pareto",
            "pareto-norm",
        ]),
        GAMMA,
        EPS.searched(SearchRange::Ratio(1e-2, 1e1)),
        KAPPA.searched(SearchRange::Ratio(1e-1, 1e1)),
        UNITS,
        spec("per_arm", ParamKind::Bool, "Fit one tail per arm instead of one over both."),
    ],
    BALANCE,
    ENCODERS,
    TRAINING,
];
const DPSW_SPECS: &[ParamSpec] = &joined::<{ total(DPSW_LISTS) }>(DPSW_LISTS);

/// Units of nets with several encoders.
pub(super) fn widths(settings: SettingsName, propensity: Option<&Vec<usize>>) -> Widths {
    let (encoder, representation, open, heads) = match settings {
        SettingsName::Default => ([64, 64], 32, [64, 64], [64, 64]),
        SettingsName::PaperSynthetic => ([3, 3], 3, [3, 3], [100, 100]),
        SettingsName::PaperNews | SettingsName::PaperAcic => ([100, 100], 100, [100, 100], [100, 100]),
    };
    Widths {
        encoder: encoder.to_vec(),
        representation,
        propensity: propensity.cloned().unwrap_or(open.to_vec()),
        heads: heads.to_vec(),
    }
}

impl<S: Smoothing> NetKind for DisentangledConfig<S> {
    fn training(&self) -> &TrainingConfig {
        &self.training
    }

    fn settings(&self) -> SettingsName {
        self.settings
    }

    fn check(&self, owner: &str) -> Result<()> {
        check_truncate(owner, self.truncate)?;
        check_widths(owner, "propensity", self.propensity.as_deref())?;
        self.training.check(owner)
    }

    fn widths(&self) -> Widths {
        widths(self.settings, self.propensity.as_ref())
    }

    fn arrangement(&self, propensity: Vec<usize>) -> Arrangement {
        Arrangement { groups: 3, propensity: Some((propensity, 0..2)), head_reads: 1..3, balanced: 2 }
    }

    fn plan(&self, mut plan: Plan) -> Plan {
        let paper = self.settings.is_paper();
        let schedule = self.schedule.unwrap_or(if paper { Schedule::Blocks } else { Schedule::EachStep });
        for stage in &mut plan.stages {
            stage.phases = vec![PROPENSITY_PHASE, OUTCOME];
            stage.block = (schedule == Schedule::Blocks).then_some(self.block as u64);
        }
        if let Some(rate) = self.propensity_rate {
            plan.rates[PROPENSITY_PHASE].rate = rate;
        }
        plan
    }

    fn block(&self) -> usize {
        self.block
    }

    fn gamma(&self) -> Option<f64> {
        self.gamma
    }

    fn learns_weights(&self) -> bool {
        self.weighting.uses_propensity()
    }

    fn has_propensity(&self) -> bool {
        true
    }

    fn feature_report(&self) -> FeatureReport {
        FeatureReport::Roles
    }

    fn train(&self, nets: NetJob, run: &Run<'_, f32>, keeping: Keeping<'_>) -> Result<(Trained<f32>, Vec<f32>)> {
        // Measured to cost no accuracy with smoothed weights alone: where nets with and without weights are mixed it costs a little, and
        // raw weights grow with what Γ learns by heart.
        let smoothed = matches!(self.weighting, WeightingName::Pareto | WeightingName::ParetoNorm);
        let untaught = self.settings.is_paper() || self.gamma.is_none() || !smoothed;
        let objective = Objective {
            loss: loss_for(self.loss, run.sample.outcome),
            weighting: self.weighting.with_options(self.truncate, self.smoothing.options(self.settings)),
            pooling: self.smoothing.pooling(),
            gamma: nets.choice.gamma,
            penalty: self.balance.penalty(self.settings),
            joint: 0.0,
            targeted: 0.0,
            independence: self.independence,
            instruments: self.instruments.unwrap_or(if untaught { 0.0 } else { INSTRUMENTS }),
            separation: self.separation.unwrap_or(if untaught { 0.0 } else { SEPARATION }),
        };
        train_representations(nets, objective, run, keeping)
    }
}

/// The entry of `drcfr`.
pub static DRCFR: ConfigEntry<DrcfrConfig> = ConfigEntry {
    info: info(
        "drcfr",
        (&["DRCFR"], "DRCFR"),
        ("Three representations, propensity-weighted outcome loss", DRCFR_PAPER),
    ),
    params: DRCFR_SPECS,
    preset: || DisentangledConfig::new(WeightingName::Ipw, Some(1.0)),
    build,
    load,
};

/// The entry of `drcfr-norm`.
pub static DRCFR_NORM: ConfigEntry<DrcfrConfig> = ConfigEntry {
    info: info("drcfr-norm", (&["DRCFR Norm."], "DRCFR"), ("drcfr with weights divided by their arm's mean", PAPER)),
    params: DRCFR_SPECS,
    preset: || DisentangledConfig::new(WeightingName::Norm, Some(1.0)),
    build,
    load,
};

/// The entry of `drcfr-trunc`.
pub static DRCFR_TRUNC: ConfigEntry<DrcfrConfig> = ConfigEntry {
    info: info("drcfr-trunc", (&["DRCFR Trunc."], "DRCFR"), ("drcfr with propensities clamped to [0.1, 0.9]", PAPER)),
    params: DRCFR_SPECS,
    preset: || DisentangledConfig::new(WeightingName::Trunc, Some(1.0)),
    build,
    load,
};

/// The entry of `drcfr-ignore`.
pub static DRCFR_IGNORE: ConfigEntry<DrcfrConfig> = ConfigEntry {
    info: info(
        "drcfr-ignore",
        (&["DRCFR Ignore"], "DRCFR"),
        ("drcfr without the rows whose propensity is below 0.1 or above 0.9", PAPER),
    ),
    params: DRCFR_SPECS,
    preset: || DisentangledConfig::new(WeightingName::Ignore, Some(1.0)),
    build,
    load,
};

fn dpsw_norm() -> DpswConfig {
    DisentangledConfig::new(WeightingName::ParetoNorm, None)
}

/// The entry of `dpsw-norm`.
pub static DPSW_NORM: ConfigEntry<DpswConfig> = ConfigEntry {
    info: info(
        "dpsw-norm",
        (&["DPSW Norm."], "DPSW"),
        ("Three representations, differentiable Pareto-smoothed weights divided by their arm's mean", PAPER),
    ),
    params: DPSW_SPECS,
    preset: dpsw_norm,
    build,
    load,
};

/// The entry of `dpsw`.
pub static DPSW: ConfigEntry<DpswConfig> = ConfigEntry {
    info: info("dpsw", (&["DPSW"], "DPSW"), ("Three representations, differentiable Pareto-smoothed weights", PAPER)),
    params: DPSW_SPECS,
    preset: || DisentangledConfig::new(WeightingName::Pareto, Some(1.0)),
    build,
    load,
};

/// The entry of `dpsw-dr`.
pub static DPSW_DR: ConfigEntry<DpswConfig> = ConfigEntry {
    info: info(
        "dpsw-dr",
        (&["DPSW DR"], "DPSW"),
        ("dpsw-norm with a doubly robust second stage on Pareto-smoothed pseudo-outcomes", PAPER),
    ),
    params: DPSW_SPECS,
    preset: || {
        let training = TrainingConfig { second_stage: "auto".into(), ..TrainingConfig::default() };
        DpswConfig { training, ..dpsw_norm() }
    },
    build,
    load,
};
