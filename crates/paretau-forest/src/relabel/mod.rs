//! Relabelling: what a node's rows are split on. Computed afresh for every node.

mod arms;
mod gradient;
mod outcome;

pub(crate) use arms::{ArmLabel, Arms};
pub(crate) use gradient::{Gradient, slope};
pub(crate) use outcome::{Outcome, Residuals};

/// Gives every row of a node the label that the split rule adds up.
pub(crate) trait Relabel: Sync {
    /// What a row is labelled with.
    type Label;
    /// What the labels need to know of the node as a whole.
    type Node;

    /// Looks at the rows of a node; `None` when there is nothing to split on, so that it becomes a leaf.
    fn node(&self, rows: &[u32]) -> Option<Self::Node>;

    /// The label of one of these rows.
    fn label(&self, node: &Self::Node, row: u32) -> Self::Label;
}

/// A row's pseudo-outcome, its treatment's deviation from the node's mean, and its weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Label {
    /// Pseudo-outcome; sums to about 0 over the node.
    pub(crate) rho: f64,
    /// Treatment minus its mean in the node; 0 in regressions.
    pub(crate) z: f64,
    /// Row weight.
    pub(crate) w: f64,
}

/// The weight of a row.
#[inline(always)]
pub(crate) fn weight_of(weight: Option<&[f64]>, row: u32) -> f64 {
    weight.map_or(1.0, |w| w[row as usize])
}
