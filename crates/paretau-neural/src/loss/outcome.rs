//! How far a predicted outcome is from the observed one.

use paretau_kernels::real::Real;
use serde::{Deserialize, Serialize};

/// Loss of one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutcomeLoss {
    /// `(h - y)²`.
    Squared,
    /// `|h - y|`.
    Absolute,
    /// `ln(1 + e^h) - y h`, for outcomes 0 and 1; `h` is a logit.
    Logistic,
}

impl OutcomeLoss {
    /// Value and derivative with respect to `h`.
    #[inline]
    pub fn at<T: Real>(self, h: T, y: T) -> (T, T) {
        match self {
            Self::Squared => {
                let gap = h - y;
                (gap * gap, gap + gap)
            }
            Self::Absolute => {
                let gap = h - y;
                let sign = if gap > T::ZERO {
                    T::ONE
                } else if gap < T::ZERO {
                    -T::ONE
                } else {
                    T::ZERO
                };
                (gap.abs(), sign)
            }
            Self::Logistic => logistic(h, y),
        }
    }
}

/// `ln(1 + e^h) - y h` and its derivative `sigmoid(h) - y`, without overflow.
#[inline]
pub fn logistic<T: Real>(h: T, y: T) -> (T, T) {
    let small = (-h.abs()).exp();
    let value = h.max(T::ZERO) + small.ln_1p() - y * h;
    (value, sigmoid(h) - y)
}

/// `1 / (1 + e^-h)` without overflow.
#[inline]
pub fn sigmoid<T: Real>(h: T) -> T {
    let small = (-h.abs()).exp();
    let upper = T::ONE / (T::ONE + small);
    if h >= T::ZERO { upper } else { small * upper }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_match_central_differences() {
        for loss in [OutcomeLoss::Squared, OutcomeLoss::Absolute, OutcomeLoss::Logistic] {
            for (h, y) in [(0.3_f64, 1.0), (-4.0, 0.0), (60.0, 1.0), (-60.0, 1.0)] {
                let step = 1e-6;
                let numeric = (loss.at(h + step, y).0 - loss.at(h - step, y).0) / (2.0 * step);
                let (value, slope) = loss.at(h, y);
                assert!((numeric - slope).abs() < 1e-6 && value.is_finite(), "{loss:?} {h} {y}: {numeric} {slope}");
            }
        }
        assert!(OutcomeLoss::Logistic.at(-1e4_f32, 1.0).0.is_finite());
    }
}
