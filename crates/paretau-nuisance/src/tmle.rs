//! A second opinion on the average effect: targeted maximum likelihood.
//!
//! The expected outcomes of each arm are moved by one number so that their weighted misses vanish, with the inverse
//! propensities as weights; the average of the moved predictions is then the estimate, and no row can push it outside of what
//! outcomes can be. Yes/no outcomes move on the logit scale, others by a shift.

use paretau_core::{Error, OutcomeKind, Result};
use paretau_kernels::numeric::{logit, sigmoid};

use crate::inference::Score;
use crate::nuisances::Nuisance;
use crate::rows::{Observed, same_length};
use crate::scores::doubly_robust_score;

/// Predictions are kept so far from 0 and 1 before their logit is taken.
const MARGIN: f64 = 1e-6;

/// The targeted average effect over all rows, by nuisances that did not see them and inverse weights.
pub fn targeted_average(
    rows: &Observed<'_>,
    nuisance: &Nuisance,
    inverse_weights: &[f64],
    outcome: OutcomeKind,
) -> Result<Score> {
    rows.check()?;
    let n = rows.len();
    nuisance.check(n)?;
    same_length("inverse weights", n, inverse_weights.len())?;
    let target = |arm: u8, mu: &[f64]| -> Vec<f64> {
        let own: Vec<usize> = (0..n).filter(|&i| rows.t[i] == arm && inverse_weights[i] > 0.0).collect();
        let w = |i: usize| rows.w(i) * inverse_weights[i];
        match outcome {
            OutcomeKind::Continuous => {
                let total: f64 = own.iter().map(|&i| w(i)).sum();
                let shift = own.iter().map(|&i| w(i) * (rows.y[i] - mu[i])).sum::<f64>() / total;
                mu.iter().map(|p| p + shift).collect()
            }
            OutcomeKind::Binary => {
                let logits: Vec<f64> = mu.iter().map(|p| logit(p.clamp(MARGIN, 1.0 - MARGIN))).collect();
                // The weighted miss falls as everything moves up, so the number is found by bisection.
                let miss = |by: f64| own.iter().map(|&i| w(i) * (rows.y[i] - sigmoid(logits[i] + by))).sum::<f64>();
                let (mut low, mut high) = (-30.0, 30.0);
                for _ in 0..100 {
                    let middle = f64::midpoint(low, high);
                    if miss(middle) > 0.0 { low = middle } else { high = middle }
                }
                let by = f64::midpoint(low, high);
                logits.iter().map(|l| sigmoid(l + by)).collect()
            }
        }
    };
    let (mu0, mu1) = (target(0, &nuisance.mu0), target(1, &nuisance.mu1));
    let total: f64 = (0..n).map(|i| rows.w(i)).sum();
    let value = (0..n).map(|i| rows.w(i) * (mu1[i] - mu0[i])).sum::<f64>() / total;
    let influence: Vec<f64> = (0..n)
        .map(|i| {
            let score = doubly_robust_score(rows.t[i], rows.y[i], (mu0[i], mu1[i]), inverse_weights[i]);
            rows.w(i) * (score - value) / total
        })
        .collect();
    let message = || "the weights overflow".into();
    Score::of_influence(value, &influence, rows.groups)
        .finite()
        .ok_or_else(|| Error::Numeric { what: "the targeted average effect", message: message() })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use paretau_core::Seed;

    use super::*;
    use crate::average::{Estimand, average_effect};

    fn draw(binary: bool) -> (Vec<u8>, Vec<f64>, Nuisance, Vec<f64>, f64) {
        let mut rng = Seed(12).rng();
        let n = 4000;
        let x: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        let e: Vec<f64> = x.iter().map(|x| sigmoid(0.8 * x)).collect();
        let t: Vec<u8> = e.iter().map(|e| u8::from(rng.bernoulli(*e))).collect();
        let mean = |x: f64, t: u8| if binary { sigmoid(x + 0.7 * f64::from(t)) } else { x + f64::from(t) };
        let y = (0..n)
            .map(|i| {
                if binary {
                    f64::from(u8::from(rng.bernoulli(mean(x[i], t[i]))))
                } else {
                    mean(x[i], t[i]) + rng.normal()
                }
            })
            .collect();
        let truth = x.iter().map(|x| mean(*x, 1) - mean(*x, 0)).sum::<f64>() / n as f64;
        // Expected outcomes that are wrong: the propensities alone must make it right.
        let wrong = if binary { 0.5 } else { 0.0 };
        let nuisance = Nuisance::from_arms(vec![wrong; n], vec![wrong; n], e.clone());
        let inverse = (0..n).map(|i| if t[i] == 1 { 1.0 / e[i] } else { 1.0 / (1.0 - e[i]) }).collect();
        (t, y, nuisance, inverse, truth)
    }

    #[test]
    fn wrong_outcomes_are_moved_until_the_average_is_right() {
        for (binary, kind) in [(false, OutcomeKind::Continuous), (true, OutcomeKind::Binary)] {
            let (t, y, nuisance, inverse, truth) = draw(binary);
            let rows = Observed::new(&t, &y).unwrap();
            let found = targeted_average(&rows, &nuisance, &inverse, kind).unwrap();
            let (lo, hi) = found.interval(0.999).unwrap();
            assert!(lo < truth && truth < hi, "{truth} {found:?}");
            // Its misses vanish, so the doubly robust average of the moved predictions is the same number: here with constant
            // predictions it is the difference of the arms' weighted means.
            let mean = |arm: u8| {
                let own = || (0..t.len()).filter(|&i| t[i] == arm);
                own().map(|i| inverse[i] * y[i]).sum::<f64>() / own().map(|i| inverse[i]).sum::<f64>()
            };
            assert!((found.value - (mean(1) - mean(0))).abs() < 1e-9, "{found:?}");
            let dr = average_effect(&rows, &nuisance, &inverse, Estimand::All).unwrap();
            assert!((found.value - dr.score.value).abs() < 3.0 * dr.score.se.unwrap());
        }
    }
}
