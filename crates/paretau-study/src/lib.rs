//! Studies: what surrounds many fits. [`experiment`] runs a plan (data sets × estimators × seeds) into append-only
//! records, tables and a page; [`tune`](mod@tune) searches an estimator's parameters; [`datasets`] lists which
//! benchmark data are there; [`tasks`] are the units of work that executors do elsewhere.
//!
//! One fit, its model and its page are the business of the crate `paretau`, on which this one stands.

pub mod datasets;
mod draws;
pub mod experiment;
mod lines;
mod quiet;
mod run_report;
pub mod tasks;
pub mod tune;

pub use draws::DrawRecords;
pub use paretau_report::RunRecords;
pub use run_report::{report_run, run_records};
