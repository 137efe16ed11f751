//! What a causal forest reports about itself: average effect, calibration, overlap.

use paretau_core::{Diagnostics, Effects};

use crate::mean_forest::weighted_mean;
use crate::rows::CausalRows;

/// Propensities beyond these bounds are called out.
const LITTLE_OVERLAP: f64 = 0.05;

/// Residuals of the training rows: treatment and outcome, and what they were taken from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Centred<'a> {
    pub(crate) m: &'a [f64],
    pub(crate) e: &'a [f64],
}

/// Notes average effect, calibration and loss of held-out effects, and warns of little overlap.
pub(crate) fn describe(rows: &CausalRows<'_>, centred: Centred<'_>, held_out: &Effects, out: &mut Diagnostics) {
    let z: Vec<f64> = rows.treatment.iter().zip(centred.e).map(|(w, e)| w - e).collect();
    let y: Vec<f64> = rows.y.iter().zip(centred.m).map(|(y, m)| y - m).collect();
    let loss: Vec<f64> = z.iter().zip(&y).zip(&held_out.tau).map(|((z, y), t)| (y - z * t).powi(2)).collect();
    out.note("oob_r_loss", weighted_mean(&loss, rows.weight));
    if let Some([mean, differential]) = calibration(&z, &y, &held_out.tau, rows.weight) {
        out.note("calibration_mean", mean.estimate);
        out.note("calibration_mean_se", mean.se);
        out.note("calibration_differential", differential.estimate);
        out.note("calibration_differential_se", differential.se);
    }
    if rows.is_binary() {
        overlap(centred.e, out);
        let ate = average_effect(rows, &z, &y, centred.e, &held_out.tau);
        out.note("ate", ate.estimate);
        out.note("ate_se", ate.se);
    }
}

fn overlap(e: &[f64], out: &mut Diagnostics) {
    let (low, high) = e.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &v| (a.min(v), b.max(v)));
    out.note("e_min", low);
    out.note("e_max", high);
    let n = e.iter().filter(|&&v| !(LITTLE_OVERLAP..=1.0 - LITTLE_OVERLAP).contains(&v)).count();
    if n > 0 {
        out.warn(
            "little-overlap",
            format!(
                "{n} of {} rows have an estimated propensity below {LITTLE_OVERLAP} or above {} (from {low:.3} to \
                 {high:.3}): effects there rest on few comparable rows; consider leaving them out",
                e.len(),
                1.0 - LITTLE_OVERLAP
            ),
        );
    }
}

/// An estimate with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) estimate: f64,
    pub(crate) se: f64,
}

/// Average effect by augmented inverse propensity weighting; the error is by groups where there are any.
fn average_effect(rows: &CausalRows<'_>, z: &[f64], y: &[f64], e: &[f64], tau: &[f64]) -> Estimate {
    let n = y.len();
    let scores: Vec<f64> = (0..n)
        .map(|i| {
            // Bounded as elsewhere only where the forest says exactly 0 or 1, which would divide by 0.
            let e = e[i].clamp(1e-3, 1.0 - 1e-3);
            tau[i] + z[i] / (e * (1.0 - e)) * (y[i] - z[i] * tau[i])
        })
        .collect();
    mean(&scores, rows)
}

/// Weighted mean of values, one per row, with its standard error: by groups where there are any.
pub(crate) fn mean(values: &[f64], rows: &CausalRows<'_>) -> Estimate {
    let n = values.len();
    let estimate = weighted_mean(values, rows.weight);
    let weight = |i: usize| rows.weight.map_or(1.0, |w| w[i]);
    let total: f64 = (0..n).map(weight).sum();
    let mut influence: Vec<f64> = (0..n).map(|i| weight(i) * (values[i] - estimate)).collect();
    if let Some(groups) = rows.groups {
        let mut sums = std::collections::BTreeMap::new();
        groups.iter().zip(&influence).for_each(|(g, v)| *sums.entry(g).or_insert(0.0) += v);
        influence = sums.into_values().collect();
    }
    let k = influence.len() as f64;
    let squares: f64 = influence.iter().map(|v| v * v).sum();
    Estimate { estimate, se: (squares * k / (k - 1.0).max(1.0)).sqrt() / total }
}

/// Best linear predictor of the residuals by the mean effect and by the effects' deviations from it, with HC3 errors.
/// The first coefficient is 1 when the mean is right, the second when the heterogeneity is, and about 0 when there is
/// none to find.
fn calibration(z: &[f64], y: &[f64], tau: &[f64], weight: Option<&[f64]>) -> Option<[Estimate; 2]> {
    let mean = weighted_mean(tau, weight);
    let design = |i: usize| [z[i] * mean, z[i] * (tau[i] - mean)];
    let weight = |i: usize| weight.map_or(1.0, |w| w[i]);
    let (mut a, mut b) = ([[0.0; 2]; 2], [0.0; 2]);
    for i in 0..y.len() {
        let (d, w) = (design(i), weight(i));
        for j in 0..2 {
            b[j] += w * d[j] * y[i];
            (0..2).for_each(|k| a[j][k] += w * d[j] * d[k]);
        }
    }
    let determinant = a[0][0] * a[1][1] - a[0][1] * a[1][0];
    if determinant <= 1e-12 * a[0][0] * a[1][1] {
        return None;
    }
    let inverse = [[a[1][1] / determinant, -a[0][1] / determinant], [-a[1][0] / determinant, a[0][0] / determinant]];
    let times = |v: [f64; 2]| [0, 1].map(|j| inverse[j][0] * v[0] + inverse[j][1] * v[1]);
    let beta = times(b);
    let mut variance = [0.0; 2];
    for i in 0..y.len() {
        let (d, w) = (design(i), weight(i));
        let direction = times(d);
        let leverage = w * (d[0] * direction[0] + d[1] * direction[1]);
        let residual = (y[i] - beta[0] * d[0] - beta[1] * d[1]) / (1.0 - leverage).max(1e-6);
        (0..2).for_each(|j| variance[j] += (w * direction[j] * residual).powi(2));
    }
    Some([0, 1].map(|j| Estimate { estimate: beta[j], se: variance[j].sqrt() }))
}
