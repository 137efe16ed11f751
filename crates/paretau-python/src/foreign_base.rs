//! Base learners from Python: any regressor or classifier of scikit-learn's kind, called back from the one loop that
//! cross-fits.
//!
//! Parameters of estimators are JSON, so a learner is left here under a number, and the base learner `python` with that
//! number as its parameter finds it again. What is called is an adapter (`paretau._bases`): `fit(x, y, weight, probability,
//! seed)` gives another one with `predict(x)`, and `x` is a flat array with its shape, or the parts of a sparse matrix.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{LazyLock, Mutex, PoisonError};

use numpy::{PyArray1, PyArrayMethods as _};
use paretau::registry::BASES;
use paretau::{Error, Features, FitContext, Handles, ParamKind, ParamSpec, Params, Result, State, Tensor, Toolbox};
use paretau_core::{BaseEntry, FittedRegressor, RegressionTask, Regressor, Target, resolve};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde::{Deserialize, Serialize};

/// Name of the base learner that calls Python.
const NAME: &str = "python";

/// The base learners of the registry and those of Python. Model files are never read with it: a pickled learner is code.
pub(crate) static TOOLBOX: LazyLock<Toolbox> = LazyLock::new(|| {
    let mut bases: Vec<&'static dyn BaseEntry> = BASES.to_vec();
    bases.push(&PythonBase);
    Toolbox { bases: Vec::leak(bases) }
});

/// Learners that a fit is using.
static LEARNERS: Mutex<(i64, BTreeMap<i64, Py<PyAny>>)> = Mutex::new((0, BTreeMap::new()));

thread_local! {
    /// Whether the state that is being made goes into a pickle, which may hold code.
    static PICKLING: Cell<bool> = const { Cell::new(false) };
}

/// Keeps a learner's adapter for a fit; the answer is its number.
#[pyfunction]
pub(crate) fn lend_base(adapter: Py<PyAny>) -> i64 {
    let mut learners = LEARNERS.lock().unwrap_or_else(PoisonError::into_inner);
    learners.0 += 1;
    let handle = learners.0;
    learners.1.insert(handle, adapter);
    handle
}

/// Forgets a learner.
#[pyfunction]
pub(crate) fn return_base(handle: i64) {
    let gone = LEARNERS.lock().unwrap_or_else(PoisonError::into_inner).1.remove(&handle);
    drop(gone); // outside the lock: it may run Python
}

/// Runs `work`, during which states may hold pickled learners.
pub(crate) fn pickling<T>(work: impl FnOnce() -> T) -> T {
    PICKLING.set(true);
    let done = work();
    PICKLING.set(false);
    done
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct PythonConfig {
    handle: i64,
    learner: String,
}

const PARAMS: &[ParamSpec] = &[
    ParamSpec::new("handle", ParamKind::Int { min: 0, max: i64::MAX }, "number of the learner"),
    ParamSpec::new("learner", ParamKind::Text, "what it is, in words"),
];

/// The entry.
struct PythonBase;

impl BaseEntry for PythonBase {
    fn name(&self) -> &'static str {
        NAME
    }

    fn summary(&self) -> &'static str {
        "A regressor or classifier of scikit-learn's kind"
    }

    fn handles(&self) -> Handles {
        Handles { missing: true, sparse: true, categories: false, many_arms: false }
    }

    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }

    fn build(&self, params: &Params) -> Result<Box<dyn Regressor>> {
        let defaults = PythonConfig { handle: 0, learner: String::new() };
        let config: PythonConfig = resolve(NAME, PARAMS, &defaults, params)?;
        // First the interpreter, then the lock: `lend_base` comes with the interpreter in hand.
        let adapter = Python::attach(|py| {
            let learners = LEARNERS.lock().unwrap_or_else(PoisonError::into_inner);
            learners.1.get(&config.handle).map(|adapter| adapter.clone_ref(py))
        });
        let Some(adapter) = adapter else {
            return Err(Error::Unsupported {
                estimator: NAME.to_owned(),
                message: "is not a name to write: pass the regressor itself as `base=`".to_owned(),
            });
        };
        Ok(Box::new(PythonRegressor { adapter, learner: config.learner }))
    }

    fn load(&self, state: &State) -> Result<Box<dyn FittedRegressor>> {
        let learner: String = state.parse()?;
        let Some(Tensor::U8(_, bytes)) = state.tensors.get("pickle") else {
            return Err(Error::bad_model("its Python base learner is missing"));
        };
        let adapter = Python::attach(|py| -> PyResult<Py<PyAny>> {
            let loads = py.import("paretau._bases")?.getattr("loads")?;
            Ok(loads.call1((PyBytes::new(py, bytes),))?.unbind())
        });
        let adapter = adapter.map_err(|error| failed(&learner, "come back from its pickle", &error))?;
        Ok(Box::new(FittedPython { adapter, learner }))
    }
}

struct PythonRegressor {
    adapter: Py<PyAny>,
    learner: String,
}

impl fmt::Debug for PythonRegressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PythonRegressor").field(&self.learner).finish()
    }
}

impl Regressor for PythonRegressor {
    fn fit(&self, task: &RegressionTask<'_>, ctx: &FitContext<'_>) -> Result<Box<dyn FittedRegressor>> {
        ctx.check_interrupt()?;
        let fitted = Python::attach(|py| -> PyResult<Py<PyAny>> {
            let y = PyArray1::from_slice(py, task.y);
            let weight = task.weight.map(|w| PyArray1::from_slice(py, w));
            // What scikit-learn takes for a seed.
            let seed = ctx.seed.named("python base").rng().below(1 << 31);
            let probability = task.target == Target::Probability;
            self.adapter.call_method1(py, "fit", (matrix(py, task.x)?, y, weight, probability, seed))
        });
        let adapter = fitted.map_err(|error| failed(&self.learner, "fit", &error))?;
        Ok(Box::new(FittedPython { adapter, learner: self.learner.clone() }))
    }
}

struct FittedPython {
    adapter: Py<PyAny>,
    learner: String,
}

impl fmt::Debug for FittedPython {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FittedPython").field(&self.learner).finish()
    }
}

impl FittedRegressor for FittedPython {
    fn predict(&self, x: &Features) -> Result<Vec<f64>> {
        if x.n_rows() == 0 {
            return Ok(vec![]);
        }
        let found = Python::attach(|py| -> PyResult<Vec<f64>> {
            let found = self.adapter.call_method1(py, "predict", (matrix(py, x)?,))?;
            Ok(found.bind(py).cast::<PyArray1<f64>>()?.readonly().as_slice()?.to_vec())
        });
        found.map_err(|error| failed(&self.learner, "predict", &error))
    }

    fn state(&self) -> Result<State> {
        if !PICKLING.get() {
            return Err(Error::Unsupported {
                estimator: self.learner.clone(),
                message:
                    "is a Python object, which a model file cannot hold; pickle the estimator instead of saving it"
                        .to_owned(),
            });
        }
        let bytes = Python::attach(|py| -> PyResult<Vec<u8>> { self.adapter.call_method0(py, "dumps")?.extract(py) });
        let bytes = bytes.map_err(|error| failed(&self.learner, "be pickled", &error))?;
        let mut state = State::new(&self.learner)?;
        state.tensors.insert("pickle".to_owned(), Tensor::U8(vec![bytes.len()], bytes));
        Ok(state)
    }
}

/// Features as the adapter takes them.
fn matrix<'py>(py: Python<'py>, x: &Features) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("shape", (x.n_rows(), x.n_cols()))?;
    match x {
        Features::Dense(dense) => out.set_item("values", PyArray1::from_slice(py, dense.values()))?,
        Features::Sparse(csr) => {
            out.set_item("values", PyArray1::from_slice(py, csr.values()))?;
            out.set_item("indices", PyArray1::from_slice(py, csr.indices()))?;
            out.set_item("indptr", PyArray1::from_vec(py, csr.indptr().iter().map(|&v| v as u64).collect()))?;
        }
    }
    Ok(out)
}

fn failed(learner: &str, what: &str, error: &PyErr) -> Error {
    Error::unfit(format!("the base learner {learner} could not {what}: {error}"))
}
