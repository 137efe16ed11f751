//! One fold of a trial: fitted here, or as a task by an executor.

use paretau::task::{Executor, Task, TaskData};
use paretau::{FitOptions, fit};
use paretau_core::{Effects, Error, Event, Fold, Observer, Params, Result, Seed};
use paretau_data::{Assigned, RoleSpec, Table, assign};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::objective::HeldOutLoss;
use super::trials::Trials;
use super::{TuneOptions, TuneSpec, parts, trial_of};
use crate::quiet::Quiet;

/// The rows of a search and their folds.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) table: &'a Table,
    pub(super) roles: &'a RoleSpec,
    pub(super) assigned: &'a Assigned,
    pub(super) parts: &'a [Fold],
}

impl Rows<'_> {
    /// What a fit to the training rows of a fold predicts for the rows held out.
    pub(super) fn fold_effects(&self, fold: usize, params: &Params, options: &TuneOptions<'_>) -> Result<Effects> {
        let part = self.parts.get(fold).ok_or_else(|| Error::unfit("there is no such fold"))?;
        let pick = |rows: &[usize]| self.table.select(&rows.iter().map(|&i| self.assigned.rows[i]).collect::<Vec<_>>());
        let quiet = Quiet(options.observer);
        let fit_options = FitOptions {
            params: params.clone(),
            seed: options.seed,
            valid_share: options.valid_share,
            observer: &quiet,
            ..FitOptions::new(options.estimator)
        };
        let mut predictions = fit(pick(&part.train), self.roles, &fit_options)?.predict(&pick(&part.held_out))?;
        Ok(predictions.arms.swap_remove(0))
    }
}

/// The task of one fold of one trial.
#[derive(Serialize, Deserialize)]
struct TrialTask {
    estimator: String,
    params: Params,
    roles: RoleSpec,
    /// Digest of the rows.
    rows: String,
    /// The search, as far as it decides the folds.
    spec: TuneSpec,
    fold: usize,
    seed: Seed,
    valid_share: f64,
}

/// The kind of a [`TrialTask`].
pub(crate) const TRIAL_TASK: &str = "trial-fold";

/// What a fit predicts for the rows held out.
#[derive(Serialize, Deserialize)]
struct Predicted {
    mu0: Vec<f64>,
    mu1: Vec<f64>,
    tau: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TrialRecord {
    Done(Predicted),
    Error(String),
}

/// Does the task of one fold of one trial.
pub(crate) fn perform_fold(task: &Task, data: &TaskData, observer: &dyn Observer) -> Result<Value> {
    let work: TrialTask = task.work()?;
    let assigned = assign(data.table().clone(), &work.roles)?;
    data.check(&assigned, &work.rows)?;
    let parts = parts(&assigned, &work.spec, work.seed)?;
    let rows = Rows { table: data.table(), roles: &work.roles, assigned: &assigned, parts: &parts };
    let options = TuneOptions {
        estimator: &work.estimator,
        spec: &work.spec,
        seed: work.seed,
        valid_share: work.valid_share,
        records: None,
        resume: false,
        observer,
    };
    match rows.fold_effects(work.fold, &work.params, &options) {
        Ok(Effects { mu0, mu1, tau, .. }) => Ok(json!({ "done": Predicted { mu0, mu1, tau } })),
        Err(Error::Interrupted) => Err(Error::Interrupted),
        Err(error) => Ok(json!({ "error": error.to_string() })),
    }
}

/// Folds of trials done by an executor.
pub(super) struct FarFolds<'a> {
    rows: Rows<'a>,
    options: &'a TuneOptions<'a>,
    executor: &'a dyn Executor,
    digest: String,
}

impl<'a> FarFolds<'a> {
    pub(super) fn new(rows: Rows<'a>, options: &'a TuneOptions<'a>, executor: &'a dyn Executor) -> Self {
        Self { rows, options, executor, digest: paretau::identity::rows_digest(rows.assigned) }
    }

    fn task(&self, params: &Params, fold: usize) -> Result<Task> {
        let TuneOptions { estimator, spec, seed, valid_share, .. } = *self.options;
        // Neither the number of trials nor their space decides a fold: a longer search does none of them again.
        let spec = TuneSpec { trials: 1, folds: spec.folds, share: spec.share, ..TuneSpec::default() };
        let (roles, rows) = (self.rows.roles.clone(), self.digest.clone());
        let (estimator, params) = (estimator.to_owned(), params.clone());
        Task::new(TRIAL_TASK, &TrialTask { estimator, params, roles, rows, spec, fold, seed, valid_share })
    }

    /// Does trials with the given parameters and appends them in their order, each as soon as all before it are done.
    pub(super) fn perform(&self, params: &[Params], loss: &HeldOutLoss, trials: &mut Trials) -> Result<()> {
        let (first, folds) = (trials.len(), self.rows.parts.len());
        let mut tasks = vec![];
        for params in params {
            for fold in 0..folds {
                tasks.push(self.task(params, fold)?);
            }
        }
        let mut losses: Vec<Option<Result<f64>>> = tasks.iter().map(|_| None).collect();
        self.executor.perform(&tasks, self.options.observer, &mut |k, outcome| {
            losses[k] = Some(match outcome.record() {
                Ok(TrialRecord::Done(Predicted { mu0, mu1, tau })) => {
                    let effects = Effects { mu0, mu1, tau, e: None, se: None };
                    loss.mean(&effects, &self.rows.parts[k % folds].held_out)
                }
                Ok(TrialRecord::Error(message)) => Err(Error::unfit(message)),
                Err(error) => Err(error),
            });
            while let Some(own) = losses.get_mut((trials.len() - first) * folds..(trials.len() - first + 1) * folds)
                && own.iter().all(Option::is_some)
            {
                let index = trials.len();
                let missing = || Err(Error::internal("a trial", "a fold is missing"));
                let taken = |fold: usize| own[fold].take().unwrap_or_else(missing);
                let trial = trial_of(index, params[index - first].clone(), folds, trials.all(), taken)?;
                trials.append(trial)?;
                self.options.observer.event(&Event::Progress { done: index as u64 + 1 });
            }
            Ok(())
        })
    }
}
