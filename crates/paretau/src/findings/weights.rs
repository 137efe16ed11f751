//! Weights of an arm by rank, before and after smoothing, with the tail that smooths them.

use paretau_kernels::fallback::TailFit;
use paretau_nuisance::Weights;
use paretau_report::{ArmWeights, Tail, WeightRank};

/// Ranks up to this are all kept; further on each is a little further than the last.
const EVERY: usize = 12;
/// Ratio of consecutive ranks after that.
const RATIO: f64 = 1.15;

/// The weights of one arm.
pub(super) fn of_arm(weights: &Weights, t: &[u8], arm: u8) -> ArmWeights {
    let pick = |w: &[f64]| -> Vec<f64> { w.iter().zip(t).filter(|(_, a)| **a == arm).map(|(w, _)| *w).collect() };
    let (raw, smoothed) = (pick(&weights.raw), pick(&weights.smooth));
    let tail = match weights.fits[usize::from(arm.min(1))] {
        Some(TailFit::Smoothed { mu, sigma, xi, m, .. }) => Some(Tail { m, from: mu, sigma, xi }),
        Some(TailFit::LeftAsIs(_)) | None => None,
    };
    let descending = |mut w: Vec<f64>| {
        w.sort_by(|a, b| b.total_cmp(a));
        w
    };
    let (raw, smoothed) = (descending(raw), descending(smoothed));
    let ranks =
        ranks(raw.len()).map(|rank| WeightRank { rank, raw: raw[rank - 1], smoothed: smoothed[rank - 1] }).collect();
    ArmWeights { ranks, tail }
}

/// 1, 2, 3, … then ranks spaced by ratio, the last one included.
fn ranks(n: usize) -> impl Iterator<Item = usize> {
    let next = move |rank: &usize| {
        let after = if *rank < EVERY { rank + 1 } else { (*rank as f64 * RATIO) as usize };
        if *rank == n { None } else { Some(after.min(n)) }
    };
    std::iter::successors((n > 0).then_some(1), next)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use paretau_core::Seed;
    use paretau_nuisance::weights::BOUND;
    use paretau_nuisance::{OverlapOptions, overlap_report};

    #[test]
    fn the_tail_shown_is_the_tail_that_smoothed() {
        let mut rng = Seed(5).rng();
        let e: Vec<f64> = (0..900).map(|_| 1.0 / (1.0 + (-2.0 * rng.normal()).exp())).collect();
        let t: Vec<u8> = e.iter().map(|e| u8::from(rng.bernoulli(*e))).collect();
        let sets = Weights::smoothed_inverse(&e, &t).unwrap();
        let report = overlap_report(&e, &sets, (&t, None), &OverlapOptions::default()).unwrap();
        for arm in [0, 1] {
            let weights = of_arm(&sets, &t, arm);
            let tail = weights.tail.unwrap();
            let (first, last) = (weights.ranks[0], weights.ranks.last().unwrap());
            assert_eq!((first.rank, last.rank), (1, report.arms[usize::from(arm)].n));
            assert_eq!(first.raw, report.arms[usize::from(arm)].max_raw);
            assert_eq!(first.smoothed, report.arms[usize::from(arm)].max_smoothed);
            // The largest smoothed weight is the fitted distribution's quantile at (m - 1/2)/m, or the bound's inverse.
            let p: f64 = 0.5 / tail.m as f64;
            let quantile = (tail.from + tail.sigma / tail.xi * (p.powf(-tail.xi) - 1.0)).min(1.0 / BOUND);
            assert!((quantile / first.smoothed - 1.0).abs() < 1e-9, "{quantile} {first:?}");
            // Below the tail nothing changes, but that the propensity is held within its bound.
            assert!((last.raw.max(1.0 / (1.0 - BOUND)) - last.smoothed).abs() < 1e-12, "{last:?}");
        }
    }

    #[test]
    fn ranks_reach_both_ends() {
        assert_eq!(ranks(0).count(), 0);
        assert_eq!(ranks(3).collect::<Vec<_>>(), [1, 2, 3]);
        let many: Vec<usize> = ranks(100_000).collect();
        assert!(many.len() < 100 && many.last() == Some(&100_000) && many.is_sorted());
    }
}
