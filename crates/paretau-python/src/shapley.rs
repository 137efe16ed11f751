//! Shapley values of sums of trees.

use numpy::PyReadonlyArray1;
use paretau::shapley::TreeSum;
use pyo3::prelude::*;

use crate::arrays::{In, Out, slice, to_array};
use crate::detach::detach;
use crate::error::to_py;

/// Values per row and column, row after row. `turns` and `background` say for every row and node whether it goes right.
#[pyfunction]
#[pyo3(signature = (roots, left, right, column, value, turns, background, *, n_columns))]
#[allow(clippy::too_many_arguments, reason = "they are the arrays of the trees")]
pub(crate) fn tree_shapley<'py>(
    py: Python<'py>,
    roots: PyReadonlyArray1<'py, u32>,
    left: PyReadonlyArray1<'py, u32>,
    right: PyReadonlyArray1<'py, u32>,
    column: PyReadonlyArray1<'py, u32>,
    value: In<'py>,
    turns: PyReadonlyArray1<'py, u8>,
    background: PyReadonlyArray1<'py, u8>,
    n_columns: usize,
) -> PyResult<Out<'py>> {
    let trees = TreeSum {
        roots: slice(&roots)?,
        children: [slice(&left)?, slice(&right)?],
        column: slice(&column)?,
        value: slice(&value)?,
        n_columns,
    };
    let (turns, background) = (slice(&turns)?, slice(&background)?);
    let values = detach(py, to_py, || trees.shapley(turns, background))?;
    Ok(to_array(py, values))
}
