//! Ridge, logistic, cross-fitting and meta-learners.
//!
//! Everything here is written against the vocabulary of `paretau-core`; base learners other than the linear ones
//! come in through the [`Toolbox`](paretau_core::Toolbox), so that nothing here knows about forests or networks.

mod linear;
mod ridge;
mod working;

pub use linear::{LR_1, LR_2, LinearArms, LinearConfig};
pub use ridge::{Ridge, RidgeOptions, RidgeTask};
