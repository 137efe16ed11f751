//! Counterfactual generator, discriminator and inference net: `ganite`.

use paretau_core::{ConfigEntry, ParamSpec, Result};
use serde::{Deserialize, Serialize};

use super::shared::widths;
use super::{Arrangement, Keeping, NetJob, NetKind, build, info, load};
use crate::config::{SettingsName, TrainingConfig};
use crate::model::Ganite;
use crate::model::ganite::{DISCRIMINATOR, GENERATOR, INFERENCE, SECOND_DISCRIMINATOR};
use crate::model::repnet::OUTCOME;
use crate::settings::Widths;
use crate::specs::{NOT_NEGATIVE, SETTINGS, TRAINING, joined, spec, total};
use crate::train::{Keep, Plan, Run, Stage, Trained};

/// Parameters of `ganite`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GaniteConfig {
    /// Named set that fills in what is auto.
    pub settings: SettingsName,
    /// How hard the generator plays against its discriminator.
    pub alpha: f64,
    /// How hard the inference net plays against its discriminator.
    pub beta: f64,
    /// Sizes and training.
    #[serde(flatten)]
    pub training: TrainingConfig,
}

impl Default for GaniteConfig {
    fn default() -> Self {
        Self { settings: SettingsName::Default, alpha: 1.0, beta: 1.0, training: TrainingConfig::default() }
    }
}

const LISTS: &[&[ParamSpec]] = &[
    &[
        SETTINGS,
        spec("alpha", NOT_NEGATIVE, "How hard the generator plays against its discriminator."),
        spec("beta", NOT_NEGATIVE, "How hard the inference net plays against its discriminator."),
    ],
    TRAINING,
];

impl NetKind for GaniteConfig {
    fn training(&self) -> &TrainingConfig {
        &self.training
    }

    fn settings(&self) -> SettingsName {
        self.settings
    }

    fn widths(&self) -> Widths {
        if self.settings.is_paper() {
            return widths(self.settings);
        }
        Widths { encoder: vec![64], representation: 64, propensity: vec![], heads: vec![64] }
    }

    fn can_pause(&self) -> bool {
        false
    }

    fn arrangement(&self, _propensity: Vec<usize>) -> Arrangement {
        Arrangement::one_encoder()
    }

    fn plan(&self, mut plan: Plan) -> Plan {
        let fast = plan.rates[OUTCOME];
        plan.stages = plan
            .stages
            .into_iter()
            .flat_map(|stage| {
                // The generator's stage has nothing to stop by: it runs its length. Its discriminator takes two steps to its one.
                let game = Stage {
                    name: "generator",
                    phases: vec![DISCRIMINATOR, DISCRIMINATOR, GENERATOR],
                    keep: Keep::Mean,
                    min_steps: stage.max_steps,
                    drops: 0,
                    ..stage.clone()
                };
                let inference = Stage { name: "inference", phases: vec![SECOND_DISCRIMINATOR, INFERENCE], ..stage };
                [game, inference]
            })
            .collect();
        // The generator is slower than its discriminator, which then stays near its best answer and points the right way.
        plan.rates = vec![fast; 4];
        plan.rates[GENERATOR].rate *= 0.25;
        plan
    }

    fn train(&self, nets: NetJob, run: &Run<'_, f32>, (ctx, keeper): Keeping<'_>) -> Result<(Trained<f32>, Vec<f32>)> {
        let mut model = Ganite::new(nets.spec, (self.alpha, self.beta), run.sample, nets.capacity);
        let trained = run.train(&mut model, ctx, keeper)?;
        let params = trained.params[model.inference_range()].to_vec();
        Ok((trained, params))
    }
}

/// The entry of `ganite`.
pub static GANITE: ConfigEntry<GaniteConfig> = ConfigEntry {
    info: info(
        "ganite",
        (&["GANITE"], "GANITE"),
        (
            "A generator completes the outcomes against a discriminator, an inference net learns from the completed rows",
            "Yoon, Jordon and van der Schaar, ICLR 2018",
        ),
    ),
    params: &joined::<{ total(LISTS) }>(LISTS),
    preset: GaniteConfig::default,
    build,
    load,
};
