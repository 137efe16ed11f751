//! A design made ready for training: features standardised on the training rows, perhaps with pieces beside them, outcomes on their own
//! scale.

mod batches;
mod pieces;
mod sample;
mod scaler;
mod table;

pub use batches::{Batch, Batches};
pub use pieces::Pieces;
pub use sample::{OutcomeScale, Sample};
pub use scaler::Scaler;
pub use table::{Centres, Rows, SparseTable, Table};
