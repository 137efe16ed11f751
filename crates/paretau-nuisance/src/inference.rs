//! A number with its standard error, and weighted means with (clustered) errors.

use serde::{Deserialize, Serialize};

use crate::rows::Observed;

/// A number and, where one can be estimated, its standard error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// The number.
    pub value: f64,
    /// Its standard error.
    pub se: Option<f64>,
}

impl Score {
    /// A number without an error.
    pub fn plain(value: f64) -> Self {
        Self { value, se: None }
    }

    /// The normal interval that covers with probability `level`, when there is a standard error.
    pub fn interval(&self, level: f64) -> Option<(f64, f64)> {
        let half = self.se? * normal_quantile(f64::midpoint(1.0, level));
        Some((self.value - half, self.value + half))
    }

    /// One-sided p-value of "the number is not above 0".
    pub fn p_above_zero(&self) -> Option<f64> {
        let se = self.se?;
        if se > 0.0 { Some(normal_tail(self.value / se)) } else { None }
    }

    /// Itself, if all its numbers are finite.
    pub fn finite(self) -> Option<Self> {
        (self.value.is_finite() && self.se.is_none_or(f64::is_finite)).then_some(self)
    }
}

/// The weighted mean of `values` over the rows, with a standard error clustered by their groups.
pub fn mean(rows: &Observed<'_>, values: &[f64]) -> Score {
    clustered_mean(values, rows.weight, rows.groups)
}

/// The mean of `values` under row weights, with a standard error clustered by groups.
pub fn clustered_mean(values: &[f64], weight: Option<&[f64]>, groups: Option<&[u32]>) -> Score {
    let n = values.len();
    let w = |i: usize| weight.map_or(1.0, |w| w[i]);
    let total: f64 = (0..n).map(w).sum();
    let value = (0..n).map(|i| w(i) * values[i]).sum::<f64>() / total;
    let influence: Vec<f64> = (0..n).map(|i| w(i) * (values[i] - value) / total).collect();
    Score { value, se: clustered_se(&influence, groups) }
}

/// Standard error of an estimate from each row's influence on it (weights and 1/n included).
pub fn clustered_se(influence: &[f64], groups: Option<&[u32]>) -> Option<f64> {
    let (sum, count) = match groups {
        None => (influence.iter().map(|v| v * v).sum::<f64>(), influence.len()),
        Some(groups) => {
            let sums = group_sums(influence, groups);
            (sums.iter().map(|v| v * v).sum(), sums.len())
        }
    };
    (count > 1).then(|| (sum * count as f64 / (count - 1) as f64).sqrt())
}

/// Sums within groups, ordered by group.
pub fn group_sums(values: &[f64], groups: &[u32]) -> Vec<f64> {
    let mut sums = std::collections::BTreeMap::new();
    for (v, g) in values.iter().zip(groups) {
        *sums.entry(*g).or_insert(0.0) += v;
    }
    sums.into_values().collect()
}

/// Quantile of the standard normal, by Newton steps on the tail from a rational start.
pub fn normal_quantile(p: f64) -> f64 {
    if p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    if p < 0.5 {
        return -normal_quantile(1.0 - p);
    }
    let tail = 1.0 - p;
    // Abramowitz and Stegun 26.2.23, good to 4.5e-4, then polished.
    let s = (-2.0 * tail.ln()).sqrt();
    let mut z = s - (2.515517 + s * (0.802853 + s * 0.010328)) / (1.0 + s * (1.432788 + s * (0.189269 + s * 0.001308)));
    for _ in 0..4 {
        let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
        if density <= 0.0 {
            break;
        }
        z += (normal_tail(z) - tail) / density;
    }
    z
}

/// Probability that a standard normal exceeds `z`.
pub fn normal_tail(z: f64) -> f64 {
    if z < 0.0 {
        return 1.0 - normal_tail(-z);
    }
    let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if z < 3.0 {
        // Series of the distribution function around 0.
        let (mut term, mut sum, mut k) = (z, z, 1.0);
        while term.abs() > 1e-18 * sum.abs() && k < 200.0 {
            term *= z * z / (2.0 * k + 1.0);
            sum += term;
            k += 1.0;
        }
        (0.5 - density * sum).max(0.0)
    } else {
        // Continued fraction of Mills' ratio, from the inside out.
        let mut fraction = z;
        for k in (1..=80).rev() {
            fraction = z + f64::from(k) / fraction;
        }
        density / fraction
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_tail_and_quantile_match_known_values() {
        for (z, tail) in
            [(0.0, 0.5), (1.0, 0.15865525393145707), (2.5, 0.006209665325776132), (5.0, 2.866515718791939e-7)]
        {
            assert!((normal_tail(z) / tail - 1.0).abs() < 1e-9, "{z}");
        }
        assert!((normal_tail(3.0 - 1e-12) / normal_tail(3.0) - 1.0).abs() < 1e-9);
        assert!((normal_quantile(0.975) - 1.959963984540054).abs() < 1e-10);
        assert!((normal_quantile(0.01) + 2.3263478740408408).abs() < 1e-10);
    }

    #[test]
    fn means_weigh_and_cluster() {
        let (t, y) = ([0, 1, 0, 1], [1.0, 2.0, 3.0, 6.0]);
        let rows = Observed { t: &t, y: &y, weight: None, groups: None };
        let plain = mean(&rows, &y);
        let sd2 = (4.0 + 1.0 + 0.0 + 9.0) / 3.0_f64;
        assert!((plain.value - 3.0).abs() < 1e-12 && (plain.se.unwrap_or(0.0) - (sd2 / 4.0).sqrt()).abs() < 1e-12);
        // Two rows of the same group count once.
        let (t2, y2) = ([0, 0, 1, 1, 0, 0, 1, 1], [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 6.0, 6.0]);
        let groups = [0, 0, 1, 1, 2, 2, 3, 3];
        let twice = mean(&Observed { t: &t2, y: &y2, weight: None, groups: Some(&groups) }, &y2);
        assert!((twice.se.unwrap_or(0.0) - plain.se.unwrap_or(1.0)).abs() < 1e-12);
        let weighted = mean(&Observed { t: &t, y: &y, weight: Some(&[1.0, 0.0, 1.0, 0.0]), groups: None }, &y);
        assert_eq!(weighted.value, 2.0);
    }
}
