//! A number with its standard error, and weighted means with (clustered) errors.

pub use paretau_kernels::distributions::{normal_quantile, normal_tail, student_quantile, student_tail};
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
        Self::new(value, se).with_most_df(df)
    }

    /// The same with no more than so many degrees of freedom.
    #[must_use]
    pub fn with_most_df(self, most: f64) -> Self {
        let df = self.df.map_or(most, |df| df.min(most));
        Self { df: (df < MOST_DF).then(|| df.max(LEAST_DF)), ..self }
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

#[cfg(test)]
mod tests {
    use super::*;

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
