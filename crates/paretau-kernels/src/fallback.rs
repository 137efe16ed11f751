//! Why a batch of weights was left as it is instead of being smoothed, and how often that happened.

use std::fmt;

/// Tails with fewer points than this are never fitted (as in PSIS).
pub const MIN_TAIL: usize = 5;

/// Fitted shapes below this are taken as a sign of near-constant tails, where the moments `a0` and `2 a1` agree
/// up to noise and neither the scale nor its derivative means anything.
pub const MIN_SHAPE: f64 = -5.0;

/// Fitted shapes from here on have no mean, which moments cannot fit: they come from soft moments of the wrong sign.
pub const MAX_SHAPE: f64 = 1.0;

/// Why weights were left as they are. None of these is an error: the batch is used unsmoothed, and counted.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum FallBack {
    /// The tail has fewer than [`MIN_TAIL`] points (fewer than 25 weights).
    TailTooShort {
        /// Points in the tail.
        m: usize,
    },
    /// All weights, or all weights of the tail, are equal up to rounding.
    AllEqual,
    /// The soft tail holds no more than one point (`M~ <= 1`).
    SoftTailTooShort {
        /// The soft count `M~`.
        soft_m: f64,
    },
    /// The fitted scale is zero or negative.
    NonPositiveScale {
        /// The fitted scale.
        sigma: f64,
    },
    /// The fitted shape lies below [`MIN_SHAPE`], or not below [`MAX_SHAPE`].
    ExtremeShape {
        /// The fitted shape.
        xi: f64,
    },
    /// The fit or a smoothed weight is not finite.
    NonFinite,
}

impl FallBack {
    /// How many kinds of reasons exist (for tallies).
    pub const KINDS: usize = 6;

    /// Index of the kind, below [`Self::KINDS`].
    pub fn kind(&self) -> usize {
        match self {
            Self::TailTooShort { .. } => 0,
            Self::AllEqual => 1,
            Self::SoftTailTooShort { .. } => 2,
            Self::NonPositiveScale { .. } => 3,
            Self::ExtremeShape { .. } => 4,
            Self::NonFinite => 5,
        }
    }
}

impl fmt::Display for FallBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TailTooShort { m } => {
                write!(f, "the tail has {m} points, at least {MIN_TAIL} are needed")
            }
            Self::AllEqual => write!(f, "the weights are equal"),
            Self::SoftTailTooShort { soft_m } => write!(f, "the soft tail holds {soft_m} points"),
            Self::NonPositiveScale { sigma } => write!(f, "the fitted scale is {sigma}"),
            Self::ExtremeShape { xi } => write!(f, "the fitted shape is {xi}"),
            Self::NonFinite => write!(f, "the fit is not finite"),
        }
    }
}

/// What became of a batch of weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TailFit {
    /// The tail was replaced by quantiles of a generalised Pareto distribution.
    Smoothed {
        /// Location: the largest weight outside the tail.
        mu: f64,
        /// Scale.
        sigma: f64,
        /// Shape.
        xi: f64,
        /// Nominal number of tail weights.
        m: usize,
        /// Soft number of tail weights; equals `m` in hard smoothing.
        soft_m: f64,
    },
    /// The weights were left as they are.
    LeftAsIs(FallBack),
}

impl TailFit {
    /// Whether the weights were smoothed.
    pub fn is_smoothed(&self) -> bool {
        matches!(self, Self::Smoothed { .. })
    }
}

/// Counts of smoothed and left batches, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Batches seen.
    pub batches: u64,
    /// Batches left as they are, by [`FallBack::kind`].
    pub left: [u64; FallBack::KINDS],
}

impl Tally {
    /// Counts one outcome.
    pub fn record(&mut self, fit: &TailFit) {
        self.batches += 1;
        if let TailFit::LeftAsIs(reason) = fit {
            self.left[reason.kind()] += 1;
        }
    }

    /// Adds the counts of another tally.
    pub fn merge(&mut self, other: &Self) {
        self.batches += other.batches;
        for (a, b) in self.left.iter_mut().zip(other.left) {
            *a += b;
        }
    }

    /// Share of batches left as they are; 0 when none was seen.
    pub fn rate(&self) -> f64 {
        if self.batches == 0 { 0.0 } else { self.left.iter().sum::<u64>() as f64 / self.batches as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tally_counts_by_reason() {
        let mut tally = Tally::default();
        assert_eq!(tally.rate(), 0.0);
        tally.record(&TailFit::LeftAsIs(FallBack::AllEqual));
        tally.record(&TailFit::Smoothed { mu: 1.0, sigma: 1.0, xi: 0.0, m: 5, soft_m: 5.0 });
        assert_eq!(tally.left[FallBack::AllEqual.kind()], 1);
        assert_eq!(tally.rate(), 0.5);
        let copy = tally;
        tally.merge(&copy);
        assert_eq!(tally.batches, 4);
    }
}
