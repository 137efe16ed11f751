//! The causal forest's rule: least squares on the labels, where both sides must hold enough treatment variation.
//!
//! Each side needs at least `min_node_size` rows with the treatment below the parent's mean and as many at or above
//! it, and at least a share `alpha` of the parent's treatment variation Σw(z − z̄)².

use super::variance::least_squares;
use super::{NO_GAIN, SplitRule};
use crate::relabel::Label;

/// Treatment-aware least squares. Lanes: labels, treatments, their squares, rows, rows at or above the mean treatment,
/// and with `L = 6` weights.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Treatment {
    /// Fewest rows of each kind of treatment on a side.
    pub(crate) min_node_size: f64,
    /// Smallest share of the parent's treatment variation on a side.
    pub(crate) alpha: f64,
    /// Penalty on uneven splits, measured in treatment variation.
    pub(crate) imbalance_penalty: f64,
}

const ROWS: usize = 3;
const HIGH: usize = 4;

impl<const L: usize> SplitRule<Label, L> for Treatment {
    /// Least treatment variation on a side.
    type Bounds = f64;

    #[inline(always)]
    fn lanes(&self, label: &Label) -> [f64; L] {
        let mut out = [0.0; L];
        let wz = label.w * label.z;
        out[0] = label.w * label.rho;
        out[1] = wz;
        out[2] = wz * label.z;
        out[ROWS] = 1.0;
        out[HIGH] = f64::from(u8::from(label.z >= 0.0));
        if L > 5 {
            out[5] = label.w;
        }
        out
    }

    fn bounds(&self, total: &[f64; L]) -> f64 {
        let w = if L > 5 { total[5] } else { total[ROWS] };
        self.alpha * (total[2] - total[1] * total[1] / w)
    }

    #[inline(always)]
    fn gain(&self, least: &f64, left: &[f64; L], right: &[f64; L], floor: f64) -> f64 {
        let k = self.min_node_size;
        if left[HIGH] < k || right[HIGH] < k || left[ROWS] - left[HIGH] < k || right[ROWS] - right[HIGH] < k {
            return NO_GAIN;
        }
        let (wl, wr) = if L > 5 { (left[5], right[5]) } else { (left[ROWS], right[ROWS]) };
        // Σz² − (Σz)²/w ≥ least, without the division.
        let (sl, sr) = (left[2] * wl - left[1] * left[1], right[2] * wr - right[1] * right[1]);
        if sl < least * wl || sr < least * wr {
            return NO_GAIN;
        }
        least_squares(left[0], right[0], [wl, wr], [sl / wl, sr / wr], self.imbalance_penalty, floor)
    }

    fn order(&self, bin: &[f64; L]) -> f64 {
        let w = if L > 5 { bin[5] } else { bin[ROWS] };
        if w > 0.0 { bin[0] / w } else { 0.0 }
    }

    #[inline(always)]
    fn rows(&self, sums: &[f64; L]) -> f64 {
        sums[ROWS]
    }
}
