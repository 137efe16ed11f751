//! Experiments: a plan (data sets × estimators × seeds) becomes cells, cells become append-only records, records
//! become tables. A run may be killed at any moment and resumed; nothing is done twice.
//!
//! Truth is used here for scoring only: it is taken out of the table before an estimator sees it.

mod cell;
mod claim;
mod compare;
mod figures;
mod illustration;
mod merge;
mod plan;
mod progress;
mod reading;
mod records;
mod results;
mod runner;
mod search;
mod tables;

pub use cell::{Cell, Shard};
pub use compare::{Comparison, Pair, compare, comparison, pairs, ranks};
pub use figures::{FigureSpec, PanelSpec, figure};
pub use illustration::Illustration;
pub use merge::merge;
pub use plan::{BuiltIn, DataSpec, Method, PLANS, Plan, Published, Quick, SplitSpec, TuneOn};
pub use progress::{OnCellDone, RunProgress};
pub use reading::Reading;
pub use records::{Record, StudyRecords};
pub(crate) use records::{RecordLines, read as read_records};
pub(crate) use results::PLAN as PLAN_FILE;
pub use results::write as write_results;
pub(crate) use runner::{CELL_TASK, perform_cell};
pub use runner::{RunOptions, RunReport, run, run_on};
pub use search::TunedParams;
pub(crate) use search::{SEARCH_TASK, perform_search};
pub use tables::{csv, markdown};
