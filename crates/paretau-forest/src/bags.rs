//! Variance by the bootstrap of little bags, with the negative part taken out by a flat prior.

use std::f64::consts::PI;

use paretau_kernels::distributions::normal_tail;

/// Variance of a forest's estimate from the trees' influence values, bag after bag.
///
/// `values` holds `bag` values for every usable bag. Between-bag variation overstates the sampling variance by what
/// few trees per bag leave as noise; that part is estimated within bags and subtracted, and since the difference may be
/// negative, its posterior mean under a flat prior on [0, ∞) is given instead.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct LittleBags {
    n_bags: f64,
    between: f64,
    total: f64,
}

impl LittleBags {
    /// Adds a bag from the sum and the sum of squares of its trees' values; `share` is one tree's part of it.
    #[inline(always)]
    pub(crate) fn add(&mut self, sum: f64, squares: f64, share: f64) {
        let mean = sum * share;
        self.n_bags += 1.0;
        self.between += mean * mean;
        self.total += squares * share;
    }

    /// The variance; nothing with fewer than two bags or bags of one tree.
    pub(crate) fn variance(&self, bag: usize) -> Option<f64> {
        if self.n_bags < 2.0 || bag < 2 {
            return None;
        }
        let between = self.between / self.n_bags;
        let noise = (self.total / self.n_bags - between) / (bag as f64 - 1.0);
        Some(debias(between - noise, between.max(noise), self.n_bags))
    }
}

/// Posterior mean of a variance that is estimated as `estimate` with standard error `scale·√(2/n)`.
fn debias(estimate: f64, scale: f64, n_bags: f64) -> f64 {
    let se = scale * (2.0 / n_bags).sqrt();
    if se <= 1e-300 {
        return estimate.max(0.0);
    }
    let ratio = estimate / se;
    estimate + se * inverse_mills(ratio)
}

/// φ(r)/Φ(r).
fn inverse_mills(r: f64) -> f64 {
    if r < -25.0 {
        // The ratio nears −r − 1/r + 2/r³; the direct form would divide two vanishing numbers.
        return -r - 1.0 / r + 2.0 / (r * r * r);
    }
    let density = (-0.5 * r * r).exp() / (2.0 * PI).sqrt();
    density / normal_tail(-r)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use paretau_core::Seed;

    #[test]
    fn mills_ratio_matches_known_values() {
        for (r, expected) in
            [(0.0, 0.797_884_560_8), (1.0, 0.287_599_970_9), (-2.0, 2.373_215_532_8), (-10.0, 10.098_093_233_6)]
        {
            assert!((inverse_mills(r) / expected - 1.0).abs() < 1e-6, "{r}");
        }
        assert!((inverse_mills(-24.999) - inverse_mills(-25.001)).abs() < 0.01);
    }

    #[test]
    fn recovers_the_between_bag_variance() {
        let mut rng = Seed(11).rng();
        let mut bags = LittleBags::default();
        for _ in 0..4000 {
            let shared = 0.5 * rng.normal();
            let trees = [shared + 2.0 * rng.normal(), shared + 2.0 * rng.normal()];
            bags.add(trees[0] + trees[1], trees[0].powi(2) + trees[1].powi(2), 0.5);
        }
        assert!((bags.variance(2).unwrap() - 0.25).abs() < 0.1, "{:?}", bags.variance(2));
    }

    #[test]
    fn is_positive_even_when_the_difference_is_not() {
        let mut bags = LittleBags::default();
        (0..10).for_each(|_| bags.add(0.0, 2.0, 0.5));
        let variance = bags.variance(2).unwrap();
        assert!(variance > 0.0 && variance < 1.0);
        assert_eq!(LittleBags::default().variance(2), None);
    }
}
