//! Metrics of effects: PEHE, scores without truth, ranking, calibration.
//!
//! Nothing here fits a model: nuisance predictions come in as a [`Nuisance`](paretau_nuisance::Nuisance), made by callers
//! that have held-out models.

mod calibration;
mod encoders;
mod heterogeneity;
pub mod losses;
mod metrics;
mod policy_bins;
mod policy_tree;
mod policy_value;
mod rate;
pub mod truth;

pub use calibration::{Calibration, EffectGroup, best_linear_projection, calibration, effect_groups};
pub use encoders::{Third, encoder_difference, encoders_of};
pub use heterogeneity::Heterogeneity;
pub use metrics::{Better, Evidence, METRICS, Metric, NamedScore, Needs, evaluate};
pub use policy_tree::{
    MOST_BINS, MOST_BINS_DEEP, MOST_COLUMNS, MOST_DEPTH, PolicyOptions, PolicyTask, PolicyTree, policy_tree,
};
pub use policy_value::{CrossFitted, PolicyValue, cross_fitted_tree, policy_value};
pub use rate::{HALF_SAMPLES, TocBand, TocPoint, auuc, rate, toc, toc_band};
