//! Ridge, logistic, cross-fitting and meta-learners.
//!
//! Everything here is written against the vocabulary of `paretau-core`; base learners other than the linear ones
//! come in through the [`Toolbox`](paretau_core::Toolbox), so that nothing here knows about forests or networks.

mod base;
mod calibrate;
mod crossfit;
mod dealing;
mod design_matrix;
mod linear;
mod logistic;
mod meta;
mod minimise;
mod nuisance;
mod overlap;
mod propensity;
mod ridge;

pub use base::{RIDGE, RidgeBase};
pub use calibrate::Calibrator;
pub use crossfit::{CrossFit, CrossTask, HeldOut, cross_fit, cross_predict, design_folds};
pub use linear::{LR_1, LR_2, LinearArms, LinearConfig};
pub use logistic::{Logistic, LogisticOptions, LogisticTask};
pub use meta::{DR_LEARNER, DrConfig, R_LEARNER, RConfig, S_LEARNER, SConfig, T_LEARNER, TConfig, X_LEARNER, XConfig};
pub use nuisance::{NuisanceFit, NuisancePlan, PropensityChoice};
pub use overlap::{InverseWeights, Overlap, inverse_weights};
pub use propensity::{PropensityFit, PropensityModel, PropensityOptions};
pub use ridge::{Ridge, RidgeOptions, RidgeTask};
