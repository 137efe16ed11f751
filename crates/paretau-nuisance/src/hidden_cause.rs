//! How strong a hidden cause of treatment and outcome would have to be to overturn an average effect: bounds on
//! omitted-variable bias (Chernozhukov, Cinelli, Newey, Sharma, Syrgkanis), robustness values, benchmarks, E-values.
//!
//! With `σ² = E[(y - mu_t)²]` and `ν² = E[α²]` for the Riesz representer `α = t/e - (1 - t)/(1 - e)`, a hidden cause that
//! explains the share `cf_y` of the outcome's residual variance and raises the variance of `α` so that it explains the share
//! `cf_d` of the larger one moves the average by at most `|ρ| σ ν √(cf_y · cf_d / (1 - cf_d))`.

use paretau_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::average::{Estimand, average_effect};
use crate::inference::{Score, clustered_se, normal_quantile};
use crate::nuisances::Nuisance;
use crate::rows::Observed;
use crate::weights::BOUND;

/// The largest share that is looked at.
const MOST: f64 = 0.9999;

/// What the bounds are made of.
#[derive(Debug, Clone)]
pub struct OmittedBias {
    /// The average effect.
    pub theta: Score,
    /// Variance of the outcomes' residuals.
    pub sigma2: f64,
    /// Second moment of the Riesz representer.
    pub nu2: f64,
    /// Each row's influence on the average, 1/n included.
    influence: Vec<f64>,
    /// Each row's influence on the largest bias `σ ν`, 1/n included.
    influence_bias: Vec<f64>,
    groups: Option<Vec<u32>>,
}

/// The ends of what the average may be when a hidden cause has a given strength.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BiasBounds {
    /// Smallest and largest average, each with its standard error.
    pub theta: [Score; 2],
    /// Ends of the one-sided confidence intervals of the two.
    pub interval: (f64, f64),
}

impl OmittedBias {
    /// Of rows with nuisances that did not see them and inverse weights of the arm that each received.
    pub fn new(rows: &Observed<'_>, nuisance: &Nuisance, inverse_weights: &[f64]) -> Result<Self> {
        let theta = average_effect(rows, nuisance, inverse_weights, Estimand::All)?.score;
        let n = rows.len();
        let total = rows.total_weight();
        let scores = nuisance.scores(rows, inverse_weights);
        let mean = |values: &[f64]| (0..n).map(|i| rows.w(i) * values[i]).sum::<f64>() / total;
        let residual2: Vec<f64> = (0..n)
            .map(|i| (rows.y[i] - if rows.t[i] == 1 { nuisance.mu1[i] } else { nuisance.mu0[i] }).powi(2))
            .collect();
        // `E[α²] = E[2 m(α) - α²]` with `m(α) = 1/e + 1/(1 - e)`: errors of the propensity cancel to first order. The
        // received arm's weight is the one in use (smoothed), the other's is bounded alike.
        let robust: Vec<f64> = (0..n)
            .map(|i| {
                let own = inverse_weights[i];
                let other = if rows.t[i] == 1 { 1.0 - nuisance.e[i] } else { nuisance.e[i] };
                2.0 * (own + 1.0 / other.max(BOUND)) - own * own
            })
            .collect();
        let plain: Vec<f64> = inverse_weights.iter().map(|w| w * w).collect();
        let sigma2 = mean(&residual2);
        // Poor overlap can make the first negative; the plain second moment cannot be.
        let (nu2, of_nu2) = match mean(&robust) {
            nu2 if nu2 > 0.0 => (nu2, robust),
            _ => (mean(&plain), plain),
        };
        if !(sigma2 > 0.0 && nu2 > 0.0 && sigma2.is_finite() && nu2.is_finite()) {
            return Err(Error::unfit(
                "the outcome is predicted without error: bounds on what a hidden cause explains have no meaning",
            ));
        }
        let bias = (sigma2 * nu2).sqrt();
        let influence = (0..n).map(|i| rows.w(i) * (scores[i] - theta.value) / total).collect();
        let influence_bias = (0..n)
            .map(|i| {
                let psi = sigma2 * (of_nu2[i] - nu2) + nu2 * (residual2[i] - sigma2);
                rows.w(i) * psi / (2.0 * bias) / total
            })
            .collect();
        Ok(Self { theta, sigma2, nu2, influence, influence_bias, groups: rows.groups.map(<[u32]>::to_vec) })
    }

    /// The largest bias at strength 1: `σ ν`.
    pub fn largest(&self) -> f64 {
        (self.sigma2 * self.nu2).sqrt()
    }

    /// Bounds for a hidden cause of this strength, with one-sided confidence intervals at `level`.
    pub fn bounds(&self, cf_y: f64, cf_d: f64, rho: f64, level: f64) -> BiasBounds {
        let strength = rho.abs() * (cf_y * cf_d / (1.0 - cf_d)).sqrt();
        let end = |sign: f64| {
            let both = self.influence.iter().zip(&self.influence_bias);
            let influence: Vec<f64> = both.map(|(a, b)| a + sign * strength * b).collect();
            let se = clustered_se(&influence, self.groups.as_deref());
            Score { value: self.theta.value + sign * strength * self.largest(), se, df: None }
        };
        let theta = [end(-1.0), end(1.0)];
        let z = normal_quantile(level);
        let of = |k: usize, sign: f64| theta[k].value + sign * z * theta[k].se.unwrap_or(0.0);
        BiasBounds { theta, interval: (of(0, -1.0), of(1, 1.0)) }
    }

    /// Whether a hidden cause of this strength could bring the average (or, with a level, its interval) to 0.
    pub fn erased(&self, cf_y: f64, cf_d: f64, level: Option<f64>) -> bool {
        let bounds = self.bounds(cf_y, cf_d, 1.0, level.unwrap_or(0.5));
        let (low, high) =
            if level.is_some() { bounds.interval } else { (bounds.theta[0].value, bounds.theta[1].value) };
        if self.theta.value > 0.0 { low <= 0.0 } else { high >= 0.0 }
    }

    /// The robustness value: the share of both residual variances that a hidden cause must explain to bring the average
    /// to 0; with a level, to bring the one-sided confidence interval to 0.
    pub fn robustness_value(&self, rho: f64, level: Option<f64>) -> f64 {
        let Some(level) = level else {
            // v / √(1 - v) = b for the average over the largest bias.
            let b = self.theta.value.abs() / (rho.abs() * self.largest()).max(1e-300);
            return smallest_share(b);
        };
        let crosses = |v: f64| {
            let (low, high) = self.bounds(v, v, rho, level).interval;
            if self.theta.value > 0.0 { low <= 0.0 } else { high >= 0.0 }
        };
        bisect(crosses, 0.0, MOST)
    }

    /// How many times as strong as the benchmark a hidden cause must be to erase the average (or its interval); `None`
    /// when 1000 times is not enough.
    pub fn times(&self, benchmark: &Benchmark, level: Option<f64>) -> Option<f64> {
        let scaled = |k: f64| ((k * benchmark.cf_y).min(MOST), (k * benchmark.cf_d).min(MOST));
        let crosses = |k: f64| {
            let (cf_y, cf_d) = scaled(k);
            self.erased(cf_y, cf_d, level)
        };
        crosses(1000.0).then(|| bisect(crosses, 0.0, 1000.0))
    }

    /// How strong an observed feature is, by what leaving it out of the nuisances does.
    pub fn benchmark(&self, without: &Self, variance_of_outcome: f64) -> Benchmark {
        let r2 = |sigma2: f64| 1.0 - sigma2 / variance_of_outcome;
        let (long, short) = (r2(self.sigma2), r2(without.sigma2));
        let cf_y = (long - short) / (1.0 - long).max(1e-300);
        let ratio = without.nu2 / self.nu2;
        let cf_d = (1.0 - ratio) / ratio;
        let (gain_y, gain_d) = ((without.sigma2 - self.sigma2).max(0.0), (self.nu2 - without.nu2).max(0.0));
        let shift = without.theta.value - self.theta.value;
        let rho = if gain_y * gain_d > 0.0 { (shift.abs() / (gain_y * gain_d).sqrt()).min(1.0) } else { 0.0 };
        Benchmark { cf_y: cf_y.clamp(0.0, MOST), cf_d: cf_d.clamp(0.0, MOST), rho: rho * shift.signum(), shift }
    }
}

/// How strong an observed feature is as a common cause.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Benchmark {
    /// Share of the outcome's residual variance that it explains; 0 where leaving it out did not hurt.
    pub cf_y: f64,
    /// What it adds to the variation of the Riesz representer, relatively; 0 where leaving it out did not lower it.
    pub cf_d: f64,
    /// How far the two gains go together, from -1 to 1.
    pub rho: f64,
    /// How far the average moves when it is left out.
    pub shift: f64,
}

/// The `v` from 0 to 1 with `v / √(1 - v) = b`.
fn smallest_share(b: f64) -> f64 {
    // The root of v² + b² v - b² = 0, written so that a large b does not cancel.
    if b.is_finite() { 2.0 * b / ((b * b + 4.0).sqrt() + b) } else { 1.0 }
}

/// The smallest number from `low` to `high` at which `crosses` holds, for one that stays true from there on.
pub(crate) fn bisect(crosses: impl Fn(f64) -> bool, mut low: f64, mut high: f64) -> f64 {
    if crosses(low) {
        return low;
    }
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if crosses(middle) { high = middle } else { low = middle }
    }
    high
}

/// An E-value: the risk ratio that a hidden cause must have with both treatment and outcome to explain an effect away
/// (VanderWeele and Ding).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EValue {
    /// The effect as a risk ratio.
    pub risk_ratio: f64,
    /// Its 95 % interval.
    pub interval: (f64, f64),
    /// For the estimate.
    pub point: f64,
    /// For the end of the interval that is nearer to no effect; 1 when the interval has no effect inside.
    pub limit: f64,
    /// Whether the risk ratio is approximated from a standardised difference, `exp(0.91 d)`.
    pub approximate: bool,
}

/// The E-value of a risk ratio.
pub fn e_value(risk_ratio: f64) -> f64 {
    let r = if risk_ratio < 1.0 { 1.0 / risk_ratio } else { risk_ratio };
    r + (r * (r - 1.0)).sqrt()
}

impl EValue {
    /// Of a risk ratio with a 95 % interval.
    pub fn of_ratio(risk_ratio: f64, interval: (f64, f64)) -> Option<Self> {
        let (low, high) = interval;
        if !(risk_ratio > 0.0 && low > 0.0 && high.is_finite()) {
            return None;
        }
        let limit = if low <= 1.0 && high >= 1.0 { 1.0 } else { e_value(if low > 1.0 { low } else { high }) };
        Some(Self { risk_ratio, interval, point: e_value(risk_ratio), limit, approximate: false })
    }

    /// Of a difference of means in units of the outcome's standard deviation, by the approximation `RR = exp(0.91 d)`.
    pub fn of_difference(difference: Score, sd: f64) -> Option<Self> {
        let (d, se) = (difference.value / sd, difference.se? / sd);
        let ratio = |d: f64| (0.91 * d).exp();
        let half = normal_quantile(0.975) * se;
        let of = Self::of_ratio(ratio(d), (ratio(d - half), ratio(d + half)))?;
        of.point.is_finite().then_some(Self { approximate: true, ..of })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn numbers(document: &serde_json::Value, name: &str) -> Vec<f64> {
        document[name].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
    }

    #[test]
    fn equals_doubleml_with_external_predictions() {
        let text = include_str!("../../../testdata/golden/sensitivity.json");
        let golden: serde_json::Value = serde_json::from_str(text).unwrap();
        let t: Vec<u8> = numbers(&golden, "t").iter().map(|t| *t as u8).collect();
        let y = numbers(&golden, "y");
        let rows = Observed::new(&t, &y).unwrap();
        let bias = |prefix: &str| {
            let get = |name: &str| numbers(&golden, &format!("{prefix}{name}"));
            let nuisance = Nuisance::from_arms(get("mu0"), get("mu1"), get("e"));
            let inverse: Vec<f64> =
                nuisance.e.iter().zip(&t).map(|(e, t)| 1.0 / if *t == 1 { *e } else { 1.0 - e }).collect();
            OmittedBias::new(&rows, &nuisance, &inverse).unwrap()
        };
        let (long, short) = (bias(""), bias("short_"));
        let n = y.len() as f64;
        // Theirs divides by n.
        let theirs = ((n - 1.0) / n).sqrt();
        let close = |found: f64, value: &serde_json::Value, within: f64, what: &str| {
            let expected = value.as_f64().unwrap();
            assert!((found - expected).abs() <= within, "{what}: {found} against {expected}");
        };
        close(long.theta.value, &golden["theta"], 1e-10, "theta");
        close(long.theta.se.unwrap() * theirs, &golden["se"], 1e-10, "se");
        close(long.sigma2, &golden["sigma2"], 1e-10, "sigma2");
        close(long.nu2, &golden["nu2"], 1e-10, "nu2");
        for case in golden["cases"].as_array().unwrap() {
            let get = |name: &str| case[name].as_f64().unwrap();
            let bounds = long.bounds(get("cf_y"), get("cf_d"), get("rho"), 0.95);
            for (k, side, other) in [(0, "lower", "upper"), (1, "upper", "lower")] {
                close(bounds.theta[k].value, &case[format!("theta_{side}")], 1e-10, "bound");
                // Theirs has the influence on the average with its sign turned (the score over its derivative, which is
                // -1) when the influence on the bias is added: each bound has the error of the other.
                let se = bounds.theta[k].se.unwrap() * theirs;
                close(se, &case[format!("se_{other}")], 1e-10, "its error");
            }
            let end = |k: usize, sign: f64| {
                bounds.theta[k].value + sign * normal_quantile(0.95) * bounds.theta[k].se.unwrap()
            };
            assert_eq!(bounds.interval, (end(0, -1.0), end(1, 1.0)));
            // Theirs is found by a bounded minimisation that stops at about 1e-5.
            close(long.robustness_value(get("rho"), None), &case["rv"], 2e-5, "robustness value");
        }
        let gain = long.benchmark(&short, y.iter().map(|v| (v - y.iter().sum::<f64>() / n).powi(2)).sum::<f64>() / n);
        close(gain.cf_y, &golden["gain"]["cf_y"], 1e-8, "cf_y");
        close(gain.cf_d, &golden["gain"]["cf_d"], 1e-8, "cf_d");
        close(gain.shift, &golden["gain"]["delta_theta"], 1e-8, "shift");
    }

    #[test]
    fn robustness_values_sit_on_the_edge() {
        let (t, y) = ([1, 0, 1, 0, 1, 0, 1, 0], [4.0, 1.0, 5.0, 2.0, 3.0, 0.0, 4.5, 1.5]);
        let rows = Observed::new(&t, &y).unwrap();
        let nuisance = Nuisance::from_arms(vec![1.0; 8], vec![4.0; 8], vec![0.5; 8]);
        let bias = OmittedBias::new(&rows, &nuisance, &[2.0; 8]).unwrap();
        // Residuals 0 0 1 1 -1 -1 .5 .5: σ² = 4.5/8; ν² = 2·4 - 4 = 4.
        assert!((bias.sigma2 - 0.5625).abs() < 1e-12 && (bias.nu2 - 4.0).abs() < 1e-12);
        let v = bias.robustness_value(1.0, None);
        assert!(bias.bounds(v, v, 1.0, 0.95).theta[0].value.abs() < 1e-9, "{v}");
        let v = bias.robustness_value(1.0, Some(0.95));
        assert!(bias.bounds(v, v, 1.0, 0.95).interval.0.abs() < 1e-9, "{v}");
        let fifth = Benchmark { cf_y: 0.2, cf_d: 0.2, rho: 1.0, shift: 0.0 };
        let k = bias.times(&fifth, None).unwrap();
        assert!(
            bias.erased(k * 0.2 + 1e-9, k * 0.2 + 1e-9, None) && !bias.erased(k * 0.2 - 1e-6, k * 0.2 - 1e-6, None)
        );
    }

    #[test]
    fn e_values_by_hand() {
        // The worked example of VanderWeele and Ding: RR 3.9 (1.8 to 8.7) gives 7.26 and 3.0.
        let found = EValue::of_ratio(3.9, (1.8, 8.7)).unwrap();
        assert!((found.point - 7.26).abs() < 0.005 && (found.limit - 3.0).abs() < 0.005);
        assert!((e_value(0.5) - e_value(2.0)).abs() < 1e-12 && e_value(1.0) == 1.0);
        assert_eq!(EValue::of_ratio(1.1, (0.9, 1.3)).unwrap().limit, 1.0);
        assert!(EValue::of_ratio(1.1, (0.0, 1.3)).is_none());
    }
}
