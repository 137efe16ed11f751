//! Forests: relabel × split × leaf, paired in `recipes`.
//!
//! Columns are quantised once to at most 256 bins; trees are grown on bin codes by histograms and kept as flat arrays
//! of eight-byte nodes whose leaves hold statistics, never rows. Every tree has its own seed, so results do not depend
//! on the number of threads.

mod arms;
mod bags;
mod bins;
mod boosting;
mod causal_forest;
mod causal_model;
mod centre;
mod choose;
mod code_copies;
mod codes;
mod dml;
mod effect;
mod forest;
mod grow;
mod importance;
mod input;
mod leaf;
mod linear;
mod mean_forest;
mod recipes;
mod regression;
mod relabel;
mod rows;
mod sample;
mod solve;
mod split;
mod state;
mod stored;
mod summary;
mod tree;
mod walk;

pub use arms::{ArmsForest, ArmsForestModel};
pub use boosting::{BOOSTING, BoostedTrees, BoostingBase, BoostingConfig, BoostingLoss, BoostingRegressor};
pub use causal_forest::{CAUSAL_FOREST, CausalForest, CausalForestConfig};
pub use causal_model::CausalForestModel;
pub use dml::{CAUSAL_FOREST_DML, CausalForestDml, CausalForestDmlConfig, Criterion};
pub use regression::{FOREST, ForestBase, ForestConfig, ForestRegressor, RegressionForest};
pub use rows::CausalRows;
