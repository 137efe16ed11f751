//! The causal forest's rule: least squares on the labels, where both sides must hold enough treatment variation.
//!
//! Each side needs at least `min_node_size` rows with the treatment below the parent's mean and as many at or above
//! it, and at least a share `alpha` of the parent's treatment variation Σw(z − z̄)².

use super::variance::{is_above, least_squares};
use super::{NO_GAIN, SplitRule};
use crate::relabel::Label;

/// Treatment-aware least squares. Lanes: labels, treatments, their squares, two counts packed in one number (rows, and
/// rows at or above the mean treatment), and with `L = 5` weights. Four lanes are two vector additions per row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Treatment {
    /// Fewest rows of each kind of treatment on a side.
    pub(crate) min_node_size: usize,
    /// Smallest share of the parent's treatment variation on a side.
    pub(crate) alpha: f64,
    /// Penalty on uneven splits, measured in treatment variation.
    pub(crate) imbalance_penalty: f64,
}

const COUNTS: usize = 3;
const WEIGHT: usize = 4;

/// Bits of each packed count: two of them are exact in a 64-bit float.
const BITS: u32 = 26;

/// Most rows that the packed counts can hold.
pub(crate) const MAX_ROWS: usize = (1 << BITS) - 1;

/// Rows, and rows at or above the mean treatment.
#[inline(always)]
fn unpack(counts: f64) -> (u64, u64) {
    // Adding 2⁵² leaves the whole number in the low bits of the representation.
    let bits = (counts + (1_u64 << 52) as f64).to_bits() & ((1 << 52) - 1);
    (bits & MAX_ROWS as u64, bits >> BITS)
}

impl Treatment {
    #[inline(always)]
    fn weight<const L: usize>(sums: &[f64; L]) -> f64 {
        if L > WEIGHT { sums[L - 1] } else { unpack(sums[COUNTS]).0 as f64 }
    }
}

impl<const L: usize> SplitRule<Label, L> for Treatment {
    const COUNT_LANE: usize = COUNTS;
    /// Least treatment variation on a side.
    type Bounds = f64;

    #[inline(always)]
    fn lanes(&self, label: &Label) -> [f64; L] {
        let mut out = [0.0; L];
        let wz = label.w * label.z;
        out[0] = label.w * label.rho;
        out[1] = wz;
        out[2] = wz * label.z;
        out[COUNTS] = if label.z >= 0.0 { 1.0 + (1_u64 << BITS) as f64 } else { 1.0 };
        if L > WEIGHT {
            out[WEIGHT] = label.w;
        }
        out
    }

    fn bounds(&self, total: &[f64; L]) -> f64 {
        self.alpha * (total[2] - total[1] * total[1] / Self::weight(total))
    }

    #[inline(always)]
    fn gain(&self, least: &f64, left: &[f64; L], right: &[f64; L], floor: f64) -> f64 {
        let ((nl, high_l), (nr, high_r)) = (unpack(left[COUNTS]), unpack(right[COUNTS]));
        let (wl, wr) = if L > WEIGHT { (left[L - 1], right[L - 1]) } else { (nl as f64, nr as f64) };
        // Few splits are better than the best so far, so that is asked first.
        if !is_above(left[0], right[0], [wl, wr], floor) {
            return NO_GAIN;
        }
        let k = self.min_node_size as u64;
        if high_l < k || high_r < k || nl - high_l < k || nr - high_r < k {
            return NO_GAIN;
        }
        // Σz² − (Σz)²/w ≥ least, without the division.
        let (sl, sr) = (left[2] * wl - left[1] * left[1], right[2] * wr - right[1] * right[1]);
        if sl < least * wl || sr < least * wr {
            return NO_GAIN;
        }
        least_squares(left[0], right[0], [wl, wr], [sl / wl, sr / wr], self.imbalance_penalty, floor)
    }

    fn order(&self, bin: &[f64; L]) -> f64 {
        let w = Self::weight(bin);
        if w > 0.0 { bin[0] / w } else { 0.0 }
    }

    #[inline(always)]
    fn rows(&self, sums: &[f64; L]) -> f64 {
        unpack(sums[COUNTS]).0 as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_counts_add_up() {
        let rule = Treatment { min_node_size: 1, alpha: 0.0, imbalance_penalty: 0.0 };
        let lane = |z: f64| SplitRule::<Label, 4>::lanes(&rule, &Label { rho: 0.0, z, w: 1.0 })[COUNTS];
        let sum = 3000.0 * lane(1.0) + 500.0 * lane(-1.0) + lane(0.0);
        assert_eq!(unpack(sum), (3501, 3001));
        assert_eq!(unpack(MAX_ROWS as f64 * lane(1.0)), (MAX_ROWS as u64, MAX_ROWS as u64));
        assert_eq!(unpack(0.0), (0, 0));
    }
}
