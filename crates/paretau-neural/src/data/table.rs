//! Features as nets read them: dense and standardised, or sparse as they came with the standardisation folded into the
//! first layer's product.

use paretau_core::{Features, Result};
use paretau_kernels::error::KernelError;
use paretau_kernels::product::MatRef;
use paretau_kernels::real::Real;

use super::scaler::Scaler;
use crate::engine::Input;

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
}

/// The features of some rows, gathered for a batch. Its memory is kept from batch to batch.
#[derive(Debug, Clone, Default)]
pub struct Rows<T> {
    dense: Vec<T>,
    n: usize,
}

impl<T: Real> Table<T> {
    /// The features as `scaler` sees them.
    pub fn new(x: &Features, scaler: &Scaler) -> Result<Self> {
        Scaler::check(x)?;
        match x {
            Features::Dense(m) => {
                let d = m.n_cols();
                let mut values = Vec::with_capacity(m.values().len());
                for row in m.values().chunks_exact(d) {
                    values.extend(row.iter().enumerate().map(|(j, &v)| T::from_f64(scaler.apply(j, v))));
                }
                Ok(Self::Dense { d, values })
            }
            Features::Sparse(m) => {
                let d = m.n_cols();
                let mut values = Vec::with_capacity(m.n_rows() * d);
                let mut line = vec![0.0; d];
                for i in 0..m.n_rows() {
                    x.copy_row(i, &mut line);
                    values.extend(line.iter().enumerate().map(|(j, &v)| T::from_f64(scaler.apply(j, v))));
                }
                Ok(Self::Dense { d, values })
            }
        }
    }

    /// Standardises some rows of `x` straight into a batch, for prediction.
    pub fn scale_into(x: &Features, scaler: &Scaler, rows: &[usize], out: &mut Rows<T>) -> Result<()> {
        let d = x.n_cols();
        out.dense.clear();
        out.n = rows.len();
        match x {
            Features::Dense(m) => {
                for &i in rows {
                    out.dense.extend(m.row(i).iter().enumerate().map(|(j, &v)| T::from_f64(scaler.apply(j, v))));
                }
            }
            Features::Sparse(m) => {
                for &i in rows {
                    let start = out.dense.len();
                    out.dense.extend((0..d).map(|j| T::from_f64(scaler.apply(j, 0.0))));
                    let (columns, values) = m.row(i);
                    for (&j, &v) in columns.iter().zip(values) {
                        out.dense[start + j as usize] = T::from_f64(scaler.apply(j as usize, v));
                    }
                }
            }
        }
        if out.dense.iter().any(|v| !v.is_finite()) {
            Scaler::check(x)?;
        }
        Ok(())
    }

    /// Number of columns.
    pub fn n_cols(&self) -> usize {
        match self {
            Self::Dense { d, .. } => *d,
        }
    }

    /// Gathers rows for a batch.
    pub fn gather(&self, rows: &[usize], out: &mut Rows<T>) {
        match self {
            Self::Dense { d, values } => {
                out.dense.clear();
                rows.iter().for_each(|&i| out.dense.extend_from_slice(&values[i * d..(i + 1) * d]));
                out.n = rows.len();
            }
        }
    }
}

impl<T: Real> Rows<T> {
    /// Buffers for up to `capacity` rows of `table`.
    pub fn with_capacity(table: &Table<T>, capacity: usize) -> Self {
        Self { dense: Vec::with_capacity(capacity * table.n_cols()), n: 0 }
    }

    /// What a net reads after [`Table::scale_into`].
    pub fn dense_input(&self, d: usize) -> Result<Input<'_, T>, KernelError> {
        Ok(Input::Dense(MatRef::row_major(&self.dense, self.n, d)?))
    }

    /// What a net reads.
    pub fn input<'a>(&'a self, table: &'a Table<T>) -> Result<Input<'a, T>, KernelError> {
        Ok(Input::Dense(MatRef::row_major(&self.dense, self.n, table.n_cols())?))
    }
}
