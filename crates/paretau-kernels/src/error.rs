//! What a kernel answers when it cannot work with its input.

/// Why a kernel refused its input. Every variant holds the values that were found.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// A slice does not have the length that the shape asks for.
    #[error("{what}: expected length {expected}, found {found}")]
    LengthMismatch {
        /// The argument.
        what: &'static str,
        /// The length that was needed.
        expected: usize,
        /// The length that was given.
        found: usize,
    },
    /// A value is NaN or infinite.
    #[error("{what}[{index}] is {value}, but must be finite")]
    NonFinite {
        /// The argument.
        what: &'static str,
        /// Position of the first such value.
        index: usize,
        /// The value.
        value: f64,
    },
    /// There is nothing to compute with.
    #[error("{what} is empty")]
    Empty {
        /// The argument.
        what: &'static str,
    },
    /// A number lies outside its range.
    #[error("{what} is {value}, but must be in {range}")]
    OutOfRange {
        /// The argument.
        what: &'static str,
        /// The value, as a float whatever its type was.
        value: f64,
        /// The range, in words.
        range: &'static str,
    },
}
