//! From a configuration to concrete numbers: the named sets, the size of the data, and what was chosen on validation rows.

use paretau_core::OutcomeKind;
use paretau_kernels::weights::Weighting;

use crate::config::{NetConfig, Network, Optimiser, Schedule, SettingsName};
use crate::engine::Activation;
use crate::loss::{OutcomeLoss, Penalty};
use crate::model::ganite::{DISCRIMINATOR, GENERATOR, INFERENCE, SECOND_DISCRIMINATOR};
use crate::model::repnet::{OUTCOME, PROPENSITY};
use crate::model::{Objective, RepSpec};
use crate::train::{Keep, PhaseRates, Plan, Stage};

/// How many times the ordinary weight decay a fit tries besides.
const STRONG: f64 = 10.0;

/// What validation rows decide.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choice {
    /// Share of hidden units dropped.
    pub dropout: f64,
    /// L2 strength.
    pub l2: f64,
    /// Tempering exponent.
    pub gamma: f64,
}

/// The size of the job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Size {
    /// Training rows.
    pub n: usize,
    /// Feature columns.
    pub d: usize,
    /// Kind of outcome.
    pub outcome: OutcomeKind,
}

/// Units of the nets.
struct Widths {
    encoder: Vec<usize>,
    representation: usize,
    propensity: Vec<usize>,
    heads: Vec<usize>,
}

impl NetConfig {
    fn widths(&self) -> Widths {
        let (encoder, representation, propensity, heads) = match (self.settings, self.network) {
            (SettingsName::Default, Network::Disentangled | Network::TwoStep) => {
                (vec![64, 64], 32, vec![64, 64], vec![64, 64])
            }
            (SettingsName::Default, Network::Ganite) => (vec![64], 64, vec![], vec![64]),
            (SettingsName::Default, _) => (vec![128, 128], 64, vec![], vec![64, 64]),
            (SettingsName::PaperSynthetic, Network::Disentangled | Network::TwoStep) => {
                (vec![3, 3], 3, vec![3, 3], vec![100, 100])
            }
            (_, Network::Disentangled | Network::TwoStep) => (vec![100, 100], 100, vec![100, 100], vec![100, 100]),
            _ => (vec![200, 200], 200, vec![], vec![100, 100]),
        };
        Widths {
            encoder: self.encoder.clone().unwrap_or(encoder),
            representation: self.representation.unwrap_or(representation),
            propensity: self.propensity.clone().unwrap_or(propensity),
            heads: self.heads.clone().unwrap_or(heads),
        }
    }

    /// The nets.
    pub fn spec(&self, size: Size, choice: Choice) -> RepSpec {
        let widths = self.widths();
        let (groups, propensity, head_reads, balanced) = match self.network {
            Network::Disentangled => (3, Some((widths.propensity, 0..2)), 1..3, 2),
            Network::TwoStep => (2, None, 0..2, 1),
            Network::Dragon => (1, Some((vec![], 0..1)), 0..1, 0),
            Network::Shared | Network::Ganite => (1, None, 0..1, 0),
        };
        let last = if groups == 1 { self.activation } else { Activation::Linear };
        RepSpec {
            d: size.d,
            groups,
            encoder: widths.encoder,
            representation: widths.representation,
            representation_activation: last,
            propensity,
            heads: widths.heads,
            head_reads,
            balanced,
            activation: self.activation,
            dropout: choice.dropout,
            norm: self.norm(),
        }
    }

    /// The losses.
    pub fn objective(&self, size: Size, choice: Choice) -> Objective {
        let paper = if self.is_paper() { 1.0 } else { 0.1 };
        let loss = self.loss.unwrap_or(match size.outcome {
            OutcomeKind::Continuous => OutcomeLoss::Squared,
            OutcomeKind::Binary => OutcomeLoss::Logistic,
        });
        // Weights of two-step training are fixed beforehand and belong to the rows.
        let weighting = if self.network == Network::TwoStep { Weighting::Uniform } else { self.weighting() };
        Objective {
            loss,
            weighting,
            pooling: self.pooling(),
            gamma: choice.gamma,
            penalty: Penalty {
                balance: self.balance,
                strength: self.balance_weight.unwrap_or(paper),
                width: self.balance_width,
            },
            joint: self.joint,
            targeted: self.targeted,
            independence: self.independence,
        }
    }

    /// The training plan.
    pub fn plan(&self, size: Size, choice: Choice) -> Plan {
        let (batch, rate, propensity_rate) = match self.settings {
            SettingsName::Default => (if size.n > 10_000 { 256 } else { 128 }, 2e-3, 2e-3),
            SettingsName::PaperNews => (1000, 1e-5, 1e-5),
            SettingsName::PaperAcic => (5000, 1e-5, 1e-5),
            SettingsName::PaperSynthetic => (5000, 1e-4, 1e-3),
        };
        let batch = self.batch.unwrap_or(batch);
        let schedule = self.schedule.unwrap_or(if self.is_paper() { Schedule::Blocks } else { Schedule::EachStep });
        let per_epoch = size.n.div_ceil(batch).max(1) as u64;
        // Three rounds of one block of each phase, as the paper's scripts do; the best weights still come back.
        let rounds = 3 * 2 * self.block as u64 * per_epoch;
        let default = if self.is_paper() {
            (rounds, rounds, rounds)
        } else {
            (5000, (10 * per_epoch).clamp(500, 1500), (8 * per_epoch).clamp(300, 600))
        };
        let blocks = schedule == Schedule::Blocks;
        let has_propensity = matches!(self.network, Network::Disentangled);
        let stage = Stage {
            name: "training",
            phases: if has_propensity { vec![PROPENSITY, OUTCOME] } else { vec![OUTCOME] },
            block: (blocks && has_propensity).then_some(self.block as u64),
            max_steps: self.max_steps.map_or(default.0, |v| v as u64),
            min_steps: self.min_steps.map_or(default.1, |v| v as u64),
            patience: self.patience.map_or(default.2, |v| v as u64),
            drops: if self.is_paper() { 0 } else { self.drops as u32 },
            drop_factor: 0.3,
            keep: Keep::Best,
        };
        let slow = PhaseRates { rate: self.propensity_rate.unwrap_or(propensity_rate), l2: choice.l2 };
        let fast = PhaseRates { rate: self.rate.unwrap_or(rate), l2: choice.l2 };
        let (stages, rates) = if self.network == Network::Ganite {
            // The generator's stage has nothing to stop by: it runs its length. Its discriminator takes two steps to its one.
            let length = stage.max_steps;
            let phases = vec![DISCRIMINATOR, DISCRIMINATOR, GENERATOR];
            let game = Stage { name: "generator", phases, keep: Keep::Mean, ..stage.clone() };
            let game = Stage { min_steps: length, drops: 0, block: None, ..game };
            let inference =
                Stage { name: "inference", phases: vec![SECOND_DISCRIMINATOR, INFERENCE], block: None, ..stage };
            // The generator is slower than its discriminator, which then stays near its best answer and points the right way.
            let mut rates = vec![fast; 4];
            rates[GENERATOR].rate *= 0.25;
            (vec![game, inference], rates)
        } else {
            (vec![stage], vec![slow, fast])
        };
        Plan {
            stages,
            rates,
            batch,
            clip: self.clip,
            half_life: self.half_life,
            sgd: self.optimiser == Optimiser::Sgd,
            evaluate_every: 20,
        }
    }

    /// What to try on validation rows: what the user fixed stays fixed.
    pub(crate) fn candidates(&self, size: Size) -> Vec<Choice> {
        let natural = 4.0 / size.n.max(1) as f64;
        let gamma = self.gamma.unwrap_or(1.0);
        let paper = match self.settings {
            SettingsName::Default => None,
            SettingsName::PaperSynthetic => Some(0.0),
            SettingsName::PaperNews | SettingsName::PaperAcic => Some(0.145),
        };
        let l2 = self.l2.unwrap_or(if self.is_paper() { 0.01 } else { natural });
        let open_l2 = self.l2.is_none() && !self.is_paper();
        let choice = |dropout, l2| Choice { dropout, l2, gamma };
        match self.dropout.or(paper) {
            // Ten times the decay helps small nets on clean data as much as dropout does, so it is tried without dropout too.
            Some(dropout) if open_l2 => vec![choice(dropout, l2), choice(dropout, STRONG * natural)],
            Some(dropout) => vec![choice(dropout, l2)],
            None => {
                let mut all = vec![choice(0.0, l2), choice(0.1, l2)];
                // With more columns than rows a net can learn its rows by heart: dropping half of the units may be what helps.
                if size.d >= size.n {
                    all.push(choice(0.5, l2));
                }
                if open_l2 {
                    all.push(choice(0.2, STRONG * natural));
                }
                all
            }
        }
    }

    /// Whether the data decide how much the weights count: never with a paper's settings, which keep its exact weights.
    pub(crate) fn tempers(&self) -> bool {
        self.gamma.is_none() && self.weighs() && !self.is_paper()
    }

    /// Hidden units of a propensity net on the features.
    pub(crate) fn propensity_widths(&self) -> Vec<usize> {
        self.widths().propensity
    }

    /// The training plan of a plain net.
    pub(crate) fn plain_plan(&self, size: Size, choice: Choice) -> Plan {
        let mut plan = self.plan(size, choice);
        plan.rates = vec![plan.rates[PROPENSITY]];
        plan.stages.truncate(1);
        plan.stages[0].phases = vec![0];
        plan.stages[0].block = None;
        plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strong_dropout_is_tried_where_columns_outnumber_rows() {
        let tried = |config: &NetConfig, d: usize| -> Vec<f64> {
            let size = Size { n: 1000, d, outcome: OutcomeKind::Continuous };
            config.candidates(size).iter().map(|choice| choice.dropout).collect()
        };
        let ours = NetConfig::default();
        assert_eq!((tried(&ours, 999), tried(&ours, 1000)), (vec![0.0, 0.1, 0.2], vec![0.0, 0.1, 0.5, 0.2]));
        let fixed = NetConfig { dropout: Some(0.3), ..NetConfig::default() };
        let paper = NetConfig { settings: SettingsName::PaperNews, ..NetConfig::default() };
        assert_eq!((tried(&fixed, 5000), tried(&paper, 5000)), (vec![0.3, 0.3], vec![0.145]));
    }

    #[test]
    fn decay_is_chosen_when_dropout_is_fixed_and_only_when_it_is_open() {
        let tried = |config: NetConfig| -> Vec<(f64, f64)> {
            let size = Size { n: 1000, d: 10, outcome: OutcomeKind::Continuous };
            config.candidates(size).iter().map(|choice| (choice.dropout, choice.l2)).collect()
        };
        let fixed = NetConfig { dropout: Some(0.0), ..NetConfig::default() };
        assert_eq!(tried(fixed.clone()), [(0.0, 0.004), (0.0, 0.04)]);
        assert_eq!(tried(NetConfig { l2: Some(0.5), ..fixed.clone() }), [(0.0, 0.5)]);
        assert_eq!(tried(NetConfig { settings: SettingsName::PaperSynthetic, ..fixed }), [(0.0, 0.01)]);
    }
}
