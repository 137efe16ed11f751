//! Fitted models: fitting, predicting, scoring, saving.

use std::path::PathBuf;

use paretau::data::RoleSpec;
use paretau::{Basis, EvaluateOptions, FitOptions, InSample, IntervalKind, Params, Predictions, Seed, with_threads};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::arrays::to_array;
use crate::detach::{detach, detach_with_events};
use crate::error::{of_model_file, to_py, usage};
use crate::table::Table;

/// A fitted model. Immutable, so threads may share it.
#[pyclass(frozen, module = "paretau._paretau")]
pub(crate) struct Model {
    inner: paretau::Model,
}

/// Fits an estimator. `roles` and `params` are JSON objects; `listener` is called with each event as JSON.
#[pyfunction]
#[pyo3(signature = (table, *, roles, estimator, params, seed, valid_share, n_jobs, listener, intervals = None))]
#[allow(clippy::too_many_arguments)] // a private function, called in one place with keywords
pub(crate) fn fit(
    py: Python<'_>,
    table: &Bound<'_, Table>,
    roles: &str,
    estimator: &str,
    params: &str,
    seed: u64,
    valid_share: f64,
    n_jobs: Option<usize>,
    listener: Option<Bound<'_, PyAny>>,
    intervals: Option<usize>,
) -> PyResult<Model> {
    let roles: RoleSpec = parse("roles", roles)?;
    let params: Params = parse("params", params)?;
    let table = table.borrow_mut().take()?;
    let inner = detach_with_events(py, listener.as_ref(), |observer| {
        let options =
            FitOptions { params, seed: Seed(seed), valid_share, intervals, observer, ..FitOptions::new(estimator) };
        with_threads(n_jobs, || paretau::fit(table, &roles, &options))
    })?;
    Ok(Model { inner })
}

impl Model {
    /// The library's model.
    pub(crate) fn inner(&self) -> &paretau::Model {
        &self.inner
    }
}

#[pymethods]
impl Model {
    /// Reads a model file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Ok(Self { inner: detach(py, of_model_file, || paretau::Model::load(&path))? })
    }

    /// A model from the bytes of its file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        Ok(Self { inner: detach(py, of_model_file, || paretau::Model::from_bytes(bytes))? })
    }

    /// Writes the model's file, whole or not at all.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        detach(py, to_py, || self.inner.save(&path))
    }

    /// The bytes of the model's file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = detach(py, to_py, || self.inner.to_bytes())?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Facts about the fit, as JSON.
    fn about(&self) -> PyResult<String> {
        serde_json::to_string(self.inner.about()).map_err(|e| usage(e.to_string()))
    }

    /// The fit in a few lines.
    fn summary(&self) -> String {
        self.inner.summary()
    }

    /// The arms' overlap in a few lines, warnings last.
    fn overlap_lines(&self) -> Vec<String> {
        let overlap = &self.inner.about().overlap;
        let warnings = overlap.warnings.iter().map(|w| format!("warning: {}", w.message));
        overlap.in_words().into_iter().chain(warnings).collect()
    }

    /// Effects of the groups that columns make of the training rows, as JSON.
    fn group_effects(&self, py: Python<'_>, table: &Bound<'_, Table>) -> PyResult<String> {
        let table = table.borrow_mut().take()?;
        let found = detach(py, to_py, || self.inner.group_effects(&table))?;
        serde_json::to_string(&found).map_err(|e| usage(e.to_string()))
    }

    /// One self-contained HTML page about the fit.
    fn report(&self, py: Python<'_>) -> PyResult<String> {
        detach(py, to_py, || paretau::report(&self.inner))
    }

    /// Names of the table columns that it reads.
    fn input_names(&self) -> Vec<String> {
        self.inner.encoder().fields().into_iter().map(|field| field.name).collect()
    }

    /// Whether it reads a sparse block.
    fn reads_sparse(&self) -> bool {
        self.inner.encoder().reads_sparse()
    }

    /// Names of the encoded feature columns.
    fn encoded_names(&self) -> Vec<String> {
        self.inner.encoder().columns().iter().map(|column| column.name.clone()).collect()
    }

    /// Effects of every row as arrays: `tau`, `se` if standard errors were measured, `lo hi` if a level is given: ends of
    /// intervals of the conditional or the individual effect.
    #[pyo3(signature = (table, *, level = None, kind = "conditional", n_jobs = None))]
    fn effect<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'py, Table>,
        level: Option<f64>,
        kind: &str,
        n_jobs: Option<usize>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let kind = IntervalKind::find(kind).map_err(to_py)?;
        let table = table.borrow_mut().take()?;
        let (effects, interval) = detach(py, to_py, || {
            with_threads(n_jobs, || {
                let (effects, _) = self.inner.contrast(&table)?;
                let ends = |level| match kind {
                    IntervalKind::Conditional => self.inner.interval(&effects.tau, effects.se.as_deref(), level),
                    IntervalKind::Individual => self.inner.individual_interval(&table, level),
                };
                let interval = level.map(ends).transpose()?;
                Ok((effects, interval))
            })
        })?;
        let out = PyDict::new(py);
        out.set_item("tau", to_array(py, effects.tau))?;
        if let Some(se) = effects.se {
            out.set_item("se", to_array(py, se))?;
        }
        if let Some((lo, hi)) = interval {
            out.set_item("lo", to_array(py, lo))?;
            out.set_item("hi", to_array(py, hi))?;
        }
        Ok(out)
    }

    /// Predictions of every row as arrays: `mu0 mu1 tau`; with `propensity` also `e`, `w_raw w` if the table has the
    /// treatment column, and `arms`, where each arm against the control has `mu tau` and perhaps `se`; and `notes`, a list
    /// of sentences.
    #[pyo3(signature = (table, *, propensity, n_jobs = None))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'py, Table>,
        propensity: bool,
        n_jobs: Option<usize>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let table = table.borrow_mut().take()?;
        let (mut arms, report, overlap) = detach(py, to_py, || {
            with_threads(n_jobs, || {
                if propensity {
                    let Predictions { arms, e, weights, report, .. } = self.inner.predict(&table)?;
                    Ok((arms, report, Some((e, weights))))
                } else {
                    let (effects, report) = self.inner.effects(&table)?;
                    Ok((vec![effects], report, None))
                }
            })
        })?;
        let out = PyDict::new(py);
        out.set_item("notes", report.notes())?;
        if let Some((e, weights)) = overlap {
            let by_arm = PyDict::new(py);
            for (arm, effects) in self.inner.about().arms[1..].iter().zip(&arms) {
                let own = PyDict::new(py);
                own.set_item("mu", to_array(py, effects.mu1.clone()))?;
                own.set_item("tau", to_array(py, effects.tau.clone()))?;
                if let Some(se) = &effects.se {
                    own.set_item("se", to_array(py, se.clone()))?;
                }
                by_arm.set_item(&arm.name, own)?;
            }
            out.set_item("arms", by_arm)?;
            out.set_item("e", to_array(py, e))?;
            if let Some(weights) = weights {
                out.set_item("w_raw", to_array(py, weights.raw))?;
                out.set_item("w", to_array(py, weights.smooth))?;
            }
        }
        let effects = arms.swap_remove(0);
        out.set_item("mu0", to_array(py, effects.mu0))?;
        out.set_item("mu1", to_array(py, effects.mu1))?;
        out.set_item("tau", to_array(py, effects.tau))?;
        Ok(out)
    }
}

/// Scores of a model on rows, as a JSON object of `scores`, metrics and their errors (`name`, `name_se`), and `notes`.
/// Rows that it learned from are scored as `in_sample` says: `never`, `if-needed` or `always`.
#[pyfunction]
#[pyo3(signature = (model, table, *, roles, seed, n_jobs, in_sample))]
pub(crate) fn evaluate(
    py: Python<'_>,
    model: &Model,
    table: &Bound<'_, Table>,
    roles: &str,
    seed: u64,
    n_jobs: Option<usize>,
    in_sample: &str,
) -> PyResult<String> {
    let roles: RoleSpec = parse("roles", roles)?;
    let in_sample = match in_sample {
        "never" => InSample::Never,
        "if-needed" => InSample::IfNeeded,
        "always" => InSample::Always,
        other => return Err(usage(format!("in_sample: `{other}` is not known"))),
    };
    let table = table.borrow_mut().take()?;
    let found = detach_with_events(py, None, |observer| {
        let options = EvaluateOptions { seed: Seed(seed), in_sample, observer };
        with_threads(n_jobs, || paretau::evaluate(&model.inner, table, &roles, &options))
    })?;
    let mut out = Map::new();
    for named in found.scores {
        out.insert(named.name.to_owned(), Value::from(named.score.value));
        if let Some(se) = named.score.se {
            out.insert(format!("{}_se", named.name), Value::from(se));
        }
    }
    if let Some(p) = found.heterogeneity.p {
        out.insert("heterogeneity_p".to_owned(), Value::from(p));
    }
    out.insert("in_sample".to_owned(), Value::from(found.basis == Basis::InSample));
    Ok(serde_json::json!({ "scores": out, "notes": found.notes }).to_string())
}

/// A JSON argument as its type.
pub(crate) fn parse<T: DeserializeOwned>(what: &str, text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|e| usage(format!("{what}: {e}")))
}
