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
    /// Degrees of freedom of the standard error, where few rows (or clusters) carry it; absent when it is as good as known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub df: Option<f64>,
}

impl Score {
    /// A number without an error.
    pub fn plain(value: f64) -> Self {
        Self { value, se: None, df: None }
    }

    /// A number with a standard error that is as good as known.
    pub fn new(value: f64, se: Option<f64>) -> Self {
        Self { value, se, df: None }
    }

    /// An estimate with each row's influence on it (weights and 1/n included): its standard error, clustered by groups,
    /// and how many degrees of freedom that has. A variance that a few influences dominate, because an arm is small or a
    /// weight large, is itself uncertain: matching the spread of `Σψ²` to a chi-square's gives `2m / (kurtosis - 1)`
    /// degrees of freedom for `m` influences (Satterthwaite).
    pub fn of_influence(value: f64, influence: &[f64], groups: Option<&[u32]>) -> Self {
        let se = clustered_se(influence, groups);
        let sums = groups.map(|groups| group_sums(influence, groups));
        let parts = sums.as_deref().unwrap_or(influence);
        let m = parts.len() as f64;
        let (squares, fourths) = parts.iter().fold((0.0, 0.0), |(a, b), v| (a + v * v, b + v * v * v * v));
        let kurtosis = m * fourths / (squares * squares);
        let df = 2.0 * m / (kurtosis - 1.0).max(1e-9);
        Self { value, se, df: (df < MOST_DF).then(|| df.max(LEAST_DF)) }
    }

    /// The interval that covers with probability `level`, when there is a standard error: by the normal distribution, or
    /// Student's where the error has few degrees of freedom.
    pub fn interval(&self, level: f64) -> Option<(f64, f64)> {
        let p = f64::midpoint(1.0, level);
        let quantile = self.df.map_or_else(|| normal_quantile(p), |df| student_quantile(p, df));
        let half = self.se? * quantile;
        Some((self.value - half, self.value + half))
    }

    /// The limit that the number lies above with probability `level`, when there is a standard error.
    pub fn lower_limit(&self, level: f64) -> Option<f64> {
        let quantile = self.df.map_or_else(|| normal_quantile(level), |df| student_quantile(level, df));
        Some(self.value - self.se? * quantile)
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

/// More degrees of freedom than this are as good as infinitely many.
const MOST_DF: f64 = 1e4;
/// Fewer than this are not distinguished: the kurtosis of a handful of rows is hardly known.
const LEAST_DF: f64 = 2.0;

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
    Score::of_influence(value, &influence, groups)
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

/// Quantile of Student's distribution, by bisection on its tail; `p` above 1/2 or below, `df` above 0.
pub fn student_quantile(p: f64, df: f64) -> f64 {
    if p < 0.5 {
        return -student_quantile(1.0 - p, df);
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    let tail = 1.0 - p;
    let (mut low, mut high) = (0.0, 1.0);
    while student_tail(high, df) > tail && high < 1e300 {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if student_tail(middle, df) > tail { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// Probability that a Student variable exceeds `t >= 0`: half the regularised incomplete beta function at
/// `df / (df + t²)`, by its continued fraction.
pub fn student_tail(t: f64, df: f64) -> f64 {
    let x = df / (df + t * t);
    let (a, b) = (df / 2.0, 0.5);
    let front = |x: f64, a: f64, b: f64| {
        (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp() / a
    };
    let value = if x < (a + 1.0) / (a + b + 2.0) {
        front(x, a, b) * beta_fraction(x, a, b)
    } else {
        1.0 - front(1.0 - x, b, a) * beta_fraction(1.0 - x, b, a)
    };
    0.5 * value.clamp(0.0, 1.0)
}

/// The continued fraction of the incomplete beta function, by Lentz's method.
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let safe = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / safe(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for m in 1..500 {
        let m = f64::from(m);
        for term in [
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        ] {
            d = 1.0 / safe(1.0 + term * d);
            c = safe(1.0 + term / c);
            value *= d * c;
        }
        if (d * c - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

/// Logarithm of the gamma function for `x > 0`: Stirling's series, after shifting small arguments up.
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 10.0 {
        shift -= x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    let series = (1.0 / 12.0 - inverse * (1.0 / 360.0 - inverse * (1.0 / 1260.0 - inverse / 1680.0))) / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series + shift
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
    fn student_matches_tables() {
        for (df, quantile) in [(1.0, 12.706_204_736), (2.0, 4.302_652_730), (5.0, 2.570_581_836), (30.0, 2.042_272_456)]
        {
            assert!((student_quantile(0.975, df) - quantile).abs() < 1e-7, "{df}: {}", student_quantile(0.975, df));
        }
        assert!((student_quantile(0.975, 1e7) - normal_quantile(0.975)).abs() < 1e-5);
        assert!((student_quantile(0.05, 4.0) + 2.131_846_786).abs() < 1e-7);
    }

    #[test]
    fn few_rows_that_carry_the_variance_have_few_degrees_of_freedom() {
        let mut rng = paretau_core::Seed(1).rng();
        let even: Vec<f64> = (0..2000).map(|_| rng.normal()).collect();
        let df = Score::of_influence(0.0, &even, None).df.unwrap_or(f64::INFINITY);
        assert!((1500.0..2700.0).contains(&df), "{df}");
        // Ten rows with all the influence among 2000.
        let few: Vec<f64> = (0..2000).map(|i| if i < 10 { rng.normal() } else { 0.01 * rng.normal() }).collect();
        let df = Score::of_influence(0.0, &few, None).df.unwrap_or(f64::INFINITY);
        assert!((2.0..40.0).contains(&df), "{df}");
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
