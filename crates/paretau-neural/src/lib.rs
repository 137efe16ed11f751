//! Neural estimators: one engine, one training loop, presets.
//!
//! From the bottom up: [`engine`] (layers with explicit backward passes, Adam), [`data`] (a design made ready, mini-batches),
//! [`loss`] (one file each), [`model`] (what is computed and what moves in each phase), [`train`] (the one loop), and on
//! top the estimator with its presets ([`ENTRIES`]).

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod base;
mod choose;
pub mod config;
pub mod data;
pub mod engine;
mod error;
mod estimator;
mod fitted;
mod judge;
pub mod loss;
mod member;
pub mod model;
mod plain;
mod predictor;
pub mod presets;
mod recalibrate;
mod report;
mod roles;
mod second_stage;
mod settings;
mod shrink;
mod specs;
mod splits;
mod temper;
pub mod train;
mod weigh;

pub use base::{MlpBase, MlpConfig};
pub use config::NetConfig;
pub use estimator::NetEstimator;
pub use fitted::NetModel;
pub use presets::ENTRIES;
pub use settings::{Choice, Size};
pub use specs::SPECS;
