//! Tasks across the border: an executor is a Python callable that is given tasks as JSON and yields their records as it gets
//! them; a worker is a Python process that does one.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use paretau::data::from_ipc;
use paretau::task::{Executor, OnDone, Outcome, Task, TaskData as Rows};
use paretau::{Error, Observer, with_threads};
use paretau_study::tasks::{InProcess, Kept, perform};
use pyo3::prelude::*;
use pyo3::types::PyIterator;

use crate::detach::{detach, detach_with_events};
use crate::error::{to_py, usage};
use crate::model::parse;

/// The rows that a worker holds.
#[pyclass(frozen, module = "paretau._paretau")]
pub(crate) struct TaskData {
    inner: Rows,
}

#[pymethods]
impl TaskData {
    /// Rows that came as an Arrow IPC stream.
    #[staticmethod]
    fn from_ipc(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        Ok(Self { inner: detach(py, to_py, || from_ipc(bytes).map(Rows::new))? })
    }

    /// Rows of a file of the worker's own machine.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Ok(Self { inner: detach(py, to_py, || Rows::read(&path))? })
    }
}

/// Does a task, given as JSON, and returns its record as JSON.
#[pyfunction]
#[pyo3(signature = (task, data, *, n_jobs))]
pub(crate) fn perform_task(
    py: Python<'_>,
    task: &str,
    data: Option<&TaskData>,
    n_jobs: Option<usize>,
) -> PyResult<String> {
    let task: Task = parse("task", task)?;
    let rows = data.map(|data| &data.inner);
    let record = detach_with_events(py, None, |observer| with_threads(n_jobs, || perform(&task, rows, observer)))?;
    Ok(record.to_string())
}

/// A task's place, its record or none, and why there is none.
type Triple = (usize, Option<String>, String);

/// An executor that is a Python callable: `callable(list of JSON) -> iterator of (place, record or None, message)`, where
/// `None` in place of a triple means that nothing has happened yet.
pub(crate) struct PyExecutor {
    callable: Py<PyAny>,
    /// An exception of the executor, to be raised when the study has stopped.
    raised: Mutex<Option<PyErr>>,
}

impl PyExecutor {
    pub(crate) fn new(callable: &Bound<'_, PyAny>) -> Self {
        Self { callable: callable.clone().unbind(), raised: Mutex::new(None) }
    }

    /// The result of a study, or the exception that the executor stopped it with.
    pub(crate) fn or_raised<T>(executor: Option<Self>, done: PyResult<T>) -> PyResult<T> {
        let raised = executor.and_then(|e| e.raised.into_inner().unwrap_or_else(PoisonError::into_inner));
        raised.map_or(done, Err)
    }

    #[allow(clippy::option_option, reason = "the end, nothing yet, and a task are three things")]
    fn next(iterator: &Bound<'_, PyIterator>) -> PyResult<Option<Option<Triple>>> {
        let mut iterator = iterator.clone();
        iterator.next().transpose()?.map(|item| item.extract()).transpose()
    }

    fn stop(&self, error: PyErr) -> Error {
        *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        Error::Interrupted
    }
}

impl Executor for PyExecutor {
    fn perform(&self, tasks: &[Task], observer: &dyn Observer, done: OnDone<'_>) -> paretau::Result<()> {
        let texts = tasks.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>();
        let texts = texts.map_err(|e| Error::internal("a task", e))?;
        let start = |py: Python<'_>| -> PyResult<Py<PyIterator>> {
            Ok(self.callable.bind(py).call1((texts,))?.try_iter()?.unbind())
        };
        let iterator = Python::attach(start).map_err(|e| self.stop(e))?;
        let close = || {
            Python::attach(|py| {
                // A generator cancels what it has under way.
                if let Err(error) = iterator.bind(py).call_method0("close") {
                    error.write_unraisable(py, None);
                }
            });
        };
        let mut left = tasks.len();
        loop {
            if observer.interrupted() {
                close();
                return Err(Error::Interrupted);
            }
            let next = Python::attach(|py| Self::next(iterator.bind(py))).map_err(|e| self.stop(e))?;
            let (place, outcome) = match next {
                None if left == 0 => return Ok(()),
                None => return Err(self.stop(usage(format!("the executor left out {left} tasks")))),
                Some(None) => continue,
                Some(Some((place, _, _))) if place >= tasks.len() => {
                    return Err(self.stop(usage("the executor named a task that there is not")));
                }
                Some(Some((place, Some(record), _))) => {
                    let record = serde_json::from_str(&record);
                    (place, Outcome::Done(record.map_err(|e| Error::unfit(format!("a worker's record: {e}")))?))
                }
                Some(Some((place, None, message))) => (place, Outcome::Lost(message)),
            };
            left = left.saturating_sub(1);
            if let Err(error) = done(place, outcome) {
                close();
                return Err(error);
            }
        }
    }
}

/// Does `work` with the executor, perhaps with the records of its tasks kept in a file.
pub(crate) fn with_records<T>(
    executor: Option<&dyn Executor>,
    table: &paretau::data::Table,
    (records, resume): (Option<&std::path::Path>, bool),
    work: impl FnOnce(Option<&dyn Executor>) -> paretau::Result<T>,
) -> paretau::Result<T> {
    let Some(path) = records else { return work(executor) };
    let rows = executor.is_none().then(|| Rows::new(table.clone()));
    let own = InProcess { data: rows.as_ref() };
    let kept = Kept::open(path, resume, executor.unwrap_or(&own))?;
    work(Some(&kept))
}
