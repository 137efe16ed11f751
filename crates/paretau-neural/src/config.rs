//! One configuration for all neural estimators. `None` means "auto": the named settings or the data decide.

use paretau_core::{Error, Result};
use paretau_kernels::soft_pareto_options::{Center, NegativeScale, SoftParetoOptions, Units};
use paretau_kernels::weights::{Pooling, Weighting};
use serde::{Deserialize, Serialize};

use crate::engine::{Activation, Norm};
use crate::loss::{Balance, OutcomeLoss};

/// Which nets there are and what they read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// One encoder and two heads.
    Shared,
    /// One encoder, two heads and a propensity unit, trained together.
    Dragon,
    /// Three encoders Γ, Δ, Υ, a propensity net on (Γ, Δ), two heads on (Δ, Υ).
    Disentangled,
    /// A propensity net on the features trained first, then encoders Δ, Υ and two heads.
    TwoStep,
    /// Counterfactual generator, discriminator and inference net.
    Ganite,
}

/// The weighting, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WeightingName {
    /// All rows alike.
    Uniform,
    /// One over twice the arm's share.
    InverseShare,
    /// Balancing weights as they are.
    Ipw,
    /// Divided by the arm's mean.
    Norm,
    /// Propensities clamped first.
    Trunc,
    /// Rows with extreme propensities left out.
    Ignore,
    /// Hard Pareto smoothing.
    ParetoHard,
    /// Pareto smoothing of fixed weights as in importance sampling.
    Psis,
    /// Soft Pareto smoothing.
    Pareto,
    /// Soft Pareto smoothing, divided by the arm's mean.
    ParetoNorm,
}

/// When the propensity net takes its steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// On every mini-batch.
    EachStep,
    /// In blocks of epochs, in turn with everything else.
    Blocks,
}

/// Named sets of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SettingsName {
    /// Ours.
    Default,
    /// The paper's scripts for News.
    PaperNews,
    /// The paper's scripts for ACIC.
    PaperAcic,
    /// The paper's scripts for its synthetic data.
    PaperSynthetic,
}

/// Units of `eps` and `kappa`, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnitsName {
    /// Of the standardised log-weights and of the tail's length.
    ScaleFree,
    /// Of the weights and the ranks themselves.
    Raw,
}

/// The optimiser, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Optimiser {
    /// Adam.
    Adam,
    /// Gradient descent with momentum.
    Sgd,
}

/// All parameters of the neural estimators.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetConfig {
    /// Nets.
    pub network: Network,
    /// Weighting of the outcome loss.
    pub weighting: WeightingName,
    /// Named set that fills in what is auto.
    pub settings: SettingsName,
    /// Tempering exponent.
    pub gamma: Option<f64>,
    /// Balance penalty.
    pub balance: Balance,
    /// Its strength.
    pub balance_weight: Option<f64>,
    /// Its kernel's width or entropic strength.
    pub balance_width: Option<f64>,
    /// Hidden units of an encoder.
    pub encoder: Option<Vec<usize>>,
    /// Units of an encoder's output.
    pub representation: Option<usize>,
    /// Hidden units of the propensity net.
    pub propensity: Option<Vec<usize>>,
    /// Hidden units of an outcome head.
    pub heads: Option<Vec<usize>>,
    /// Activation of hidden units.
    pub activation: Activation,
    /// Whether hidden layers are normalised row by row.
    pub layer_norm: bool,
    /// Whether hidden layers are normalised over the rows of a mini-batch.
    pub batch_norm: bool,
    /// Share of hidden units dropped.
    pub dropout: Option<f64>,
    /// L2 strength.
    pub l2: Option<f64>,
    /// Learning rate.
    pub rate: Option<f64>,
    /// Learning rate of the propensity net.
    pub propensity_rate: Option<f64>,
    /// Rows of a mini-batch.
    pub batch: Option<usize>,
    /// When the propensity net steps.
    pub schedule: Option<Schedule>,
    /// Epochs of a block.
    pub block: usize,
    /// Mini-batches at most.
    pub max_steps: Option<usize>,
    /// Mini-batches at least.
    pub min_steps: Option<usize>,
    /// Mini-batches without improvement.
    pub patience: Option<usize>,
    /// Times the learning rate drops before stopping.
    pub drops: usize,
    /// Steps in which the learning rate halves.
    pub half_life: f64,
    /// Longest gradient.
    pub clip: f64,
    /// Optimiser.
    pub optimiser: Optimiser,
    /// Loss of a row.
    pub loss: Option<OutcomeLoss>,
    /// Strength of rank pooling.
    pub eps: Option<f64>,
    /// Steepness of the step.
    pub kappa: Option<f64>,
    /// Their units.
    pub units: Option<UnitsName>,
    /// Fit one tail an arm.
    pub per_arm: bool,
    /// Propensities outside `[truncate, 1 - truncate]` are extreme.
    pub truncate: f64,
    /// Strength of the cross-entropy in joint training.
    pub joint: f64,
    /// Strength of targeted regularisation.
    pub targeted: f64,
    /// Strength of the independence penalty.
    pub independence: f64,
    /// How hard GANITE's generator plays against its discriminator.
    pub alpha: f64,
    /// How hard its inference net does.
    pub beta: f64,
    /// Seeds averaged.
    pub members: usize,
    /// Base learner of a second stage on doubly robust pseudo-outcomes, `auto` or `none`.
    pub second_stage: String,
}

impl Default for NetConfig {
    fn default() -> Self {
        Self {
            network: Network::Disentangled,
            weighting: WeightingName::ParetoNorm,
            settings: SettingsName::Default,
            gamma: None,
            balance: Balance::Rbf,
            balance_weight: None,
            balance_width: None,
            encoder: None,
            representation: None,
            propensity: None,
            heads: None,
            activation: Activation::Elu,
            layer_norm: false,
            batch_norm: false,
            dropout: None,
            l2: None,
            rate: None,
            propensity_rate: None,
            batch: None,
            schedule: None,
            block: 100,
            max_steps: None,
            min_steps: None,
            patience: None,
            drops: 2,
            half_life: 0.0,
            clip: 10.0,
            optimiser: Optimiser::Adam,
            loss: None,
            eps: None,
            kappa: None,
            units: None,
            per_arm: false,
            truncate: 0.1,
            joint: 0.0,
            targeted: 0.0,
            independence: 0.0,
            alpha: 1.0,
            beta: 1.0,
            members: 5,
            second_stage: "none".to_owned(),
        }
    }
}

impl NetConfig {
    /// Refuses combinations that make no sense.
    pub fn check(&self) -> Result<()> {
        let bad = |name: &str, value: String, expected: &str| {
            Err(Error::BadParameter { owner: "neural".into(), name: name.into(), value, expected: expected.into() })
        };
        if !(self.truncate > 0.0 && self.truncate < 0.5) {
            return bad("truncate", self.truncate.to_string(), "a number between 0 and 0.5");
        }
        if self.weighting == WeightingName::Psis && self.network != Network::TwoStep {
            return bad("weighting", "psis".into(), "another one: psis has no derivative and needs network = two-step");
        }
        for (name, widths) in [("encoder", &self.encoder), ("propensity", &self.propensity), ("heads", &self.heads)] {
            if widths.as_ref().is_some_and(|w| w.contains(&0)) {
                return bad(name, "0".into(), "a list of positive widths");
            }
        }
        if self.layer_norm && self.batch_norm {
            let one = "false while layer_norm is true: choose one of the two normalisations";
            return bad("batch_norm", "true".into(), one);
        }
        Ok(())
    }

    /// Normalisation of hidden layers.
    pub fn norm(&self) -> Norm {
        match (self.layer_norm, self.batch_norm) {
            (true, _) => Norm::Layer,
            (false, true) => Norm::Batch,
            (false, false) => Norm::None,
        }
    }

    /// Whether rows are weighted by a propensity at all.
    pub fn weighs(&self) -> bool {
        !matches!(self.weighting, WeightingName::Uniform | WeightingName::InverseShare)
            && matches!(self.network, Network::Disentangled)
    }

    /// Whether these are a paper's settings.
    pub fn is_paper(&self) -> bool {
        self.settings != SettingsName::Default
    }

    /// The weighting with its options.
    pub fn weighting(&self) -> Weighting {
        let (lo, hi) = (self.truncate, 1.0 - self.truncate);
        match self.weighting {
            WeightingName::Uniform => Weighting::Uniform,
            WeightingName::InverseShare => Weighting::InverseShare,
            WeightingName::Ipw => Weighting::Raw,
            WeightingName::Norm => Weighting::Norm,
            WeightingName::Trunc => Weighting::Truncated { lo, hi },
            WeightingName::Ignore => Weighting::Ignored { lo, hi },
            WeightingName::ParetoHard => Weighting::HardPareto,
            WeightingName::Psis => Weighting::Psis,
            WeightingName::Pareto => Weighting::SoftPareto(self.soft()),
            WeightingName::ParetoNorm => Weighting::SoftParetoNorm(self.soft()),
        }
    }

    /// Pooled or per-arm tails.
    pub fn pooling(&self) -> Pooling {
        if self.per_arm { Pooling::PerArm } else { Pooling::Pooled }
    }

    fn soft(&self) -> SoftParetoOptions {
        let (eps, kappa) = match self.settings {
            SettingsName::Default => (1.0, 1.0),
            SettingsName::PaperNews => (0.1, 0.01),
            SettingsName::PaperAcic | SettingsName::PaperSynthetic => (0.01, 0.001),
        };
        let raw = self.units.map_or(self.is_paper(), |u| u == UnitsName::Raw);
        SoftParetoOptions {
            eps: self.eps.unwrap_or(eps),
            kappa: self.kappa.unwrap_or(kappa),
            units: if raw { Units::Raw } else { Units::ScaleFree },
            center: if self.is_paper() { Center::Paper } else { Center::Half },
            negative_scale: if self.is_paper() { NegativeScale::Abs } else { NegativeScale::FallBack },
        }
    }
}
