//! Least squares on the labels: maximise S_L²/w_L + S_R²/w_R, with a least number of rows on each side.

use super::{NO_GAIN, SplitRule};
use crate::relabel::Label;

/// The regression rule. Lanes: sum of labels, rows, and with `L = 3` weights.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Variance {
    /// Fewest rows on a side.
    pub(crate) min_rows: f64,
    /// Smallest share of the node's rows on a side.
    pub(crate) alpha: f64,
    /// Penalty on uneven splits.
    pub(crate) imbalance_penalty: f64,
}

impl<const L: usize> SplitRule<Label, L> for Variance {
    const COUNT_LANE: usize = 1;
    type Bounds = f64;

    #[inline(always)]
    fn lanes(&self, label: &Label) -> [f64; L] {
        let mut out = [0.0; L];
        out[0] = label.w * label.rho;
        out[1] = 1.0;
        if L > 2 {
            out[2] = label.w;
        }
        out
    }

    fn bounds(&self, total: &[f64; L]) -> f64 {
        (self.alpha * total[1]).ceil().max(self.min_rows)
    }

    #[inline(always)]
    fn gain(&self, least: &f64, left: &[f64; L], right: &[f64; L], floor: f64) -> f64 {
        if left[1] < *least || right[1] < *least {
            return NO_GAIN;
        }
        let (wl, wr) = (left[L - 1], right[L - 1]);
        least_squares(left[0], right[0], [wl, wr], [left[1], right[1]], self.imbalance_penalty, floor)
    }

    fn order(&self, bin: &[f64; L]) -> f64 {
        if bin[L - 1] > 0.0 { bin[0] / bin[L - 1] } else { 0.0 }
    }

    #[inline(always)]
    fn rows(&self, sums: &[f64; L]) -> f64 {
        sums[1]
    }
}

/// Whether S_L²/w_L + S_R²/w_R is above `floor`, without dividing.
#[inline(always)]
pub(super) fn is_above(left: f64, right: f64, [wl, wr]: [f64; 2], floor: f64) -> bool {
    let numerator = left * left * wr + right * right * wl;
    let denominator = wl * wr;
    numerator > floor * denominator && denominator > 0.0
}

/// S_L²/w_L + S_R²/w_R − penalty·(1/size_L + 1/size_R), if above `floor`.
#[inline(always)]
pub(super) fn least_squares(
    left: f64,
    right: f64,
    [wl, wr]: [f64; 2],
    sizes: [f64; 2],
    penalty: f64,
    floor: f64,
) -> f64 {
    if !is_above(left, right, [wl, wr], floor) {
        return NO_GAIN;
    }
    let gain = (left * left * wr + right * right * wl) / (wl * wr);
    if penalty == 0.0 {
        return gain;
    }
    let gain = gain - penalty * (1.0 / sizes[0] + 1.0 / sizes[1]);
    if gain > floor { gain } else { NO_GAIN }
}
