//! What a net reads: a dense view (often some columns of another net's output) or compressed sparse rows.

use paretau_kernels::error::KernelError;
use paretau_kernels::parallel::Parallelism;
use paretau_kernels::product::{MatMut, MatRef, matmul};
use paretau_kernels::real::Real;

/// Rows that a net reads.
#[derive(Debug, Clone, Copy)]
pub enum Input<'a, T> {
    /// A dense, possibly strided matrix.
    Dense(MatRef<'a, T>),
}

impl<T: Real> Input<'_, T> {
    /// `out = self · weights`, with `weights` row-major.
    pub fn times(self, out: MatMut<'_, T>, weights: &[T], parallelism: Parallelism) -> Result<(), KernelError> {
        match self {
            Self::Dense(x) => {
                let weights = MatRef::row_major(weights, x.cols(), out.cols())?;
                matmul(out, x, weights, (T::ONE, T::ZERO), parallelism)
            }
        }
    }

    /// `out = selfᵀ · dz`, the gradient of the weights of [`Input::times`].
    pub fn transposed_times(
        self,
        out: &mut [T],
        dz: MatRef<'_, T>,
        parallelism: Parallelism,
    ) -> Result<(), KernelError> {
        match self {
            Self::Dense(x) => {
                let out = MatMut::row_major(out, x.cols(), dz.cols())?;
                matmul(out, x.t(), dz, (T::ONE, T::ZERO), parallelism)
            }
        }
    }
}
