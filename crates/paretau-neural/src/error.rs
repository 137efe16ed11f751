//! Kernel errors as the workspace's own.

use paretau_core::Error;
use paretau_kernels::error::KernelError;

/// What a kernel refused, as an error of the fit. The training loop answers it by stepping back, as any divergence.
#[allow(clippy::needless_pass_by_value)] // The shape that `map_err` wants.
pub(crate) fn failed(error: KernelError) -> Error {
    Error::Numeric { what: "training", message: error.to_string() }
}
