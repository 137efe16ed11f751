//! How far predicted effects miss systematically, by doubly robust scores of rows that the predictions did not learn from.
//!
//! Refits and little bags show how much an estimator varies, not how much it is biased: a line through a curve varies little.
//! So rows are grouped by predicted effect and by features, and a group's mean of `score - prediction` is held against
//! that of other rows of the same group: the mean product of the two is the mean squared bias between groups, without the
//! scores' noise, which the two do not share. The grouping is chosen on the other rows as well.

use paretau_core::{Features, Result, Seed};
use paretau_nuisance::inference::clustered_mean;
use paretau_nuisance::{Observed, Score, fold_count};

/// Groups per feature.
const GROUPS: usize = 5;
/// Features by which rows are grouped, those that go most with what is missed.
const MOST_FEATURES: usize = 20;
/// Folds in which groupings are chosen.
const FOLDS: usize = 5;
/// Standard errors that are added to the squared bias: what chance may have hidden counts as there.
const MARGIN: f64 = 1.0;

/// The root of the mean squared bias of held-out predictions `tau` against `scores`, on the safe side.
pub(crate) fn bias(rows: &Observed<'_>, scored: (&[f64], &[f64]), x: &Features, seed: Seed) -> Result<f64> {
    Ok(root(squared_bias(rows, scored, x, seed)?))
}

/// The root of a squared bias, on the safe side.
pub(crate) fn root(squared: Score) -> f64 {
    (squared.value.max(0.0) + MARGIN * squared.se.unwrap_or(0.0)).max(0.0).sqrt()
}

/// The mean squared bias with its standard error.
pub(crate) fn squared_bias(
    rows: &Observed<'_>,
    (scores, tau): (&[f64], &[f64]),
    x: &Features,
    seed: Seed,
) -> Result<Score> {
    let n = tau.len();
    let missed: Vec<f64> = scores.iter().zip(tau).map(|(s, t)| s - t).collect();
    let groupings = groupings(&missed, tau, x);
    let Some(k) = fold_count(rows.t, rows.groups, FOLDS) else {
        return Ok(Score::plain(clustered_mean(&missed, rows.weight, rows.groups).value.powi(2)));
    };
    let mut products = vec![0.0; n];
    for fold in paretau_core::folds(rows.t, rows.groups, k, seed.named("interval calibration"))? {
        let best = groupings
            .iter()
            .map(|groups| Means::of(groups, &missed, rows, &fold.train))
            .zip(&groupings)
            // The first of equals, so that the choice hangs on nothing else.
            .fold(None, |best: Option<(Means, &Vec<u8>)>, (means, groups)| match best {
                Some((other, kept)) if other.excess >= means.excess => Some((other, kept)),
                _ => Some((means, groups)),
            });
        if let Some((means, groups)) = best {
            fold.held_out.iter().for_each(|&i| products[i] = means.mean[usize::from(groups[i])] * missed[i]);
        }
    }
    Ok(clustered_mean(&products, rows.weight, rows.groups))
}

/// Means within groups over some rows.
struct Means {
    mean: [f64; GROUPS],
    /// Mean squared mean beyond what noise gives.
    excess: f64,
}

impl Means {
    fn of(groups: &[u8], missed: &[f64], rows: &Observed<'_>, among: &[usize]) -> Self {
        let (mut total, mut sum, mut squares, mut own) = ([0.0; GROUPS], [0.0; GROUPS], [0.0; GROUPS], [0.0; GROUPS]);
        for &i in among {
            let (g, w) = (usize::from(groups[i]), rows.w(i));
            total[g] += w;
            sum[g] += w * missed[i];
        }
        let mean: [f64; GROUPS] = std::array::from_fn(|g| if total[g] > 0.0 { sum[g] / total[g] } else { 0.0 });
        for &i in among {
            let (g, w) = (usize::from(groups[i]), rows.w(i));
            squares[g] += (w * (missed[i] - mean[g])).powi(2);
            own[g] += w;
        }
        let all: f64 = total.iter().sum();
        let of_group = |g: usize| {
            if own[g] <= 0.0 { 0.0 } else { total[g] / all * (mean[g] * mean[g] - squares[g] / (own[g] * own[g])) }
        };
        Self { mean, excess: (0..GROUPS).map(of_group).sum() }
    }
}

/// All rows together, by predicted effect, and by single features.
fn groupings(missed: &[f64], tau: &[f64], x: &Features) -> Vec<Vec<u8>> {
    let mut all = vec![vec![0; tau.len()], by_rank(tau)];
    if let Features::Dense(x) = x {
        let column = |j: usize| -> Vec<f64> { (0..x.n_rows()).map(|i| x.get(i, j)).collect() };
        let mut leading: Vec<(f64, usize)> =
            (0..x.n_cols()).map(|j| (correlation(&column(j), missed).abs(), j)).collect();
        leading.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        all.extend(leading.iter().take(MOST_FEATURES).map(|&(_, j)| by_rank(&column(j))));
    }
    all
}

/// Groups of about equal size by rank; equal values are in one group.
fn by_rank(values: &[f64]) -> Vec<u8> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let ends: Vec<f64> = (1..GROUPS).map(|g| sorted[g * (sorted.len() - 1) / GROUPS]).collect();
    values.iter().map(|v| ends.iter().filter(|end| v > end).count() as u8).collect()
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len() as f64;
    let (ma, mb) = (a.iter().sum::<f64>() / n, b.iter().sum::<f64>() / n);
    let (mut ab, mut aa) = (0.0, 0.0);
    for (a, b) in a.iter().zip(b) {
        ab += (a - ma) * (b - mb);
        aa += (a - ma).powi(2);
    }
    // The other factor is the same for every feature.
    if aa > 0.0 { ab / aa.sqrt() } else { 0.0 }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use paretau_core::Dense;

    /// Scores around `truth(x)` with unit noise, predictions of 0.
    fn bias_of(truth: fn(f64) -> f64, n: usize) -> f64 {
        let mut rng = Seed(5).rng();
        let x: Vec<f64> = (0..2 * n).map(|_| rng.normal()).collect();
        let scores: Vec<f64> = (0..n).map(|i| truth(x[2 * i]) + rng.normal()).collect();
        let t: Vec<u8> = (0..n).map(|i| (i % 2) as u8).collect();
        let rows = Observed { t: &t, y: &scores, weight: None, groups: None };
        let x = Features::Dense(Dense::new(n, 2, x).unwrap());
        bias(&rows, (&scores, &vec![0.0; n]), &x, Seed(1)).unwrap()
    }

    #[test]
    fn bias_is_found_and_noise_is_not() {
        // Quintiles keep nearly all of a line's variance of 1.
        let line = bias_of(|x| x, 4000);
        assert!((0.85..1.15).contains(&line), "{line}");
        let shift = bias_of(|_| 0.7, 4000);
        assert!((0.6..0.85).contains(&shift), "{shift}");
        let nothing = bias_of(|_| 0.0, 4000);
        assert!(nothing < 0.12, "{nothing}");
    }
}
