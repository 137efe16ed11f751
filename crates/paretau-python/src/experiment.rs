//! Experiment plans, comparisons of their records, and the search for parameters.

use std::path::PathBuf;

use paretau::data::RoleSpec;
use paretau::task::Executor;
use paretau::{Params, Seed, with_threads};
use paretau_study::experiment::{Plan, RunOptions, Shard, run_on};
use paretau_study::tune::{TuneOptions, TuneSpec, tune_on};
use pyo3::prelude::*;
use serde_json::json;

use crate::detach::{detach, detach_with_events};
use crate::error::{to_py, usage};
use crate::model::parse;
use crate::table::Table;
use crate::tasks::PyExecutor;
use crate::wording::in_python;

/// Runs a plan and returns its counts as JSON; tables, figure and page are in the folder.
#[pyfunction]
#[pyo3(signature = (plan, folder, *, resume, shard, quick, params, realisations, tune, data_folder, n_jobs, listener, executor))]
#[allow(clippy::too_many_arguments)] // a private function, called in one place with keywords
pub(crate) fn run(
    py: Python<'_>,
    plan: &str,
    folder: PathBuf,
    resume: bool,
    shard: Option<&str>,
    quick: bool,
    params: &str,
    realisations: Option<usize>,
    tune: Option<usize>,
    data_folder: PathBuf,
    n_jobs: Option<usize>,
    listener: Option<Bound<'_, PyAny>>,
    executor: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let params: Params = parse("params", params)?;
    let plan = Plan::open(plan)
        .and_then(|plan| plan.resolved(&data_folder, quick)?.with_params(&params))
        .map_err(to_py)?
        .with_realisations(realisations.unwrap_or(usize::MAX));
    let plan = match tune {
        Some(trials) => plan.with_trials(trials).map_err(to_py)?,
        None => plan,
    };
    let shard: Shard = shard.map_or(Ok(Shard::WHOLE), str::parse).map_err(to_py)?;
    let executor = executor.as_ref().map(PyExecutor::new);
    let report = detach_with_events(py, listener.as_ref(), |observer| {
        let options =
            RunOptions { folder: &folder, resume, shard, data_folder: &data_folder, observer, on_cell_done: None };
        let executor = executor.as_ref().map(|executor| executor as &dyn Executor);
        with_threads(n_jobs, || run_on(&plan, &options, executor))
    });
    let report = PyExecutor::or_raised(executor, report)?;
    Ok(json!({
        "plan": plan.name, "cells": report.cells, "done": report.done, "kept": report.kept, "failed": report.failed,
    })
    .to_string())
}

/// The comparison of a run's methods from the records in its folder, as JSON; `null` without scores.
#[pyfunction]
pub(crate) fn compare(py: Python<'_>, folder: PathBuf) -> PyResult<String> {
    let records = detach(py, to_py, || paretau_study::run_records(&folder))?;
    serde_json::to_string(&records.comparison).map(|text| in_python(&text)).map_err(|e| usage(e.to_string()))
}

/// Searches parameters. `roles` and `spec` are JSON objects; the result is JSON too.
#[pyfunction]
#[pyo3(signature = (table, *, roles, estimator, spec, seed, valid_share, records, resume, n_jobs, listener, executor))]
#[allow(clippy::too_many_arguments)] // a private function, called in one place with keywords
pub(crate) fn tune(
    py: Python<'_>,
    table: &Bound<'_, Table>,
    roles: &str,
    estimator: &str,
    spec: &str,
    seed: u64,
    valid_share: f64,
    records: Option<PathBuf>,
    resume: bool,
    n_jobs: Option<usize>,
    listener: Option<Bound<'_, PyAny>>,
    executor: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let roles: RoleSpec = parse("roles", roles)?;
    let spec: TuneSpec = parse("tune", spec)?;
    let table = table.borrow_mut().take()?;
    let executor = executor.as_ref().map(PyExecutor::new);
    let report = detach_with_events(py, listener.as_ref(), |observer| {
        let records = records.as_deref();
        let options = TuneOptions { estimator, spec: &spec, seed: Seed(seed), valid_share, records, resume, observer };
        let executor = executor.as_ref().map(|executor| executor as &dyn Executor);
        with_threads(n_jobs, || tune_on(&table, &roles, &options, executor))
    });
    let report = PyExecutor::or_raised(executor, report)?;
    serde_json::to_string(&report).map(|text| in_python(&text)).map_err(|e| usage(e.to_string()))
}
