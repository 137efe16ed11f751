//! A propensity net on the features trained first, then encoders Δ, Υ and two heads with its fixed, smoothed weights: `psw`.

use paretau_core::{ConfigEntry, ParamKind, ParamSpec, Result};
use paretau_kernels::numeric::mean;
use paretau_kernels::weights::{Pooling, Weigher, Weighting};
use serde::{Deserialize, Serialize};

use super::disentangled::{PAPER, TRUNCATE_AT, widths};
use super::shared::plain_objective;
use super::{Arrangement, FirstStep, Keeping, NetJob, NetKind, build, info, load, train_representations};
use crate::config::{
    BalanceConfig, SettingsName, SmoothingConfig, TrainingConfig, WeightingName, check_truncate, check_widths, loss_for,
};
use crate::data::Sample;
use crate::error::failed;
use crate::loss::OutcomeLoss;
use crate::member::Job;
use crate::model::Objective;
use crate::model::repnet::PROPENSITY as PROPENSITY_PHASE;
use crate::plain::PlainPredictor;
use crate::settings::Widths;
use crate::specs::{
    BALANCE, EPS, INDEPENDENCE, KAPPA, LOSS, PROPENSITY, PROPENSITY_RATE, SETTINGS, TRAINING, TRUNCATE, UNITS, joined,
    spec, total, weighting,
};
use crate::train::{Plan, Run, Trained};

/// Parameters of `psw`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TwoStepConfig {
    /// Named set that fills in what is auto.
    pub settings: SettingsName,
    /// Weighting of the outcome loss.
    pub weighting: WeightingName,
    /// Tempering exponent.
    pub gamma: f64,
    /// Soft smoothing, for the weightings that have it.
    #[serde(flatten)]
    pub smoothing: SmoothingConfig,
    /// Balance penalty on Υ.
    #[serde(flatten)]
    pub balance: BalanceConfig,
    /// Strength of the independence penalty.
    pub independence: f64,
    /// Hidden units of the propensity net.
    pub propensity: Option<Vec<usize>>,
    /// Learning rate of the propensity net.
    pub propensity_rate: Option<f64>,
    /// Propensities outside `[truncate, 1 - truncate]` are extreme.
    pub truncate: f64,
    /// Loss per row.
    pub loss: Option<OutcomeLoss>,
    /// Sizes and training.
    #[serde(flatten)]
    pub training: TrainingConfig,
}

impl Default for TwoStepConfig {
    fn default() -> Self {
        Self {
            settings: SettingsName::Default,
            weighting: WeightingName::Psis,
            gamma: 1.0,
            smoothing: SmoothingConfig::default(),
            balance: BalanceConfig::default(),
            independence: 0.0,
            propensity: None,
            propensity_rate: None,
            truncate: TRUNCATE_AT,
            loss: None,
            training: TrainingConfig::default(),
        }
    }
}

const LISTS: &[&[ParamSpec]] = &[
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
            "psis",
            "pareto",
            "pareto-norm",
        ]),
        spec(
            "gamma",
            ParamKind::Float { min: 0.0, max: 1.0 },
            "Tempering exponent of the weights: 1 leaves them as they are, 0 makes them equal.",
        ),
        EPS,
        KAPPA,
        UNITS,
    ],
    BALANCE,
    &[INDEPENDENCE, PROPENSITY, PROPENSITY_RATE, TRUNCATE, LOSS],
    TRAINING,
];

impl TwoStepConfig {
    fn weighting(&self) -> Weighting {
        self.weighting.with_options(self.truncate, self.smoothing.options(self.settings))
    }
}

impl NetKind for TwoStepConfig {
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

    fn can_pause(&self) -> bool {
        false
    }

    fn arrangement(&self, _propensity: Vec<usize>) -> Arrangement {
        Arrangement { groups: 2, propensity: None, head_reads: 0..2, balanced: 1 }
    }

    fn plan(&self, mut plan: Plan) -> Plan {
        if let Some(rate) = self.propensity_rate {
            plan.rates[PROPENSITY_PHASE].rate = rate;
        }
        plan
    }

    fn gamma(&self) -> Option<f64> {
        Some(self.gamma)
    }

    fn has_propensity(&self) -> bool {
        true
    }

    fn first_step(&self, job: &Job<'_>, sample: &mut Sample<f32>, at: FirstStep<'_>) -> Result<Option<PlainPredictor>> {
        let Job { design, parts, choice, .. } = *job;
        let (first, _) = job.train_propensity_net(sample, at)?;
        let logits = match &sample.known_logit {
            Some(known) => known.clone(),
            None => first.outputs(design.x())?,
        };
        let mut fixed = vec![1.0_f32; sample.t.len()];
        let scheme = self.weighting();
        let mut weigher = Weigher::new(scheme, Pooling::Pooled, choice.gamma).map_err(failed)?;
        for rows in [&parts.train, &parts.valid] {
            let t: Vec<u8> = rows.iter().map(|&i| sample.t[i]).collect();
            if !(t.contains(&0) && t.contains(&1)) || matches!(scheme, Weighting::Uniform) {
                continue;
            }
            let logits: Vec<f64> = rows.iter().map(|&i| logits[i]).collect();
            let mut w = vec![0.0; rows.len()];
            weigher.forward(&logits, &t, sample.treated, &mut w).map_err(failed)?;
            // On a scale of one, so that the learning rate means the same with and without weights.
            let mean = mean(&w);
            rows.iter().zip(&w).for_each(|(&i, w)| fixed[i] = (w / mean) as f32);
        }
        sample.fixed = Some(fixed);
        Ok(Some(first))
    }

    fn train(&self, nets: NetJob, run: &Run<'_, f32>, keeping: Keeping<'_>) -> Result<(Trained<f32>, Vec<f32>)> {
        // The weights are fixed beforehand and belong to the rows.
        let objective = Objective {
            gamma: nets.choice.gamma,
            penalty: self.balance.penalty(self.settings),
            independence: self.independence,
            instruments: 0.0,
            separation: 0.0,
            ..plain_objective(loss_for(self.loss, run.sample.outcome))
        };
        train_representations(nets, objective, run, keeping)
    }
}

/// The entry of `psw`.
pub static PSW: ConfigEntry<TwoStepConfig> = ConfigEntry {
    info: info(
        "psw",
        (&["PSW"], "PSW"),
        ("A propensity net first, then two representations trained with its Pareto-smoothed weights", PAPER),
    ),
    params: &joined::<{ total(LISTS) }>(LISTS),
    preset: TwoStepConfig::default,
    build,
    load,
};
