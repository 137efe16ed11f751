//! paretau: heterogeneous treatment effects with Pareto-smoothed weights.
//!
//! This crate is the front door: the [`registry`] of estimators, [`fit`](fit()) from a table to a [`Model`], the model file,
//! and the names of the lower crates that a caller needs.

mod about;
mod describe;
mod diagnose;
mod evaluate;
mod findings;
mod fit;
mod model;
pub mod model_file;
mod overlap;
pub mod registry;
mod report;
mod threads;

pub use about::{About, Averages, Estimate};
pub use describe::describe;
pub use diagnose::{Diagnosis, diagnose};
pub use evaluate::{Yardstick, evaluate, nuisances, yardstick};
pub use fit::{FitOptions, fit};
pub use model::{Model, Predictions};
pub use overlap::{Overlap, RowWeights};
pub use paretau_core::*;
pub use paretau_data as data;
pub use paretau_eval as eval;
pub use paretau_forest as forest;
pub use paretau_kernels as kernels;
pub use paretau_report::{Findings, Records};
pub use registry::{DEFAULT_ESTIMATOR, TOOLBOX, find};
pub use report::{records, report};
pub use threads::with_threads;
