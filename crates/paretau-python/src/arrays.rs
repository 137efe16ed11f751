//! Arrays across the border: borrowed views in, owned vectors out, neither copied.

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::error;

/// A 1-D array of doubles that Python lends us.
pub(crate) type In<'py> = PyReadonlyArray1<'py, f64>;

/// A 1-D array of doubles on its way to Python.
pub(crate) type Out<'py> = Bound<'py, PyArray1<f64>>;

/// The array's memory; the Python layer makes arrays contiguous before they come here.
pub(crate) fn slice<'a, T: numpy::Element>(array: &'a PyReadonlyArray1<'_, T>) -> PyResult<&'a [T]> {
    array.as_slice().map_err(|_| error::usage("the array must be contiguous"))
}

/// Hands a vector to Python without a copy.
pub(crate) fn to_array(py: Python<'_>, values: Vec<f64>) -> Out<'_> {
    PyArray1::from_vec(py, values)
}
