//! Several estimators side by side on rows that their fits did not see, by losses that need no truth.
//!
//! Each estimator is fitted to the training rows of every fold, with an encoder fitted to those rows alone, and predicts the
//! rows held out. All are measured by one yardstick: nuisances that belong to the data. Differences are paired, row by row,
//! which is far sharper than comparing two means.

use std::time::Instant;

use paretau_core::{
    DEFAULT_VALID_SHARE, Effects, Error, Event, FitContext, Fold, Handles, Observer, Params, Result, Seed, Silent, Want,
};
use paretau_data::{Assigned, Encoder, EncoderPolicy, RoleSpec, Table, assign};
use paretau_eval::losses::{difference, dr_losses, r_losses, t_losses};
use paretau_eval::truth::{ate_error, pehe, pehe_rel};
use paretau_nuisance::inference::{Score, mean};
use paretau_nuisance::{Observed, folds_up_to};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::auto::{Effort, Shape, candidates};
use crate::identity::rows_digest;
use crate::nuisances::{Yardstick, yardstick};
use crate::observers::Quiet;
use crate::registry;
use crate::task::{Executor, Outcome, Task, TaskData};

/// Probability with which an interval of a difference covers it; estimators whose interval holds 0 cannot be distinguished.
const LEVEL: f64 = 0.95;

/// What to compare and how.
pub struct CompareOptions<'a> {
    /// Registry names or aliases, or `all`; a handful of quick ones that fit the data's shape when empty.
    pub estimators: Vec<String>,
    /// Folds; fewer are used when an arm is small.
    pub folds: usize,
    /// Source of all randomness.
    pub seed: Seed,
    /// Share of rows that estimators with early stopping hold out.
    pub valid_share: f64,
    /// Hears of progress.
    pub observer: &'a dyn Observer,
}

impl CompareOptions<'_> {
    /// Folds when nothing else is asked for.
    pub const FOLDS: usize = 5;
    /// The word that means every estimator of the registry.
    pub const ALL: &'static str = "all";
}

impl Default for CompareOptions<'_> {
    fn default() -> Self {
        Self {
            estimators: vec![],
            folds: Self::FOLDS,
            seed: Seed(0),
            valid_share: DEFAULT_VALID_SHARE,
            observer: &Silent,
        }
    }
}

/// One estimator in the comparison.
#[derive(Debug, Clone, Serialize)]
pub struct ComparedRow {
    /// Registry name.
    pub estimator: String,
    /// Held-out distance from doubly robust scores; rows are ordered by it.
    pub dr_loss: Option<f64>,
    /// Its standard error, which holds the noise that all estimators share.
    pub dr_loss_se: Option<f64>,
    /// How much higher it is than the lowest.
    pub gap: Option<f64>,
    /// Standard error of that difference, paired within rows.
    pub gap_se: Option<f64>,
    /// Whether the data cannot tell it from the best.
    pub ties_with_best: bool,
    /// Held-out R-loss.
    pub r_loss: Option<f64>,
    /// Its standard error.
    pub r_loss_se: Option<f64>,
    /// Held-out distance from the difference of predicted outcomes.
    pub plugin_loss: Option<f64>,
    /// Its standard error.
    pub plugin_loss_se: Option<f64>,
    /// Root mean squared error of the effect, where the truth was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pehe: Option<f64>,
    /// The same over the standard deviation of the true effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pehe_rel: Option<f64>,
    /// Error of the average effect, where the truth was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ate_error: Option<f64>,
    /// Mean time of a fit.
    pub seconds: Option<f64>,
    /// Why it has no losses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Estimators side by side.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// One per estimator, best first; those that failed are last.
    pub rows: Vec<ComparedRow>,
    /// Folds used.
    pub folds: usize,
    /// Rows compared on.
    pub n_rows: usize,
    /// What was done to the data.
    pub notes: Vec<String>,
}

impl Comparison {
    /// The sentence about estimators that cannot be distinguished.
    pub fn verdict(&self) -> String {
        let ties: Vec<&str> = self.rows.iter().filter(|r| r.ties_with_best).map(|r| r.estimator.as_str()).collect();
        match &ties[..] {
            [] => "no estimator could be fitted".to_owned(),
            [best] if self.rows.iter().filter(|r| r.error.is_none()).count() > 1 => {
                format!("{best} has the lowest loss, and every other one is distinguishable from it")
            }
            [only] => format!("{only} is the only one with a loss"),
            several => format!("these cannot be distinguished: {}", several.join(", ")),
        }
    }
}

/// Compares estimators on a table with two arms.
pub fn compare(table: Table, roles: &RoleSpec, options: &CompareOptions<'_>) -> Result<Comparison> {
    compare_on(table, roles, options, None)
}

/// The same with the fits done by an executor whose workers have the table.
pub fn compare_on(
    table: Table,
    roles: &RoleSpec,
    options: &CompareOptions<'_>,
    executor: Option<&dyn Executor>,
) -> Result<Comparison> {
    // Names are checked before the data are touched.
    let named = options.estimators.iter().map(|name| name.trim()).filter(|name| !name.is_empty()).collect::<Vec<_>>();
    let all = named == [CompareOptions::ALL];
    let mut wanted = vec![];
    for name in if all { vec![] } else { named } {
        let name = registry::find(name)?.info().name;
        if !wanted.contains(&name) {
            wanted.push(name);
        }
    }
    if options.folds < 2 {
        return Err(Error::BadParameter {
            owner: "compare".into(),
            name: "folds".into(),
            value: options.folds.to_string(),
            expected: "at least 2".into(),
        });
    }
    let ctx = FitContext { valid_share: options.valid_share, ..FitContext::new(options.seed, options.observer) };
    let assigned = assign(table, roles)?;
    let yard = yardstick(&assigned, &ctx)?;
    if all {
        wanted = registry::ESTIMATORS.iter().map(|entry| entry.info().name).collect();
    } else if wanted.is_empty() {
        wanted = usual(&Shape::of(&yard.design));
    }
    let folds = compare_folds(&assigned, options.folds, options.seed)?;
    let truth = assigned.oracle.as_ref();
    let rows = Observed::of(&yard.design)?;
    let mut found = vec![];
    let steps = (wanted.len() * folds.len()) as u64;
    ctx.event(&Event::Stage { name: "comparing estimators".to_owned(), total: Some(steps) });
    let mut far = match executor {
        Some(executor) => Some(far_folds(&wanted, &assigned, roles, (options, &ctx), executor)?.into_iter()),
        None => None,
    };
    let mut encodings = Encodings { assigned: &assigned, folds: &folds, kept: vec![] };
    for (k, name) in wanted.iter().enumerate() {
        let mut fold = |fold: usize| match &mut far {
            Some(far) => far.next().unwrap_or_else(|| Err(Error::internal("a comparison", "a fold is missing"))),
            None => {
                let done = fold_effects(name, fold, &mut encodings, &ctx);
                ctx.event(&Event::Progress { done: (k * folds.len() + fold + 1) as u64 });
                done
            }
        };
        let (mut tau, mut seconds, mut failed) = (vec![f64::NAN; assigned.t.len()], 0.0, None);
        for (number, part) in folds.iter().enumerate() {
            // Of folds done elsewhere those behind a failure are there all the same, and are passed over.
            if failed.is_some() && executor.is_none() {
                break;
            }
            match fold(number) {
                Ok(done) => {
                    part.held_out.iter().zip(&done.tau).for_each(|(&i, v)| tau[i] = *v);
                    seconds += done.seconds;
                }
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        let seconds = seconds / folds.len() as f64;
        found.push(match failed {
            None => ScoredEstimator::new(name, &tau, seconds, (&rows, &yard)).with_truth(&tau, truth)?,
            Some(error) => ScoredEstimator::failed(name, &error),
        });
    }
    let rows = ranked(found, &rows);
    Ok(Comparison { rows, folds: folds.len(), n_rows: assigned.t.len(), notes: assigned.notes.clone() })
}

/// The estimators that are compared when none is named: quick ones that fit the data's shape, and one effect for all.
fn usual(shape: &Shape) -> Vec<&'static str> {
    let mut names = vec![registry::CONSTANT_EFFECT];
    for candidate in candidates(shape, Effort::Quick) {
        if !names.contains(&candidate.name) {
            names.push(candidate.name);
        }
    }
    names
}

/// Designs of all rows, encoded as the training rows of each fold ask for; estimators that read alike share them.
struct Encodings<'a> {
    assigned: &'a Assigned,
    folds: &'a [Fold],
    kept: Vec<(Handles, usize, paretau_core::Design)>,
}

impl Encodings<'_> {
    fn design(&mut self, handles: Handles, fold: usize) -> Result<&paretau_core::Design> {
        // Whether several arms are taken has no part in encoding.
        let handles = Handles { many_arms: false, ..handles };
        let place = self.kept.iter().position(|(h, f, _)| *h == handles && *f == fold);
        let place = match place {
            Some(place) => place,
            None => {
                let features = &self.assigned.features;
                let encoder = Encoder::fit(features, &EncoderPolicy::from(handles), &self.folds[fold].train)?;
                let (x, _) = encoder.transform(features)?;
                self.kept.push((handles, fold, self.assigned.design(x, encoder.columns().to_vec())?));
                self.kept.len() - 1
            }
        };
        Ok(&self.kept[place].2)
    }
}

/// Folds of the rows; every process that has the rows finds the same.
fn compare_folds(assigned: &Assigned, wanted: usize, seed: Seed) -> Result<Vec<Fold>> {
    folds_up_to(&assigned.t, assigned.groups.as_deref(), wanted, seed.named("compare"))
}

/// What a fit to the training rows of one fold gives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct FoldEffects {
    /// Effects of the rows held out.
    tau: Vec<f64>,
    /// Time of the fit.
    seconds: f64,
}

/// Effects of the rows of one fold by a fit that did not see them.
fn fold_effects(name: &str, k: usize, encodings: &mut Encodings<'_>, ctx: &FitContext<'_>) -> Result<FoldEffects> {
    ctx.check_interrupt()?;
    let entry = registry::find(name)?;
    let estimator = entry.build(&Params::none(), &registry::TOOLBOX)?;
    let quiet = Quiet(ctx.observer);
    let fold = encodings.folds.get(k).ok_or_else(|| Error::unfit("there is no such fold"))?;
    let design = encodings.design(entry.info().handles, k)?;
    let train = design.select(&fold.train)?.with_outcome(design.outcome())?;
    let own = FitContext { seed: ctx.seed.named("fold").indexed(k as u64), observer: &quiet, checkpoint: None, ..*ctx };
    let start = Instant::now();
    let model = estimator.fit(&train, &own)?;
    let seconds = start.elapsed().as_secs_f64();
    let predicted: Vec<Effects> = model.predict(&design.x().select(&fold.held_out), Want::Effect)?;
    let effects = predicted.into_iter().next();
    let tau = effects.ok_or_else(|| Error::internal("a comparison", "a model without arms"))?.tau;
    if tau.iter().any(|v| !v.is_finite()) {
        return Err(Error::Numeric {
            what: "a comparison",
            message: "an effect of a held-out row is not finite".into(),
        });
    }
    Ok(FoldEffects { tau, seconds })
}

/// The task of one estimator and fold.
#[derive(Serialize, Deserialize)]
struct FoldTask {
    estimator: String,
    roles: RoleSpec,
    /// Digest of the rows.
    rows: String,
    folds: usize,
    fold: usize,
    seed: Seed,
    valid_share: f64,
}

/// The kind of a [`FoldTask`].
pub(crate) const FOLD_TASK: &str = "compare-fold";

/// Does the task of one estimator and fold.
pub(crate) fn perform_fold(task: &Task, data: &TaskData, observer: &dyn Observer) -> Result<Value> {
    let work: FoldTask = task.work()?;
    let assigned = assign(data.table().clone(), &work.roles)?;
    data.check(&assigned, &work.rows)?;
    let folds = compare_folds(&assigned, work.folds, work.seed)?;
    let ctx = FitContext { valid_share: work.valid_share, ..FitContext::new(work.seed, observer) };
    let mut encodings = Encodings { assigned: &assigned, folds: &folds, kept: vec![] };
    match fold_effects(&work.estimator, work.fold, &mut encodings, &ctx) {
        Ok(done) => Ok(json!({ "done": done })),
        Err(Error::Interrupted) => Err(Error::Interrupted),
        Err(error) => Ok(json!({ "error": error.to_string() })),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum FoldRecord {
    Done(FoldEffects),
    Error(String),
}

/// All folds of all estimators, in their order, by an executor.
fn far_folds(
    wanted: &[&str],
    assigned: &Assigned,
    roles: &RoleSpec,
    (options, ctx): (&CompareOptions<'_>, &FitContext<'_>),
    executor: &dyn Executor,
) -> Result<Vec<Result<FoldEffects>>> {
    let rows = rows_digest(assigned);
    let n_folds = compare_folds(assigned, options.folds, options.seed)?.len();
    let mut tasks = vec![];
    for estimator in wanted {
        for fold in 0..n_folds {
            let (roles, rows, estimator) = (roles.clone(), rows.clone(), (*estimator).to_owned());
            let (seed, valid_share) = (options.seed, options.valid_share);
            let work = FoldTask { estimator, roles, rows, folds: options.folds, fold, seed, valid_share };
            tasks.push(Task::new(FOLD_TASK, &work)?);
        }
    }
    let mut out: Vec<Option<Result<FoldEffects>>> = tasks.iter().map(|_| None).collect();
    let mut done = 0;
    executor.perform(&tasks, ctx.observer, &mut |k, outcome: Outcome| {
        out[k] = Some(match outcome.record() {
            Ok(FoldRecord::Done(effects)) => Ok(effects),
            Ok(FoldRecord::Error(message)) => Err(Error::unfit(message)),
            Err(error) => Err(error),
        });
        done += 1;
        ctx.event(&Event::Progress { done });
        Ok(())
    })?;
    let missing = || Err(Error::internal("a comparison", "a task was not done"));
    Ok(out.into_iter().map(|done| done.unwrap_or_else(missing)).collect())
}

/// An estimator's row with the losses of every single row of the data, for paired differences.
struct ScoredEstimator {
    row: ComparedRow,
    losses: Option<Vec<f64>>,
}

impl ScoredEstimator {
    fn empty(name: &str) -> ComparedRow {
        ComparedRow {
            estimator: name.to_owned(),
            dr_loss: None,
            dr_loss_se: None,
            gap: None,
            gap_se: None,
            ties_with_best: false,
            r_loss: None,
            r_loss_se: None,
            plugin_loss: None,
            plugin_loss_se: None,
            pehe: None,
            pehe_rel: None,
            ate_error: None,
            seconds: None,
            error: None,
        }
    }

    fn failed(name: &str, error: &Error) -> Self {
        Self { row: ComparedRow { error: Some(error.to_string()), ..Self::empty(name) }, losses: None }
    }

    fn new(name: &str, tau: &[f64], seconds: f64, (rows, yard): (&Observed<'_>, &Yardstick)) -> Self {
        let losses = dr_losses(tau, &yard.scores);
        let dr = mean(rows, &losses);
        let r = mean(rows, &r_losses(rows, &yard.nuisance, tau));
        let plugin = mean(rows, &t_losses(&yard.nuisance, tau));
        if [dr, r, plugin].iter().any(|score: &Score| score.finite().is_none()) {
            return Self::failed(
                name,
                &Error::Numeric { what: "a comparison", message: "a loss is not finite".into() },
            );
        }
        let row = ComparedRow {
            dr_loss: Some(dr.value),
            dr_loss_se: dr.se,
            r_loss: Some(r.value),
            r_loss_se: r.se,
            plugin_loss: Some(plugin.value),
            plugin_loss_se: plugin.se,
            seconds: Some(seconds),
            ..Self::empty(name)
        };
        Self { row, losses: Some(losses) }
    }

    fn with_truth(mut self, tau: &[f64], truth: Option<&paretau_core::Oracle>) -> Result<Self> {
        if let (Some(truth), true) = (truth, self.losses.is_some()) {
            self.row.pehe = Some(pehe(tau, truth)?.value);
            self.row.pehe_rel = pehe_rel(tau, truth)?.map(|score| score.value);
            self.row.ate_error = Some(ate_error(tau, truth)?.value);
        }
        Ok(self)
    }
}

/// Best first by the doubly robust loss, with differences from the best.
fn ranked(mut found: Vec<ScoredEstimator>, rows: &Observed<'_>) -> Vec<ComparedRow> {
    let key = |f: &ScoredEstimator| f.row.dr_loss.unwrap_or(f64::INFINITY);
    found.sort_by(|a, b| key(a).total_cmp(&key(b)));
    let best = found.first().and_then(|first| first.losses.clone());
    found
        .into_iter()
        .enumerate()
        .map(|(k, ScoredEstimator { mut row, losses })| {
            if let (Some(best), Some(losses)) = (&best, &losses) {
                let gap = if k == 0 { Score::new(0.0, Some(0.0)) } else { difference(rows, losses, best) };
                (row.gap, row.gap_se) = (Some(gap.value), gap.se);
                row.ties_with_best = k == 0 || gap.interval(LEVEL).is_none_or(|(lo, _)| lo <= 0.0);
            }
            row
        })
        .collect()
}
