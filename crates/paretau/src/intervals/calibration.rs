//! How far predicted effects miss systematically, by doubly robust scores of rows that the predictions did not learn from.
//!
//! Refits and little bags show how much an estimator varies, not how much it is biased: a line through a curve varies little.
//! So rows are grouped by predicted effect and by features, and a group's mean of `score - prediction` is held against
//! that of other rows of the same group: the mean product of the two is the mean squared bias between groups, without the
//! scores' noise, which the two do not share. The grouping is chosen on the other rows as well. Before that, a line through what
//! is missed takes out what grows along a direction of the features, which becomes a bias of each row's own.

use paretau_core::{Column, Features, FitContext, FittedRegressor, Fold, Params, RegressionTask, Result, Seed, Target};
use paretau_kernels::numeric::correlation;
use paretau_nuisance::inference::clustered_mean;
use paretau_nuisance::ols::ols;
use paretau_nuisance::{CrossTask, HeldOut, Observed, Score, cross_fit, fold_count};

use crate::registry::TOOLBOX;

/// Groups per feature.
const GROUPS: usize = 5;
/// Features by which rows are grouped, those that go most with what is missed.
const MOST_FEATURES: usize = 20;
/// Folds in which groupings are chosen.
const FOLDS: usize = 5;
/// Standard errors that are added to what is found: what chance may have hidden counts as there.
const MARGIN: f64 = 1.0;

/// How far predictions miss systematically.
#[derive(Debug)]
pub(crate) struct Bias {
    /// Root of the mean squared bias that is spread over all rows.
    pub(crate) spread: f64,
    /// What grows along a direction of the features, where one was looked for.
    pub(crate) trend: Option<Trend>,
}

/// A miss that grows along a direction: predictions that are drawn towards the mean miss most where effects are extreme, and
/// nothing in the middle, so that one number for all rows is too much for most and far too little for those that matter.
#[derive(Debug)]
pub(crate) struct Trend {
    /// Predicts what is missed; lines only, so that rows beyond the training rows have a miss as well.
    pub(crate) model: Box<dyn FittedRegressor>,
    /// Its mean over the training rows.
    pub(crate) centre: f64,
    /// How much is missed per unit of the prediction, on the safe side.
    pub(crate) slope: f64,
}

/// The base learner of the trend.
pub(crate) const LINE: &str = "ridge";

impl Bias {
    /// Of held-out predictions `tau` against `scores`, on the safe side.
    pub(crate) fn of(
        rows: &Observed<'_>,
        (scores, tau): (&[f64], &[f64]),
        x: &Features,
        ctx: &FitContext<'_>,
    ) -> Result<Self> {
        let mut missed: Vec<f64> = scores.iter().zip(tau).map(|(s, t)| s - t).collect();
        let Some(k) = fold_count(rows.t, rows.groups, FOLDS) else {
            let spread = clustered_mean(&missed, rows.weight, rows.groups).value.abs();
            return Ok(Self { spread, trend: None });
        };
        let parts = paretau_core::folds(rows.t, rows.groups, k, ctx.seed.named("interval calibration"))?;
        let trend = trend(rows, &mut missed, x, &parts, ctx)?;
        let spread = root(between_groups(rows, &missed, &groupings(&missed, tau, x), &parts));
        Ok(Self { spread, trend })
    }

    /// The bias that rows may have.
    pub(crate) fn at(&self, x: &Features) -> Result<Vec<f64>> {
        let Some(Trend { model, centre, slope }) = &self.trend else { return Ok(vec![self.spread; x.n_rows()]) };
        Ok(model.predict(x)?.into_iter().map(|at| self.spread.hypot(slope * (at - centre))).collect())
    }
}

/// The direction along which most is missed, chosen on other rows than those that say how much; what it explains is taken away
/// from `missed`.
fn trend(
    rows: &Observed<'_>,
    missed: &mut [f64],
    x: &Features,
    parts: &[Fold],
    ctx: &FitContext<'_>,
) -> Result<Option<Trend>> {
    let learner = TOOLBOX.base(LINE)?.build(&Params::none())?;
    let found = {
        let columns = Column::numbered(x.n_cols());
        let task = RegressionTask {
            x,
            columns: &columns,
            y: missed,
            weight: rows.weight,
            groups: rows.groups,
            target: Target::Mean,
        };
        let ctx = ctx.with_seed(ctx.seed.named("what intervals miss"));
        cross_fit(&CrossTask::new(task), learner.as_ref(), parts, HeldOut::Folds, &ctx)?
    };
    let n = missed.len();
    let w: Vec<f64> = (0..n).map(|i| rows.w(i)).collect();
    let mean = clustered_mean(&found.held_out, rows.weight, None).value;
    let along: Vec<f64> = found.held_out.iter().map(|v| v - mean).collect();
    let Some([_, slope]) =
        ols(&[vec![1.0; n], along.clone()], missed, &w, rows.groups).and_then(|found| <[_; 2]>::try_from(found).ok())
    else {
        return Ok(None);
    };
    let Some(se) = slope.finite().and_then(|slope| slope.se) else { return Ok(None) };
    let seen = slope.value.max(0.0);
    missed.iter_mut().zip(&along).for_each(|(missed, along)| *missed -= seen * along);
    let own = found.model.predict(x)?;
    let centre = clustered_mean(&own, rows.weight, None).value;
    Ok(Some(Trend { model: found.model, centre, slope: seen + MARGIN * se }))
}

/// The mean squared bias of held-out predictions `tau` against `scores`, whatever it grows along: means over blocks of rows can
/// be taken of it.
pub(crate) fn squared_bias(
    rows: &Observed<'_>,
    (scores, tau): (&[f64], &[f64]),
    x: &Features,
    seed: Seed,
) -> Result<Score> {
    let missed: Vec<f64> = scores.iter().zip(tau).map(|(s, t)| s - t).collect();
    let Some(k) = fold_count(rows.t, rows.groups, FOLDS) else {
        return Ok(Score::plain(clustered_mean(&missed, rows.weight, rows.groups).value.powi(2)));
    };
    let parts = paretau_core::folds(rows.t, rows.groups, k, seed.named("interval calibration"))?;
    Ok(between_groups(rows, &missed, &groupings(&missed, tau, x), &parts))
}

/// The root of a squared bias, on the safe side.
pub(crate) fn root(squared: Score) -> f64 {
    (squared.value.max(0.0) + MARGIN * squared.se.unwrap_or(0.0)).max(0.0).sqrt()
}

/// The mean squared bias between groups.
fn between_groups(rows: &Observed<'_>, missed: &[f64], groupings: &[Vec<u8>], parts: &[Fold]) -> Score {
    let mut products = vec![0.0; missed.len()];
    for fold in parts {
        let best = groupings
            .iter()
            .map(|groups| Means::of(groups, missed, rows, &fold.train))
            .zip(groupings)
            // The first of equals, so that the choice hangs on nothing else.
            .fold(None, |best: Option<(Means, &Vec<u8>)>, (means, groups)| match best {
                Some((other, kept)) if other.excess >= means.excess => Some((other, kept)),
                _ => Some((means, groups)),
            });
        if let Some((means, groups)) = best {
            fold.held_out.iter().for_each(|&i| products[i] = means.mean[usize::from(groups[i])] * missed[i]);
        }
    }
    clustered_mean(&products, rows.weight, rows.groups)
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use paretau_core::{Dense, Seed, Silent};

    /// Scores around `truth(x)` with unit noise, predictions of 0: the bias that is found at -2, 0 and 2, and its root mean
    /// square over the rows.
    fn bias_of(truth: fn(f64) -> f64, n: usize) -> ([f64; 3], f64) {
        let mut rng = Seed(5).rng();
        let x: Vec<f64> = (0..2 * n).map(|_| rng.normal()).collect();
        let scores: Vec<f64> = (0..n).map(|i| truth(x[2 * i]) + rng.normal()).collect();
        let t: Vec<u8> = (0..n).map(|i| (i % 2) as u8).collect();
        let rows = Observed { t: &t, y: &scores, weight: None, groups: None };
        let x = Features::Dense(Dense::new(n, 2, x).unwrap());
        let found = Bias::of(&rows, (&scores, &vec![0.0; n]), &x, &FitContext::new(Seed(1), &Silent)).unwrap();
        let at = Features::Dense(Dense::new(3, 2, vec![-2.0, 0.0, 0.0, 0.0, 2.0, 0.0]).unwrap());
        let all = found.at(&x).unwrap();
        let at = found.at(&at).unwrap();
        ([at[0], at[1], at[2]], (all.iter().map(|b| b * b).sum::<f64>() / n as f64).sqrt())
    }

    #[test]
    fn bias_is_found_where_it_is_and_noise_is_not() {
        let ([low, middle, high], all) = bias_of(|x| x, 4000);
        assert!((1.9..2.2).contains(&low) && middle < 0.25 && (1.9..2.2).contains(&high), "{low} {middle} {high}");
        assert!((0.95..1.15).contains(&all), "{all}");
        let (at, shift) = bias_of(|_| 0.7, 4000);
        assert!((0.6..0.85).contains(&shift) && at.iter().all(|b| (0.6..0.95).contains(b)), "{at:?} {shift}");
        // No line sees a bump; the groups do.
        let (_, bump) = bias_of(|x| if x.abs() < 0.5 { 1.0 } else { 0.0 }, 4000);
        assert!((0.45..0.75).contains(&bump), "{bump}");
        let (at, nothing) = bias_of(|_| 0.0, 4000);
        assert!(nothing < 0.12 && at.iter().all(|b| *b < 0.2), "{at:?} {nothing}");
    }
}
