//! Arrays across the border: borrowed views in, owned vectors out, neither copied.

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use paretau::Dense;
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

/// A matrix where Python has it, as far as its rows lie one behind the other; it is kept as long as the matrix is.
///
/// Nobody may write to it meanwhile. Python cannot forbid that to other threads: as with any package that computes on an array
/// while the interpreter runs on, whoever changes `X` during a fit gets a fit of something in between.
#[allow(
    unsafe_code,
    reason = "the only way to read an array of Python's without a copy after the call that brought it"
)]
pub(crate) fn lent(array: &PyReadonlyArray2<'_, f64>) -> Option<Dense> {
    // Columns one behind the other are contiguous, too.
    let cells = array.as_slice().ok().filter(|cells| array.is_c_contiguous() && cells.as_ptr().is_aligned())?;
    // SAFETY: the cells belong to the array, which the lender keeps alive and which NumPy does not let grow or move while there is
    // a reference to it; `Dense` gives them out for no longer than it lives itself.
    let values: &'static [f64] = unsafe { std::slice::from_raw_parts(cells.as_ptr(), cells.len()) };
    let lender: Py<PyAny> = (**array).clone().into_any().unbind();
    Dense::lent(array.shape()[0], array.shape()[1], values, Box::new(lender)).ok()
}

/// Hands a vector to Python without a copy.
pub(crate) fn to_array(py: Python<'_>, values: Vec<f64>) -> Out<'_> {
    PyArray1::from_vec(py, values)
}
