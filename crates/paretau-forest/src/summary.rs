//! What a causal forest reports about itself: average effect, calibration, overlap.

use paretau_core::{Diagnostics, Effects};
use paretau_kernels::numeric::weighted_mean;
use paretau_nuisance::ols::ols;
use paretau_nuisance::scores::Residuals;
use paretau_nuisance::{self as nuisance, Estimand, Extreme, Nuisance, Observed, Rule, Score, Weights};

use crate::rows::CausalRows;

/// Propensities are held this far from 0 and 1 in the average effect's weights; how many were is noted.
const LEAST_PROPENSITY: f64 = 1e-3;

/// Residuals of the training rows: treatment and outcome, and what they were taken from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Centred<'a> {
    pub(crate) m: &'a [f64],
    pub(crate) e: &'a [f64],
}

/// Notes average effect, calibration and loss of held-out effects, and the range of the propensities.
pub(crate) fn describe(rows: &CausalRows<'_>, centred: Centred<'_>, held_out: &Effects, out: &mut Diagnostics) {
    let z: Vec<f64> = rows.treatment.iter().zip(centred.e).map(|(w, e)| w - e).collect();
    let y: Vec<f64> = rows.y.iter().zip(centred.m).map(|(y, m)| y - m).collect();
    let residuals = z.iter().zip(&y).map(|(&treatment, &outcome)| Residuals { outcome, treatment });
    let loss: Vec<f64> = residuals.zip(&held_out.tau).map(|(row, tau)| row.loss(*tau)).collect();
    out.note("oob_r_loss", weighted_mean(&loss, rows.weight));
    if let Some([mean, differential]) = calibration(&z, &y, &held_out.tau, rows.weight) {
        out.note("calibration_mean", mean.value);
        out.note("calibration_mean_se", mean.se.unwrap_or_default());
        out.note("calibration_differential", differential.value);
        out.note("calibration_differential_se", differential.se.unwrap_or_default());
    }
    if rows.is_binary() {
        overlap(centred.e, out);
        if let Some((ate, extreme)) = average_effect(rows, centred, &held_out.tau) {
            out.note("oob_ate", ate.value);
            out.note("oob_ate_se", ate.se.unwrap_or_default());
            if extreme.beyond > 0 {
                out.note("oob_ate_rows_clipped", extreme.beyond as f64);
            }
        }
    }
}

fn overlap(e: &[f64], out: &mut Diagnostics) {
    let (low, high) = e.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &v| (a.min(v), b.max(v)));
    out.note("centering_propensity_min", low);
    out.note("centering_propensity_max", high);
}

/// The doubly robust average effect of the rows, standard error by groups where there are any; `None` when their
/// weights cannot be computed.
fn average_effect(rows: &CausalRows<'_>, centred: Centred<'_>, tau: &[f64]) -> Option<(Score, Extreme)> {
    let t: Vec<u8> = rows.treatment.iter().map(|&w| u8::from(w == 1.0)).collect();
    // The outcome's expectation lies between the arms' as the propensity does between 0 and 1.
    let arm = |part: fn(f64) -> f64| -> Vec<f64> {
        tau.iter().zip(centred.m).zip(centred.e).map(|((tau, m), e)| m + part(*e) * tau).collect()
    };
    let nuisance = Nuisance { m: centred.m.to_vec(), e: centred.e.to_vec(), mu0: arm(|e| -e), mu1: arm(|e| 1.0 - e) };
    let weights = Weights::inverse(centred.e, &t, Rule::Clip, LEAST_PROPENSITY).ok()?;
    let observed = Observed { t: &t, y: rows.y, weight: rows.weight, groups: rows.groups };
    let average = nuisance::average_effect(&observed, &nuisance, &weights.smooth, Estimand::All).ok()?;
    Some((average.score, weights.extreme))
}

/// Best linear predictor of the residuals by the mean effect and by the effects' deviations from it, with HC3 errors.
/// The first coefficient is 1 when the mean is right, the second when the heterogeneity is, and about 0 when there is
/// none to find.
fn calibration(z: &[f64], y: &[f64], tau: &[f64], weight: Option<&[f64]>) -> Option<[Score; 2]> {
    let mean = weighted_mean(tau, weight);
    let columns = [
        z.iter().map(|z| z * mean).collect::<Vec<f64>>(),
        z.iter().zip(tau).map(|(z, tau)| z * (tau - mean)).collect(),
    ];
    let w = weight.map_or_else(|| vec![1.0; y.len()], <[f64]>::to_vec);
    ols(&columns, y, &w, None)?.try_into().ok()
}
