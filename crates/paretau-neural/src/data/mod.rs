//! A design made ready for training: features standardised on the training rows, outcomes on their own scale.

mod batches;
mod sample;
mod scaler;
mod table;

pub use batches::{Batch, Batches};
pub use sample::{OutcomeScale, Sample};
pub use scaler::Scaler;
pub use table::{Centres, Rows, SparseTable, Table};
