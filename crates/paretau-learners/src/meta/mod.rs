//! Meta-learners: recipes that turn any regression into an effect estimator.
//!
//! | file | first stage | second stage | effect |
//! |---|---|---|---|
//! | `s_learner` | one outcome model with the treatment as a column | – | mu(x, 1) - mu(x, 0) |
//! | `t_learner` | one outcome model per arm | – | mu1 - mu0 |
//! | `x_learner` | as T | imputed effects within each arm | mixed by propensity |
//! | `r_learner` | m, e cross-fitted | (y - m)/(t - e), weighted by (t - e)² | the regression |
//! | `dr_learner` | mu0, mu1, e cross-fitted | doubly robust scores | the regression |
//!
//! Base learners are named by parameters and taken from the toolbox; nothing here knows who wrote them.
//!
//! A meta-learner is one file: its parameters and entry, its fit, and its `Recipe`, which says which base models it
//! has and how they answer. What all of them share is in `setup`, `base_learner` and `model`, and what those that learn from rows outside
//! of memory share, in `units`.

mod base_learner;
mod dr_learner;
mod model;
mod r_learner;
mod s_learner;
mod setup;
mod t_learner;
mod units;
mod x_learner;

pub use dr_learner::{DR_LEARNER, DrConfig};
pub use r_learner::{R_LEARNER, RConfig};
pub use s_learner::{S_LEARNER, SConfig};
pub use t_learner::{T_LEARNER, TConfig};
pub use x_learner::{X_LEARNER, XConfig};
