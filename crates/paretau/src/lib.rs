//! paretau: heterogeneous treatment effects with Pareto-smoothed weights.
//!
//! This crate is the front door: the [`registry`] of estimators, [`fit`](fit()) from a table to a [`Model`], the model file,
//! and the names of the lower crates that a caller needs.

mod about;
pub mod datasets;
mod describe;
mod diagnose;
mod evaluate;
pub mod experiment;
mod findings;
mod fit;
mod lines;
mod model;
pub mod model_file;
mod overlap;
mod quiet;
pub mod registry;
mod report;
mod run_report;
mod threads;
pub mod tune;

pub use about::{About, Averages, Estimate};
pub use describe::describe;
pub use diagnose::{Diagnosis, diagnose};
pub use evaluate::evaluate;
pub use fit::{FitOptions, fit};
pub use model::{Model, Predictions};
pub use overlap::{Overlap, RowWeights};
pub use paretau_core::*;
pub use paretau_data as data;
pub use paretau_eval as eval;
pub use paretau_forest as forest;
pub use paretau_kernels as kernels;
pub use paretau_nuisance as nuisance;
pub use paretau_report::{Findings, Records, RunRecords};
pub use registry::{DEFAULT_ESTIMATOR, TOOLBOX, find};
pub use report::{records, report};
pub use run_report::{report_run, run_records};
pub use threads::with_threads;
