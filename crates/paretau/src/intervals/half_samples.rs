//! Refits of the whole estimator on halves of the rows: how far its predictions would move with other rows.
//!
//! Rows are split in two at random, arms in proportion and groups whole; each half is fitted and predicts the rows of the
//! other. A row's predictions over many splits vary as much as those of a fit on all rows would over fresh data: a half drawn
//! without replacement has twice the variance of the whole, and half of that is shared by all halves.

use paretau_core::{
    Design, Effects, Error, Estimator, Event, FitContext, Fold, Observer, Params, Result, Seed, Want, folds,
};
use paretau_data::RoleSpec;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::fit::estimator_and_rows;
use crate::registry;
use crate::task::{Executor, Outcome, Task, TaskData};

/// Fewest refits that say anything about a variance.
pub(crate) const FEWEST: usize = 10;
/// Splits that are fitted at a time, so that memory stays within bounds.
const AT_A_TIME: usize = 4;

/// Held-out predictions over half-samples, for one treated arm.
#[derive(Debug, Clone)]
pub(crate) struct Replicates {
    /// Mean prediction of each row by fits that did not see it.
    pub(crate) tau: Vec<f64>,
    /// Variance of these predictions.
    pub(crate) variance: Vec<f64>,
}

impl Replicates {
    /// Those of some of the rows.
    pub(crate) fn select(&self, rows: &[usize]) -> Self {
        let pick = |values: &[f64]| rows.iter().map(|&i| values[i]).collect();
        Self { tau: pick(&self.tau), variance: pick(&self.variance) }
    }
}

/// Rows that a fit did not see, with the effects that it predicts for them per treated arm.
type Held = (Vec<usize>, Vec<Vec<f64>>);

/// Hears nothing of the refits' own progress, but of interruptions.
struct Quiet<'a>(&'a dyn Observer);

impl Observer for Quiet<'_> {
    fn event(&self, _: &Event) {}

    fn interrupted(&self) -> bool {
        self.0.interrupted()
    }
}

/// The seed of a split.
fn seed_of(seed: Seed, split: u64) -> Seed {
    seed.named("half-samples").indexed(split)
}

/// Fits both halves of a split; each predicts the rows of the other.
fn fit_halves(estimator: &dyn Estimator, design: &Design, split: u64, ctx: &FitContext<'_>) -> Result<Vec<Held>> {
    let (seed, quiet) = (seed_of(ctx.seed, split), Quiet(ctx.observer));
    let halves = folds(design.t(), design.groups(), 2, seed)?;
    let half = |(h, Fold { train, held_out }): (usize, Fold)| -> Result<Held> {
        let inner = FitContext {
            seed: seed.named("fit").indexed(h as u64),
            observer: &quiet,
            valid_share: ctx.valid_share,
            checkpoint: None,
        };
        let model = estimator.fit(&design.select(&train)?, &inner)?;
        let effects: Vec<Effects> = model.predict(&design.x().select(&held_out), Want::Effect)?;
        Ok((held_out, effects.into_iter().map(|effects| effects.tau).collect()))
    };
    halves.into_iter().enumerate().map(half).collect()
}

/// Refits on half-samples, `n_fits` of them rounded up to an even number; one result per treated arm.
pub(crate) fn replicate(
    estimator: &dyn Estimator,
    design: &Design,
    n_fits: usize,
    ctx: &FitContext<'_>,
    far: Option<&FarHalves<'_>>,
) -> Result<Vec<Replicates>> {
    if n_fits < FEWEST {
        return Err(Error::BadParameter {
            owner: "fit".to_owned(),
            name: "intervals".to_owned(),
            value: n_fits.to_string(),
            expected: format!("a number of refits of at least {FEWEST}, e.g. 40"),
        });
    }
    let (n, n_splits) = (design.n_rows(), n_fits.div_ceil(2));
    ctx.event(&Event::Stage { name: "refitting on half-samples".to_owned(), total: Some(n_splits as u64) });
    let mut moments: Vec<Moments> = (1..design.n_arms()).map(|_| Moments::new(n)).collect();
    let mut add = |split: Vec<Held>| -> Result<()> {
        for (rows, effects) in split {
            for (moments, tau) in moments.iter_mut().zip(&effects) {
                moments.add(&rows, tau)?;
            }
        }
        Ok(())
    };
    if let Some(far) = far {
        // Sums are made in the order of the splits, whoever is done first.
        far.splits(n_splits, design, ctx)?.into_iter().try_for_each(add)?;
        return Ok(moments.into_iter().map(Moments::finish).collect());
    }
    let all: Vec<u64> = (0..n_splits as u64).collect();
    for (round, splits) in all.chunks(AT_A_TIME).enumerate() {
        ctx.check_interrupt()?;
        let fitted: Vec<Result<Vec<Held>>> =
            splits.par_iter().map(|&split| fit_halves(estimator, design, split, ctx)).collect();
        for split in fitted {
            add(split?)?;
        }
        ctx.event(&Event::Progress { done: (round * AT_A_TIME + splits.len()) as u64 });
    }
    Ok(moments.into_iter().map(Moments::finish).collect())
}

/// The task of one split.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct HalvesTask {
    pub(crate) estimator: String,
    pub(crate) params: Params,
    pub(crate) roles: RoleSpec,
    /// Digest of the rows.
    pub(crate) rows: String,
    pub(crate) seed: Seed,
    pub(crate) valid_share: f64,
    pub(crate) split: u64,
}

/// The kind of a [`HalvesTask`].
pub(crate) const HALVES_TASK: &str = "half-samples";

/// Does the task of one split: effects per half and treated arm.
pub(crate) fn perform_halves(task: &Task, data: &TaskData, observer: &dyn Observer) -> Result<Value> {
    let work: HalvesTask = task.work()?;
    let entry = registry::find(&work.estimator)?;
    let (estimator, prepared) =
        estimator_and_rows(entry, &work.params, &registry::TOOLBOX, data.table().clone(), &work.roles)?;
    data.check(&prepared.assigned, &work.rows)?;
    let ctx = FitContext { valid_share: work.valid_share, ..FitContext::new(work.seed, observer) };
    let effects = match fit_halves(estimator.as_ref(), &prepared.design, work.split, &ctx) {
        Ok(halves) => halves.into_iter().map(|(_, effects)| effects).collect::<Vec<_>>(),
        Err(Error::Interrupted) => return Err(Error::Interrupted),
        Err(error) => return Ok(json!({ "error": error.to_string() })),
    };
    if effects.iter().flatten().flatten().any(|tau| !tau.is_finite()) {
        return Ok(json!({ "error": NOT_FINITE }));
    }
    Ok(json!({ "done": effects }))
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum HalvesRecord {
    Done(Vec<Vec<Vec<f64>>>),
    Error(String),
}

/// Splits done by an executor whose workers have the rows.
pub(crate) struct FarHalves<'a> {
    pub(crate) executor: &'a dyn Executor,
    /// The task of the first split.
    pub(crate) first: HalvesTask,
}

impl FarHalves<'_> {
    /// All splits in their order. The first that failed, in that order, fails them all.
    fn splits(&self, n_splits: usize, design: &Design, ctx: &FitContext<'_>) -> Result<Vec<Vec<Held>>> {
        let task = |split: usize| Task::new(HALVES_TASK, &HalvesTask { split: split as u64, ..self.first.clone() });
        let tasks = (0..n_splits).map(task).collect::<Result<Vec<_>>>()?;
        let mut out: Vec<Option<Result<HalvesRecord>>> = tasks.iter().map(|_| None).collect();
        let mut done = 0;
        self.executor.perform(&tasks, ctx.observer, &mut |k, outcome: Outcome| {
            out[k] = Some(outcome.record());
            done += 1;
            ctx.event(&Event::Progress { done });
            Ok(())
        })?;
        let held = |(split, record): (usize, Option<Result<HalvesRecord>>)| -> Result<Vec<Held>> {
            let halves = folds(design.t(), design.groups(), 2, seed_of(ctx.seed, split as u64))?;
            match record {
                Some(Ok(HalvesRecord::Done(effects))) if effects.len() == halves.len() => {
                    Ok(halves.into_iter().map(|half| half.held_out).zip(effects).collect())
                }
                Some(Ok(HalvesRecord::Error(message))) => Err(Error::unfit(message)),
                Some(Err(error)) => Err(error),
                _ => Err(Error::internal("half-samples", "a task was not done")),
            }
        };
        out.into_iter().enumerate().map(held).collect()
    }
}

/// Why a fit on half of the rows is of no use.
const NOT_FINITE: &str = "a fit on half of the rows gives an effect that is not finite; fit without `--intervals`";

/// Running means and sums of squared deviations.
struct Moments {
    count: Vec<f64>,
    mean: Vec<f64>,
    squares: Vec<f64>,
}

impl Moments {
    fn new(n: usize) -> Self {
        Self { count: vec![0.0; n], mean: vec![0.0; n], squares: vec![0.0; n] }
    }

    fn add(&mut self, rows: &[usize], tau: &[f64]) -> Result<()> {
        for (&i, &tau) in rows.iter().zip(tau) {
            if !tau.is_finite() {
                return Err(Error::Numeric { what: "an interval", message: NOT_FINITE.into() });
            }
            self.count[i] += 1.0;
            let step = tau - self.mean[i];
            self.mean[i] += step / self.count[i];
            self.squares[i] += step * (tau - self.mean[i]);
        }
        Ok(())
    }

    fn finish(self) -> Replicates {
        let variance = self.squares.iter().zip(&self.count).map(|(s, c)| s / (c - 1.0).max(1.0)).collect();
        Replicates { tau: self.mean, variance }
    }
}
