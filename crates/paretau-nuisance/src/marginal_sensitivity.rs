//! The marginal sensitivity model (Tan): given the features, a hidden cause may change each row's odds of treatment by up to
//! a factor `Λ` either way. What can the average effect be then?
//!
//! The average of an arm is the mean of its predictions plus the weighted mean of its residuals, and a row's weight may be
//! anything from `1 + (w - 1)/Λ` to `1 + (w - 1)Λ` for the inverse weight `w` (Zhao, Small and Bhattacharya). The extremes
//! of such a ratio give the smallest weight below some residual and the largest above it, or the other way round: one scan
//! of the sorted residuals finds them exactly.

use paretau_core::{Result, Seed};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::hidden_cause::bisect;
use crate::nuisances::Nuisance;
use crate::rows::{Observed, same_length};

/// Resamples behind an interval.
pub const RESAMPLES: usize = 200;
/// The largest `Λ` that is looked at.
pub const MOST_LAMBDA: f64 = 100.0;

/// What the average effect can be at one `Λ`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MarginalBounds {
    /// The factor on the odds of treatment.
    pub lambda: f64,
    /// Smallest average.
    pub low: f64,
    /// Largest average.
    pub high: f64,
    /// Ends of a 95 % interval of these bounds, by the bootstrap with nuisances held fixed.
    pub interval: (f64, f64),
}

/// Rows ready for scans.
#[derive(Debug)]
pub struct MarginalSensitivity {
    /// Per arm: rows sorted by residual, as (row, residual, inverse weight).
    arms: [Vec<(usize, f64, f64)>; 2],
    /// Expected difference of outcomes per row.
    difference: Vec<f64>,
    weight: Vec<f64>,
    /// The group of each row, numbered from 0, or its own place.
    units: Vec<usize>,
    n_units: usize,
}

impl MarginalSensitivity {
    /// Of rows with nuisances that did not see them and inverse weights of the arm that each received.
    pub fn new(rows: &Observed<'_>, nuisance: &Nuisance, inverse_weights: &[f64]) -> Result<Self> {
        rows.check()?;
        nuisance.check(rows.len())?;
        same_length("inverse weights", rows.len(), inverse_weights.len())?;
        let arm = |arm: u8| {
            let mu = if arm == 1 { &nuisance.mu1 } else { &nuisance.mu0 };
            let mut sorted: Vec<(usize, f64, f64)> = (0..rows.len())
                .filter(|&i| rows.t[i] == arm && inverse_weights[i] > 0.0)
                .map(|i| (i, rows.y[i] - mu[i], inverse_weights[i].max(1.0)))
                .collect();
            sorted.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
            sorted
        };
        let (units, n_units) = match rows.groups {
            None => ((0..rows.len()).collect(), rows.len()),
            Some(groups) => {
                let mut names = groups.to_vec();
                names.sort_unstable();
                names.dedup();
                (groups.iter().map(|g| names.partition_point(|n| n < g)).collect(), names.len())
            }
        };
        Ok(Self {
            arms: [arm(0), arm(1)],
            difference: nuisance.mu1.iter().zip(&nuisance.mu0).map(|(a, b)| a - b).collect(),
            weight: (0..rows.len()).map(|i| rows.w(i)).collect(),
            units,
            n_units,
        })
    }

    /// Smallest and largest average effect at `lambda`.
    pub fn bounds(&self, lambda: f64) -> (f64, f64) {
        self.weighted_bounds(lambda, &self.weight)
    }

    fn weighted_bounds(&self, lambda: f64, weight: &[f64]) -> (f64, f64) {
        let total: f64 = weight.iter().sum();
        let expected = self.difference.iter().zip(weight).map(|(d, w)| d * w).sum::<f64>() / total;
        let [control, treated] = [0, 1].map(|arm: usize| extremes(&self.arms[arm], weight, lambda));
        (expected + treated.0 - control.1, expected + treated.1 - control.0)
    }

    /// The bounds with a 95 % interval: the 2.5 % quantile of the lower ends and the 97.5 % quantile of the upper ends over
    /// resamples of the rows (of whole groups, when there are groups).
    pub fn bounds_with_interval(&self, lambda: f64, seed: Seed) -> MarginalBounds {
        let (low, high) = self.bounds(lambda);
        let mut ends: Vec<(f64, f64)> = (0..RESAMPLES)
            .into_par_iter()
            .filter_map(|draw| {
                let mut rng = seed.named("marginal sensitivity").indexed(draw as u64).rng();
                let mut counts = vec![0.0; self.n_units];
                (0..self.n_units).for_each(|_| counts[rng.below(self.n_units)] += 1.0);
                let weight: Vec<f64> = self.weight.iter().zip(&self.units).map(|(w, u)| w * counts[*u]).collect();
                let (low, high) = self.weighted_bounds(lambda, &weight);
                (low.is_finite() && high.is_finite()).then_some((low, high))
            })
            .collect();
        let place = |share: f64| ((ends.len() as f64 * share) as usize).min(ends.len().saturating_sub(1));
        let (first, last) = (place(0.025), place(0.975));
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        let lo = ends.get(first).map_or(low, |e| e.0).min(low);
        ends.sort_by(|a, b| a.1.total_cmp(&b.1));
        let hi = ends.get(last).map_or(high, |e| e.1).max(high);
        MarginalBounds { lambda, low, high, interval: (lo, hi) }
    }

    /// The smallest `Λ` at which the bounds (or their interval) hold 0; `None` when [`MOST_LAMBDA`] is not enough.
    pub fn lambda_of_zero(&self, interval: Option<Seed>) -> Option<f64> {
        let holds = |log: f64| {
            let lambda = log.exp();
            let (low, high) = match interval {
                None => self.bounds(lambda),
                Some(seed) => self.bounds_with_interval(lambda, seed).interval,
            };
            low <= 0.0 && high >= 0.0
        };
        let most = MOST_LAMBDA.ln();
        if !holds(most) {
            return None;
        }
        // With an interval each look costs all resamples, and three digits are enough.
        if interval.is_none() {
            return Some(bisect(holds, 0.0, most).exp());
        }
        if holds(0.0) {
            return Some(1.0);
        }
        let (mut low, mut high) = (0.0, most);
        for _ in 0..13 {
            let middle = f64::midpoint(low, high);
            if holds(middle) { high = middle } else { low = middle }
        }
        Some(high.exp())
    }
}

/// The smallest and largest weighted mean of sorted residuals when weights may vary by `lambda`.
fn extremes(sorted: &[(usize, f64, f64)], weight: &[f64], lambda: f64) -> (f64, f64) {
    let small = |k: usize| weight[sorted[k].0] * (1.0 + (sorted[k].2 - 1.0) / lambda);
    let large = |k: usize| weight[sorted[k].0] * (1.0 + (sorted[k].2 - 1.0) * lambda);
    let scan = |below: &dyn Fn(usize) -> f64, above: &dyn Fn(usize) -> f64, better: fn(f64, f64) -> f64| {
        let (mut up, mut down) = (0.0, 0.0);
        for (k, row) in sorted.iter().enumerate() {
            (up, down) = (up + above(k) * row.1, down + above(k));
        }
        let mut best = up / down;
        for (k, row) in sorted.iter().enumerate() {
            let change = below(k) - above(k);
            (up, down) = (up + change * row.1, down + change);
            if down > 0.0 {
                best = better(best, up / down);
            }
        }
        best
    };
    (scan(&large, &small, f64::min), scan(&small, &large, f64::max))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn case(seed: u64, n: usize) -> (Vec<u8>, Vec<f64>, Nuisance, Vec<f64>) {
        let mut rng = Seed(seed).rng();
        let e: Vec<f64> = (0..n).map(|_| 0.15 + 0.7 * rng.uniform()).collect();
        let t: Vec<u8> = (0..n).map(|i| if i < 2 { i as u8 } else { u8::from(rng.bernoulli(e[i])) }).collect();
        let y: Vec<f64> = (0..n).map(|i| f64::from(t[i]) + rng.normal()).collect();
        let w = e.iter().zip(&t).map(|(e, t)| 1.0 / if *t == 1 { *e } else { 1.0 - e }).collect();
        (t, y, Nuisance::from_arms(vec![0.1; n], vec![0.9; n], e), w)
    }

    /// Every corner of the box of weights: a ratio of linear functions is extreme at one of them.
    #[test]
    fn equals_brute_force() {
        for seed in 0..20 {
            let (t, y, nuisance, w) = case(seed, 12);
            let rows = Observed::new(&t, &y).unwrap();
            let model = MarginalSensitivity::new(&rows, &nuisance, &w).unwrap();
            for lambda in [1.0, 1.5, 4.0] {
                let mut ends = [[f64::INFINITY, f64::NEG_INFINITY]; 2];
                for arm in [0_u8, 1] {
                    let own: Vec<usize> = (0..12).filter(|&i| t[i] == arm).collect();
                    let mu = if arm == 1 { 0.9 } else { 0.1 };
                    for corner in 0..1_usize << own.len() {
                        let factor = |k: usize| if corner >> k & 1 == 1 { lambda } else { 1.0 / lambda };
                        let weights: Vec<f64> =
                            own.iter().enumerate().map(|(k, &i)| 1.0 + (w[i] - 1.0) * factor(k)).collect();
                        let up: f64 = own.iter().zip(&weights).map(|(&i, w)| w * (y[i] - mu)).sum();
                        let mean = mu + up / weights.iter().sum::<f64>();
                        let [low, high] = ends[usize::from(arm)];
                        ends[usize::from(arm)] = [low.min(mean), high.max(mean)];
                    }
                }
                let (low, high) = model.bounds(lambda);
                assert!((low - (ends[1][0] - ends[0][1])).abs() < 1e-10, "{seed} {lambda}");
                assert!((high - (ends[1][1] - ends[0][0])).abs() < 1e-10, "{seed} {lambda}");
            }
        }
    }

    #[test]
    fn bounds_widen_and_meet_zero_where_they_say() {
        let (t, y, nuisance, w) = case(3, 300);
        let rows = Observed::new(&t, &y).unwrap();
        let model = MarginalSensitivity::new(&rows, &nuisance, &w).unwrap();
        let (a, b) = (model.bounds(1.0), model.bounds(2.0));
        assert!((a.0 - a.1).abs() < 1e-12 && b.0 < a.0 && b.1 > a.1);
        let lambda = model.lambda_of_zero(None).unwrap();
        assert!(model.bounds(lambda).0.abs() < 1e-9, "{lambda}");
        let sooner = model.lambda_of_zero(Some(Seed(1))).unwrap();
        assert!(sooner > 1.0 && sooner < lambda, "{sooner} {lambda}");
    }
}
