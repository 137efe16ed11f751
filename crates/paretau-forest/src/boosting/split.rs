//! The best split of one column, from its histogram: what it gains in the loss, to second order.
//!
//! Missing values are tried on either side and alone. Levels of a categorical column are put in order of their step and
//! cut as if they were numbers; levels of few rows are drawn towards no step, and the two sides are penalised more, since
//! an order chosen by the outcome always finds some gain.

use super::fixed::{FixedPoint, Sums, minus, plus};
use crate::split::search::Cut;
use crate::tree::LevelSet;

/// A split must be better than the best so far by more than rounding, so that of equal ones the first wins.
pub(crate) const TIE: f64 = 1.0 + 1e-9;
/// Curvature that is always there, so that nothing is divided by zero.
const TINY: f64 = 1e-9;
/// Rows without a step that are added to each level when levels are put in order, and to each side's penalty.
const LEVEL_ROWS: f64 = 10.0;

/// What splits are scored by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SplitRule {
    pub(crate) min_leaf_size: u32,
    pub(crate) l2: f64,
    pub(crate) fixed: FixedPoint,
}

/// A split of one column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BestCut<const L: usize> {
    pub(crate) gain: f64,
    pub(crate) cut: Cut,
    pub(crate) missing_left: bool,
    /// Sum of the rows that go left.
    pub(crate) left: [i64; L],
}

/// What a column is, beside its bins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ColumnFacts {
    /// The code of missing values, one more than the last bin; may be beyond the bins where none is missing.
    pub(crate) missing: u16,
    pub(crate) categorical: bool,
}

fn score(sums: &Sums, l2: f64) -> f64 {
    sums.gradient * sums.gradient / (sums.curvature + l2 + TINY)
}

/// The best split of a node whose sum is `total`, by the bins of one column.
pub(crate) fn best<const L: usize>(
    rule: &SplitRule,
    bins: &[[i64; L]],
    total: [i64; L],
    column: ColumnFacts,
) -> Option<BestCut<L>> {
    if column.categorical {
        return best_levels(rule, bins, total, column);
    }
    let n_bins = bins.len().min(usize::from(column.missing));
    let missing = bins.get(usize::from(column.missing)).copied().unwrap_or([0; L]);
    let bins = &bins[..n_bins];
    let scan = Scan { rule, total: rule.fixed.read(total), l2: rule.l2 };
    let before = score(&scan.total, rule.l2);
    let found = if missing[L - 1] == 0 {
        scan.run(bins, [0; L], 0.0).map(|(at, score, left)| {
            // No missing value to learn from: they will follow the larger side.
            (at, score, left, 2 * rule.fixed.read(left).rows >= scan.total.rows)
        })
    } else {
        let to_left = scan.run(bins, missing, 0.0).map(|(at, score, left)| (at, score, left, true));
        let floor = to_left.map_or(0.0, |(_, score, ..)| score * TIE);
        // Behind the last bin only missing values are on the right.
        scan.run(bins, [0; L], floor).map(|(at, score, left)| (at, score, left, false)).or(to_left)
    };
    let (at, score, left, missing_left) = found?;
    let next = (at + 1..n_bins).find(|&code| bins[code][L - 1] != 0);
    // Halfway to the next bin that occurs, so that new values go to the nearer side.
    let cut = next.map_or(n_bins - 1, |next| at + (next - at - 1) / 2) as u16;
    finish(score, before, Cut::Threshold(cut), missing_left, left)
}

/// The split, if it gains more than rounding would.
fn finish<const L: usize>(score: f64, before: f64, cut: Cut, missing_left: bool, left: [i64; L]) -> Option<BestCut<L>> {
    let gain = score - before;
    (gain > 1e-9 * score).then_some(BestCut { gain, cut, missing_left, left })
}

struct Scan<'a> {
    rule: &'a SplitRule,
    total: Sums,
    l2: f64,
}

impl Scan<'_> {
    /// The place behind which to cut, with `left` on the left from the start: place, score of both sides, sum of the left.
    #[inline]
    fn run<const L: usize>(
        &self,
        bins: &[[i64; L]],
        mut left: [i64; L],
        mut floor: f64,
    ) -> Option<(usize, f64, [i64; L])> {
        let least = self.rule.min_leaf_size.max(1);
        let penalty = self.l2 + TINY;
        let mut found = None;
        for (at, &bin) in bins.iter().enumerate() {
            if bin[L - 1] == 0 {
                continue;
            }
            left = plus(left, bin);
            let sums = self.rule.fixed.read(left);
            if sums.rows < least {
                continue;
            }
            if self.total.rows - sums.rows < least {
                break;
            }
            let (g, h) = (self.total.gradient - sums.gradient, self.total.curvature - sums.curvature);
            let (h, own_h) = (h.max(0.0) + penalty, sums.curvature + penalty);
            // Both sides' scores with one division.
            let both = (sums.gradient * sums.gradient * h + g * g * own_h) / (own_h * h);
            if both > floor {
                floor = both * TIE;
                found = Some((at, both, left));
            }
        }
        found
    }
}

fn best_levels<const L: usize>(
    rule: &SplitRule,
    bins: &[[i64; L]],
    total: [i64; L],
    column: ColumnFacts,
) -> Option<BestCut<L>> {
    // Missing values are a level like the others.
    let mut levels: Vec<(f64, usize)> = Vec::new();
    for (code, &bin) in bins.iter().enumerate().filter(|(_, bin)| bin[L - 1] != 0) {
        let sums = rule.fixed.read(bin);
        levels.push((sums.gradient / (sums.curvature + LEVEL_ROWS), code));
    }
    levels.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let ordered: Vec<[i64; L]> = levels.iter().map(|&(_, code)| bins[code]).collect();
    let scan = Scan { rule, total: rule.fixed.read(total), l2: rule.l2 + LEVEL_ROWS };
    let (at, both, left) = scan.run(&ordered, [0; L], 0.0)?;
    // Levels that this node has not seen follow the larger side, as missing values do.
    let larger_left = 2 * rule.fixed.read(left).rows >= scan.total.rows;
    let mut set: LevelSet = if larger_left { [u64::MAX; 4] } else { [0; 4] };
    let mut missing_left = larger_left;
    for (k, &(_, code)) in levels.iter().enumerate() {
        let (word, bit) = (&mut set[code >> 6], 1_u64 << (code & 63));
        *word = if k <= at { *word | bit } else { *word & !bit };
        if code == usize::from(column.missing) {
            missing_left = k <= at;
        }
    }
    finish(both, score(&scan.total, scan.l2), Cut::Set(set), missing_left, left)
}

/// The sum of the other side.
pub(crate) fn right_of<const L: usize>(total: [i64; L], found: &BestCut<L>) -> [i64; L] {
    minus(total, found.left)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::tree::contains;
    use paretau_core::Seed;

    const NUMERIC: ColumnFacts = ColumnFacts { missing: 6, categorical: false };

    /// Rows of codes 0..=6 (6 is missing) with gradients, and all ways to divide them by brute force.
    fn rows(seed: u64, n: usize) -> Vec<(usize, f64)> {
        let mut rng = Seed(seed).rng();
        (0..n).map(|_| (rng.below(7), rng.normal())).collect()
    }

    fn histogram(rows: &[(usize, f64)], fixed: &FixedPoint) -> (Vec<[i64; 1]>, [i64; 1]) {
        let mut bins = vec![[0; 1]; 7];
        rows.iter().for_each(|&(code, g)| bins[code] = plus(bins[code], fixed.pack(g, 1.0)));
        let total = bins.iter().fold([0], |sum, &bin| plus(sum, bin));
        (bins, total)
    }

    fn gain(rows: &[(usize, f64)], l2: f64, is_left: impl Fn(usize) -> bool) -> Option<f64> {
        let side = |left: bool| {
            let part: Vec<f64> = rows.iter().filter(|(code, _)| is_left(*code) == left).map(|row| row.1).collect();
            (part.len(), part.iter().sum::<f64>().powi(2) / (part.len() as f64 + l2))
        };
        let ((n_left, left), (n_right, right)) = (side(true), side(false));
        let whole = rows.iter().map(|row| row.1).sum::<f64>().powi(2) / (rows.len() as f64 + l2);
        (n_left >= 3 && n_right >= 3).then_some(left + right - whole)
    }

    #[test]
    fn the_best_threshold_is_that_of_all_thresholds() {
        for seed in 0..50 {
            let rows = rows(seed, 60);
            let fixed = FixedPoint::new::<1>(rows.len(), 5.0, 1.0);
            let rule = SplitRule { min_leaf_size: 3, l2: 0.7, fixed };
            let (bins, total) = histogram(&rows, &fixed);
            let found = best(&rule, &bins, total, NUMERIC).unwrap();
            let mut all = vec![];
            for cut in 0..6 {
                for missing_left in [false, true] {
                    let is_left = |code: usize| if code == 6 { missing_left } else { code <= cut };
                    all.extend(gain(&rows, 0.7, is_left));
                }
            }
            let largest = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            assert!((found.gain - largest).abs() < 1e-6, "{seed}: {found:?} {largest}");
            let Cut::Threshold(cut) = found.cut else { unreachable!() };
            let is_left = |code: usize| if code == 6 { found.missing_left } else { code <= usize::from(cut) };
            assert!((gain(&rows, 0.7, is_left).unwrap() - largest).abs() < 1e-6);
        }
    }

    #[test]
    fn the_best_set_of_levels_is_one_of_the_ordered_ones() {
        let rows = rows(3, 80);
        let fixed = FixedPoint::new::<1>(rows.len(), 5.0, 1.0);
        let rule = SplitRule { min_leaf_size: 3, l2: 0.0, fixed };
        let (bins, total) = histogram(&rows, &fixed);
        let found = best(&rule, &bins, total, ColumnFacts { missing: 6, categorical: true }).unwrap();
        let Cut::Set(set) = found.cut else { unreachable!() };
        let is_left = |code: usize| if code == 6 { found.missing_left } else { contains(&set, code as u16) };
        assert!((gain(&rows, LEVEL_ROWS, is_left).unwrap() - found.gain).abs() < 1e-6);
        let n_left = rows.iter().filter(|(code, _)| is_left(*code)).count();
        assert_eq!(fixed.read(found.left).rows as usize, n_left);
    }

    #[test]
    fn nothing_is_split_off_where_nothing_differs() {
        let fixed = FixedPoint::new::<1>(40, 1.0, 1.0);
        let rule = SplitRule { min_leaf_size: 1, l2: 0.0, fixed };
        let rows: Vec<(usize, f64)> = (0..40).map(|i| (i % 6, 0.5)).collect();
        let (bins, total) = histogram(&rows, &fixed);
        assert_eq!(best(&rule, &bins, total, NUMERIC), None);
        assert_eq!(best(&SplitRule { min_leaf_size: 21, ..rule }, &bins, total, NUMERIC), None);
    }
}
