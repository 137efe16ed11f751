//! Feature matrices: dense or sparse by rows, with a description of each column.
//!
//! A NaN in a dense matrix means "missing". Learners that cannot take it say so in their
//! [`Handles`](crate::Handles), and the encoder of the data layer then imputes before they see it.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// A dense row-major matrix. Its clones share the values, which never change.
#[derive(Debug, Clone, PartialEq)]
pub struct Dense {
    n_rows: usize,
    n_cols: usize,
    values: Arc<Values>,
}

/// Where the values of a matrix lie.
enum Values {
    Own(Vec<f64>),
    /// In the memory of someone else, who is kept for as long as they are needed.
    Lent {
        values: &'static [f64],
        _lender: Box<dyn Any + Send + Sync>,
    },
}

impl Values {
    fn all(&self) -> &[f64] {
        match self {
            Self::Own(values) => values,
            Self::Lent { values, .. } => values,
        }
    }
}

impl PartialEq for Values {
    fn eq(&self, other: &Self) -> bool {
        self.all() == other.all()
    }
}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.all().fmt(f)
    }
}

impl Dense {
    /// A matrix from row-major values; `values.len()` must be `n_rows * n_cols`.
    pub fn new(n_rows: usize, n_cols: usize, values: Vec<f64>) -> Result<Self> {
        Self::with_values(n_rows, n_cols, Values::Own(values))
    }

    /// The same of values that someone else holds, and whom dropping the last clone of the matrix lets go.
    pub fn lent(
        n_rows: usize,
        n_cols: usize,
        values: &'static [f64],
        lender: Box<dyn Any + Send + Sync>,
    ) -> Result<Self> {
        Self::with_values(n_rows, n_cols, Values::Lent { values, _lender: lender })
    }

    fn with_values(n_rows: usize, n_cols: usize, values: Values) -> Result<Self> {
        let found = values.all().len();
        if found != n_rows * n_cols {
            return Err(Error::LengthMismatch { what: "the feature matrix", expected: n_rows * n_cols, found });
        }
        Ok(Self { n_rows, n_cols, values: Arc::new(values) })
    }

    /// Whether both are the same values in memory, and not merely equal ones.
    pub fn is_shared_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.values, &other.values) && self.n_cols == other.n_cols
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of columns.
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// All values, row after row.
    pub fn values(&self) -> &[f64] {
        self.values.all()
    }

    /// Row `i`.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.values()[i * self.n_cols..(i + 1) * self.n_cols]
    }

    /// The given rows, in the given order (repeats allowed).
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        let mut values = Vec::with_capacity(rows.len() * self.n_cols);
        rows.iter().for_each(|&i| values.extend_from_slice(self.row(i)));
        Self { n_rows: rows.len(), n_cols: self.n_cols, values: Arc::new(Values::Own(values)) }
    }

    /// The value at row `i`, column `j`.
    pub fn get(&self, i: usize, j: usize) -> f64 {
        self.values()[i * self.n_cols + j]
    }
}

/// A sparse matrix in compressed rows; column indices ascend within a row, absent entries are 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Csr {
    n_rows: usize,
    n_cols: usize,
    indptr: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
}

impl Csr {
    /// A sparse matrix from its three arrays, checked for consistency.
    pub fn new(n_rows: usize, n_cols: usize, indptr: Vec<usize>, indices: Vec<u32>, values: Vec<f64>) -> Result<Self> {
        let bad = |message: String| Err(Error::UnfitData { message: format!("sparse matrix: {message}") });
        if indptr.len() != n_rows + 1 || indptr.first() != Some(&0) || indptr.last() != Some(&indices.len()) {
            return bad(format!("row pointers must be {} ascending numbers from 0 to {}", n_rows + 1, indices.len()));
        }
        if indices.len() != values.len() {
            return bad(format!("{} column indices but {} values", indices.len(), values.len()));
        }
        for (row, ends) in indptr.windows(2).enumerate() {
            if ends[1] < ends[0] || ends[1] > indices.len() {
                return bad(format!("row pointers must ascend, row {} does not", row + 1));
            }
            let cols = &indices[ends[0]..ends[1]];
            if cols.windows(2).any(|pair| pair[0] >= pair[1]) {
                return bad(format!(
                    "column indices must ascend without repeats within a row, row {} does not",
                    row + 1
                ));
            }
            if cols.last().is_some_and(|&last| last as usize >= n_cols) {
                return bad(format!("row {} has a column index beyond the {n_cols} columns", row + 1));
            }
        }
        Ok(Self { n_rows, n_cols, indptr, indices, values })
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of columns.
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// Row pointers, `n_rows + 1` of them.
    pub fn indptr(&self) -> &[usize] {
        &self.indptr
    }

    /// Column index of every stored value.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// Stored values.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Column indices and values of row `i`.
    pub fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let range = self.indptr[i]..self.indptr[i + 1];
        (&self.indices[range.clone()], &self.values[range])
    }

    /// The given rows, in the given order (repeats allowed).
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        let mut out =
            Self { n_rows: rows.len(), n_cols: self.n_cols, indptr: vec![0], indices: vec![], values: vec![] };
        for &i in rows {
            let (indices, values) = self.row(i);
            out.indices.extend_from_slice(indices);
            out.values.extend_from_slice(values);
            out.indptr.push(out.indices.len());
        }
        out
    }
}

/// Features of all rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Features {
    /// Row-major dense values.
    Dense(Dense),
    /// Compressed sparse rows.
    Sparse(Csr),
}

impl Features {
    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        match self {
            Self::Dense(m) => m.n_rows,
            Self::Sparse(m) => m.n_rows,
        }
    }

    /// Number of columns.
    pub fn n_cols(&self) -> usize {
        match self {
            Self::Dense(m) => m.n_cols,
            Self::Sparse(m) => m.n_cols,
        }
    }

    /// The given rows, in the given order (repeats allowed).
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        match self {
            Self::Dense(m) => Self::Dense(m.select(rows)),
            Self::Sparse(m) => Self::Sparse(m.select(rows)),
        }
    }

    /// Writes row `i` into `out`, zeros included.
    pub fn copy_row(&self, i: usize, out: &mut [f64]) {
        match self {
            Self::Dense(m) => out.copy_from_slice(m.row(i)),
            Self::Sparse(m) => {
                out.fill(0.0);
                let (indices, values) = m.row(i);
                indices.iter().zip(values).for_each(|(&j, &v)| out[j as usize] = v);
            }
        }
    }

    /// Whether any entry is missing (NaN).
    pub fn has_missing(&self) -> bool {
        match self {
            Self::Dense(m) => m.values().iter().any(|v| v.is_nan()),
            Self::Sparse(m) => m.values.iter().any(|v| v.is_nan()),
        }
    }

    /// The first infinite entry, as (row, column, value).
    pub fn first_infinite(&self) -> Option<(usize, usize, f64)> {
        match self {
            Self::Dense(m) => {
                m.values().iter().position(|v| v.is_infinite()).map(|k| (k / m.n_cols, k % m.n_cols, m.values()[k]))
            }
            Self::Sparse(m) => m
                .values
                .iter()
                .position(|v| v.is_infinite())
                .map(|k| (m.indptr.partition_point(|&start| start <= k) - 1, m.indices[k] as usize, m.values[k])),
        }
    }
}

/// What a column of the feature matrix stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Its name, unique within the matrix.
    pub name: String,
    /// Its kind.
    pub kind: ColumnKind,
}

impl Column {
    /// Numeric columns `x1, x2, …`, for data that came without names.
    pub fn numbered(n: usize) -> Vec<Self> {
        (1..=n).map(|j| Self { name: format!("x{j}"), kind: ColumnKind::Numeric }).collect()
    }
}

/// Whether a column's numbers are amounts or codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnKind {
    /// Amounts: order and distance mean something.
    Numeric,
    /// Codes 0..levels: only equality means something.
    Categorical {
        /// Number of codes.
        levels: u32,
    },
}
