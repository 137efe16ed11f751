//! What is said of the blocks of a fit.

use serde::{Deserialize, Serialize};

/// How rows were dealt to blocks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockFacts {
    /// Rows of a block that were asked for.
    pub block_rows: usize,
    /// Rows of each block.
    pub rows: Vec<usize>,
    /// Rows that were looked at for what is not counted: medians of numbers, codes for missing values.
    pub sampled_rows: usize,
}

impl BlockFacts {
    /// How many blocks there are.
    pub fn n_blocks(&self) -> usize {
        self.rows.len()
    }
}
