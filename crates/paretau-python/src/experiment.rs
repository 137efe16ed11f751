//! Experiment plans.

use std::path::PathBuf;

use paretau::experiment::{Plan, RunOptions, Shard, run as run_plan};
use paretau::with_threads;
use pyo3::prelude::*;
use serde_json::json;

use crate::enter::enter_watched;
use crate::error::to_py;

/// Runs a plan and returns its counts as JSON; the tables are in the folder.
#[pyfunction]
#[pyo3(signature = (plan, folder, *, resume, shard, data_folder, n_jobs, listener))]
#[allow(clippy::too_many_arguments)] // a private function, called in one place with keywords
pub(crate) fn run(
    py: Python<'_>,
    plan: &str,
    folder: PathBuf,
    resume: bool,
    shard: Option<&str>,
    data_folder: PathBuf,
    n_jobs: Option<usize>,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let plan = Plan::open(plan).map_err(to_py)?;
    let shard: Shard = shard.map_or(Ok(Shard::WHOLE), str::parse).map_err(to_py)?;
    let report = enter_watched(py, listener.as_ref(), |observer| {
        let options = RunOptions { folder: &folder, resume, shard, data_folder: &data_folder, observer, watch: None };
        with_threads(n_jobs, || run_plan(&plan, &options))
    })?;
    Ok(json!({
        "plan": plan.name, "cells": report.cells, "done": report.done, "kept": report.kept, "failed": report.failed,
    })
    .to_string())
}
