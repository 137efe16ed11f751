//! Are the predicted effects right on average, and do they distinguish rows? Regressions of what was seen on what was
//! predicted.

use paretau_core::{Features, Result};
use paretau_nuisance::inference::{Score, mean};
use paretau_nuisance::ols::ols;
use paretau_nuisance::{Nuisance, Observed, same_length};
use serde::{Deserialize, Serialize};

/// Coefficients of the calibration regression; both are 1 for perfect predictions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Of the mean predicted effect.
    pub mean: Option<Score>,
    /// Of the deviations from it; above 0 is evidence that the predictions distinguish rows. `None` when the predicted
    /// effect is the same for all rows.
    pub heterogeneity: Option<Score>,
}

/// Regresses `y - m` on `(t - e) mean(tau)` and `(t - e)(tau - mean(tau))`, without an intercept, with HC3 (or
/// clustered) standard errors: the calibration test of Chernozhukov et al. as causal forests use it.
pub fn calibration(rows: &Observed<'_>, nuisance: &Nuisance, tau: &[f64]) -> Calibration {
    let n = tau.len();
    let w: Vec<f64> = (0..n).map(|i| rows.w(i)).collect();
    let centre = (0..n).map(|i| w[i] * tau[i]).sum::<f64>() / rows.total_weight();
    let residual: Vec<f64> = (0..n).map(|i| rows.y[i] - nuisance.m[i]).collect();
    let push: Vec<f64> = (0..n).map(|i| f64::from(rows.t[i]) - nuisance.e[i]).collect();
    let scale = tau.iter().fold(0.0_f64, |s, v| s.max(v.abs()));
    let varies = tau.iter().any(|v| (v - centre).abs() > 1e-10 * scale);
    let first: Vec<f64> = push.iter().map(|p| p * centre).collect();
    let second: Vec<f64> = push.iter().zip(tau).map(|(p, v)| p * (v - centre)).collect();
    let has_mean = centre.abs() > 1e-10 * scale;
    let columns: Vec<Vec<f64>> = [(has_mean, first), (varies, second)]
        .into_iter()
        .filter_map(|(use_it, column)| use_it.then_some(column))
        .collect();
    let mut fitted = if columns.is_empty() { None } else { ols(&columns, &residual, &w, rows.groups) }
        .unwrap_or_default()
        .into_iter();
    let of_mean = if has_mean { fitted.next() } else { None };
    Calibration { mean: of_mean, heterogeneity: if varies { fitted.next() } else { None } }
}

/// Best linear projection of the effect on some features: least squares of doubly robust scores on a constant and the
/// given columns. The first coefficient is the intercept. `None` when the columns are collinear.
pub fn best_linear_projection(
    rows: &Observed<'_>,
    scores: &[f64],
    x: &Features,
    columns: &[usize],
) -> Result<Option<Vec<Score>>> {
    let n = scores.len();
    same_length("doubly robust scores", x.n_rows(), n)?;
    let mut design = vec![vec![1.0; n]];
    let mut row = vec![0.0; x.n_cols()];
    design.extend(columns.iter().map(|_| vec![0.0; n]));
    for i in 0..n {
        x.copy_row(i, &mut row);
        columns.iter().enumerate().for_each(|(k, &j)| design[k + 1][i] = row[j]);
    }
    let w: Vec<f64> = (0..n).map(|i| rows.w(i)).collect();
    Ok(ols(&design, scores, &w, rows.groups))
}

/// Rows of similar predicted effect: what was predicted for them and what was seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EffectGroup {
    /// Rows.
    pub n: usize,
    /// Mean predicted effect.
    pub predicted: f64,
    /// Mean doubly robust score, with its standard error.
    pub seen: Score,
}

/// Rows divided into up to `k` groups by predicted effect, lowest first, with ties kept together: the points of a
/// calibration plot.
pub fn effect_groups(rows: &Observed<'_>, scores: &[f64], tau: &[f64], k: usize) -> Vec<EffectGroup> {
    let mut order: Vec<usize> = (0..tau.len()).collect();
    order.sort_by(|&a, &b| tau[a].total_cmp(&tau[b]).then(a.cmp(&b)));
    let mut groups = Vec::with_capacity(k);
    let mut start = 0;
    for part in 1..=k {
        let mut end = (part * order.len()).div_ceil(k.max(1)).max(start);
        while end > start && end < order.len() && tau[order[end]] == tau[order[end - 1]] {
            end += 1;
        }
        let own = &order[start..end];
        if own.is_empty() || own.iter().all(|&i| rows.w(i) <= 0.0) {
            continue;
        }
        let pick = |v: &[f64]| -> Vec<f64> { own.iter().map(|&i| v[i]).collect() };
        let t: Vec<u8> = own.iter().map(|&i| rows.t[i]).collect();
        let (y, weight) = (pick(rows.y), rows.weight.map(pick));
        let clusters: Option<Vec<u32>> = rows.groups.map(|g| own.iter().map(|&i| g[i]).collect());
        let sub = Observed { t: &t, y: &y, weight: weight.as_deref(), groups: clusters.as_deref() };
        let predicted = mean(&sub, &pick(tau)).value;
        groups.push(EffectGroup { n: own.len(), predicted, seen: mean(&sub, &pick(scores)) });
        start = end;
    }
    groups
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use paretau_core::{Dense, Seed};

    use super::*;

    #[test]
    fn true_effects_are_calibrated_and_doubled_ones_are_not() {
        let mut rng = Seed(3).rng();
        let n = 4000;
        let x: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        let t: Vec<u8> = (0..n).map(|_| u8::from(rng.bernoulli(0.5))).collect();
        let tau: Vec<f64> = x.iter().map(|v| 1.0 + v).collect();
        let y: Vec<f64> = (0..n).map(|i| x[i] + f64::from(t[i]) * tau[i] + 0.5 * rng.normal()).collect();
        let mu1 = x.iter().zip(&tau).map(|(a, b)| a + b).collect();
        let nuisance = Nuisance::from_arms(x.clone(), mu1, vec![0.5; n]);
        let rows = Observed::new(&t, &y).unwrap();
        let got = calibration(&rows, &nuisance, &tau);
        for score in [got.mean.unwrap(), got.heterogeneity.unwrap()] {
            assert!((score.value - 1.0).abs() < 4.0 * score.se.unwrap() && score.se.unwrap() < 0.05);
        }
        let stretched: Vec<f64> = tau.iter().map(|v| 1.0 + 2.0 * (v - 1.0)).collect();
        let got = calibration(&rows, &nuisance, &stretched).heterogeneity.unwrap();
        assert!((got.value - 0.5).abs() < 4.0 * got.se.unwrap());
        let flat = calibration(&rows, &nuisance, &vec![1.0; n]);
        assert!(flat.heterogeneity.is_none() && flat.mean.is_some());
        assert_eq!(calibration(&rows, &nuisance, &vec![0.0; n]), Calibration { mean: None, heterogeneity: None });

        let scores = nuisance.scores(&rows, &vec![2.0; n]);
        let features = Features::Dense(Dense::new(n, 1, x).unwrap());
        let blp = best_linear_projection(&rows, &scores, &features, &[0]).unwrap().unwrap();
        assert!((blp[0].value - 1.0).abs() < 0.1 && (blp[1].value - 1.0).abs() < 0.1);
        let groups = effect_groups(&rows, &scores, &tau, 5);
        assert_eq!(groups.iter().map(|g| g.n).collect::<Vec<_>>(), [800; 5]);
        for group in &groups {
            assert!((group.predicted - group.seen.value).abs() < 4.0 * group.seen.se.unwrap());
        }
        assert_eq!(effect_groups(&rows, &scores, &vec![1.0; n], 5).len(), 1);
        assert!(best_linear_projection(&rows, &scores, &features, &[0, 0]).unwrap().is_none());
    }
}
