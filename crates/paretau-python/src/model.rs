//! Fitted models: fitting, predicting, scoring, saving.

use std::path::PathBuf;

use paretau::data::RoleSpec;
use paretau::task::Executor;
use paretau::{
    Basis, BlockOptions, EvaluateOptions, FitOptions, InSample, IntervalKind, Params, Population, Predictions,
    RowWeights, Seed, Toolbox, with_threads,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::arrays::{Out, to_array};
use crate::detach::{detach, detach_with_events};
use crate::error::{of_model_file, to_py, usage};
use crate::foreign_base::{TOOLBOX, pickling};
use crate::table::{ReadingKeywords, Table};
use crate::tasks::PyExecutor;
use crate::wording::in_python;

/// A fitted model. Immutable, so threads may share it.
#[pyclass(frozen, module = "paretau._paretau")]
pub(crate) struct Model {
    inner: paretau::Model,
}

/// Fits an estimator. `roles` and `params` are JSON objects; `listener` is called with each event as JSON.
#[pyfunction]
#[pyo3(signature = (table, *, roles, estimator, params, seed, valid_share, n_jobs, listener, intervals = None, executor = None))]
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
    executor: Option<Bound<'_, PyAny>>,
) -> PyResult<Model> {
    let roles: RoleSpec = parse("roles", roles)?;
    let params: Params = parse("params", params)?;
    let table = table.borrow_mut().take()?;
    let executor = executor.as_ref().map(PyExecutor::new);
    let inner = detach_with_events(py, listener.as_ref(), |observer| {
        let options = FitOptions {
            params,
            seed: Seed(seed),
            valid_share,
            intervals,
            observer,
            tools: &TOOLBOX,
            ..FitOptions::new(estimator)
        };
        let executor = executor.as_ref().map(|executor| executor as &dyn Executor);
        with_threads(n_jobs, || paretau::fit_on(table, &roles, &options, executor))
    });
    Ok(Model { inner: PyExecutor::or_raised(executor, inner)? })
}

/// Fits an estimator to a file, a folder or a glob in blocks of rows. `roles`, `params` and `reading` are JSON objects.
#[pyfunction]
#[pyo3(signature = (path, *, roles, estimator, params, reading, seed, valid_share, n_jobs, listener, block_rows, scratch))]
#[allow(clippy::too_many_arguments)] // a private function, called in one place with keywords
pub(crate) fn fit_in_blocks(
    py: Python<'_>,
    path: PathBuf,
    roles: &str,
    estimator: &str,
    params: &str,
    reading: &str,
    seed: u64,
    valid_share: f64,
    n_jobs: Option<usize>,
    listener: Option<Bound<'_, PyAny>>,
    block_rows: usize,
    scratch: PathBuf,
) -> PyResult<Model> {
    let roles: RoleSpec = parse("roles", roles)?;
    let params: Params = parse("params", params)?;
    let read = parse::<ReadingKeywords>("reading", reading)?.options()?;
    let inner = detach_with_events(py, listener.as_ref(), |observer| {
        let options = FitOptions {
            params,
            seed: Seed(seed),
            valid_share,
            observer,
            tools: &TOOLBOX,
            ..FitOptions::new(estimator)
        };
        let blocks = BlockOptions { rows: block_rows, scratch };
        let mut watch = |_| if observer.interrupted() { Err(paretau::Error::Interrupted) } else { Ok(()) };
        with_threads(n_jobs, || paretau::fit_in_blocks(&path, &read, &roles, &options, &blocks, &mut watch))
    });
    Ok(Model { inner: inner? })
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

    /// A model from the bytes of its file, or, where they came with a pickle, with base learners of Python's.
    #[staticmethod]
    #[pyo3(signature = (bytes, *, pickled = false))]
    fn from_bytes(py: Python<'_>, bytes: &[u8], pickled: bool) -> PyResult<Self> {
        let tools: &Toolbox = if pickled { &TOOLBOX } else { &paretau::TOOLBOX };
        Ok(Self { inner: detach(py, of_model_file, || paretau::Model::from_bytes_with(bytes, tools))? })
    }

    /// Writes the model's file, whole or not at all.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        detach(py, to_py, || self.inner.save(&path))
    }

    /// The bytes of the model's file; for a pickle, they may hold base learners of Python's.
    #[pyo3(signature = (*, pickled = false))]
    fn to_bytes<'py>(&self, py: Python<'py>, pickled: bool) -> PyResult<Bound<'py, PyBytes>> {
        let bytes =
            detach(py, to_py, || if pickled { pickling(|| self.inner.to_bytes()) } else { self.inner.to_bytes() })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Facts about the fit, as JSON.
    fn about(&self) -> PyResult<String> {
        let mut about = self.inner.about().clone();
        about.warnings.iter_mut().for_each(|warning| warning.message = in_python(&warning.message));
        about.notes.iter_mut().for_each(|note| *note = in_python(note));
        Ok(about.document().map_err(to_py)?.to_string())
    }

    /// What the fit found about its training rows, as JSON; `null` for files of early versions.
    fn findings(&self) -> PyResult<String> {
        serde_json::to_string(&self.inner.findings()).map_err(|e| usage(e.to_string()))
    }

    /// The fit in a few lines.
    fn summary(&self) -> String {
        in_python(&self.inner.summary())
    }

    /// An average effect of an arm (1 is the first behind the control): value, standard error and ends of the interval.
    #[pyo3(signature = (population, *, arm, level))]
    fn average(&self, population: &str, arm: usize, level: f64) -> PyResult<(f64, f64, f64, f64)> {
        let population = Population::find(population).map_err(to_py)?;
        let found = self.inner.average(population, arm).map_err(to_py)?;
        let (lo, hi) = found.interval(level);
        Ok((found.value, found.se, lo, hi))
    }

    /// Why an average effect of an arm rests on extrapolation; `None` when it does not.
    #[pyo3(signature = (population, *, arm))]
    fn extrapolates(&self, population: &str, arm: usize) -> PyResult<Option<String>> {
        let population = Population::find(population).map_err(to_py)?;
        Ok(self.inner.extrapolates(population, arm).map_err(to_py)?.map(str::to_owned))
    }

    /// Effects of the training rows by parts that did not see them, one array per arm; `None` when there are none.
    fn held_out_effects<'py>(&self, py: Python<'py>) -> Option<Vec<Out<'py>>> {
        Some(self.inner.held_out_effects()?.iter().map(|tau| to_array(py, tau.clone())).collect())
    }

    /// The input column that each encoded column comes from.
    fn encoded_owners<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        for (column, owner) in self.inner.encoder().owners() {
            out.set_item(column, owner)?;
        }
        Ok(out)
    }

    /// The overlap of an arm (1 is the first behind the control) and the control in a few lines, warnings last.
    #[pyo3(signature = (*, arm))]
    fn overlap_lines(&self, arm: usize) -> PyResult<Vec<String>> {
        let overlap = self.inner.about().overlap_of(arm).ok_or_else(|| usage(format!("there is no arm {arm}")))?;
        let warnings = overlap.warnings.iter().map(|w| format!("warning: {}", in_python(&w.message)));
        Ok(overlap.in_words().into_iter().chain(warnings).collect())
    }

    /// Effects of the groups that columns make of the training rows, as JSON.
    #[pyo3(signature = (table, *, arm))]
    fn group_effects(&self, py: Python<'_>, table: &Bound<'_, Table>, arm: usize) -> PyResult<String> {
        let table = table.borrow_mut().take()?;
        let found = detach(py, to_py, || self.inner.group_effects_of(&table, arm))?;
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

    /// The rows as the model reads them: a dense matrix, row after row.
    fn encoded<'py>(&self, py: Python<'py>, table: &Bound<'py, Table>) -> PyResult<Out<'py>> {
        let table = table.borrow_mut().take()?;
        let values = detach(py, to_py, || {
            let (x, _) = self.inner.encoder().transform(&table)?;
            let d = x.n_cols();
            let mut values = vec![0.0; x.n_rows() * d];
            values.chunks_mut(d.max(1)).enumerate().for_each(|(i, row)| x.copy_row(i, row));
            Ok(values)
        })?;
        Ok(to_array(py, values))
    }

    /// Effects of the rows of an Arrow IPC stream, as another: the columns of `paretau effect`.
    #[pyo3(signature = (stream, *, id, level, kind, n_jobs))]
    fn score_stream<'py>(
        &self,
        py: Python<'py>,
        stream: &[u8],
        id: Option<&str>,
        level: Option<f64>,
        kind: &str,
        n_jobs: Option<usize>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let kind = IntervalKind::find(kind).map_err(to_py)?;
        let interval = level.map(|level| (level, kind));
        let scored =
            detach(py, to_py, || with_threads(n_jobs, || paretau::score_stream(&self.inner, stream, id, interval)))?;
        Ok(PyBytes::new(py, &scored))
    }

    /// Effects of every row for each arm, in the arms' order behind the control: `tau`, and `se` if standard errors were
    /// measured.
    #[pyo3(signature = (table, *, n_jobs = None))]
    fn contrasts<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'py, Table>,
        n_jobs: Option<usize>,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let table = table.borrow_mut().take()?;
        let arms = detach(py, to_py, || with_threads(n_jobs, || self.inner.contrasts(&table)))?;
        let of_arm = |effects: paretau::Effects| {
            let out = PyDict::new(py);
            out.set_item("tau", to_array(py, effects.tau))?;
            if let Some(se) = effects.se {
                out.set_item("se", to_array(py, se))?;
            }
            Ok(out)
        };
        arms.into_iter().map(of_arm).collect()
    }

    /// Effects of every row as arrays: `tau`, `se` if standard errors were measured, `lo hi` if a level is given: ends of
    /// intervals of the conditional or the individual effect. `arm` counts from 1 behind the control.
    #[pyo3(signature = (table, *, level = None, kind = "conditional", arm = 1, n_jobs = None))]
    fn effect<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'py, Table>,
        level: Option<f64>,
        kind: &str,
        arm: usize,
        n_jobs: Option<usize>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let kind = IntervalKind::find(kind).map_err(to_py)?;
        if !(1..self.inner.about().arms.len()).contains(&arm) {
            return Err(usage(format!("there is no arm {arm}")));
        }
        if kind == IntervalKind::Individual && level.is_some() && self.inner.about().arms.len() > 2 {
            return Err(usage("intervals of the individual effect are offered for two arms, not for several"));
        }
        let table = table.borrow_mut().take()?;
        let (effects, interval) = detach(py, to_py, || {
            with_threads(n_jobs, || {
                let effects = match arm {
                    1 => self.inner.contrast(&table)?.0,
                    _ => self.inner.contrasts(&table)?.swap_remove(arm - 1),
                };
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

    /// Predictions of every row as arrays: `mu0 mu1 tau`; with `propensity` also `arms`, where each arm against the control has
    /// `mu tau`, perhaps `se`, `e`, and `w_raw w` if the table has the treatment column; and `notes`, a list of sentences.
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
        let notes: Vec<String> = report.notes().iter().map(|note| in_python(note)).collect();
        out.set_item("notes", notes)?;
        if let Some((e, weights)) = overlap {
            let by_arm = PyDict::new(py);
            let (mut e, mut weights) = (e.into_iter(), weights.into_iter().flatten());
            for (arm, effects) in self.inner.about().arms[1..].iter().zip(&arms) {
                let own = PyDict::new(py);
                own.set_item("mu", to_array(py, effects.mu1.clone()))?;
                own.set_item("tau", to_array(py, effects.tau.clone()))?;
                if let Some(se) = &effects.se {
                    own.set_item("se", to_array(py, se.clone()))?;
                }
                if let Some(e) = e.next() {
                    own.set_item("e", to_array(py, e))?;
                }
                if let Some(RowWeights { raw, smooth }) = weights.next() {
                    own.set_item("w_raw", to_array(py, raw))?;
                    own.set_item("w", to_array(py, smooth))?;
                }
                by_arm.set_item(&arm.name, own)?;
            }
            out.set_item("arms", by_arm)?;
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
        if let Some(limit) = found.at_least.get(named.name) {
            out.insert(format!("{}_lower", named.name), Value::from(*limit));
        }
    }
    if let Some(p) = found.heterogeneity.p {
        out.insert("heterogeneity_p".to_owned(), Value::from(p));
    }
    out.insert("in_sample".to_owned(), Value::from(found.basis == Basis::InSample));
    let notes: Vec<String> = found.notes.iter().map(|note| in_python(note)).collect();
    Ok(serde_json::json!({ "scores": out, "notes": notes }).to_string())
}

/// A JSON argument as its type.
pub(crate) fn parse<T: DeserializeOwned>(what: &str, text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|e| usage(format!("{what}: {e}")))
}
