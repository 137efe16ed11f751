//! Leaves: the statistics that are kept of the rows in a leaf. The rows themselves are not kept.
//!
//! Averages within the leaf are weighted, so that a row of weight 2 counts as two rows; every tree then counts alike.

mod mean;
mod moments;

pub(crate) use mean::Mean;
pub(crate) use moments::{Moments, width as moments_width};

/// What a leaf keeps.
pub(crate) trait LeafRule: Sync {
    /// How many numbers.
    fn width(&self) -> usize;

    /// Appends the statistics of `rows`; false, and nothing appended, when they weigh nothing.
    fn summarise(&self, rows: &[u32], out: &mut Vec<f32>) -> bool;
}
