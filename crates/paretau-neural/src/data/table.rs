//! Features as nets read them: dense and standardised, or sparse with the centring folded into the first layer's product.

use paretau_core::{Csr, Features, Result};
use paretau_kernels::error::KernelError;
use paretau_kernels::product::MatRef;
use paretau_kernels::real::Real;
use paretau_kernels::sparse::{CsrView, Standardise};

use super::scaler::Scaler;
use crate::engine::Input;

/// Sparse rows fuller than this are read as dense ones: the dense product is the faster one then.
const FULL: f64 = 0.25;

/// Features of all rows.
#[derive(Debug, Clone)]
pub enum Table<T> {
    /// Standardised values, row after row.
    Dense {
        /// Columns.
        d: usize,
        /// Values.
        values: Vec<T>,
    },
    /// Scaled values in compressed rows, not yet centred.
    Sparse(SparseTable<T>),
}

/// Scaled, not yet centred values in compressed rows.
#[derive(Debug, Clone)]
pub struct SparseTable<T> {
    indptr: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<T>,
    columns: Centres<T>,
}

/// What is still to be subtracted from every column, in its own unit.
#[derive(Debug, Clone, Default)]
pub struct Centres<T> {
    mean: Vec<T>,
    /// 1, or 0 for columns that do not vary.
    on: Vec<T>,
}

impl<T: Real> Centres<T> {
    /// From centre and scale of every column.
    pub fn new(scaler: &Scaler) -> Self {
        let mean = scaler.mean.iter().zip(&scaler.scale).map(|(m, s)| T::from_f64(m * s)).collect();
        let on = scaler.scale.iter().map(|s| if *s > 0.0 { T::ONE } else { T::ZERO }).collect();
        Self { mean, on }
    }
}

/// The features of some rows, gathered for a batch. Its memory is kept from batch to batch.
#[derive(Debug, Clone, Default)]
pub struct Rows<T> {
    dense: Vec<T>,
    indptr: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<T>,
    n: usize,
}

/// Whether sparse features are read as such.
pub(super) fn stays_sparse(x: &Features) -> bool {
    match x {
        Features::Dense(_) => false,
        Features::Sparse(m) => (m.values().len() as f64) < FULL * m.n_rows() as f64 * m.n_cols() as f64,
    }
}

impl<T: Real> Table<T> {
    /// The features as `scaler` sees them.
    pub fn new(x: &Features, scaler: &Scaler) -> Result<Self> {
        Scaler::check(x)?;
        let d = x.n_cols();
        match x {
            Features::Sparse(m) if stays_sparse(x) => {
                let mut rows = Rows::default();
                rows.take_sparse(m, scaler, 0..m.n_rows());
                let Rows { indptr, indices, values, .. } = rows;
                Ok(Self::Sparse(SparseTable { indptr, indices, values, columns: Centres::new(scaler) }))
            }
            _ => {
                let mut rows = Rows { dense: Vec::with_capacity(x.n_rows() * d), ..Rows::default() };
                rows.take_dense(x, scaler, 0..x.n_rows());
                Ok(Self::Dense { d, values: rows.dense })
            }
        }
    }

    /// Number of columns.
    pub fn n_cols(&self) -> usize {
        match self {
            Self::Dense { d, .. } => *d,
            Self::Sparse(s) => s.columns.mean.len(),
        }
    }

    /// Gathers rows for a batch.
    pub fn gather(&self, rows: &[usize], out: &mut Rows<T>) {
        out.n = rows.len();
        match self {
            Self::Dense { d, values } => {
                out.dense.clear();
                rows.iter().for_each(|&i| out.dense.extend_from_slice(&values[i * d..(i + 1) * d]));
            }
            Self::Sparse(s) => {
                out.start_sparse();
                for &i in rows {
                    let range = s.indptr[i]..s.indptr[i + 1];
                    out.indices.extend_from_slice(&s.indices[range.clone()]);
                    out.values.extend_from_slice(&s.values[range]);
                    out.indptr.push(out.indices.len());
                }
            }
        }
    }
}

impl<T: Real> Rows<T> {
    /// Buffers for up to `capacity` rows of `table`.
    pub fn with_capacity(table: &Table<T>, capacity: usize) -> Self {
        match table {
            Table::Dense { d, .. } => Self { dense: Vec::with_capacity(capacity * d), ..Self::default() },
            Table::Sparse(s) => {
                // The fullest rows decide, so that no batch makes the buffers grow.
                let mut lengths: Vec<usize> = s.indptr.windows(2).map(|w| w[1] - w[0]).collect();
                lengths.sort_unstable_by(|a, b| b.cmp(a));
                let stored = lengths.iter().take(capacity).sum();
                Self {
                    indptr: Vec::with_capacity(capacity + 1),
                    indices: Vec::with_capacity(stored),
                    values: Vec::with_capacity(stored),
                    ..Self::default()
                }
            }
        }
    }

    fn start_sparse(&mut self) {
        self.indptr.clear();
        self.indptr.push(0);
        self.indices.clear();
        self.values.clear();
    }

    /// Scales rows of a sparse matrix.
    pub fn take_sparse(&mut self, x: &Csr, scaler: &Scaler, rows: impl IntoIterator<Item = usize>) {
        self.start_sparse();
        self.n = 0;
        for i in rows {
            let (columns, values) = x.row(i);
            self.indices.extend_from_slice(columns);
            let scaled = columns.iter().zip(values).map(|(&j, &v)| T::from_f64(v * scaler.scale[j as usize]));
            self.values.extend(scaled);
            self.indptr.push(self.indices.len());
            self.n += 1;
        }
    }

    /// Standardises rows of any matrix.
    pub fn take_dense(&mut self, x: &Features, scaler: &Scaler, rows: impl IntoIterator<Item = usize>) {
        self.dense.clear();
        self.n = 0;
        for i in rows {
            match x {
                Features::Dense(m) => {
                    let start = self.dense.len();
                    self.dense.resize(start + m.n_cols(), T::ZERO);
                    scaler.apply_row(m.row(i), &mut self.dense[start..]);
                }
                Features::Sparse(m) => {
                    let start = self.dense.len();
                    self.dense.extend((0..m.n_cols()).map(|j| T::from_f64(scaler.apply(j, 0.0))));
                    let (columns, values) = m.row(i);
                    for (&j, &v) in columns.iter().zip(values) {
                        self.dense[start + j as usize] = T::from_f64(scaler.apply(j as usize, v));
                    }
                }
            }
            self.n += 1;
        }
    }

    /// What a net reads after [`Rows::take_dense`].
    pub fn dense_input(&self, d: usize) -> Result<Input<'_, T>, KernelError> {
        Ok(Input::Dense(MatRef::row_major(&self.dense, self.n, d)?))
    }

    /// What a net reads after [`Rows::take_sparse`].
    pub fn sparse_input<'a>(&'a self, columns: &'a Centres<T>) -> Result<Input<'a, T>, KernelError> {
        let view = CsrView::new(&self.indptr, &self.indices, &self.values, columns.mean.len())?;
        Ok(Input::Sparse(view, Standardise::new(&columns.mean, &columns.on)?))
    }

    /// What a net reads after [`Table::gather`].
    pub fn input<'a>(&'a self, table: &'a Table<T>) -> Result<Input<'a, T>, KernelError> {
        match table {
            Table::Dense { d, .. } => self.dense_input(*d),
            Table::Sparse(s) => self.sparse_input(&s.columns),
        }
    }
}
