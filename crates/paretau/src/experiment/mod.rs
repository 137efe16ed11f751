//! Experiments: a plan (data sets × estimators × seeds) becomes cells, cells become append-only records, records
//! become tables. A run may be killed at any moment and resumed; nothing is done twice.
//!
//! Truth is used here for scoring only: it is taken out of the table before an estimator sees it.

mod cell;
mod compare;
mod encoders;
mod plan;
mod records;
mod runner;
mod tables;

pub use cell::{Cell, Shard};
pub use compare::{Pair, comparison, pairs, ranks};
pub use plan::{BuiltIn, DataSpec, Method, PLANS, Plan, Published, Quick, SplitSpec};
pub use records::{Record, Records};
pub use runner::{RunOptions, RunReport, run};
pub use tables::{csv, markdown};
