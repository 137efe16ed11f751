//! Parameters searched for before the cells are done. Cells that search alike share one search, and its trials are kept in
//! the run's folder, so that a run killed in the middle of a search goes on there.

use std::collections::BTreeMap;

use paretau_core::{Error, Event, Params, Result, Seed};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::cell::{Cell, Shard, digest};
use super::runner::{RunOptions, rows, train_test};
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
pub(super) fn searches(cells: &[&Cell], options: &RunOptions<'_>) -> Result<Searches> {
    let wanted: BTreeMap<String, &Cell> = cells.iter().filter_map(|cell| key(cell).map(|key| (key, *cell))).collect();
    if wanted.is_empty() {
        return Ok(Searches::new());
    }
    let folder = options.folder.join("tuning");
    std::fs::create_dir_all(&folder).map_err(|source| Error::Io { path: folder.clone(), source })?;
    options.observer.event(&Event::Stage { name: "searching parameters".into(), total: Some(wanted.len() as u64) });
    let done = std::sync::atomic::AtomicU64::new(0);
    let results = wanted.into_par_iter().map(|(key, cell)| {
        if options.observer.interrupted() {
            return Err(Error::Interrupted);
        }
        // Parts of a job array may run at once in one folder: each keeps its own trials.
        let name = match options.shard {
            Shard::WHOLE => format!("{key}.jsonl"),
            Shard { part, of } => format!("{key}-{part}-of-{of}.jsonl"),
        };
        let result = match search(cell, &folder.join(name), options) {
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

/// The seed of a search. It depends on the data, so that the same lucky proposal does not come up on all of them, and not
/// on the method: methods are searched on the same rows.
fn search_seed(cell: &Cell) -> Seed {
    let data = json!({ "data": cell.data.content(), "realisation": search_realisation(cell) });
    Seed(cell.seed).named(&digest(&data))
}

fn search(cell: &Cell, records: &std::path::Path, options: &RunOptions<'_>) -> Result<TunedParams> {
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
