//! Splitting: what is added up over a bin's rows, which splits are allowed, and how good one is.
//!
//! A rule turns a label into `L` numbers ("lanes") that add up over rows; the search hands it the sums on both sides
//! of a split. Gains are compared without dividing: of many candidates few are better than the best so far.

mod arms;
mod exact;
pub(crate) mod search;
mod treatment;
mod variance;

pub(crate) use arms::ArmsRule;
pub(crate) use exact::{Balance, Exact, Heterogeneity};
pub(crate) use treatment::{MAX_ROWS, Treatment};
pub(crate) use variance::Variance;

/// The gain of a split that is not allowed or no better than what is known.
pub(crate) const NO_GAIN: f64 = f64::NEG_INFINITY;

/// How splits are scored.
pub(crate) trait SplitRule<Label, const L: usize>: Sync {
    /// A lane that is 0 exactly where no growing row was added.
    const COUNT_LANE: usize;
    /// The lane in which honest rows are counted, for rules that bound their number too.
    const HONEST_LANE: Option<usize> = None;
    /// Limits that hold for all splits of one node.
    type Bounds;

    /// The numbers to add up for a row.
    fn lanes(&self, label: &Label) -> [f64; L];

    /// The limits of a node with these sums.
    fn bounds(&self, total: &[f64; L]) -> Self::Bounds;

    /// The gain of a split, or [`NO_GAIN`] if it is not allowed or not above `floor`.
    fn gain(&self, bounds: &Self::Bounds, left: &[f64; L], right: &[f64; L], floor: f64) -> f64;

    /// By what the levels of a categorical column are put in order before they are cut in two.
    fn order(&self, bin: &[f64; L]) -> f64;

    /// Number of rows behind a sum.
    fn rows(&self, sums: &[f64; L]) -> f64;
}
