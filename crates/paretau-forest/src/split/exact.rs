//! EconML's rules: the effect re-estimated in each child ("mse"), or labels as in the causal forest ("het"); both with
//! enough rows on each side among the growing and among the honest rows, so that no leaf is ever empty.

use super::variance::least_squares;
use super::{NO_GAIN, SplitRule};
use crate::relabel::Label;

/// Least numbers of rows on a side, of either half.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Balance {
    /// Fewest rows on a side.
    pub(crate) min_rows: f64,
    /// Smallest share of the node's rows on a side.
    pub(crate) min_share: f64,
    /// Whether there are honest rows to count.
    pub(crate) honest: bool,
}

/// Least rows of the growing and of the honest half.
pub(crate) type Least = [f64; 2];

impl Balance {
    fn least(&self, rows: f64, honest: f64) -> Least {
        let of = |n: f64| (self.min_share * n).ceil().max(self.min_rows);
        [of(rows), if self.honest { of(honest) } else { 0.0 }]
    }
}

/// Exact decrease of the residual sum of squares when effect and level are fitted anew on each side.
/// Lanes: treatments, outcomes, their products, squared treatments, weights, rows, honest rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exact(pub(crate) Balance);

/// Keeps a side with next to no treatment variation from claiming an effect.
const RIDGE: f64 = 1e-6;

impl Exact {
    /// What level and effect explain of a side's sum of squares.
    #[inline(always)]
    fn explained(sums: &[f64; 7]) -> f64 {
        let [z, y, zy, zz, w, ..] = *sums;
        if w <= 0.0 {
            return 0.0;
        }
        let (szz, szy) = (zz - z * z / w, zy - z * y / w);
        y * y / w + szy * szy / (szz.max(RIDGE * w))
    }
}

impl SplitRule<Label, 7> for Exact {
    const COUNT_LANE: usize = 5;
    const HONEST_LANE: Option<usize> = Some(6);
    type Bounds = (Least, f64);

    #[inline(always)]
    fn lanes(&self, label: &Label) -> [f64; 7] {
        let wz = label.w * label.z;
        [wz, label.w * label.rho, wz * label.rho, wz * label.z, label.w, 1.0, 0.0]
    }

    fn bounds(&self, total: &[f64; 7]) -> Self::Bounds {
        (self.0.least(total[5], total[6]), Self::explained(total))
    }

    #[inline(always)]
    fn gain(&self, (least, parent): &Self::Bounds, left: &[f64; 7], right: &[f64; 7], floor: f64) -> f64 {
        if left[5] < least[0] || right[5] < least[0] || left[6] < least[1] || right[6] < least[1] {
            return NO_GAIN;
        }
        let gain = Self::explained(left) + Self::explained(right) - parent;
        if gain > floor { gain } else { NO_GAIN }
    }

    fn order(&self, bin: &[f64; 7]) -> f64 {
        // A level's own slope is too noisy to sort by; its covariance with the treatment is not.
        if bin[4] > 0.0 { (bin[2] - bin[0] * bin[1] / bin[4]) / bin[4] } else { 0.0 }
    }

    #[inline(always)]
    fn rows(&self, sums: &[f64; 7]) -> f64 {
        sums[5]
    }
}

/// Least squares on gradient labels with EconML's balance. Lanes: labels, weights, rows, honest rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Heterogeneity(pub(crate) Balance);

impl SplitRule<Label, 4> for Heterogeneity {
    const COUNT_LANE: usize = 2;
    const HONEST_LANE: Option<usize> = Some(3);
    type Bounds = Least;

    #[inline(always)]
    fn lanes(&self, label: &Label) -> [f64; 4] {
        [label.w * label.rho, label.w, 1.0, 0.0]
    }

    fn bounds(&self, total: &[f64; 4]) -> Least {
        self.0.least(total[2], total[3])
    }

    #[inline(always)]
    fn gain(&self, least: &Least, left: &[f64; 4], right: &[f64; 4], floor: f64) -> f64 {
        if left[2] < least[0] || right[2] < least[0] || left[3] < least[1] || right[3] < least[1] {
            return NO_GAIN;
        }
        least_squares(left[0], right[0], [left[1], right[1]], [left[2], right[2]], 0.0, floor)
    }

    fn order(&self, bin: &[f64; 4]) -> f64 {
        if bin[1] > 0.0 { bin[0] / bin[1] } else { 0.0 }
    }

    #[inline(always)]
    fn rows(&self, sums: &[f64; 4]) -> f64 {
        sums[2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paretau_core::Seed;

    /// Residual sum of squares of y on (z, 1).
    fn residual_ss(rows: &[[f64; 2]]) -> f64 {
        let n = rows.len() as f64;
        let (mz, my) = rows.iter().fold((0.0, 0.0), |(a, b), [z, y]| (a + z / n, b + y / n));
        let (zz, zy) = rows.iter().fold((0.0, 0.0), |(a, b), [z, y]| (a + (z - mz).powi(2), b + (z - mz) * (y - my)));
        rows.iter().map(|[z, y]| (y - my - zy / zz * (z - mz)).powi(2)).sum()
    }

    #[test]
    fn gain_is_the_real_decrease_of_the_residual_sum_of_squares() {
        let mut rng = Seed(9).rng();
        let rows: Vec<[f64; 2]> = (0..40).map(|_| [rng.normal(), rng.normal()]).collect();
        let rule = Exact(Balance { min_rows: 1.0, min_share: 0.0, honest: false });
        let sum = |part: &[[f64; 2]]| {
            part.iter().fold([0.0; 7], |mut s, &[z, y]| {
                rule.lanes(&Label { rho: y, z, w: 1.0 }).iter().zip(&mut s).for_each(|(v, s)| *s += v);
                s
            })
        };
        let gain = rule.gain(&rule.bounds(&sum(&rows)), &sum(&rows[..15]), &sum(&rows[15..]), 0.0);
        let expected = residual_ss(&rows) - residual_ss(&rows[..15]) - residual_ss(&rows[15..]);
        assert!((gain - expected).abs() < 1e-9, "{gain} {expected}");
    }
}
