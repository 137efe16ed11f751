//! The causal forest's rule for several arms: every contrast must keep enough treatment variation on both sides.

use super::{NO_GAIN, SplitRule};
use crate::relabel::ArmLabel;

/// Treatment-aware least squares over contrasts. Lanes: weights, rows, then four per contrast: label, treatment, its
/// square, rows at or above the mean treatment. `L` is at least `2 + 4·dim`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ArmsRule {
    /// Number of contrasts.
    pub(crate) dim: usize,
    /// Fewest rows of each kind of treatment on a side.
    pub(crate) min_node_size: f64,
    /// Smallest share of the parent's treatment variation on a side.
    pub(crate) alpha: f64,
}

const W: usize = 0;
const ROWS: usize = 1;
const FIRST: usize = 2;

impl<const L: usize> SplitRule<ArmLabel, L> for ArmsRule {
    const COUNT_LANE: usize = ROWS;
    /// The parent's sums; limits are shares of them.
    type Bounds = [f64; L];

    #[inline]
    fn lanes(&self, label: &ArmLabel) -> [f64; L] {
        let mut out = [0.0; L];
        out[W] = label.w;
        out[ROWS] = 1.0;
        for k in 0..self.dim {
            let z = label.z[k];
            let lanes = [label.w * label.rho[k], label.w * z, label.w * z * z, f64::from(u8::from(z >= 0.0))];
            out[FIRST + 4 * k..FIRST + 4 * k + 4].copy_from_slice(&lanes);
        }
        out
    }

    fn bounds(&self, total: &[f64; L]) -> [f64; L] {
        *total
    }

    #[inline]
    fn gain(&self, total: &[f64; L], left: &[f64; L], right: &[f64; L], floor: f64) -> f64 {
        let mut gain = 0.0;
        if left[W] <= 0.0 || right[W] <= 0.0 {
            return NO_GAIN;
        }
        for k in 0..self.dim {
            let at = FIRST + 4 * k;
            let variation = |s: &[f64; L]| s[at + 2] - s[at + 1] * s[at + 1] / s[W];
            let least = self.alpha * variation(total);
            for side in [left, right] {
                let high = side[at + 3];
                if high < self.min_node_size || side[ROWS] - high < self.min_node_size || variation(side) < least {
                    return NO_GAIN;
                }
                gain += side[at] * side[at] / side[W];
            }
        }
        if gain > floor { gain } else { NO_GAIN }
    }

    fn order(&self, bin: &[f64; L]) -> f64 {
        // Several labels have no one order; the first contrast's is as good as any.
        if bin[W] > 0.0 { bin[FIRST] / bin[W] } else { 0.0 }
    }

    #[inline]
    fn rows(&self, sums: &[f64; L]) -> f64 {
        sums[ROWS]
    }
}
