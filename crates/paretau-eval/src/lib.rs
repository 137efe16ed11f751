//! Metrics of effects: PEHE, scores without truth, ranking, calibration.
//!
//! Nothing here fits a model: nuisance predictions come in as a [`Nuisance`](paretau_nuisance::Nuisance), made by callers
//! that have held-out models.

mod calibration;
mod encoders;
mod heterogeneity;
pub mod losses;
mod metrics;
mod rate;
pub mod truth;

pub use calibration::{Calibration, EffectGroup, best_linear_projection, calibration, effect_groups};
pub use encoders::{Third, encoder_difference, encoders_of};
pub use heterogeneity::Heterogeneity;
pub use metrics::{Better, Evidence, METRICS, Metric, NamedScore, Needs, evaluate};
pub use rate::{HALF_SAMPLES, TocPoint, auuc, rate, toc};
