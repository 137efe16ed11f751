//! Metrics and diagnostics of effects: PEHE, scores without truth, ranking, calibration, average effects, overlap,
//! balance.
//!
//! Nothing here fits a model: nuisance predictions come in as a [`Nuisance`], made by whoever has held-out models.

mod ate;
mod balance;
mod calibration;
mod encoders;
pub mod losses;
mod metrics;
mod ols;
mod overlap;
mod rate;
mod rows;
pub mod score;
pub mod truth;

pub use ate::{AverageEffect, Estimand, average_effect};
pub use balance::{FeatureBalance, IMBALANCE, balance};
pub use calibration::{Calibration, EffectGroup, best_linear_projection, calibration, effect_groups};
pub use encoders::{Third, encoder_difference, encoders_of};
pub use metrics::{Better, Evidence, METRICS, Metric, NamedScore, Needs, evaluate};
pub use overlap::{ArmOverlap, OverlapOptions, OverlapReport, PropensityBin, WeightSets, overlap_report};
pub use rate::{HALF_SAMPLES, TocPoint, auuc, rate, toc};
pub use rows::{Nuisance, Observed};
pub use score::Score;
