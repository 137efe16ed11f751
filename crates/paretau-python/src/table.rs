//! Tables on their way from Python: the Python layer takes frames apart, this puts columns together.

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use paretau::data::{DateOrder, Numbers, ReadOptions, SparseBlock, TableColumn, Text, to_ipc};
use paretau::{Csr, Dense};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrays::{In, lent, slice};
use crate::detach::{detach, detach_with_events};
use crate::error::{data, to_py, usage};
use crate::model::parse;

/// Columns collected for one fit or one prediction.
#[pyclass(module = "paretau._paretau")]
#[derive(Debug, Default)]
pub(crate) struct Table {
    columns: Vec<TableColumn>,
    sparse: Option<SparseBlock>,
    /// A table that was read from a file, with the reader's notes.
    file: Option<paretau::data::Table>,
}

#[pymethods]
impl Table {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// The table of a file, as the command line reads it; `reading` holds the keywords of reading as JSON.
    #[staticmethod]
    fn read(py: Python<'_>, path: std::path::PathBuf, reading: &str) -> PyResult<Self> {
        let options = parse::<ReadingKeywords>("reading", reading)?.options()?;
        let file = detach_with_events(py, None, |observer| {
            let mut watch = |_| if observer.interrupted() { Err(paretau::Error::Interrupted) } else { Ok(()) };
            paretau::data::read_watched(&path, &options, &mut watch)
        })?;
        Ok(Self { file: Some(file), ..Self::default() })
    }

    /// The rows as an Arrow IPC stream, for workers; the table keeps them.
    #[allow(clippy::wrong_self_convention, reason = "columns become a table once, which is then kept")]
    fn to_ipc<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let table = self.take()?;
        let bytes = detach(py, to_py, || to_ipc(&table))?;
        self.file = Some(table);
        Ok(PyBytes::new(py, &bytes))
    }

    /// Adds a column of numbers (NaN where missing), or of dates as days since 1970.
    #[pyo3(signature = (name, values, *, dates = false))]
    fn numbers(&mut self, name: String, values: In<'_>, dates: bool) -> PyResult<()> {
        let values = slice(&values)?.to_vec();
        self.columns.push(if dates { TableColumn::date(name, values) } else { TableColumn::number(name, values) });
        Ok(())
    }

    /// Adds the columns of a matrix of doubles.
    fn matrix(&mut self, names: Vec<String>, values: PyReadonlyArray2<'_, f64>) -> PyResult<()> {
        // Columns and design share the one matrix, which is Python's own where it can be read as it lies.
        let copied = || copied(&values, |v| v);
        self.add_matrix(names, &lent(&values).map_or_else(copied, Ok)?)
    }

    /// Adds the columns of a matrix of single-precision numbers.
    fn matrix_f32(&mut self, names: Vec<String>, values: PyReadonlyArray2<'_, f32>) -> PyResult<()> {
        self.add_matrix(names, &copied(&values, f64::from)?)
    }

    /// Adds a column of text: codes of `levels`, negative where missing.
    fn text(&mut self, name: String, levels: Vec<String>, codes: PyReadonlyArray1<'_, i64>) -> PyResult<()> {
        let codes = slice(&codes)?
            .iter()
            .map(|&code| match usize::try_from(code) {
                Err(_) => Ok(Text::MISSING),
                Ok(k) if k < levels.len() => u32::try_from(k).map_err(|_| data("too many levels")),
                Ok(_) => Err(usage(format!("column `{name}`: code {code} has no level"))),
            })
            .collect::<PyResult<_>>()?;
        self.columns.push(TableColumn::text(name, Text { levels, codes }));
        Ok(())
    }

    /// Adds a block of sparse columns: the three arrays of a CSR matrix with ascending indices in each row.
    fn csr(
        &mut self,
        names: Vec<String>,
        n_rows: usize,
        indptr: PyReadonlyArray1<'_, i64>,
        indices: PyReadonlyArray1<'_, i64>,
        values: In<'_>,
    ) -> PyResult<()> {
        let whole = |v: &i64| usize::try_from(*v).map_err(|_| data("sparse matrix: a row pointer is negative"));
        let place = |v: &i64| u32::try_from(*v).map_err(|_| data("sparse matrix: a column index is out of range"));
        let indptr = slice(&indptr)?.iter().map(whole).collect::<PyResult<_>>()?;
        let indices = slice(&indices)?.iter().map(place).collect::<PyResult<_>>()?;
        let values = Csr::new(n_rows, names.len(), indptr, indices, slice(&values)?.to_vec()).map_err(to_py)?;
        self.sparse = Some(SparseBlock { names, values });
        Ok(())
    }
}

impl Table {
    fn add_matrix(&mut self, names: Vec<String>, matrix: &Dense) -> PyResult<()> {
        if names.len() != matrix.n_cols() {
            return Err(usage(format!("{} names for {} columns", names.len(), matrix.n_cols())));
        }
        let column = |(j, name)| TableColumn::of_numbers(name, Numbers::of_matrix(matrix.clone(), j));
        self.columns.extend(names.into_iter().enumerate().map(column));
        Ok(())
    }

    /// The finished table; the columns are moved out.
    pub(crate) fn take(&mut self) -> PyResult<paretau::data::Table> {
        if let Some(table) = self.file.take() {
            return Ok(table);
        }
        let table = paretau::data::Table::new(std::mem::take(&mut self.columns)).map_err(to_py)?;
        match self.sparse.take() {
            Some(block) => table.with_sparse(block).map_err(to_py),
            None => Ok(table),
        }
    }
}

/// A copy of a matrix, row after row.
fn copied<T: numpy::Element + Copy>(values: &PyReadonlyArray2<'_, T>, number: impl Fn(T) -> f64) -> PyResult<Dense> {
    let values = values.as_array();
    let cells = match values.as_slice() {
        Some(cells) => cells.iter().map(|v| number(*v)).collect(),
        None => values.iter().map(|v| number(*v)).collect(),
    };
    Dense::new(values.nrows(), values.ncols(), cells).map_err(to_py)
}

/// How a file is read, as keywords say it.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(crate) struct ReadingKeywords {
    decimal: Option<char>,
    thousands: Option<char>,
    na: Vec<String>,
    numeric: Vec<String>,
    categorical: Vec<String>,
    date_order: Option<String>,
    sheet: Option<String>,
    id: Option<String>,
}

impl ReadingKeywords {
    /// The reader's options.
    pub(crate) fn options(self) -> PyResult<ReadOptions> {
        let Self { decimal, thousands, na, numeric, categorical, date_order, sheet, id } = self;
        let bad = |name: &str, value: &str, expected: &str| usage(format!("{name} is `{value}`; expected {expected}"));
        let order = date_order.as_deref().map(str::parse::<DateOrder>).transpose();
        let date_order =
            order.map_err(|_| bad("date_order", date_order.as_deref().unwrap_or_default(), "dmy, mdy or ymd"))?;
        let options = ReadOptions { date_order, na, numeric, categorical, sheet, ..ReadOptions::default() };
        let options = options
            .with_marks(decimal, thousands)
            .map_err(|mark| bad(mark.option, &mark.mark.to_string(), &mark.expected))?;
        Ok(match id {
            Some(id) => options.with_id(id),
            None => options,
        })
    }
}
