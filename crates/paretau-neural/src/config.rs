//! Parameters that several kinds of nets share. `None` means "auto": the named settings or the data decide.
//!
//! A kind of net's own configuration stands in its file under [`crate::nets`] and takes these in whole.

use paretau_core::{BaseSpec, Error, OutcomeKind, Result};
use paretau_kernels::soft_pareto_options::{Center, NegativeScale, SoftParetoOptions, Units};
use paretau_kernels::weights::Weighting;
use serde::{Deserialize, Serialize};

use crate::engine::{Activation, Norm};
use crate::loss::{Balance, OutcomeLoss, Penalty};
use crate::second_stage::NO_SECOND_STAGE;

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

impl WeightingName {
    /// Whether the weights depend on a propensity.
    pub fn uses_propensity(self) -> bool {
        !matches!(self, Self::Uniform | Self::InverseShare)
    }

    /// The weighting; propensities outside `[truncate, 1 - truncate]` are extreme.
    pub(crate) fn with_options(self, truncate: f64, soft: SoftParetoOptions) -> Weighting {
        let (lo, hi) = (truncate, 1.0 - truncate);
        match self {
            Self::Uniform => Weighting::Uniform,
            Self::InverseShare => Weighting::InverseShare,
            Self::Ipw => Weighting::Raw,
            Self::Norm => Weighting::Norm,
            Self::Trunc => Weighting::Truncated { lo, hi },
            Self::Ignore => Weighting::Ignored { lo, hi },
            Self::ParetoHard => Weighting::HardPareto,
            Self::Psis => Weighting::Psis,
            Self::Pareto => Weighting::SoftPareto(soft),
            Self::ParetoNorm => Weighting::SoftParetoNorm(soft),
        }
    }
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SettingsName {
    /// Ours.
    #[default]
    Default,
    /// The paper's scripts for News.
    PaperNews,
    /// The paper's scripts for ACIC.
    PaperAcic,
    /// The paper's scripts for its synthetic data.
    PaperSynthetic,
}

impl SettingsName {
    /// Whether these are a paper's settings.
    pub fn is_paper(self) -> bool {
        self != Self::Default
    }
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

/// How numbers are read, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Embedding {
    /// Standardised alone.
    Plain,
    /// With piecewise-linear inputs beside the standardised value.
    Piecewise,
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

/// Parameters of every neural estimator: the sizes of its nets, and how they are trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrainingConfig {
    /// How numbers are read.
    pub embedding: Option<Embedding>,
    /// Bins per column of piecewise-linear inputs.
    pub bins: usize,
    /// Hidden units of each encoder.
    pub encoder: Option<Vec<usize>>,
    /// Units of each encoder's output.
    pub representation: Option<usize>,
    /// Hidden units of each outcome head.
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
    /// Rows of a mini-batch.
    pub batch: Option<usize>,
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
    /// Nets averaged, each with its own seed.
    pub members: usize,
    /// Base learner of a second stage on doubly robust pseudo-outcomes, `auto` or `none`.
    pub second_stage: BaseSpec,
}

impl Default for TrainingConfig {
    fn default() -> Self {
        Self {
            embedding: None,
            bins: 8,
            encoder: None,
            representation: None,
            heads: None,
            activation: Activation::Elu,
            layer_norm: false,
            batch_norm: false,
            dropout: None,
            l2: None,
            rate: None,
            batch: None,
            max_steps: None,
            min_steps: None,
            patience: None,
            drops: 2,
            half_life: 0.0,
            clip: 10.0,
            optimiser: Optimiser::Adam,
            members: 5,
            second_stage: NO_SECOND_STAGE.into(),
        }
    }
}

impl TrainingConfig {
    /// Refuses combinations that make no sense, in the name of the estimator `owner`.
    pub(crate) fn check(&self, owner: &str) -> Result<()> {
        check_widths(owner, "encoder", self.encoder.as_deref())?;
        check_widths(owner, "heads", self.heads.as_deref())?;
        if self.layer_norm && self.batch_norm {
            let one = "false while layer_norm is true: choose one of the two normalisations";
            return Err(bad(owner, "batch_norm", "true", one));
        }
        Ok(())
    }

    /// Normalisation of hidden layers.
    pub(crate) fn norm(&self) -> Norm {
        match (self.layer_norm, self.batch_norm) {
            (true, _) => Norm::Layer,
            (false, true) => Norm::Batch,
            (false, false) => Norm::None,
        }
    }
}

/// Refuses layers without units.
pub(crate) fn check_widths(owner: &str, name: &str, widths: Option<&[usize]>) -> Result<()> {
    if widths.is_some_and(|w| w.contains(&0)) {
        return Err(bad(owner, name, "0", "a list of positive widths"));
    }
    Ok(())
}

/// Refuses bounds of extreme propensities that leave nothing between them.
pub(crate) fn check_truncate(owner: &str, truncate: f64) -> Result<()> {
    if truncate > 0.0 && truncate < 0.5 {
        return Ok(());
    }
    Err(bad(owner, "truncate", &truncate.to_string(), "a number between 0 and 0.5"))
}

fn bad(owner: &str, name: &str, value: &str, expected: &str) -> Error {
    Error::BadParameter { owner: owner.into(), name: name.into(), value: value.into(), expected: expected.into() }
}

/// The loss asked for, or the one that suits the outcome.
pub(crate) fn loss_for(loss: Option<OutcomeLoss>, outcome: OutcomeKind) -> OutcomeLoss {
    loss.unwrap_or(match outcome {
        OutcomeKind::Continuous => OutcomeLoss::Squared,
        OutcomeKind::Binary => OutcomeLoss::Logistic,
    })
}

/// Parameters of a balance penalty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BalanceConfig {
    /// Balance penalty.
    pub balance: Balance,
    /// Its strength.
    pub balance_weight: Option<f64>,
    /// Its kernel's width or entropic strength.
    pub balance_width: Option<f64>,
}

impl Default for BalanceConfig {
    fn default() -> Self {
        Self { balance: Balance::Rbf, balance_weight: None, balance_width: None }
    }
}

impl BalanceConfig {
    /// The penalty with its numbers.
    pub(crate) fn penalty(&self, settings: SettingsName) -> Penalty {
        let strength = if settings.is_paper() { 1.0 } else { 0.1 };
        Penalty { balance: self.balance, strength: self.balance_weight.unwrap_or(strength), width: self.balance_width }
    }
}

/// Parameters of soft Pareto smoothing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SmoothingConfig {
    /// Strength of rank pooling.
    pub eps: Option<f64>,
    /// Steepness of the step.
    pub kappa: Option<f64>,
    /// Their units.
    pub units: Option<UnitsName>,
}

impl SmoothingConfig {
    /// The kernel's options.
    pub(crate) fn options(&self, settings: SettingsName) -> SoftParetoOptions {
        let (eps, kappa) = match settings {
            SettingsName::Default => (1.0, 1.0),
            SettingsName::PaperNews => (0.1, 0.01),
            SettingsName::PaperAcic | SettingsName::PaperSynthetic => (0.01, 0.001),
        };
        let paper = settings.is_paper();
        let raw = self.units.map_or(paper, |u| u == UnitsName::Raw);
        SoftParetoOptions {
            eps: self.eps.unwrap_or(eps),
            kappa: self.kappa.unwrap_or(kappa),
            units: if raw { Units::Raw } else { Units::ScaleFree },
            center: if paper { Center::Paper } else { Center::Half },
            negative_scale: if paper { NegativeScale::Abs } else { NegativeScale::FallBack },
        }
    }
}
