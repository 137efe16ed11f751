//! One training run: epochs of mini-batches, phase by phase, until the validation score stops falling.

use std::collections::BTreeMap;

use paretau_core::{Error, Event, FitContext, Result, Seed};
use paretau_kernels::parallel::Parallelism;
use paretau_kernels::real::Real;

use super::checkpoint::Keeper;
use super::plan::{Keep, Plan, Stage};
use super::progress::Progress;
use crate::data::{Batch, Batches, Sample};
use crate::engine::{AdamRates, Move, adam};
use crate::model::Model;

/// After this many divergences training stops with what it has.
const MAX_HALVINGS: u32 = 8;
/// This many steps in a row without a finite gradient are a divergence.
const MAX_BAD: u32 = 5;
/// Looks between two checkpoints.
const LOOKS_PER_SAVE: u64 = 20;

/// What surrounds a run.
#[derive(Debug)]
pub struct Run<'a, T> {
    /// Rows.
    pub sample: &'a Sample<T>,
    /// Rows to learn from.
    pub train: &'a [usize],
    /// Rows to stop by.
    pub valid: &'a [usize],
    /// How.
    pub plan: &'a Plan,
    /// Source of batches, dropout and initial values.
    pub seed: Seed,
    /// Name in checkpoints.
    pub name: String,
    /// Number in events.
    pub member: usize,
    /// Threads inside a step.
    pub parallelism: Parallelism,
    /// Where to begin instead of at random.
    pub start: Option<Vec<T>>,
    /// Mini-batches after which the run is put aside at the next look: another call under the same name goes on from there.
    pub pause: Option<u64>,
}

/// What a run found.
#[derive(Debug, Clone)]
pub struct Trained<T> {
    /// Parameters of the best validation score.
    pub params: Vec<T>,
    /// That score.
    pub score: f64,
    /// Named numbers of the best look.
    pub values: BTreeMap<String, f64>,
    /// Training history.
    pub history: Vec<BTreeMap<String, f64>>,
    /// Mini-batches done.
    pub steps: u64,
    /// Divergences answered.
    pub halvings: u32,
    /// Steps not taken.
    pub skipped: u64,
    /// Totals over the run (tail fits, tail fits left as they were, …).
    pub totals: BTreeMap<String, f64>,
}

impl<T> Trained<T> {
    /// The best score of the looks up to the first one at or behind `step`: the same whether the run went on from there or not.
    pub fn score_by(&self, step: u64) -> f64 {
        let mut best = f64::INFINITY;
        for look in &self.history {
            best = look.get("valid_objective").map_or(best, |score| best.min(*score));
            if look.get("step").is_some_and(|at| *at >= step as f64) {
                break;
            }
        }
        best
    }
}

impl<T: Real> Run<'_, T> {
    /// Trains `model`, from a checkpoint if there is one.
    pub fn train(&self, model: &mut dyn Model<T>, ctx: &FitContext<'_>, keeper: &Keeper<'_>) -> Result<Trained<T>> {
        let n_phases = self.plan.rates.len();
        let layout_len = model.layout().len();
        let mut progress = match keeper.load(&self.name) {
            Some(state) => Progress::from_state(&state, layout_len)?,
            None => {
                let start = self.start.clone().filter(|start| start.len() == layout_len);
                Progress::new(start.unwrap_or_else(|| model.layout().initial(self.seed)), n_phases)
            }
        };
        let moves: Vec<Vec<Move>> = (0..n_phases).map(|p| model.moves(p)).collect();
        let mut batches = Batches::new(&self.sample.t, self.train, self.plan.batch, self.seed);
        let mut scratch = Scratch { grads: vec![T::ZERO; layout_len], batch: Batch::default(), moves };
        let mut looks = 0;
        // Where the run stood at the last look, as long as that is not on disk: an interruption does not wait for the next.
        let mut unsaved: Option<Progress<T>> = None;
        while let Some(stage) = self.plan.stages.get(progress.at.stage) {
            if progress.at.finished || self.is_paused(&progress) {
                break;
            }
            let healthy = match self.epoch(stage, model, &mut progress, (&mut batches, &mut scratch), ctx) {
                Err(Error::Interrupted) => {
                    if let Some(last) = unsaved {
                        keeper.save(&self.name, last.state()?)?;
                    }
                    return Err(Error::Interrupted);
                }
                done => done?,
            };
            let due = progress.at.since_look >= self.plan.evaluate_every
                || progress.at.stage_step >= stage.max_steps
                || !healthy;
            if !due {
                continue;
            }
            let ended = self.look(stage, model, &mut progress, healthy, ctx)?;
            if ended {
                self.end_stage(stage, &mut progress);
            }
            looks += 1;
            if keeper.is_on() && (ended || looks % LOOKS_PER_SAVE == 0) {
                keeper.save(&self.name, progress.state()?)?;
                unsaved = None;
            } else if keeper.is_on() {
                unsaved = Some(progress.clone());
            }
        }
        if self.pause.is_some() {
            keeper.hold(&self.name, progress.state()?)?;
        }
        if progress.at.finished { finish(progress) } else { Ok(so_far(progress)) }
    }

    /// Whether the run is at a look behind its pause.
    fn is_paused(&self, progress: &Progress<T>) -> bool {
        progress.at.since_look == 0 && self.pause.is_some_and(|pause| progress.at.step >= pause)
    }

    fn end_stage(&self, stage: &Stage, progress: &mut Progress<T>) {
        if stage.keep == Keep::Mean || progress.at.best_score.is_some() {
            progress.params.copy_from_slice(&progress.best);
        } else {
            progress.best.copy_from_slice(&progress.params);
        }
        if progress.at.stage + 1 < self.plan.stages.len() {
            progress.next_stage();
        } else {
            progress.at.finished = true;
        }
    }

    /// One pass over the training rows; false when it had to be broken off.
    fn epoch(
        &self,
        stage: &Stage,
        model: &mut dyn Model<T>,
        progress: &mut Progress<T>,
        (batches, scratch): (&mut Batches, &mut Scratch<T>),
        ctx: &FitContext<'_>,
    ) -> Result<bool> {
        let at = &mut progress.at;
        batches.shuffle(at.epoch);
        let active: &[usize] = match stage.block {
            None => &stage.phases,
            Some(length) => {
                let place = (at.stage_epoch / length.max(1)) as usize % stage.phases.len();
                &stage.phases[place..=place]
            }
        };
        let decay =
            if self.plan.half_life > 0.0 { 0.5_f64.powf(at.stage_step as f64 / self.plan.half_life) } else { 1.0 };
        at.epoch += 1;
        at.stage_epoch += 1;
        let mut bad = 0;
        for index in 0..batches.count() {
            ctx.check_interrupt()?;
            let key = self.seed.named("step").indexed(at.step).0;
            batches.take(index, key, &mut scratch.batch);
            model.begin(self.sample, &scratch.batch)?;
            for &phase in active {
                let state = (&progress.params[..], &mut scratch.grads[..]);
                let loss = match model.loss(phase, self.sample, state, self.parallelism) {
                    Ok(loss) => loss,
                    Err(Error::Numeric { .. }) => f64::NAN,
                    Err(other) => return Err(other),
                };
                let moves = &scratch.moves[phase];
                let norm = adam::norm(&scratch.grads, moves, self.parallelism);
                if !loss.is_finite() || !norm.is_finite() {
                    at.skipped += 1;
                    bad += 1;
                    break;
                }
                bad = 0;
                at.losses[phase].0 += loss;
                at.losses[phase].1 += 1.0;
                at.counts[phase] += 1;
                let clip = self.plan.clip;
                let rates = AdamRates {
                    rate: self.plan.rates[phase].rate * decay * at.factor * at.lowered,
                    l2: self.plan.rates[phase].l2,
                    scale: if clip > 0.0 && norm > clip { clip / norm } else { 1.0 },
                    sgd: self.plan.sgd,
                };
                let count = at.counts[phase];
                progress.adam.step(&mut progress.params, &scratch.grads, moves, (rates, count), self.parallelism);
                model.absorb(phase, &mut progress.params);
            }
            at.step += 1;
            at.stage_step += 1;
            at.since_look += 1;
            let averaged = at.stage_step.saturating_sub(stage.max_steps / 2);
            if stage.keep == Keep::Mean && averaged > 0 {
                let share = T::from_f64(1.0 / averaged as f64);
                progress.best.iter_mut().zip(&progress.params).for_each(|(mean, p)| *mean += share * (*p - *mean));
            }
            if bad >= MAX_BAD {
                return Ok(false);
            }
            if at.stage_step >= stage.max_steps {
                break;
            }
        }
        Ok(true)
    }

    /// Scores the validation rows, keeps the best parameters, answers divergence; true when the stage is over.
    fn look(
        &self,
        stage: &Stage,
        model: &mut dyn Model<T>,
        progress: &mut Progress<T>,
        healthy: bool,
        ctx: &FitContext<'_>,
    ) -> Result<bool> {
        let scores =
            match model.validate(progress.at.stage, self.sample, self.valid, &progress.params, self.parallelism) {
                Ok(scores) => scores,
                Err(Error::Numeric { .. }) => crate::model::Scores { objective: f64::NAN, ..Default::default() },
                Err(other) => return Err(other),
            };
        let at = &mut progress.at;
        let diverged = !healthy || !scores.objective.is_finite();
        let settled = at.stage_step >= stage.settle;
        let better = !diverged && settled && at.best_score.is_none_or(|best| scores.objective < best);
        let mut values = scores.values;
        for (phase, loss) in at.losses.iter_mut().enumerate() {
            if loss.1 > 0.0 {
                values.insert(format!("train_{phase}"), loss.0 / loss.1);
            }
            *loss = (0.0, 0.0);
        }
        for (name, value) in model.gathered() {
            let total = at.totals.entry(name.clone()).or_insert(0.0);
            if name.ends_with("_max") || name == "khat" {
                *total = total.max(value);
            } else {
                *total += value;
            }
            values.insert(name, value);
        }
        values.insert("step".to_owned(), at.step as f64);
        values.insert("stage".to_owned(), at.stage as f64);
        values.insert("member".to_owned(), self.member as f64);
        values.insert("valid_objective".to_owned(), scores.objective);
        values.insert("best".to_owned(), f64::from(u8::from(better)));
        // JSON has no infinities, and a history must be readable.
        values.retain(|_, v| v.is_finite());
        ctx.event(&Event::Epoch { epoch: at.epoch, values: values.clone() });
        at.history.push(values);
        at.since_look = 0;
        if diverged {
            at.halvings += 1;
            at.factor *= 0.5;
            progress.params.copy_from_slice(&progress.best);
            progress.adam.m.fill(T::ZERO);
            progress.adam.v.fill(T::ZERO);
            at.counts.iter_mut().for_each(|c| *c = 0);
            ctx.event(&Event::Note {
                message: format!(
                    "training diverged at step {}: stepped back to the best parameters and halved the learning rate",
                    at.step
                ),
            });
            return Ok(at.halvings > MAX_HALVINGS || at.stage_step >= stage.max_steps);
        }
        if better {
            at.best_score = Some(scores.objective);
            at.best_step = at.stage_step;
            if stage.keep == Keep::Best {
                progress.best.copy_from_slice(&progress.params);
            }
        }
        if at.stage_step >= stage.max_steps {
            return Ok(true);
        }
        let idle = at.stage_step - at.best_step.max(at.patient_since);
        let patience = if at.drops == 0 { stage.patience } else { stage.later_patience };
        let at_rest = at.stage_step >= stage.min_steps && idle >= patience;
        if at_rest && at.drops < stage.drops {
            // Near a minimum large steps only shake: on from the best place, in smaller steps.
            at.drops += 1;
            at.lowered *= stage.drop_factor;
            at.patient_since = at.stage_step;
            progress.params.copy_from_slice(&progress.best);
            return Ok(false);
        }
        Ok(at_rest)
    }
}

struct Scratch<T> {
    grads: Vec<T>,
    batch: Batch,
    moves: Vec<Vec<Move>>,
}

/// The answer of a run that is over; an error if no parameters were ever fit to be one.
fn finish<T: Real>(progress: Progress<T>) -> Result<Trained<T>> {
    let at = &progress.at;
    let score = at.best_score.unwrap_or(f64::NAN);
    if !score.is_finite() || progress.best.iter().any(|v| !v.is_finite()) {
        return Err(Error::Numeric {
            what: "training a neural network",
            message: format!(
                "the loss was never finite, even with the learning rate halved {} times; check the outcome's scale, or use a \
                 normalised weighting",
                at.halvings
            ),
        });
    }
    Ok(so_far(progress))
}

/// What a run has found until now; its score is infinite as long as nothing was scored.
fn so_far<T: Real>(progress: Progress<T>) -> Trained<T> {
    let at = progress.at;
    let values = at.history.iter().rfind(|h| h.get("best") == Some(&1.0)).cloned().unwrap_or_default();
    Trained {
        params: progress.best,
        score: at.best_score.unwrap_or(f64::INFINITY),
        values,
        steps: at.step,
        halvings: at.halvings,
        skipped: at.skipped,
        totals: at.totals,
        history: at.history,
    }
}
