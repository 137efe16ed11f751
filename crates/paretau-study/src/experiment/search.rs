//! Parameters searched for before the cells are done. Cells that search alike share one search, and its trials are kept in
//! the run's folder, so that a run killed in the middle of a search goes on there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use paretau::task::{Executor, Task};
use paretau_core::{Error, Event, Observer, Params, Result, Seed};
use paretau_data::write_atomically;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::cell::{Cell, Shard, digest};
use super::runner::{RunOptions, check_there, rows, train_test, worker_options};
use crate::quiet::Quiet;
use crate::tune::{TuneOptions, TuneSpec, tune};

/// The best parameters of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TunedParams {
    /// The realisation whose training rows were searched on.
    pub realisation: u64,
    /// Parameters of the best trial that differ from the defaults.
    pub params: Params,
    /// Its loss on rows that its fit did not see.
    pub value: f64,
    /// The loss of the method as the plan has it.
    pub default_value: Option<f64>,
    /// Trials made.
    pub trials: usize,
}

/// The result of every search: its parameters, or the message of its failure.
pub(super) type Searches = BTreeMap<String, std::result::Result<TunedParams, String>>;

/// The digest of what decides a search. The number of trials does not belong to it: more of them go on with a search.
pub(super) fn key(cell: &Cell) -> Option<String> {
    let spec = TuneSpec { trials: 0, ..cell.tune.clone()? };
    Some(digest(&json!({
        "data": cell.data.content(),
        "realisation": search_realisation(cell),
        "estimator": cell.method.estimator,
        "method_params": cell.method.params,
        "seed": cell.seed,
        "split": cell.split,
        "tune": spec,
    })))
}

fn search_realisation(cell: &Cell) -> u64 {
    cell.tune_on.unwrap_or(cell.realisation)
}

/// Makes every search that the cells ask for, each once. A failed one becomes its cells' error; only interruption and a
/// full disk end the run.
pub(super) fn searches(cells: &[&Cell], options: &RunOptions<'_>, executor: Option<&dyn Executor>) -> Result<Searches> {
    let wanted: BTreeMap<String, &Cell> = cells.iter().filter_map(|cell| key(cell).map(|key| (key, *cell))).collect();
    if wanted.is_empty() {
        return Ok(Searches::new());
    }
    let folder = options.folder.join("tuning");
    std::fs::create_dir_all(&folder).map_err(|source| Error::Io { path: folder.clone(), source })?;
    options.observer.event(&Event::Stage { name: "searching parameters".into(), total: Some(wanted.len() as u64) });
    if let Some(executor) = executor {
        return far_searches(&wanted, &folder, (options, executor));
    }
    let done = std::sync::atomic::AtomicU64::new(0);
    let results = wanted.into_par_iter().map(|(key, cell)| {
        if options.observer.interrupted() {
            return Err(Error::Interrupted);
        }
        let result = match search(cell, &folder.join(trials_file(&key, options.shard)), options) {
            Ok(tuned) => Ok(tuned),
            Err(error @ (Error::Interrupted | Error::Io { .. } | Error::File { .. })) => return Err(error),
            Err(error) => Err(format!("searching parameters: {error}")),
        };
        let so_far = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        options.observer.event(&Event::Progress { done: so_far });
        Ok((key, result))
    });
    results.collect()
}

/// Parts of a job array may run at once in one folder: each keeps its own trials.
fn trials_file(key: &str, shard: Shard) -> String {
    match shard {
        Shard::WHOLE => format!("{key}.jsonl"),
        Shard { part, of } => format!("{key}-{part}-of-{of}.jsonl"),
    }
}

/// The task of one search.
#[derive(Serialize, Deserialize)]
struct SearchTask {
    cell: Cell,
    data_folder: PathBuf,
    /// The file of its trials so far; empty at the beginning.
    trials: String,
}

/// What a search done elsewhere gives.
#[derive(Serialize, Deserialize)]
struct SearchRecord {
    result: std::result::Result<TunedParams, String>,
    /// The file of its trials.
    trials: String,
}

/// The kind of a [`SearchTask`].
pub(crate) const SEARCH_TASK: &str = "search";

/// Does the task of one search: goes on with the trials that came with it, and gives them all back.
pub(crate) fn perform_search(task: &Task, observer: &dyn Observer) -> Result<Value> {
    let SearchTask { cell, data_folder, trials } = task.work()?;
    check_there(&cell, search_realisation(&cell), &data_folder)?;
    let name = format!("paretau-search-{}-{}.jsonl", task.key, std::process::id());
    let path = std::env::temp_dir().join(name);
    let io = |source| Error::Io { path: path.clone(), source };
    std::fs::write(&path, trials).map_err(io)?;
    let result = search(&cell, &path, &worker_options(&data_folder, observer));
    let trials = std::fs::read_to_string(&path).map_err(io);
    let _ = std::fs::remove_file(&path);
    let result = match result {
        Ok(tuned) => Ok(tuned),
        Err(error @ (Error::Interrupted | Error::Io { .. } | Error::File { .. })) => return Err(error),
        Err(error) => Err(format!("searching parameters: {error}")),
    };
    serde_json::to_value(SearchRecord { result, trials: trials? }).map_err(|e| Error::internal("a search", e))
}

/// Searches done by an executor. A search that is under way when the run is killed begins again where its file ends.
fn far_searches(
    wanted: &BTreeMap<String, &Cell>,
    folder: &Path,
    (options, executor): (&RunOptions<'_>, &dyn Executor),
) -> Result<Searches> {
    let data_folder = std::path::absolute(options.data_folder).unwrap_or_else(|_| options.data_folder.to_path_buf());
    let files: Vec<PathBuf> = wanted.keys().map(|key| folder.join(trials_file(key, options.shard))).collect();
    let mut tasks = vec![];
    for (cell, file) in wanted.values().zip(&files) {
        let trials = std::fs::read_to_string(file).unwrap_or_default();
        if !trials.is_empty() && !options.resume {
            let message = "there are trials already; add --resume to go on, or choose another file".to_owned();
            return Err(Error::File { path: file.clone(), column: None, row: None, message });
        }
        let work = SearchTask { cell: (*cell).clone(), data_folder: data_folder.clone(), trials };
        tasks.push(Task::new(SEARCH_TASK, &work)?);
    }
    let keys: Vec<&String> = wanted.keys().collect();
    let mut searches = Searches::new();
    executor.perform(&tasks, options.observer, &mut |k, outcome| {
        let result = match outcome.record::<SearchRecord>() {
            Ok(record) => {
                write_atomically(&files[k], record.trials.as_bytes())?;
                record.result
            }
            Err(error) => Err(format!("searching parameters: {error}")),
        };
        searches.insert(keys[k].clone(), result);
        options.observer.event(&Event::Progress { done: searches.len() as u64 });
        Ok(())
    })?;
    Ok(searches)
}

/// The seed of a search. It depends on the data, so that the same lucky proposal does not come up on all of them, and not
/// on the method: methods are searched on the same rows.
fn search_seed(cell: &Cell) -> Seed {
    let data = json!({ "data": cell.data.content(), "realisation": search_realisation(cell) });
    Seed(cell.seed).named(&digest(&data))
}

fn search(cell: &Cell, records: &Path, options: &RunOptions<'_>) -> Result<TunedParams> {
    let Some(spec) = &cell.tune else { return Err(Error::unfit("there is nothing to search")) };
    let realisation = search_realisation(cell);
    let (table, roles) = rows(&cell.data, realisation, options.data_folder)?;
    let (train, _) = train_test(&table, &roles, cell, realisation)?;
    let spec = TuneSpec { fixed: cell.method.params.clone(), ..spec.clone() };
    let quiet = Quiet(options.observer);
    let report = tune(
        &train,
        &roles,
        &TuneOptions {
            estimator: &cell.method.estimator,
            spec: &spec,
            seed: search_seed(cell),
            valid_share: cell.split.valid / (1.0 - cell.split.test),
            records: Some(records),
            resume: options.resume,
            observer: &quiet,
        },
    )?;
    Ok(TunedParams {
        realisation,
        params: report.best,
        value: report.value,
        default_value: report.default_value,
        trials: report.trials.len(),
    })
}
