//! From parameters to concrete numbers: the named sets, the size of the data, and what was chosen on validation rows.

use crate::config::{Embedding, Optimiser, SettingsName};
use crate::engine::Activation;
use crate::model::RepSpec;
use crate::model::repnet::{OUTCOME, PROPENSITY};
use crate::nets::{Arrangement, NetKind};
use crate::train::{Keep, PhaseRates, Plan, Stage};

/// How many times the ordinary weight decay a fit tries besides.
const STRONG: f64 = 10.0;

/// Nets that go on from others need this many times fewer mini-batches.
const GOING_ON: u64 = 3;

/// Epochs per block, as in the paper's scripts.
pub(crate) const BLOCK: usize = 100;

/// What validation rows decide.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Choice {
    /// Bins per column of piecewise-linear inputs; 0 for none.
    pub(crate) bins: usize,
    /// Share of hidden units dropped.
    pub(crate) dropout: f64,
    /// L2 strength.
    pub(crate) l2: f64,
    /// Tempering exponent.
    pub(crate) gamma: f64,
    /// Where training begins and what it needs.
    pub(crate) part: Part,
}

/// What nets are trained for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// For themselves.
    Whole,
    /// To be mixed with weighted ones, beside propensity nets of their own: they need no propensity, nor the encoder that only it
    /// reads.
    Unweighted,
    /// To be mixed with unweighted ones, from whose parameters they go on.
    Weighted,
}

/// The size of the job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Size {
    /// Training rows.
    pub(crate) n: usize,
    /// Feature columns.
    pub(crate) d: usize,
}

/// Units of the nets.
#[derive(Debug)]
pub(crate) struct Widths {
    pub(crate) encoder: Vec<usize>,
    pub(crate) representation: usize,
    pub(crate) propensity: Vec<usize>,
    pub(crate) heads: Vec<usize>,
}

impl dyn NetKind + '_ {
    /// The nets; `size.d` counts the columns they read.
    pub(crate) fn spec(&self, size: Size, choice: Choice) -> RepSpec {
        let (training, widths) = (self.training(), self.widths());
        let whole = self.arrangement(widths.propensity);
        let last = if whole.groups == 1 { training.activation } else { Activation::Linear };
        let arrangement = if choice.part == Part::Unweighted { whole.of_outcomes() } else { whole };
        let Arrangement { groups, propensity, head_reads, balanced } = arrangement;
        RepSpec {
            d: size.d,
            groups,
            encoder: training.encoder.clone().unwrap_or(widths.encoder),
            representation: training.representation.unwrap_or(widths.representation),
            representation_activation: last,
            propensity,
            heads: training.heads.clone().unwrap_or(widths.heads),
            head_reads,
            balanced,
            activation: training.activation,
            dropout: choice.dropout,
            norm: training.norm(),
        }
    }

    /// The training plan.
    pub(crate) fn training_plan(&self, size: Size, choice: Choice) -> Plan {
        let (training, settings) = (self.training(), self.settings());
        let (batch, rate, propensity_rate) = match settings {
            SettingsName::Default => (if size.n > 10_000 { 256 } else { 128 }, 2e-3, 2e-3),
            SettingsName::PaperNews => (1000, 1e-5, 1e-5),
            SettingsName::PaperAcic => (5000, 1e-5, 1e-5),
            SettingsName::PaperSynthetic => (5000, 1e-4, 1e-3),
        };
        let batch = training.batch.unwrap_or(batch);
        let per_epoch = size.n.div_ceil(batch).max(1) as u64;
        // Three rounds of one block of each phase, as the paper's scripts do; the best weights still come back.
        let rounds = 3 * 2 * self.block() as u64 * per_epoch;
        let default = if settings.is_paper() {
            (rounds, rounds, rounds)
        } else {
            (5000, (10 * per_epoch).clamp(500, 1500), (8 * per_epoch).clamp(300, 600))
        };
        let patience = training.patience.map_or(default.2, |v| v as u64);
        let stage = Stage {
            name: "training",
            phases: vec![OUTCOME],
            block: None,
            max_steps: training.max_steps.map_or(default.0, |v| v as u64),
            min_steps: training.min_steps.map_or(default.1, |v| v as u64),
            patience,
            later_patience: if settings.is_paper() || training.patience.is_some() { patience } else { patience / 2 },
            settle: 0,
            drops: if settings.is_paper() { 0 } else { training.drops as u32 },
            drop_factor: 0.3,
            keep: Keep::Best,
        };
        let mut rates = vec![PhaseRates { rate: propensity_rate, l2: choice.l2 }; 2];
        rates[OUTCOME].rate = training.rate.unwrap_or(rate);
        let mut plan = self.plan(Plan {
            stages: vec![stage],
            rates,
            batch,
            clip: training.clip,
            half_life: training.half_life,
            sgd: training.optimiser == Optimiser::Sgd,
            evaluate_every: 20,
        });
        for stage in &mut plan.stages {
            match choice.part {
                Part::Whole => {}
                Part::Unweighted => {
                    stage.phases.retain(|phase| *phase != PROPENSITY);
                    stage.block = None;
                }
                Part::Weighted => {
                    // Where they begin is not where they belong: what they end with is found on their own way.
                    if stage.block.is_none() {
                        let open = [training.min_steps.is_none(), training.patience.is_none()];
                        stage.shorten(open, GOING_ON);
                    }
                    stage.settle = stage.min_steps.min(stage.max_steps) / 2;
                }
            }
        }
        plan
    }

    /// Mini-batches after which candidates are compared and all but the best are given up: where training could first have ended.
    pub(crate) fn rung(&self, size: Size, choice: Choice) -> Option<u64> {
        self.can_pause().then(|| self.training_plan(size, choice).stages[0].min_steps)
    }

    /// Whether candidates are tried without piecewise-linear inputs, and the best of them with them: not where every net has weights of
    /// its own propensities, which grow with what such inputs let the propensity net learn by heart.
    pub(crate) fn embedding_is_open(&self) -> bool {
        let stands_on_weights = self.has_propensity() && self.gamma().is_some();
        self.training().embedding.is_none() && !self.settings().is_paper() && !stands_on_weights
    }

    /// What to try on validation rows: what the user fixed stays fixed. `numbers` says whether columns suit piecewise-linear inputs.
    pub(crate) fn candidates(&self, size: Size, numbers: bool) -> Vec<Choice> {
        let (training, settings) = (self.training(), self.settings());
        let piecewise = self.embedding_is_open() || training.embedding == Some(Embedding::Piecewise);
        let bins = if numbers && piecewise { training.bins } else { 0 };
        let natural = 4.0 / size.n.max(1) as f64;
        let gamma = self.gamma().unwrap_or(1.0);
        let paper = match settings {
            SettingsName::Default => None,
            SettingsName::PaperSynthetic => Some(0.0),
            SettingsName::PaperNews | SettingsName::PaperAcic => Some(0.145),
        };
        let l2 = training.l2.unwrap_or(if settings.is_paper() { 0.01 } else { natural });
        let open_l2 = training.l2.is_none() && !settings.is_paper();
        let choice = |dropout, l2| Choice { bins, dropout, l2, gamma, part: Part::Whole };
        match training.dropout.or(paper) {
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
        self.gamma().is_none() && self.learns_weights() && !self.settings().is_paper()
    }

    /// The training plan of a propensity net on the features.
    pub(crate) fn propensity_plan(&self, size: Size, choice: Choice) -> Plan {
        let mut plan = self.training_plan(size, choice);
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
    use crate::config::TrainingConfig;
    use crate::nets::disentangled::{DPSW_NORM, DpswConfig};

    fn tried(training: TrainingConfig, settings: SettingsName, d: usize) -> Vec<(f64, f64)> {
        let config = DpswConfig { settings, training, ..(DPSW_NORM.preset)() };
        let kind: &dyn NetKind = &config;
        kind.candidates(Size { n: 1000, d }, true).iter().map(|choice| (choice.dropout, choice.l2)).collect()
    }

    #[test]
    fn strong_dropout_is_tried_where_columns_outnumber_rows() {
        let dropouts = |training: TrainingConfig, settings, d| -> Vec<f64> {
            tried(training, settings, d).into_iter().map(|(dropout, _)| dropout).collect()
        };
        let ours = |d| dropouts(TrainingConfig::default(), SettingsName::Default, d);
        assert_eq!((ours(999), ours(1000)), (vec![0.0, 0.1, 0.2], vec![0.0, 0.1, 0.5, 0.2]));
        let fixed = TrainingConfig { dropout: Some(0.3), ..TrainingConfig::default() };
        assert_eq!(dropouts(fixed, SettingsName::Default, 5000), [0.3, 0.3]);
        assert_eq!(dropouts(TrainingConfig::default(), SettingsName::PaperNews, 5000), [0.145]);
    }

    #[test]
    fn decay_is_chosen_when_dropout_is_fixed_and_only_when_it_is_open() {
        let fixed = TrainingConfig { dropout: Some(0.0), ..TrainingConfig::default() };
        assert_eq!(tried(fixed.clone(), SettingsName::Default, 10), [(0.0, 0.004), (0.0, 0.04)]);
        let both = TrainingConfig { l2: Some(0.5), ..fixed.clone() };
        assert_eq!(tried(both, SettingsName::Default, 10), [(0.0, 0.5)]);
        assert_eq!(tried(fixed, SettingsName::PaperSynthetic, 10), [(0.0, 0.01)]);
    }

    #[test]
    fn pieces_are_open_by_default_and_never_in_a_papers_settings() {
        let bins = |embedding, settings, numbers| {
            let training = TrainingConfig { embedding, ..TrainingConfig::default() };
            let config = DpswConfig { settings, training, ..(DPSW_NORM.preset)() };
            let kind: &dyn NetKind = &config;
            (kind.candidates(Size { n: 1000, d: 5 }, numbers)[0].bins, kind.embedding_is_open())
        };
        let (ours, paper) = (SettingsName::Default, SettingsName::PaperAcic);
        assert_eq!([bins(None, ours, true), bins(None, ours, false)], [(8, true), (0, true)]);
        assert_eq!([bins(Some(Embedding::Plain), ours, true), bins(None, paper, true)], [(0, false), (0, false)]);
        assert_eq!(bins(Some(Embedding::Piecewise), paper, true), (8, false));
    }
}
