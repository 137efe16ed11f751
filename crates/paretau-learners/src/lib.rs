//! Ridge, logistic and meta-learners; cross-fitting, scores and weights come from `paretau-nuisance`.
//!
//! Everything here is written against the vocabulary of `paretau-core`; base learners other than the linear ones
//! come in through the [`Toolbox`](paretau_core::Toolbox), so that nothing here knows about forests or networks.

mod base;
mod design_matrix;
mod eigen;
mod lasso;
mod lasso_base;
mod linear;
mod logistic;
mod meta;
mod minimise;
mod products;
mod ridge;
mod ridge_parts;
mod row_space;
mod view;

pub use base::{RIDGE, RidgeBase};
pub use lasso_base::{LASSO, LassoBase};
pub use linear::{LR_1, LR_2, LinearArms, LinearConfig};
pub use logistic::{Logistic, LogisticOptions, LogisticTask, Watch};
pub use meta::{DR_LEARNER, DrConfig, R_LEARNER, RConfig, S_LEARNER, SConfig, T_LEARNER, TConfig, X_LEARNER, XConfig};
pub use products::{PRODUCTS, ProductsBase};
pub use ridge::{Ridge, RidgeOptions, RidgeTask};
