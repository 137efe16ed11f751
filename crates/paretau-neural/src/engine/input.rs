//! What a net reads: a dense view (often some columns of another net's output) or compressed sparse rows, whose columns are
//! standardised inside the product.

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
}

/// Memory of sparse products, kept between batches.
#[derive(Debug, Default)]
pub struct InputWork<T> {
    csr: CsrWorkspace<T>,
    transposed: CsrTransposed<T>,
}

impl<T: Real> Input<'_, T> {
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
        }
    }
}
