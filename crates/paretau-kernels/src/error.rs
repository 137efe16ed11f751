//! The one error type of this crate. Every variant holds the values that explain it.

use thiserror::Error;

/// What a kernel refuses, with the values that made it refuse.
///
/// Degenerate *data* (a tail that is too short, equal weights) is no error: kernels that smooth leave such weights as
/// they are and say so by [`crate::fallback::FallBack`].
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum KernelError {
    /// An input that must have entries has none.
    #[error("{what} is empty")]
    Empty {
        /// Name of the input.
        what: &'static str,
    },
    /// Two lengths that must agree do not.
    #[error("{what} has length {found}, expected {expected}")]
    Length {
        /// Name of the input or output.
        what: &'static str,
        /// The length that the other arguments imply.
        expected: usize,
        /// The length that was given.
        found: usize,
    },
    /// An input has more entries than the kernel can index.
    #[error("{what} has {found} entries, at most {limit} are supported")]
    TooLong {
        /// Name of the input.
        what: &'static str,
        /// Largest supported length.
        limit: usize,
        /// The length that was given.
        found: usize,
    },
    /// An entry is NaN or infinite.
    #[error("{what}[{index}] is {value}, expected a finite number")]
    NonFinite {
        /// Name of the input.
        what: &'static str,
        /// Position of the first such entry.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// An entry lies outside the range that the kernel accepts.
    #[error("{what}[{index}] is {value}, expected {expected}")]
    OutOfRange {
        /// Name of the input.
        what: &'static str,
        /// Position of the first such entry.
        index: usize,
        /// Its value.
        value: f64,
        /// The accepted range, in words.
        expected: &'static str,
    },
    /// A parameter lies outside its range.
    #[error("parameter {name} is {value}, expected {expected}")]
    Parameter {
        /// Name of the parameter.
        name: &'static str,
        /// Its value.
        value: f64,
        /// The accepted range, in words.
        expected: &'static str,
    },
    /// A treatment arm is neither 0 nor 1.
    #[error("t[{index}] is {value}, expected 0 or 1")]
    Arm {
        /// Position of the first such entry.
        index: usize,
        /// Its value.
        value: u8,
    },
    /// One of the two arms has no rows.
    #[error("arm {arm} has no rows among {n}")]
    ArmMissing {
        /// The arm without rows.
        arm: u8,
        /// How many rows there are.
        n: usize,
    },
    /// Finite inputs led to a result too large for a double.
    #[error("{what} overflows")]
    Overflow {
        /// Name of the result.
        what: &'static str,
    },
    /// A derivative was asked for that this choice does not offer.
    #[error("{what} has no derivative")]
    NotDifferentiable {
        /// The choice that has none.
        what: &'static str,
    },
    /// A backward pass was asked for before any forward pass.
    #[error("{what}: no forward pass precedes this backward pass")]
    NoForward {
        /// Name of the kernel.
        what: &'static str,
    },
}

/// Refuses a slice whose length is not the expected one.
pub(crate) fn check_len(what: &'static str, expected: usize, found: usize) -> Result<(), KernelError> {
    if expected == found { Ok(()) } else { Err(KernelError::Length { what, expected, found }) }
}

/// Refuses a slice with a NaN or infinite entry.
pub(crate) fn check_finite(what: &'static str, x: &[f64]) -> Result<(), KernelError> {
    match x.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(index) => Err(KernelError::NonFinite { what, index, value: x[index] }),
    }
}

/// Refuses an output that overflowed although its inputs were finite.
pub(crate) fn check_result(what: &'static str, x: &[f64]) -> Result<(), KernelError> {
    if x.iter().all(|v| v.is_finite()) { Ok(()) } else { Err(KernelError::Overflow { what }) }
}

/// Refuses an empty, non-finite or non-positive vector of weights.
pub(crate) fn check_weights(what: &'static str, w: &[f64]) -> Result<(), KernelError> {
    if w.is_empty() {
        return Err(KernelError::Empty { what });
    }
    check_finite(what, w)?;
    match w.iter().position(|&v| v <= 0.0) {
        None => Ok(()),
        Some(index) => Err(KernelError::OutOfRange { what, index, value: w[index], expected: "a positive number" }),
    }
}

/// Refuses arms other than 0 and 1, and a batch without both; returns the rows per arm.
pub(crate) fn check_arms(t: &[u8]) -> Result<[usize; 2], KernelError> {
    if let Some(index) = t.iter().position(|&a| a > 1) {
        return Err(KernelError::Arm { index, value: t[index] });
    }
    let treated: usize = t.iter().map(|&a| usize::from(a)).sum();
    let counts = [t.len() - treated, treated];
    for arm in 0..2_u8 {
        if counts[usize::from(arm)] == 0 {
            return Err(KernelError::ArmMissing { arm, n: t.len() });
        }
    }
    Ok(counts)
}

/// Refuses a parameter that is not finite or fails `ok`.
pub(crate) fn check_parameter(
    name: &'static str,
    value: f64,
    expected: &'static str,
    ok: impl Fn(f64) -> bool,
) -> Result<(), KernelError> {
    if value.is_finite() && ok(value) { Ok(()) } else { Err(KernelError::Parameter { name, value, expected }) }
}
