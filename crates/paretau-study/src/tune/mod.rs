//! Searching for parameters by an objective on rows that the fit did not see. The truth has no part in it: it is
//! taken out of the table before anything here looks at the rows.
//!
//! The first trial is always the estimator's defaults, so that a search never ends with something worse by its own
//! objective.

mod fold;
mod objective;
mod search;
mod space;
mod trials;

use std::path::Path;

use paretau_core::{Error, EstimatorEntry, Event, Fold, Observer, Params, Result, Seed, Split, folds};
use paretau_data::{Assigned, RoleSpec, Table, assign};
use paretau_kernels::numeric::mean;
use serde::{Deserialize, Serialize};

use paretau::task::Executor;

pub(crate) use fold::{TRIAL_TASK, perform_fold};
pub use objective::Objective;
pub use search::Search;
pub use space::{Dimension, Space};
pub use trials::{Trial, Trials};

use fold::{FarFolds, Rows};
use objective::HeldOutLoss;

/// How to search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TuneSpec {
    /// Trials, the defaults included.
    pub trials: usize,
    /// How the next trial is chosen.
    pub search: Search,
    /// What a trial is measured by.
    pub objective: Objective,
    /// Folds of cross-validation; 1 holds out one set of validation rows.
    pub folds: usize,
    /// Share of rows held out when there is one fold.
    pub share: f64,
    /// Parameters of every trial.
    pub fixed: Params,
    /// What to search; the estimator's documented space when empty.
    pub space: Space,
}

impl TuneSpec {
    /// Trials when nothing else is asked for; below it, the other defaults.
    pub const TRIALS: usize = 20;
    /// How the next trial is chosen.
    pub const SEARCH: Search = Search::Tpe;
    /// What a trial is measured by.
    pub const OBJECTIVE: Objective = Objective::Factual;
    /// Folds.
    pub const FOLDS: usize = 1;
}

impl Default for TuneSpec {
    fn default() -> Self {
        Self {
            trials: Self::TRIALS,
            search: Self::SEARCH,
            objective: Self::OBJECTIVE,
            folds: Self::FOLDS,
            share: 0.25,
            fixed: Params::none(),
            space: Space::default(),
        }
    }
}

impl TuneSpec {
    /// What is searched of an estimator in a study of several: of the space given, what it has; its own without one.
    pub(crate) fn space_for(&self, entry: &dyn EstimatorEntry, fixed: &Params) -> Space {
        let space = if self.space.is_empty() { Space::of(entry) } else { self.space.clone().restricted_to(entry) };
        space.without_fixed(fixed).without_fixed(&self.fixed)
    }

    pub(crate) fn check(&self) -> Result<()> {
        let wrong = |name: &str, value: String, expected: &str| {
            Err(Error::BadParameter { owner: "tune".into(), name: name.into(), value, expected: expected.into() })
        };
        if self.trials == 0 {
            return wrong("trials", "0".into(), "at least 1");
        }
        if self.folds == 0 || self.folds > 50 {
            return wrong("folds", self.folds.to_string(), "a whole number from 1 to 50");
        }
        if !(self.share > 0.0 && self.share < 0.9) {
            return wrong("share", self.share.to_string(), "a share above 0 and below 0.9");
        }
        Ok(())
    }
}

/// What to tune and where to keep the trials.
#[derive(Clone, Copy)]
pub struct TuneOptions<'a> {
    /// Registry name or alias.
    pub estimator: &'a str,
    /// How to search.
    pub spec: &'a TuneSpec,
    /// Source of all randomness.
    pub seed: Seed,
    /// Share of rows that each fit holds out for its own early stopping.
    pub valid_share: f64,
    /// File that keeps the trials, so that a search can be resumed; none keeps them in memory.
    pub records: Option<&'a Path>,
    /// Go on with the trials in the file.
    pub resume: bool,
    /// Receives progress and can stop the search.
    pub observer: &'a dyn Observer,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TuneReport {
    /// Parameters of the best trial, those that differ from the defaults.
    pub best: Params,
    /// Its objective.
    pub value: f64,
    /// The defaults' objective.
    pub default_value: Option<f64>,
    /// All trials, in their order.
    pub trials: Vec<Trial>,
}

/// Searches parameters of an estimator on a table.
pub fn tune(table: &Table, roles: &RoleSpec, options: &TuneOptions<'_>) -> Result<TuneReport> {
    tune_on(table, roles, options, None)
}

/// The same with the fits done by an executor whose workers have the table. Trials of a grid or at random are all done at
/// once; those that depend on earlier ones have their folds done at once.
pub fn tune_on(
    table: &Table,
    roles: &RoleSpec,
    options: &TuneOptions<'_>,
    executor: Option<&dyn Executor>,
) -> Result<TuneReport> {
    let spec = options.spec;
    spec.check()?;
    let entry = paretau::registry::find(options.estimator)?;
    paretau::registry::check(entry, &spec.fixed)?;
    let space = if spec.space.is_empty() { Space::of(entry) } else { spec.space.clone() }.without_fixed(&spec.fixed);
    space.check(entry)?;
    // Truth columns are not among what `assign` gives away as features, and the loss never asks for the oracle.
    let assigned = assign(table.clone(), roles)?;
    let parts = parts(&assigned, spec, options.seed)?;
    let loss = HeldOutLoss::new(spec.objective, &assigned, options.seed, options.observer)?;
    let mut trials =
        Trials::open(options.records, options.resume, &trials::heading(entry.info().name, options, roles, &assigned))?;
    let proposals = space.capacity(spec.search).map_or(spec.trials, |most| spec.trials.min(most + 1));
    options.observer.event(&Event::Stage { name: "tuning".into(), total: Some(proposals as u64) });
    let propose = |index: usize, before: &[Trial]| -> Result<Params> {
        Ok(match index {
            0 => spec.fixed.clone(),
            _ => merged(&spec.fixed, search::propose(&space, spec.search, index, before, options.seed)?),
        })
    };
    let rows = Rows { table, roles, assigned: &assigned, parts: &parts };
    if let Some(executor) = executor {
        let far = FarFolds::new(rows, options, executor);
        while trials.len() < proposals {
            // Trials whose parameters do not depend on the others' losses.
            let next = if spec.search == Search::Tpe { trials.len() + 1 } else { proposals };
            let params = (trials.len()..next).map(|i| propose(i, trials.all())).collect::<Result<Vec<_>>>()?;
            far.perform(&params, &loss, &mut trials)?;
        }
        return report(trials.into_all());
    }
    for index in trials.len()..proposals {
        let params = propose(index, trials.all())?;
        let trial = trial_of(index, params.clone(), parts.len(), trials.all(), |fold| {
            if options.observer.interrupted() {
                return Err(Error::Interrupted);
            }
            rows.fold_effects(fold, &params, options).and_then(|effects| loss.mean(&effects, &parts[fold].held_out))
        })?;
        trials.append(trial)?;
        options.observer.event(&Event::Progress { done: index as u64 + 1 });
    }
    report(trials.into_all())
}

fn report(trials: Vec<Trial>) -> Result<TuneReport> {
    // The first of equals wins, so that a tie goes to the defaults.
    let Some((winner, value)) = search::best(&trials).and_then(|trial| Some((trial, trial.value?))) else {
        let why = trials.iter().find_map(|trial| trial.error.clone()).unwrap_or_default();
        return Err(Error::unfit(format!("no trial succeeded; the first one failed with: {why}")));
    };
    Ok(TuneReport {
        best: winner.params.clone(),
        value,
        default_value: trials.first().and_then(|trial| trial.value),
        trials,
    })
}

/// The rows held out and those to learn from, as rows of the assigned table.
fn parts(assigned: &Assigned, spec: &TuneSpec, seed: Seed) -> Result<Vec<Fold>> {
    if spec.folds > 1 {
        return folds(&assigned.t, assigned.groups.as_deref(), spec.folds, seed.named("tune folds"));
    }
    let split = Split::random(&assigned.t, 0.0, spec.share, seed.named("tune rows"))?;
    Ok(vec![Fold { train: split.train, held_out: split.test }])
}

fn merged(fixed: &Params, proposed: Params) -> Params {
    let mut all = fixed.clone();
    all.0.extend(proposed.0);
    all
}

/// One trial from the losses of its folds, given up early when its first folds are worse than half of the earlier trials'.
fn trial_of(
    index: usize,
    params: Params,
    folds: usize,
    before: &[Trial],
    mut loss: impl FnMut(usize) -> Result<f64>,
) -> Result<Trial> {
    let mut trial = Trial { index, params, folds: vec![], value: None, given_up: false, error: None };
    for fold in 0..folds {
        match loss(fold) {
            Ok(loss) => trial.folds.push(loss),
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            Err(error) => {
                trial.error = Some(error.to_string());
                return Ok(trial);
            }
        }
        if fold + 1 < folds && worse_than_median(&trial, before) {
            trial.given_up = true;
            return Ok(trial);
        }
    }
    trial.value = Some(mean(&trial.folds));
    Ok(trial)
}

/// Whether the mean so far is worse than the median of the earlier trials' after as many folds.
fn worse_than_median(trial: &Trial, before: &[Trial]) -> bool {
    /// With fewer finished trials there is no median to compare with.
    const ENOUGH: usize = 4;
    let done = trial.folds.len();
    let mut others: Vec<f64> =
        before.iter().filter(|t| t.value.is_some()).map(|t| mean(&t.folds[..done.min(t.folds.len())])).collect();
    if others.len() < ENOUGH {
        return false;
    }
    others.sort_by(f64::total_cmp);
    mean(&trial.folds) > others[others.len() / 2]
}
