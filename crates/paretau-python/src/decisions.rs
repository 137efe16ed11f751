//! Whom to treat, what could overturn the answer, which estimator to trust, which columns matter for what: requests and
//! findings as JSON.

use paretau::data::RoleSpec;
use paretau::task::Executor;
use paretau::{
    CompareOptions, Cost, PolicyRequest, RefuteRequest, RolesOptions, Seed, SensitivityRequest, with_threads,
};
use pyo3::prelude::*;
use serde::Serialize;
use serde_json::json;

use crate::detach::detach_with_events;
use crate::error::usage;
use crate::model::{Model, parse};
use crate::table::Table;
use crate::tasks::{PyExecutor, with_records};
use crate::wording::in_python;

fn text(found: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(found).map(|text| in_python(&text)).map_err(|e| usage(e.to_string()))
}

/// Whom to treat. `cost` is a number or the name of a column.
#[pyfunction]
#[pyo3(signature = (model, table, *, roles, cost, cost_column, budget, depth, lower_is_better, seed, n_jobs))]
#[allow(clippy::too_many_arguments)] // a private function, called in one place with keywords
pub(crate) fn policy(
    py: Python<'_>,
    model: &Model,
    table: &Bound<'_, Table>,
    roles: &str,
    cost: Option<f64>,
    cost_column: Option<String>,
    budget: Option<f64>,
    depth: usize,
    lower_is_better: bool,
    seed: u64,
    n_jobs: Option<usize>,
) -> PyResult<String> {
    let roles: RoleSpec = parse("roles", roles)?;
    let table = table.borrow_mut().take()?;
    let cost = cost_column.map_or_else(|| cost.map_or(Cost::None, Cost::Number), Cost::Column);
    let request = PolicyRequest { cost, budget, depth, lower_is_better };
    let found = detach_with_events(py, None, |observer| {
        with_threads(n_jobs, || paretau::policy(model.inner(), table, &roles, &request, Seed(seed), observer))
    })?;
    text(&json!({ "policy": found, "recommended": found.recommended, "rows": found.rows }))
}

/// How strong a hidden cause would have to be.
#[pyfunction]
#[pyo3(signature = (table, *, roles, cf_y, cf_d, benchmarks, n_benchmarks, seed, n_jobs))]
#[allow(clippy::too_many_arguments)] // a private function, called in one place with keywords
pub(crate) fn sensitivity(
    py: Python<'_>,
    table: &Bound<'_, Table>,
    roles: &str,
    cf_y: f64,
    cf_d: f64,
    benchmarks: Vec<String>,
    n_benchmarks: usize,
    seed: u64,
    n_jobs: Option<usize>,
) -> PyResult<String> {
    let roles: RoleSpec = parse("roles", roles)?;
    let table = table.borrow_mut().take()?;
    let request = SensitivityRequest { cf_y, cf_d, benchmarks, n_benchmarks };
    let found = detach_with_events(py, None, |observer| {
        with_threads(n_jobs, || paretau::sensitivity(table, &roles, &request, Seed(seed), observer))
    })?;
    text(&found)
}

/// The average estimated again where the answer is known.
#[pyfunction]
#[pyo3(signature = (table, *, roles, checks, replicates, seed, n_jobs))]
pub(crate) fn refute(
    py: Python<'_>,
    table: &Bound<'_, Table>,
    roles: &str,
    checks: Vec<String>,
    replicates: usize,
    seed: u64,
    n_jobs: Option<usize>,
) -> PyResult<String> {
    let roles: RoleSpec = parse("roles", roles)?;
    let table = table.borrow_mut().take()?;
    let request = RefuteRequest { checks, replicates };
    let found = detach_with_events(py, None, |observer| {
        with_threads(n_jobs, || paretau::refute(table, &roles, &request, Seed(seed), observer))
    })?;
    text(&found)
}

/// Estimators side by side on rows that their fits did not see.
#[pyfunction]
#[pyo3(signature = (table, *, roles, estimators, folds, seed, records, resume, n_jobs, listener, executor))]
#[allow(clippy::too_many_arguments)] // a private function, called in one place with keywords
pub(crate) fn compare_estimators(
    py: Python<'_>,
    table: &Bound<'_, Table>,
    roles: &str,
    estimators: Vec<String>,
    folds: usize,
    seed: u64,
    records: Option<std::path::PathBuf>,
    resume: bool,
    n_jobs: Option<usize>,
    listener: Option<Bound<'_, PyAny>>,
    executor: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let roles: RoleSpec = parse("roles", roles)?;
    let table = table.borrow_mut().take()?;
    let executor = executor.as_ref().map(PyExecutor::new);
    let found = detach_with_events(py, listener.as_ref(), |observer| {
        let options = CompareOptions { estimators, folds, seed: Seed(seed), observer, ..CompareOptions::default() };
        let executor = executor.as_ref().map(|executor| executor as &dyn Executor);
        with_threads(n_jobs, || {
            with_records(executor, &table, (records.as_deref(), resume), |executor| {
                paretau::compare_on(table.clone(), &roles, &options, executor)
            })
        })
    });
    let found = PyExecutor::or_raised(executor, found)?;
    text(&json!({ "comparison": found, "verdict": found.verdict() }))
}

/// Which columns steer the treatment, the outcome, or both.
#[pyfunction]
#[pyo3(signature = (table, *, roles, fdr, seed, n_jobs))]
pub(crate) fn test_roles(
    py: Python<'_>,
    table: &Bound<'_, Table>,
    roles: &str,
    fdr: f64,
    seed: u64,
    n_jobs: Option<usize>,
) -> PyResult<String> {
    let roles: RoleSpec = parse("roles", roles)?;
    let table = table.borrow_mut().take()?;
    let found = detach_with_events(py, None, |observer| {
        let options = RolesOptions { fdr, seed: Seed(seed), observer };
        with_threads(n_jobs, || paretau::test_roles(table, &roles, &options))
    })?;
    text(&json!({ "tested": found, "words": found.in_words() }))
}
