//! Gradient boosting on the forest's binned columns, as a public type and as the base learner `boosting`.
//!
//! Trees are grown best leaf first on histograms of gradients. Gradients are rounded to fixed-point numbers before they are
//! added up (`fixed.rs`), so that sums are exact: neither their order nor the number of threads can change a bit, and the
//! histogram of a node's sibling is the difference to their parent's without rounding.
//!
//! One model per fold is grown, all of them round by round, and the number of rounds is the one at which the rows that they
//! hold out are predicted best. New rows get the mean of the models; the training rows get the prediction of the model that
//! has not seen them, so that cross-fitting needs no further fits.

mod config;
mod entry;
mod fit;
mod fixed;
mod grow;
mod histogram;
mod loss;
mod model;
mod split;

pub use config::{BoostingConfig, BoostingLoss, BoostingRegressor};
pub use entry::{BOOSTING, BoostingBase};
pub use model::BoostedTrees;
