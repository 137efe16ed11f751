//! Simulated data sets whose truth is known.

use numpy::PyArray1;
use paretau::data::simulator;
use paretau::{Features, Params, Seed};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::to_array;
use crate::detach::detach;
use crate::error::{to_py, usage};

/// Draws a data set: a dictionary of arrays `t y mu0 mu1 e`, `x` (row after row) or `x_indptr x_indices x_values`,
/// and `names`.
#[pyfunction]
pub(crate) fn simulate<'py>(py: Python<'py>, name: &str, params: &str, seed: u64) -> PyResult<Bound<'py, PyDict>> {
    let params: Params = serde_json::from_str(params).map_err(|e| usage(e.to_string()))?;
    let made = detach(py, to_py, || (simulator(name)?.run)(&params, Seed(seed)))?;
    let out = PyDict::new(py);
    out.set_item("names", made.columns.iter().map(|c| c.name.as_str()).collect::<Vec<_>>())?;
    out.set_item("t", PyArray1::from_iter(py, made.t.iter().map(|&t| i64::from(t))))?;
    out.set_item("y", to_array(py, made.y))?;
    out.set_item("mu0", to_array(py, made.mu0))?;
    out.set_item("mu1", to_array(py, made.mu1))?;
    out.set_item("e", to_array(py, made.e))?;
    match made.x {
        Features::Dense(x) => out.set_item("x", PyArray1::from_slice(py, x.values()))?,
        Features::Sparse(x) => {
            out.set_item("x_indptr", PyArray1::from_iter(py, x.indptr().iter().map(|&p| p as i64)))?;
            out.set_item("x_indices", PyArray1::from_iter(py, x.indices().iter().map(|&j| i64::from(j))))?;
            out.set_item("x_values", PyArray1::from_slice(py, x.values()))?;
        }
    }
    Ok(out)
}
