//! One shared representation and one outcome head per arm: `tarnet`, and `cfr-*` with a balance penalty.

use paretau_core::{ConfigEntry, ParamSpec, Result};
use paretau_kernels::weights::{Pooling, Weighting};
use serde::{Deserialize, Serialize};

use super::{Arrangement, FeatureReport, Keeping, NetJob, NetKind, build, info, load, train_representations};
use crate::config::{BalanceConfig, SettingsName, TrainingConfig, loss_for};
use crate::loss::{Balance, OutcomeLoss, Penalty};
use crate::model::Objective;
use crate::settings::Widths;
use crate::specs::{BALANCE, LOSS, SETTINGS, TRAINING, joined, total};
use crate::train::{Run, Trained};

const PAPER: &str = "Shalit, Johansson and Sontag, ICML 2017";

/// Parameters of `tarnet`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TarnetConfig {
    /// Named set that fills in what is auto.
    pub settings: SettingsName,
    /// Loss per row.
    pub loss: Option<OutcomeLoss>,
    /// Sizes and training.
    #[serde(flatten)]
    pub training: TrainingConfig,
}

const TARNET_LISTS: &[&[ParamSpec]] = &[&[SETTINGS, LOSS], TRAINING];

/// Parameters of `cfr-mmd` and `cfr-wass`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CfrConfig {
    /// Balance penalty.
    #[serde(flatten)]
    pub balance: BalanceConfig,
    /// Loss per row.
    pub loss: Option<OutcomeLoss>,
    /// Sizes and training.
    #[serde(flatten)]
    pub training: TrainingConfig,
}

const CFR_LISTS: &[&[ParamSpec]] = &[BALANCE, &[LOSS], TRAINING];
const CFR_SPECS: &[ParamSpec] = &joined::<{ total(CFR_LISTS) }>(CFR_LISTS);

/// Units of nets with one encoder.
pub(super) fn widths(settings: SettingsName) -> Widths {
    if settings.is_paper() {
        return Widths { encoder: vec![200, 200], representation: 200, propensity: vec![], heads: vec![100, 100] };
    }
    Widths { encoder: vec![128, 128], representation: 64, propensity: vec![], heads: vec![64, 64] }
}

/// The factual loss alone.
pub(super) fn plain_objective(loss: OutcomeLoss) -> Objective {
    Objective {
        loss,
        weighting: Weighting::Uniform,
        pooling: Pooling::Pooled,
        gamma: 0.0,
        penalty: Penalty { balance: Balance::None, strength: 0.0, width: None },
        joint: 0.0,
        targeted: 0.0,
        independence: 0.0,
        instruments: 0.0,
        separation: 0.0,
    }
}

impl NetKind for TarnetConfig {
    fn training(&self) -> &TrainingConfig {
        &self.training
    }

    fn settings(&self) -> SettingsName {
        self.settings
    }

    fn widths(&self) -> Widths {
        widths(self.settings)
    }

    fn arrangement(&self, _propensity: Vec<usize>) -> Arrangement {
        Arrangement::one_encoder()
    }

    fn feature_report(&self) -> FeatureReport {
        FeatureReport::Reading
    }

    fn train(&self, nets: NetJob, run: &Run<'_, f32>, keeping: Keeping<'_>) -> Result<(Trained<f32>, Vec<f32>)> {
        let objective = plain_objective(loss_for(self.loss, run.sample.outcome));
        train_representations(nets, objective, run, keeping)
    }
}

impl NetKind for CfrConfig {
    fn training(&self) -> &TrainingConfig {
        &self.training
    }

    fn widths(&self) -> Widths {
        widths(self.settings())
    }

    fn arrangement(&self, _propensity: Vec<usize>) -> Arrangement {
        Arrangement::one_encoder()
    }

    fn gamma(&self) -> Option<f64> {
        // Both arms count alike, whatever their sizes.
        Some(1.0)
    }

    fn feature_report(&self) -> FeatureReport {
        FeatureReport::Reading
    }

    fn train(&self, nets: NetJob, run: &Run<'_, f32>, keeping: Keeping<'_>) -> Result<(Trained<f32>, Vec<f32>)> {
        let objective = Objective {
            weighting: Weighting::InverseShare,
            gamma: nets.choice.gamma,
            penalty: self.balance.penalty(self.settings()),
            ..plain_objective(loss_for(self.loss, run.sample.outcome))
        };
        train_representations(nets, objective, run, keeping)
    }
}

fn cfr(balance: Balance, strength: f64) -> CfrConfig {
    let balance = BalanceConfig { balance, balance_weight: Some(strength), ..BalanceConfig::default() };
    CfrConfig { balance, ..CfrConfig::default() }
}

/// The entry of `tarnet`.
pub static TARNET: ConfigEntry<TarnetConfig> = ConfigEntry {
    info: info("tarnet", (&["TARNet"], "TARNet"), ("One shared representation, one outcome head per arm", PAPER)),
    params: &joined::<{ total(TARNET_LISTS) }>(TARNET_LISTS),
    preset: TarnetConfig::default,
    build,
    load,
};

/// The entry of `cfr-mmd`.
pub static CFR_MMD: ConfigEntry<CfrConfig> = ConfigEntry {
    info: info(
        "cfr-mmd",
        (&["CFR MMD", "CFR"], "CFR"),
        ("One shared representation, balanced between arms by maximum mean discrepancy", PAPER),
    ),
    params: CFR_SPECS,
    preset: || cfr(Balance::Rbf, 1.0),
    build,
    load,
};

/// The entry of `cfr-wass`.
pub static CFR_WASS: ConfigEntry<CfrConfig> = ConfigEntry {
    info: info(
        "cfr-wass",
        (&["CFR Wass"], "CFR"),
        ("One shared representation, balanced between arms by Wasserstein distance", PAPER),
    ),
    params: CFR_SPECS,
    preset: || cfr(Balance::Wasserstein, 0.1),
    build,
    load,
};
