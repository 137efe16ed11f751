//! One shared representation, two outcome heads and a propensity unit, trained together: `dragonnet`.

use paretau_core::{ConfigEntry, ParamSpec, Result};
use serde::{Deserialize, Serialize};

use super::shared::{plain_objective, widths};
use super::{Arrangement, FeatureReport, Keeping, NetJob, NetKind, build, info, load, train_representations};
use crate::config::{TrainingConfig, loss_for};
use crate::loss::OutcomeLoss;
use crate::model::Objective;
use crate::settings::Widths;
use crate::specs::{LOSS, NOT_NEGATIVE, TRAINING, joined, spec, total};
use crate::train::{Run, Trained};

/// Parameters of `dragonnet`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DragonnetConfig {
    /// Strength of the treatment's cross-entropy beside the outcome loss.
    pub joint: f64,
    /// Strength of targeted regularisation.
    pub targeted: f64,
    /// Loss per row.
    pub loss: Option<OutcomeLoss>,
    /// Sizes and training.
    #[serde(flatten)]
    pub training: TrainingConfig,
}

impl Default for DragonnetConfig {
    fn default() -> Self {
        Self { joint: 1.0, targeted: 1.0, loss: None, training: TrainingConfig::default() }
    }
}

const LISTS: &[&[ParamSpec]] = &[
    &[
        spec("joint", NOT_NEGATIVE, "Strength of the treatment's cross-entropy beside the outcome loss."),
        spec("targeted", NOT_NEGATIVE, "Strength of targeted regularisation."),
        LOSS,
    ],
    TRAINING,
];

impl NetKind for DragonnetConfig {
    fn training(&self) -> &TrainingConfig {
        &self.training
    }

    fn widths(&self) -> Widths {
        widths(self.settings())
    }

    fn arrangement(&self, _propensity: Vec<usize>) -> Arrangement {
        // One unit without hidden layers: the representation itself must hold what the treatment depends on.
        Arrangement { propensity: Some((vec![], 0..1)), ..Arrangement::one_encoder() }
    }

    fn has_propensity(&self) -> bool {
        true
    }

    fn fluctuates(&self) -> bool {
        self.targeted > 0.0
    }

    fn feature_report(&self) -> FeatureReport {
        FeatureReport::Reading
    }

    fn train(&self, nets: NetJob, run: &Run<'_, f32>, keeping: Keeping<'_>) -> Result<(Trained<f32>, Vec<f32>)> {
        let objective = Objective {
            joint: self.joint,
            targeted: self.targeted,
            ..plain_objective(loss_for(self.loss, run.sample.outcome))
        };
        train_representations(nets, objective, run, keeping)
    }
}

/// The entry of `dragonnet`.
pub static DRAGONNET: ConfigEntry<DragonnetConfig> = ConfigEntry {
    info: info(
        "dragonnet",
        (&["DragonNet"], "DragonNet"),
        (
            "One shared representation that also predicts the treatment, with targeted regularisation",
            "Shi, Blei and Veitch, NeurIPS 2019",
        ),
    ),
    params: &joined::<{ total(LISTS) }>(LISTS),
    preset: DragonnetConfig::default,
    build,
    load,
};
