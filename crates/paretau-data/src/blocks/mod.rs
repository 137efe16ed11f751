//! Tables larger than memory, as blocks of rows: one pass counts what must be known about all rows ([`Census`]), a second deals
//! the rows to blocks by a hash ([`RowBlocks`]), each of which is then a [`Table`](crate::Table) like any other.
//!
//! Nothing here depends on where the batches of a file end, on how many files the rows are in, or on threads: rows are known
//! by their number in the order of the files.

mod census;
mod counted;
mod deal;
mod facts;
mod recoded;
mod sample;
mod store;

pub use census::Census;
pub(crate) use counted::{Cells, Counted};
pub use deal::RowBlocks;
pub use facts::{BlockFacts, ForestFacts};
pub use store::ScratchFile;

/// Rows that are sampled where not everything can be counted.
pub use sample::ROWS as SAMPLED_ROWS;

/// Rows of a batch of so many columns: its cells are held several times.
fn batch_rows(n_columns: usize) -> usize {
    ((1 << 23) / n_columns.max(1)).clamp(1 << 10, crate::BatchReader::BATCH_ROWS)
}

/// The hash of a row's number; it decides which rows are sampled.
fn row_hash(row: u64) -> u64 {
    mix(row ^ 0x7261_6e64_6f6d)
}

/// Spreads every bit of a number over all others (the finaliser of SplitMix64).
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
