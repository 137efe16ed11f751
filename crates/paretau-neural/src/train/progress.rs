//! Where a training run stands: all that a checkpoint must hold for the rest to come out in the same bits.

use std::collections::BTreeMap;

use paretau_core::{Error, Result, State, Tensor};
use paretau_kernels::real::Real;
use serde::{Deserialize, Serialize};

use crate::engine::Adam;

/// The small part of a run's standing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// Stage at work.
    pub stage: usize,
    /// Epochs done in all.
    pub epoch: u64,
    /// Epochs done in this stage.
    pub stage_epoch: u64,
    /// Mini-batches done in all.
    pub step: u64,
    /// Mini-batches done in this stage.
    pub stage_step: u64,
    /// Mini-batches since the validation rows were looked at.
    pub since_look: u64,
    /// Optimiser steps by phase.
    pub counts: Vec<u64>,
    /// Best validation score of the stage and when it was.
    pub best_score: Option<f64>,
    /// Stage step of the best score.
    pub best_step: u64,
    /// What the learning rates are multiplied by after divergences.
    pub factor: f64,
    /// What they are multiplied by after drops in this stage.
    pub lowered: f64,
    /// Drops taken in this stage.
    pub drops: u32,
    /// Stage step since which patience counts.
    pub patient_since: u64,
    /// Divergences answered.
    pub halvings: u32,
    /// Steps that were not taken because the loss or its gradient was not finite.
    pub skipped: u64,
    /// Whether all stages are done.
    pub finished: bool,
    /// Sum and number of training losses since the last look, by phase.
    pub losses: Vec<(f64, f64)>,
    /// Training history, one entry a look.
    pub history: Vec<BTreeMap<String, f64>>,
    /// Totals over the whole run.
    pub totals: BTreeMap<String, f64>,
}

/// A run's standing.
#[derive(Debug, Clone)]
pub struct Progress<T> {
    /// The small part.
    pub at: Counters,
    /// Parameters.
    pub params: Vec<T>,
    /// Parameters of the best score.
    pub best: Vec<T>,
    /// The optimiser's moments.
    pub adam: Adam<T>,
}

impl<T: Real> Progress<T> {
    /// The start of a run.
    pub fn new(params: Vec<T>, n_phases: usize) -> Self {
        let at = Counters {
            stage: 0,
            epoch: 0,
            stage_epoch: 0,
            step: 0,
            stage_step: 0,
            since_look: 0,
            counts: vec![0; n_phases],
            best_score: None,
            best_step: 0,
            factor: 1.0,
            lowered: 1.0,
            drops: 0,
            patient_since: 0,
            halvings: 0,
            skipped: 0,
            finished: false,
            losses: vec![(0.0, 0.0); n_phases],
            history: Vec::new(),
            totals: BTreeMap::new(),
        };
        Self { at, best: params.clone(), adam: Adam::new(params.len()), params }
    }

    /// Begins the next stage from the parameters at hand.
    pub fn next_stage(&mut self) {
        let at = &mut self.at;
        at.stage += 1;
        (at.stage_epoch, at.stage_step, at.since_look, at.best_step) = (0, 0, 0, 0);
        at.best_score = None;
        (at.lowered, at.drops, at.patient_since) = (1.0, 0, 0);
        at.losses.iter_mut().for_each(|l| *l = (0.0, 0.0));
        self.best.copy_from_slice(&self.params);
    }

    /// As a state. Double precision holds either number type exactly.
    pub fn state(&self) -> Result<State> {
        let mut state = State::new(&self.at)?;
        let parts = [("params", &self.params), ("best", &self.best), ("m", &self.adam.m), ("v", &self.adam.v)];
        for (name, values) in parts {
            // A finished run needs its answer only.
            if self.at.finished && name != "best" {
                continue;
            }
            let values: Vec<f32> = values.iter().map(|v| v.to_f64() as f32).collect();
            state.tensors.insert(name.to_owned(), Tensor::F32(vec![values.len()], values));
        }
        Ok(state)
    }

    /// From a state of a run with `len` parameters.
    pub fn from_state(state: &State, len: usize) -> Result<Self> {
        let at: Counters = state.parse()?;
        let get = |name: &str| -> Result<Vec<T>> {
            match state.tensors.get(name) {
                Some(Tensor::F32(shape, values)) if shape == &[len] => {
                    Ok(values.iter().map(|v| T::from_f64(f64::from(*v))).collect())
                }
                _ => Err(Error::bad_model(format!(
                    "checkpoint: `{name}` does not fit this fit's settings; remove the checkpoint or restore the settings"
                ))),
            }
        };
        let best = get("best")?;
        if at.finished {
            return Ok(Self { at, params: best.clone(), adam: Adam::new(len), best });
        }
        Ok(Self { at, params: get("params")?, best, adam: Adam { m: get("m")?, v: get("v")? } })
    }
}
