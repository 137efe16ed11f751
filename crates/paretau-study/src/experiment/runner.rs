//! Runs the cells that have no record yet, in parallel, and records each the moment it is done.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use paretau_core::{Error, Event, Observer, Params, Result, Seed, Split};
use paretau_data::{Dataset, RoleSpec, Table, assign};
use paretau_eval::{Evidence, METRICS, encoders_of};
use paretau_nuisance::Observed;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::cell::{Cell, Shard};
use super::plan::{DataSpec, Plan};
use super::progress::{OnCellDone, TimeLeft};
use super::records::{Record, StudyRecords};
use super::search::{self, Searches, TunedParams};
use crate::quiet::Quiet;
use paretau::identity::rows_digest;
use paretau::task::{Executor, Outcome, Task};
use paretau::{FitOptions, fit};

/// Where and how to run.
#[derive(Clone, Copy)]
pub struct RunOptions<'a> {
    /// Folder of records and tables.
    pub folder: &'a Path,
    /// Go on where an earlier run stopped.
    pub resume: bool,
    /// Which part of the cells.
    pub shard: Shard,
    /// Folder that data files are relative to.
    pub data_folder: &'a Path,
    /// Receives progress and can stop the run.
    pub observer: &'a dyn Observer,
    /// Called after every finished cell.
    pub on_cell_done: Option<OnCellDone<'a>>,
}

/// What a run did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunReport {
    /// Cells of the plan (of this shard).
    pub cells: usize,
    /// Cells done now.
    pub done: usize,
    /// Cells that were done before.
    pub kept: usize,
    /// Cells that failed, now or before.
    pub failed: usize,
}

/// Runs a plan and writes its tables.
pub fn run(plan: &Plan, options: &RunOptions<'_>) -> Result<RunReport> {
    run_on(plan, options, None)
}

/// The same with searches and cells done by an executor, whose workers find the plan's files in the same folder.
pub fn run_on(plan: &Plan, options: &RunOptions<'_>, executor: Option<&dyn Executor>) -> Result<RunReport> {
    let cells: Vec<Cell> = Cell::all(plan)
        .into_iter()
        .enumerate()
        .filter(|(i, _)| options.shard.holds(*i))
        .map(|(_, cell)| cell)
        .collect();
    super::results::check_folder(plan, options.folder)?;
    let records = StudyRecords::open(options.folder, options.resume, options.shard, &cells)?;
    for message in &records.damaged {
        options.observer.event(&Event::Note { message: message.clone() });
    }
    check_rows(&records.of(&cells), options)?;
    // Whoever reads the records later, finished or not, finds what they are of.
    super::results::write_plan(plan, options.folder)?;
    let records = Mutex::new(records);
    let lock = || records.lock().unwrap_or_else(PoisonError::into_inner);
    // What failed is tried again: a full disk or a missing file may be mended by now.
    let open: Vec<&Cell> =
        cells.iter().filter(|cell| lock().get(&cell.key()).is_none_or(|record| record.error.is_some())).collect();
    let searches = search::searches(&open, options, executor)?;
    options.observer.event(&Event::Stage { name: plan.name.clone(), total: Some(open.len() as u64) });
    let time_left = Mutex::new(TimeLeft::start(&open, lock().of(&cells).into_iter()));
    let keep = |record: Record| -> Result<()> {
        lock().append(record.clone())?;
        // Called under the lock, so that counts rise from call to call.
        let mut time_left = time_left.lock().unwrap_or_else(PoisonError::into_inner);
        let progress = time_left.done(&record);
        options.observer.event(&Event::Progress { done: progress.done as u64 });
        if let Some(on_cell_done) = options.on_cell_done {
            on_cell_done(&progress);
        }
        Ok(())
    };
    match executor {
        None => open.par_iter().try_for_each(|cell| -> Result<()> {
            if options.observer.interrupted() {
                return Err(Error::Interrupted);
            }
            keep(run_cell(cell, search_of(cell, &searches), options)?)
        })?,
        Some(executor) => {
            let mut seen = SeenRows::new(&lock().of(&cells));
            far_cells(&open, &searches, (options, executor), &mut seen, &keep)?;
        }
    }
    let mut records = lock();
    // Tables and page are about the whole plan, as far as all processes together have got.
    records.with_all(&Cell::all(plan), |all| super::write_results(plan, all, options.folder))?;
    Ok(RunReport {
        cells: cells.len(),
        done: open.len(),
        kept: cells.len() - open.len(),
        failed: records.of(&cells).iter().filter(|record| record.error.is_some()).count(),
    })
}

/// Refuses records whose data files hold other rows by now: their scores and new ones must not stand in one table.
fn check_rows(records: &[&Record], options: &RunOptions<'_>) -> Result<()> {
    let mut seen = BTreeMap::new();
    for record in records {
        if let (Some(rows), None) = (&record.rows, &record.error) {
            let Cell { data, realisation, .. } = &record.cell;
            seen.entry((data.content().to_string(), *realisation)).or_insert((data, *realisation, rows));
        }
    }
    seen.into_values().collect::<Vec<_>>().into_par_iter().try_for_each(|(data, realisation, earlier)| {
        if options.observer.interrupted() {
            return Err(Error::Interrupted);
        }
        let (table, roles) = rows(data, realisation, options.data_folder)?;
        if rows_digest(&assign(table, &roles)?) == *earlier {
            return Ok(());
        }
        Err(Error::unfit(format!(
            "the rows of data set `{}`, realisation {realisation}, are not those of the records in {}; restore the file, or choose \
             another folder",
            data.name,
            options.folder.display()
        )))
    })
}

/// The search that a cell's parameters come from.
fn search_of<'a>(cell: &Cell, searches: &'a Searches) -> Option<&'a std::result::Result<TunedParams, String>> {
    search::key(cell).and_then(|key| searches.get(&key))
}

/// Runs one cell. A failure of the method is a record; only interruption and a full disk end the run.
fn run_cell(
    cell: &Cell,
    search: Option<&std::result::Result<TunedParams, String>>,
    options: &RunOptions<'_>,
) -> Result<Record> {
    let start = Instant::now();
    let (mut tuned, mut digest) = (None, None);
    let outcome = match search {
        None => scores(cell, &cell.method.params, options, &mut digest),
        Some(Err(message)) => Err(Error::unfit(message.clone())),
        Some(Ok(best)) => {
            tuned = Some(best.clone());
            scores(cell, &best.params, options, &mut digest)
        }
    };
    let seconds = start.elapsed().as_secs_f64();
    let (scores, error) = match outcome {
        Ok(scores) => (scores, None),
        Err(Error::Interrupted) => return Err(Error::Interrupted),
        Err(error) => (BTreeMap::new(), Some(error.to_string())),
    };
    Ok(Record { key: cell.key(), cell: cell.clone(), rows: digest, tuned, scores, error, seconds })
}

/// The task of one cell.
#[derive(Serialize, Deserialize)]
struct CellTask {
    cell: Cell,
    /// What a search found for it, or why it found nothing.
    search: Option<std::result::Result<TunedParams, String>>,
    data_folder: PathBuf,
}

/// The kind of a [`CellTask`].
pub(crate) const CELL_TASK: &str = "cell";

/// Does the task of one cell.
pub(crate) fn perform_cell(task: &Task, observer: &dyn Observer) -> Result<Value> {
    let CellTask { cell, search, data_folder } = task.work()?;
    // What is not on this machine is no failure of the method.
    check_there(&cell, cell.realisation, &data_folder)?;
    let options = worker_options(&data_folder, observer);
    let record = run_cell(&cell, search.as_ref(), &options)?;
    serde_json::to_value(record).map_err(|e| Error::internal("a record", e))
}

/// The options of a worker, who keeps no records.
pub(super) fn worker_options<'a>(data_folder: &'a Path, observer: &'a dyn Observer) -> RunOptions<'a> {
    let (folder, shard) = (Path::new(""), Shard::WHOLE);
    RunOptions { folder, resume: true, shard, data_folder, observer, on_cell_done: None }
}

/// An error if the files of a cell are not on this machine.
pub(super) fn check_there(cell: &Cell, realisation: u64, folder: &Path) -> Result<()> {
    match (cell.data.dataset.first(), &cell.data.simulator, &cell.data.file) {
        (Some(name), _, _) => {
            let set = Dataset::named(name)?;
            if !set.realisations(folder).contains(&realisation) {
                set.load(folder, realisation)?;
            }
            Ok(())
        }
        (None, None, Some(file)) => {
            let path = data_file(folder, file, realisation);
            std::fs::File::open(&path).map(drop).map_err(|source| Error::Io { path, source })
        }
        _ => Ok(()),
    }
}

/// Digests of the rows of every data set and realisation, as far as records tell them.
struct SeenRows(BTreeMap<(String, u64), String>);

impl SeenRows {
    fn new(records: &[&Record]) -> Self {
        let mut seen = Self(BTreeMap::new());
        for record in records {
            if let Some(rows) = &record.rows {
                seen.0.entry(Self::key(&record.cell)).or_insert_with(|| rows.clone());
            }
        }
        seen
    }

    fn key(cell: &Cell) -> (String, u64) {
        (cell.data.content().to_string(), cell.realisation)
    }

    /// Refuses a record of other rows: two machines hold different files under one name.
    fn check(&mut self, record: &Record) -> Result<()> {
        let Some(rows) = &record.rows else { return Ok(()) };
        let seen = self.0.entry(Self::key(&record.cell)).or_insert_with(|| rows.clone());
        if seen == rows {
            return Ok(());
        }
        Err(Error::unfit(format!(
            "workers read different rows of data set `{}`, realisation {}; every worker must read the same file",
            record.cell.data.name, record.cell.realisation
        )))
    }
}

/// Cells done by an executor, each kept the moment its record arrives.
fn far_cells(
    open: &[&Cell],
    searches: &Searches,
    (options, executor): (&RunOptions<'_>, &dyn Executor),
    seen: &mut SeenRows,
    keep: &dyn Fn(Record) -> Result<()>,
) -> Result<()> {
    let data_folder = std::path::absolute(options.data_folder).unwrap_or_else(|_| options.data_folder.to_path_buf());
    let task = |cell: &&Cell| {
        let search = search_of(cell, searches).cloned();
        Task::new(CELL_TASK, &CellTask { cell: (*cell).clone(), search, data_folder: data_folder.clone() })
    };
    let tasks = open.iter().map(task).collect::<Result<Vec<_>>>()?;
    executor.perform(&tasks, options.observer, &mut |k, outcome| {
        let cell = open[k];
        let record: Record = match outcome {
            Outcome::Done(_) => outcome.record()?,
            Outcome::Lost(message) => Record {
                key: cell.key(),
                cell: cell.clone(),
                rows: None,
                tuned: search_of(cell, searches).and_then(|search| search.as_ref().ok().cloned()),
                scores: BTreeMap::new(),
                error: Some(message),
                seconds: 0.0,
            },
        };
        if record.key != cell.key() {
            return Err(Error::unfit("a worker gave the record of another cell"));
        }
        seen.check(&record)?;
        keep(record)
    })
}

fn scores(
    cell: &Cell,
    params: &Params,
    options: &RunOptions<'_>,
    digest: &mut Option<String>,
) -> Result<BTreeMap<String, f64>> {
    let (table, roles) = rows(&cell.data, cell.realisation, options.data_folder)?;
    if cell.data.simulator.is_none() {
        *digest = Some(rows_digest(&assign(table.clone(), &roles)?));
    }
    let (train, test) = train_test(&table, &roles, cell, cell.realisation)?;
    drop(table);
    let quiet = Quiet(options.observer);
    let fit_options = FitOptions {
        params: params.clone(),
        seed: Seed(cell.seed),
        valid_share: cell.split.valid / (1.0 - cell.split.test),
        observer: &quiet,
        ..FitOptions::new(&cell.method.estimator)
    };
    let model = fit(train, &roles, &fit_options)?;
    let predictions = model.predict(&test)?;
    let assigned = assign(test, &roles)?;
    let rows = Observed::new(&assigned.t, &assigned.y)?;
    let simulator = cell.data.simulator.as_deref().map(paretau_data::simulator).transpose()?;
    let encoders =
        simulator.is_some_and(|simulator| simulator.feature_thirds).then(|| encoders_of(&model.about().diagnostics));
    let evidence = Evidence {
        tau: &predictions.arms[0].tau,
        rows: Some(rows),
        nuisance: None,
        scores: None,
        truth: assigned.oracle.as_ref(),
        encoders: encoders.as_deref(),
        seed: Seed(cell.realisation),
    };
    // All scores are kept, whatever the plan's tables show: a plan that asks for one more has nothing to do again.
    let mut out = BTreeMap::new();
    for metric in METRICS {
        if let Some(score) = metric.score(&evidence)? {
            if !score.value.is_finite() {
                let message = format!("{} came out as {}", metric.name, score.value);
                return Err(Error::Numeric { what: "scoring", message });
            }
            out.insert(metric.name.to_owned(), score.value);
        }
    }
    Ok(out)
}

/// The file of a realisation.
fn data_file(folder: &Path, file: &str, realisation: u64) -> PathBuf {
    folder.join(file.replace("{i}", &realisation.to_string()))
}

/// The rows of a realisation and their roles.
pub(super) fn rows(data: &DataSpec, realisation: u64, folder: &Path) -> Result<(Table, RoleSpec)> {
    if let Some(name) = data.dataset.first() {
        return Dataset::named(name)?.load(folder, realisation);
    }
    match (&data.simulator, &data.file) {
        (Some(name), _) => {
            let made = (paretau_data::simulator(name)?.run)(&data.params, Seed(realisation))?;
            let roles = RoleSpec { truth: Some(("mu0".into(), "mu1".into())), ..RoleSpec::new("t", "y") };
            Ok((made.table()?, roles))
        }
        (None, Some(file)) => {
            let path = data_file(folder, file, realisation);
            let roles = data.roles.clone().unwrap_or_default();
            let options = data.reading.clone().unwrap_or_default().options(roles.read_options(), data.header);
            Ok((paretau_data::read(&path, &options)?, roles))
        }
        (None, None) => Err(Error::unfit(format!("data `{}` needs a simulator or a file", data.name))),
    }
}

/// Training and test rows. The split depends on the data set alone, so that every method sees the same rows and a search
/// never sees the test rows of the realisation it searches on.
pub(super) fn train_test(table: &Table, roles: &RoleSpec, cell: &Cell, realisation: u64) -> Result<(Table, Table)> {
    let whole = assign(table.clone(), roles)?;
    let split = Split::random(&whole.t, 0.0, cell.split.test, Seed(realisation).named("test rows"))?;
    let pick = |rows: &[usize]| table.select(&rows.iter().map(|&i| whole.rows[i]).collect::<Vec<_>>());
    Ok((pick(&split.train), pick(&split.test)))
}
