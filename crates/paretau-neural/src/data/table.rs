//! Features as nets read them: dense and standardised, or sparse with the centring folded into the first layer's product.

use paretau_core::{Csr, Features, Result};
use paretau_kernels::error::KernelError;
use paretau_kernels::product::MatRef;
use paretau_kernels::real::Real;
use paretau_kernels::sparse::{CsrView, Standardise};

use super::pieces::Pieces;
use super::scaler::Scaler;
use crate::engine::Input;

/// Sparse rows fuller than this are read as dense ones: the dense product is the faster one then.
const FULL: f64 = 0.25;

/// Features of all rows.
#[derive(Debug, Clone)]
pub enum Table<T> {
    /// Standardised values and, behind them, their positions among the pieces, row after row.
    Dense {
        /// Columns.
        d: usize,
        /// Values and positions.
        values: Vec<T>,
        /// What the positions are expanded to in a batch.
        pieces: Pieces,
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

/// Calls `f` with the values of each row, zeros of sparse rows among them.
fn for_each_row(x: &Features, rows: impl IntoIterator<Item = usize>, mut f: impl FnMut(&[f64])) {
    match x {
        Features::Dense(m) => rows.into_iter().for_each(|i| f(m.row(i))),
        Features::Sparse(m) => {
            let mut whole = vec![0.0; m.n_cols()];
            for i in rows {
                let (columns, values) = m.row(i);
                columns.iter().zip(values).for_each(|(&j, &v)| whole[j as usize] = v);
                f(&whole);
                columns.iter().for_each(|&j| whole[j as usize] = 0.0);
            }
        }
    }
}

impl<T: Real> Table<T> {
    /// The features as `scaler` sees them.
    pub fn new(x: &Features, scaler: &Scaler) -> Result<Self> {
        Scaler::check(x)?;
        match x {
            Features::Sparse(m) if stays_sparse(x) => {
                let mut rows = Rows::default();
                rows.take_sparse(m, scaler, 0..m.n_rows());
                let Rows { indptr, indices, values, .. } = rows;
                Ok(Self::Sparse(SparseTable { indptr, indices, values, columns: Centres::new(scaler) }))
            }
            _ => {
                let (d, pieces) = (x.n_cols(), scaler.pieces.clone());
                let mut values = Vec::with_capacity(x.n_rows() * (d + pieces.n_columns()));
                for_each_row(x, 0..x.n_rows(), |row| {
                    scaler.extend_row(row, &mut values);
                    pieces.positions(row, &mut values);
                });
                Ok(Self::Dense { d, values, pieces })
            }
        }
    }

    /// Number of columns that a net reads.
    pub fn n_cols(&self) -> usize {
        match self {
            Self::Dense { d, pieces, .. } => *d + pieces.len(),
            Self::Sparse(s) => s.columns.mean.len(),
        }
    }

    /// Gathers rows for a batch.
    pub fn gather(&self, rows: &[usize], out: &mut Rows<T>) {
        out.n = rows.len();
        match self {
            Self::Dense { d, values, pieces } => {
                out.dense.clear();
                let stored = d + pieces.n_columns();
                for &i in rows {
                    let (row, positions) = values[i * stored..(i + 1) * stored].split_at(*d);
                    out.dense.extend_from_slice(row);
                    pieces.expand(positions, &mut out.dense);
                }
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
            Table::Dense { .. } => Self { dense: Vec::with_capacity(capacity * table.n_cols()), ..Self::default() },
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
        let mut positions = Vec::new();
        for_each_row(x, rows, |row| {
            scaler.extend_row(row, &mut self.dense);
            positions.clear();
            scaler.pieces.positions::<T>(row, &mut positions);
            scaler.pieces.expand(&positions, &mut self.dense);
            self.n += 1;
        });
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
            Table::Dense { .. } => self.dense_input(table.n_cols()),
            Table::Sparse(s) => self.sparse_input(&s.columns),
        }
    }
}
