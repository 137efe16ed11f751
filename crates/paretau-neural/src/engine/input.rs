//! What a net reads: a dense view (often some columns of another net's output) or compressed sparse rows, whose columns are
//! standardised inside the product; either may have further dense columns beside it.

use paretau_kernels::error::KernelError;
use paretau_kernels::parallel::Parallelism;
use paretau_kernels::product::{MatMut, MatRef, matmul};
use paretau_kernels::real::Real;
use paretau_kernels::sparse::{CsrTransposed, CsrView, CsrWorkspace, Standardise, csr_matmul};

/// Rows that a net reads.
#[derive(Debug, Clone, Copy)]
pub enum Input<'a, T> {
    /// A dense, possibly strided matrix.
    Dense(MatRef<'a, T>),
    /// Sparse rows with the centre and scale of their columns.
    Sparse(CsrView<'a, T, usize>, Standardise<'a, T>),
    /// Features with further dense columns to their right. When these have several times as many rows, the features are
    /// read as if repeated as often, but multiplied once.
    Beside(&'a Self, MatRef<'a, T>),
}

/// Memory of sparse products, kept between batches.
#[derive(Debug, Default)]
pub struct InputWork<T> {
    csr: CsrWorkspace<T>,
    transposed: CsrTransposed<T>,
    /// Gradients of repeated rows, added up.
    folded: Vec<T>,
}

impl<T: Real> Input<'_, T> {
    fn rows(&self) -> usize {
        match self {
            Self::Dense(x) => x.rows(),
            Self::Sparse(x, _) => x.rows(),
            Self::Beside(_, more) => more.rows(),
        }
    }

    fn cols(&self) -> usize {
        match self {
            Self::Dense(x) => x.cols(),
            Self::Sparse(x, _) => x.cols(),
            Self::Beside(features, more) => features.cols() + more.cols(),
        }
    }

    /// Columns that no gradient is ever asked for: the features, where others stand beside them.
    pub fn given(&self) -> usize {
        match self {
            Self::Dense(_) | Self::Sparse(..) => 0,
            Self::Beside(features, _) => features.cols(),
        }
    }

    /// `out = self · weights`, both row-major, with `width` columns.
    pub fn times(
        self,
        out: &mut [T],
        (weights, width): (&[T], usize),
        work: &mut InputWork<T>,
        parallelism: Parallelism,
    ) -> Result<(), KernelError> {
        match self {
            Self::Dense(x) => {
                let out = MatMut::row_major(out, x.rows(), width)?;
                let weights = MatRef::row_major(weights, x.cols(), width)?;
                matmul(out, x, weights, (T::ONE, T::ZERO), parallelism)
            }
            Self::Sparse(x, scale) => {
                csr_matmul(out, (&x, None), (weights, width), Some(&scale), &mut work.csr, parallelism)
            }
            Self::Beside(features, more) => {
                let once = features.rows() * width;
                let (left, right) = weights.split_at(features.cols() * width);
                features.times(&mut out[..once], (left, width), work, parallelism)?;
                for at in (once..out.len()).step_by(once.max(1)) {
                    out.copy_within(..once, at);
                }
                let out = MatMut::row_major(out, more.rows(), width)?;
                let right = MatRef::row_major(right, more.cols(), width)?;
                matmul(out, more, right, (T::ONE, T::ONE), parallelism)
            }
        }
    }

    /// `out = selfᵀ · dz`, the gradient of the weights of [`Input::times`]; `dz` has `width` columns.
    pub fn transposed_times(
        self,
        out: &mut [T],
        (dz, width): (&[T], usize),
        work: &mut InputWork<T>,
        parallelism: Parallelism,
    ) -> Result<(), KernelError> {
        match self {
            Self::Dense(x) => {
                let out = MatMut::row_major(out, x.cols(), width)?;
                let dz = MatRef::row_major(dz, x.rows(), width)?;
                matmul(out, x.t(), dz, (T::ONE, T::ZERO), parallelism)
            }
            Self::Sparse(x, scale) => {
                work.transposed.load(&x, None)?;
                work.transposed.matmul(out, (dz, width), Some(&scale), &mut work.csr, parallelism)
            }
            Self::Beside(features, more) => {
                let once = features.rows() * width;
                let (left, right) = out.split_at_mut(features.cols() * width);
                let right = MatMut::row_major(right, more.cols(), width)?;
                matmul(right, more.t(), MatRef::row_major(dz, more.rows(), width)?, (T::ONE, T::ZERO), parallelism)?;
                if once == dz.len() {
                    return features.transposed_times(left, (dz, width), work, parallelism);
                }
                let mut folded = std::mem::take(&mut work.folded);
                folded.clear();
                folded.extend_from_slice(&dz[..once]);
                for again in dz[once..].chunks_exact(once.max(1)) {
                    folded.iter_mut().zip(again).for_each(|(sum, d)| *sum += *d);
                }
                let done = features.transposed_times(left, (&folded, width), work, parallelism);
                work.folded = folded;
                done
            }
        }
    }
}
