//! Rows with doubly robust scores, and the questions that can be asked of them.

use paretau::data::RoleSpec;
use paretau::{Seed, with_threads};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;

use crate::arrays::{In, slice, to_array};
use crate::detach::{detach, detach_with_events};
use crate::error::{to_py, usage};
use crate::model::{Model, parse};
use crate::table::Table;
use crate::wording::in_python;

fn text(found: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(found).map(|text| in_python(&text)).map_err(|e| usage(e.to_string()))
}

/// Rows of two arms with doubly robust scores.
#[pyclass(frozen, module = "paretau._paretau")]
pub(crate) struct ScoredRows {
    inner: paretau::ScoredRows,
}

#[pymethods]
impl ScoredRows {
    /// The training rows of the control and one arm (1 is the first), as long as the model was not read from a file.
    #[staticmethod]
    fn of_training(py: Python<'_>, model: &Model, arm: usize) -> PyResult<Self> {
        Ok(Self { inner: detach(py, to_py, || model.inner().scored_rows(arm))? })
    }

    /// Rows that were kept aside.
    #[staticmethod]
    #[pyo3(signature = (model, table, *, roles, seed, n_jobs))]
    fn of_new_rows(
        py: Python<'_>,
        model: &Model,
        table: &Bound<'_, Table>,
        roles: &str,
        seed: u64,
        n_jobs: Option<usize>,
    ) -> PyResult<Self> {
        let roles: RoleSpec = parse("roles", roles)?;
        let table = table.borrow_mut().take()?;
        let inner = detach_with_events(py, None, |observer| {
            with_threads(n_jobs, || {
                paretau::ScoredRows::of_new_rows(model.inner(), table, &roles, Seed(seed), observer)
            })
        })?;
        Ok(Self { inner })
    }

    /// The score of each row, and where it stands in the table.
    fn scores<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        out.set_item("scores", to_array(py, self.inner.scores().to_vec()))?;
        out.set_item("rows", self.inner.rows().to_vec())?;
        Ok(out)
    }

    /// Best linear projection on a constant and the table's columns, as JSON.
    fn best_linear_projection(&self, py: Python<'_>, table: Option<&Bound<'_, Table>>) -> PyResult<String> {
        let table = table.map(|table| table.borrow_mut().take()).transpose()?;
        text(&detach(py, to_py, || self.inner.best_linear_projection(table.as_ref()))?)
    }

    /// The calibration regression, as JSON.
    fn calibration(&self, py: Python<'_>) -> PyResult<String> {
        text(&detach(py, to_py, || self.inner.calibration())?)
    }

    /// Predicted and seen effects of rows of similar prediction, as JSON.
    fn calibration_groups(&self, py: Python<'_>, k: usize) -> PyResult<String> {
        text(&detach(py, to_py, || self.inner.calibration_groups(k))?)
    }

    /// Rank-weighted averages and the targeting curve, as JSON.
    fn rank(&self, py: Python<'_>, priorities: Option<In<'_>>, points: usize) -> PyResult<String> {
        let priorities = priorities.as_ref().map(|p| slice(p).map(<[f64]>::to_vec)).transpose()?;
        text(&detach(py, to_py, || self.inner.rank(priorities.as_deref(), points))?)
    }
}
