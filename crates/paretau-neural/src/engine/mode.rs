//! What a forward pass is for.

use paretau_kernels::real::Real;

use super::dropout::Dropout;

/// What a forward pass is for: named by the caller, never guessed from whether something is dropped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mode<T> {
    /// A step of training, with the units that it drops.
    Training(Option<Dropout<T>>),
    /// Validation, prediction, or a net whose answer is only read: nothing is dropped.
    Evaluation,
}

impl<T: Real> Mode<T> {
    /// The mask, if any.
    pub fn dropout(self) -> Option<Dropout<T>> {
        match self {
            Self::Training(mask) => mask,
            Self::Evaluation => None,
        }
    }

    /// The same with the mask of another layer or net of the step.
    #[must_use]
    pub fn layer(self, index: usize) -> Self {
        match self {
            Self::Training(mask) => Self::Training(mask.map(|m| m.layer(index))),
            Self::Evaluation => Self::Evaluation,
        }
    }
}
