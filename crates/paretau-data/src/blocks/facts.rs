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
    /// Where one model was grown over the rows of all blocks instead of one per block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forest: Option<ForestFacts>,
}

/// How forests were grown over the rows of all blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForestFacts {
    /// Rows that a tree of effects was to see; nothing of lines, which see all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree_rows: Option<usize>,
    /// Rows of the first block, from which bins and the nuisances of averages come and on which held-out effects were assessed.
    pub assessed_rows: usize,
    /// Random parts of the rows, which trees draw.
    pub units: usize,
}

impl BlockFacts {
    /// How many blocks there are.
    pub fn n_blocks(&self) -> usize {
        self.rows.len()
    }
}
