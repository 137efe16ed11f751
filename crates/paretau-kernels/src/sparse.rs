//! Sparse rows times a dense matrix, and their transpose times one, with standardised columns and row subsets.
//!
//! Columns are standardised without making anything dense: with `D = diag(1/sd)`,
//! ```text
//! ((X - 1 meanᵀ) D) W  = X (D W) - 1 (meanᵀ D W)
//! ((X - 1 meanᵀ) D)ᵀ G = D (Xᵀ G) - D mean (1ᵀ G)
//! ```
//! so a product with the raw values and one row of corrections is all there is.

mod rows;
mod view;

use crate::error::KernelError;
use crate::parallel::Parallelism;
use crate::real::{Real, check_finite, check_len};
use crate::simd::dispatch;
use rows::{Block, ColumnSum};

pub use view::{CsrView, Offset};

/// Column means and inverse standard deviations, `d` each: a column counts as `(x - mean) · inv_sd`.
///
/// Give a constant column an `inv_sd` of zero, which turns it off.
#[derive(Debug, Clone, Copy)]
pub struct Standardise<'a, T> {
    mean: &'a [T],
    inv_sd: &'a [T],
}

impl<'a, T: Real> Standardise<'a, T> {
    /// Both slices have one entry per column and only finite values.
    pub fn new(mean: &'a [T], inv_sd: &'a [T]) -> Result<Self, KernelError> {
        check_len("inv_sd", mean.len(), inv_sd.len())?;
        check_finite("mean", mean)?;
        check_finite("inv_sd", inv_sd)?;
        Ok(Self { mean, inv_sd })
    }

    fn check(this: Option<&Self>, cols: usize) -> Result<(), KernelError> {
        this.map_or(Ok(()), |s| check_len("mean", cols, s.mean.len()))
    }
}

/// Memory that sparse products keep between calls.
#[derive(Debug, Default)]
pub struct CsrWorkspace<T> {
    /// The row of corrections.
    shift: Vec<T>,
    /// Its parts, one per block of summed rows.
    parts: Vec<T>,
}

impl<T: Real> CsrWorkspace<T> {
    /// An empty workspace; it grows at the first call.
    pub fn new() -> Self {
        Self::default()
    }

    /// `shift[c] = Σ_i weight_i m[i, c]`, with all weights one if there are none. In blocks of fixed size, added up in order.
    fn sum_rows(&mut self, weights: Option<(&[T], &[T])>, m: &[T], p: usize, parallelism: Parallelism) {
        const BLOCK: usize = 128;
        let n = m.len() / p;
        let blocks = n.div_ceil(BLOCK);
        self.parts.clear();
        self.parts.resize(blocks * p, T::ZERO);
        parallelism.for_each_chunk(&mut self.parts, p, |b, out| {
            let range = b * BLOCK..n.min((b + 1) * BLOCK);
            dispatch(ColumnSum {
                out,
                m: &m[range.start * p..range.end * p],
                weights: weights.map(|(x, y)| (&x[range.clone()], &y[range.clone()])),
            });
        });
        self.shift.clear();
        self.shift.resize(p, T::ZERO);
        for part in self.parts.chunks_exact(p) {
            for (sum, &x) in self.shift.iter_mut().zip(part) {
                *sum += x;
            }
        }
    }
}

/// Output rows per task.
const ROWS_PER_TASK: usize = 32;

/// `out = X_s W`, where `X_s` are the chosen rows of `x` with standardised columns.
///
/// # Shapes
/// `x` is `n × d`; `rows` chooses `r` of its rows, in that order (all if `None`); `w` is `d × p` row-major and `out` is
/// `r × p`, overwritten.
///
/// # Cost
/// `p` multiply-adds for each stored value of the chosen rows, and `d p` for the correction. Same bits for every
/// number of threads.
///
/// # Errors
/// Shapes that do not fit, or a row index outside `x`.
pub fn csr_matmul<T: Real, P: Offset>(
    out: &mut [T],
    (x, rows): (&CsrView<'_, T, P>, Option<&[usize]>),
    (w, p): (&[T], usize),
    standardise: Option<&Standardise<'_, T>>,
    workspace: &mut CsrWorkspace<T>,
    parallelism: Parallelism,
) -> Result<(), KernelError> {
    x.check_rows(rows)?;
    let n_out = rows.map_or(x.rows(), <[usize]>::len);
    check_len("w", x.cols().saturating_mul(p), w.len())?;
    check_len("out", n_out.saturating_mul(p), out.len())?;
    Standardise::check(standardise, x.cols())?;
    if p == 0 {
        return Ok(());
    }
    if let Some(s) = standardise {
        workspace.sum_rows(Some((s.mean, s.inv_sd)), w, p, parallelism);
    }
    let shift = standardise.map(|_| &workspace.shift[..]);
    parallelism.for_each_chunk(out, ROWS_PER_TASK * p, |task, out| {
        dispatch(Block {
            out,
            first: task * ROWS_PER_TASK,
            row: |i: usize| x.row(rows.map_or(i, |rows| rows[i])),
            dense: w,
            p,
            value_scale: standardise.map(|s| s.inv_sd),
            row_scale: None,
            shift,
        });
    });
    Ok(())
}

/// Chosen rows of a sparse matrix, stored by column: what the transposed product reads.
///
/// Filling it costs one pass over the stored values; the memory is kept between calls.
#[derive(Debug, Default)]
pub struct CsrTransposed<T> {
    /// Where each column starts.
    indptr: Vec<usize>,
    /// Positions within the chosen rows, increasing within a column.
    indices: Vec<u32>,
    values: Vec<T>,
    rows: usize,
}

impl<T: Real> CsrTransposed<T> {
    /// No rows of no columns.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes over the chosen rows of `x` (all if `None`). Cost: the stored values of those rows, plus `d`.
    ///
    /// # Errors
    /// A row index outside `x`, or more than `u32::MAX` rows.
    pub fn load<P: Offset>(&mut self, x: &CsrView<'_, T, P>, rows: Option<&[usize]>) -> Result<(), KernelError> {
        x.check_rows(rows)?;
        let n = rows.map_or(x.rows(), <[usize]>::len);
        if u32::try_from(n).is_err() {
            return Err(KernelError::Parameter { name: "number of rows", value: n as f64, expected: "0 to 2^32 - 1" });
        }
        let row = |i: usize| x.row(rows.map_or(i, |rows| rows[i]));
        // One place more than columns: counts go one further on, so that filling leaves the starts in place.
        self.indptr.clear();
        self.indptr.resize(x.cols() + 2, 0);
        for i in 0..n {
            for &j in row(i).0 {
                self.indptr[j as usize + 2] += 1;
            }
        }
        for j in 2..self.indptr.len() {
            self.indptr[j] += self.indptr[j - 1];
        }
        let total = self.indptr[x.cols() + 1];
        self.indices.resize(total, 0);
        self.values.resize(total, T::ZERO);
        for i in 0..n {
            let (indices, values) = row(i);
            for (&j, &v) in indices.iter().zip(values) {
                let next = &mut self.indptr[j as usize + 1];
                self.indices[*next] = i as u32;
                self.values[*next] = v;
                *next += 1;
            }
        }
        self.indptr.pop();
        self.rows = n;
        Ok(())
    }

    /// Columns of the matrix that was loaded.
    pub fn cols(&self) -> usize {
        self.indptr.len().saturating_sub(1)
    }

    /// Rows that were loaded.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// `out = X_sᵀ G`, where `X_s` are the loaded rows with standardised columns.
    ///
    /// # Shapes
    /// `g` is `r × p` row-major with the `r` loaded rows, `out` is `d × p`, overwritten.
    ///
    /// # Cost
    /// `p` multiply-adds for each stored value, and `(r + d) p` for the correction. Same bits for every number of threads.
    ///
    /// # Errors
    /// Shapes that do not fit.
    pub fn matmul(
        &self,
        out: &mut [T],
        (g, p): (&[T], usize),
        standardise: Option<&Standardise<'_, T>>,
        workspace: &mut CsrWorkspace<T>,
        parallelism: Parallelism,
    ) -> Result<(), KernelError> {
        check_len("g", self.rows.saturating_mul(p), g.len())?;
        check_len("out", self.cols().saturating_mul(p), out.len())?;
        Standardise::check(standardise, self.cols())?;
        if p == 0 {
            return Ok(());
        }
        if standardise.is_some() {
            workspace.sum_rows(None, g, p, parallelism);
        }
        let shift = standardise.map(|_| &workspace.shift[..]);
        parallelism.for_each_chunk(out, ROWS_PER_TASK * p, |task, out| {
            dispatch(Block {
                out,
                first: task * ROWS_PER_TASK,
                row: |j: usize| {
                    let range = self.indptr[j]..self.indptr[j + 1];
                    (&self.indices[range.clone()], &self.values[range])
                },
                dense: g,
                p,
                value_scale: None,
                row_scale: standardise.map(|s| (s.mean, s.inv_sd)),
                shift,
            });
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests;
