//! Fitted boosted trees: predictions, facts, and the way to and from a model file.

use paretau_core::{Error, Features, FittedRegressor, Importance, Result, State};
use paretau_kernels::numeric::sigmoid;
use serde::{Deserialize, Serialize};

use super::loss::{Loss, SURE};
use crate::bins::Bins;
use crate::forest::Forest;
use crate::input;
use crate::walk::{Block, NO_LEAF};

/// Fitted boosted trees: the mean of one model per fold.
#[derive(Debug, Clone, PartialEq)]
pub struct BoostedTrees {
    facts: Facts,
    forest: Forest,
    held_out: Vec<f64>,
}

/// What is known beside the trees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Facts {
    pub(super) loss: Loss,
    /// Level and spread of the outcomes that scores are relative to.
    pub(super) offset: f64,
    pub(super) scale: f64,
    /// The models' mean score before the first tree.
    pub(super) start: f64,
    pub(super) n_models: usize,
    pub(super) n_rows: usize,
    pub(super) rounds: usize,
    pub(super) max_leaves: usize,
    pub(super) held_out_loss: Option<f64>,
    pub(super) importance: Vec<Importance>,
}

impl BoostedTrees {
    pub(super) fn new(facts: Facts, forest: Forest, held_out: Vec<f64>) -> Self {
        let held_out = held_out.into_iter().map(|score| facts.shown(score)).collect();
        Self { facts, forest, held_out }
    }

    /// Rounds that were kept: trees per model.
    pub fn rounds(&self) -> usize {
        self.facts.rounds
    }

    /// Leaves per tree, at most, as given or chosen.
    pub fn max_leaves(&self) -> usize {
        self.facts.max_leaves
    }

    /// Mean loss of the rows held out: half the squared error or the absolute error, of outcomes divided by their standard
    /// deviation, or the log-loss. Nothing without folds.
    pub fn held_out_loss(&self) -> Option<f64> {
        self.facts.held_out_loss
    }

    /// Each column's share of the splits, those near the root counting most.
    pub fn importance(&self) -> &[Importance] {
        &self.facts.importance
    }

    pub(super) fn load(state: &State) -> Result<Self> {
        let facts: Facts = state.nested("facts")?.parse()?;
        let bins = Bins::load(&state.nested("bins")?)?;
        let forest = Forest::load(&state.nested("trees")?, bins)?;
        let numbers = [facts.offset, facts.scale, facts.start];
        if forest.width != 1 || facts.n_models == 0 || numbers.iter().any(|v| !v.is_finite()) {
            return Err(Error::bad_model("the facts of boosted trees do not fit together"));
        }
        Ok(Self { facts, forest, held_out: vec![] })
    }
}

impl Facts {
    /// A score as the prediction that it stands for; probabilities are never nearer to 0 or 1 than half a row.
    fn shown(&self, score: f64) -> f64 {
        if self.loss == Loss::Logistic {
            let least = 0.5 / (self.n_rows as f64 + 1.0);
            sigmoid(score.clamp(-SURE, SURE)).clamp(least, 1.0 - least)
        } else {
            self.offset + self.scale * score
        }
    }
}

impl FittedRegressor for BoostedTrees {
    fn predict(&self, x: &Features) -> Result<Vec<f64>> {
        input::check_columns(self.forest.bins.n_cols(), x)?;
        let share = 1.0 / self.facts.n_models as f64;
        let sums = self.forest.map_blocks(x, sums);
        Ok(sums.into_iter().map(|sum| self.facts.shown(self.facts.start + share * sum)).collect())
    }

    fn held_out(&self) -> Option<&[f64]> {
        (!self.held_out.is_empty()).then_some(&self.held_out)
    }

    fn state(&self) -> Result<State> {
        let mut state = State::default();
        state.nest("facts", State::new(&self.facts)?);
        state.nest("bins", self.forest.bins.state()?);
        state.nest("trees", self.forest.state()?);
        Ok(state)
    }
}

/// Sum of the trees' values.
fn sums(block: &Block<'_>) -> Vec<f64> {
    let mut sums = vec![0.0; block.n_rows];
    for tree in 0..block.forest.n_trees() {
        for (&leaf, sum) in block.tree(tree).iter().zip(&mut sums) {
            if leaf != NO_LEAF {
                *sum += f64::from(block.forest.leaves[leaf as usize]);
            }
        }
    }
    sums
}
