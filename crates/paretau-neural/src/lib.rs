//! Neural estimators: one engine, one training loop, several kinds of nets.
//!
//! From the bottom up: [`engine`] (layers with explicit backward passes, Adam), [`data`] (a design made ready, mini-batches),
//! [`loss`] (one file each), [`model`] (what is computed and what moves in each phase), [`train`] (the one loop), [`nets`] (one file per
//! kind of net, with its parameters and registry entries), and the estimator that trains an ensemble of any kind.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod base;
mod choose;
pub mod config;
pub mod data;
pub mod engine;
mod error;
mod estimator;
mod fitted;
pub mod loss;
mod member;
pub mod model;
pub mod nets;
mod plain;
mod predictor;
mod propensity_nets;
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
pub use fitted::NetModel;
pub use nets::ENTRIES;
