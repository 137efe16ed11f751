//! What boosting makes small: squared, absolute or logistic loss, with its gradient, its curvature and its best constant.

use paretau_kernels::numeric::{logit, sigmoid};
use serde::{Deserialize, Serialize};

/// A loss of a score `f` against an outcome `y`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Loss {
    /// `(f - y)² / 2`; scores are means.
    Squared,
    /// `|f - y|`; scores are medians.
    Absolute,
    /// `ln(1 + exp(f)) - y f`; scores are log-odds.
    Logistic,
}

/// Log-odds beyond these say no more than "surely".
pub(crate) const SURE: f64 = 20.0;

impl Loss {
    /// The loss of one row.
    pub(crate) fn value(self, score: f64, y: f64) -> f64 {
        match self {
            Self::Squared => 0.5 * (score - y).powi(2),
            Self::Absolute => (score - y).abs(),
            Self::Logistic => score.max(0.0) - y * score + (-score.abs()).exp().ln_1p(),
        }
    }

    /// First and second derivative by the score; that of the absolute loss is taken as 1, leaves being medians anyway.
    #[inline(always)]
    pub(crate) fn derivatives(self, score: f64, y: f64) -> (f64, f64) {
        match self {
            Self::Squared => (score - y, 1.0),
            Self::Absolute if score > y => (1.0, 1.0),
            Self::Absolute if score < y => (-1.0, 1.0),
            Self::Absolute => (0.0, 1.0),
            Self::Logistic => {
                let p = sigmoid(score);
                (p - y, p * (1.0 - p))
            }
        }
    }

    /// Whether every row of equal weight has the same second derivative.
    pub(crate) fn has_equal_curvature(self) -> bool {
        self != Self::Logistic
    }

    /// The constant score with the lowest loss over some rows, given as outcomes and weights.
    pub(crate) fn best_constant(self, rows: &mut [(f64, f64)]) -> f64 {
        let total: f64 = rows.iter().map(|(_, w)| w).sum();
        if total <= 0.0 {
            return 0.0;
        }
        let mean = |rows: &[(f64, f64)]| rows.iter().map(|(y, w)| y * w).sum::<f64>() / total;
        match self {
            Self::Squared => mean(rows),
            Self::Absolute => median(rows),
            Self::Logistic => {
                // Half a row of each class, so that rows of one class alone do not make it certain.
                let n = rows.len() as f64;
                let p = (mean(rows) * n + 0.5) / (n + 1.0);
                logit(p)
            }
        }
    }
}

/// The weighted median of values with weights: halfway where half the weight is on either side.
pub(crate) fn median(rows: &mut [(f64, f64)]) -> f64 {
    rows.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let half = 0.5 * rows.iter().map(|(_, w)| w).sum::<f64>();
    let mut below = 0.0;
    for (k, &(value, weight)) in rows.iter().enumerate() {
        below += weight;
        if below > half {
            return value;
        }
        if below == half {
            return rows.get(k + 1).map_or(value, |next| f64::midpoint(value, next.0));
        }
    }
    rows.last().map_or(0.0, |row| row.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_are_those_of_the_loss() {
        let step = 1e-5;
        for loss in [Loss::Squared, Loss::Logistic] {
            for (score, y) in [(0.3, 1.0), (-2.0, 0.0), (4.0, 1.0)] {
                let (first, second) = loss.derivatives(score, y);
                let at = |s: f64| loss.value(s, y);
                assert!((first - (at(score + step) - at(score - step)) / (2.0 * step)).abs() < 1e-8);
                let slope = |s: f64| loss.derivatives(s, y).0;
                assert!((second - (slope(score + step) - slope(score - step)) / (2.0 * step)).abs() < 1e-8);
            }
        }
        assert_eq!([1.0, 2.0, 3.0].map(|s| Loss::Absolute.derivatives(s, 2.0).0), [-1.0, 0.0, 1.0]);
    }

    #[test]
    fn constants_are_mean_median_and_log_odds() {
        let rows = || vec![(1.0, 1.0), (2.0, 1.0), (6.0, 2.0)];
        assert_eq!(Loss::Squared.best_constant(&mut rows()), 3.75);
        assert_eq!(Loss::Absolute.best_constant(&mut rows()), 4.0);
        assert_eq!(median(&mut [(5.0, 1.0), (1.0, 1.0), (3.0, 1.0)]), 3.0);
        let sure = Loss::Logistic.best_constant(&mut [(1.0, 1.0); 9]);
        assert!((sure - 19_f64.ln()).abs() < 1e-12, "{sure}");
    }
}
