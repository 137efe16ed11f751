//! The lasso: linear and logistic regression with an absolute penalty, which leaves most columns out.
//!
//! It minimises `1/Σw Σ w_i loss(y_i, a + z_iᵀβ) + λ Σ |β_j|` over standardised features z, with half the squared error or
//! the log-loss; the intercept goes unpenalised. One column is moved at a time along a falling path of penalties, each
//! starting from the last. Columns that the last penalty makes hopeless are looked at again only after the rest has settled.
//! Where few of many columns matter, ridge spreads the weight over all of them and leaves confounding behind; this does not.
//!
//! A penalty that keeps noise out also draws the kept coefficients towards zero, and what it takes away stays behind as
//! confounding. So cross-validation also tries to relieve the kept columns of most of the penalty (Meinshausen 2007, the relaxed
//! lasso), and takes what predicts held-out rows best.

use paretau_core::{Error, Features, Result, Seed, State};
use paretau_kernels::numeric::{logit, sigmoid};
use paretau_nuisance::folds::{fold_count, folds};
use rayon::prelude::*;

use crate::design_matrix::{Moments, refuse_missing, weights_or_ones};
use crate::logistic::Watch;
use crate::ridge::linear_predictor;
use crate::view::View;

/// Penalties of the path.
const PATH_LENGTH: usize = 30;
/// The smallest penalty over the largest, with more rows than columns and with fewer.
const PATH_END: (f64, f64) = (1e-3, 1e-2);
/// What share of the penalty the kept columns bear: all of it, or little.
const RELIEF: [f64; 2] = [1.0, 0.1];
/// The path ends after this many penalties in a row that predict held-out rows worse than the best.
const PATIENCE: usize = 3;
/// A fit has settled when no step changes the loss by more than this share of the loss without features.
const SETTLED: f64 = 1e-7;
/// Most rounds over the columns for one penalty.
const MOST_ROUNDS: usize = 1_000;
/// Most steps of the log-loss for one penalty.
const MOST_STEPS: usize = 50;
/// The curvature is taken anew when the rows' variances have moved by more than this share of their sum.
const MOVED: f64 = 0.1;
/// Probabilities nearer to 0 or 1 than this count as this near.
const LEAST_VARIANCE: f64 = 1e-5;
/// Logits are held within this.
pub(crate) const MAX_LOGIT: f64 = 30.0;

/// What is minimised besides the penalty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    /// Half the squared error.
    Squared,
    /// The log-loss of a 0/1 outcome.
    Logistic,
}

/// Rows of a lasso.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LassoTask<'a> {
    pub(crate) x: &'a Features,
    pub(crate) y: &'a [f64],
    pub(crate) weight: Option<&'a [f64]>,
    /// Groups that cross-validation must not split.
    pub(crate) groups: Option<&'a [u32]>,
    pub(crate) loss: Loss,
}

/// A fitted lasso, in the units of the features.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Lasso {
    pub(crate) intercept: f64,
    pub(crate) coef: Vec<f64>,
    pub(crate) loss: Loss,
}

impl Lasso {
    /// Fits with a given penalty, or with the one that predicts best in cross-validation.
    /// Between penalties `watch` may end it.
    pub(crate) fn fit(
        task: &LassoTask<'_>,
        penalty: Option<f64>,
        n_folds: usize,
        seed: Seed,
        watch: Watch<'_>,
    ) -> Result<Self> {
        refuse_missing(task.x, "the lasso")?;
        let n = task.x.n_rows();
        if n == 0 || task.y.len() != n {
            return Err(Error::LengthMismatch { what: "outcome", expected: n, found: task.y.len() });
        }
        if let (Loss::Logistic, Some(i)) = (task.loss, task.y.iter().position(|v| *v != 0.0 && *v != 1.0)) {
            return Err(Error::unfit(format!("labels: row {} holds {}, not 0 or 1", i + 1, task.y[i])));
        }
        let w = weights_or_ones(task.weight, n);
        let mut problem = Problem::new(task.x, task.y, &w, task.loss)?;
        let (path, relief) = match penalty {
            Some(penalty) => (problem.path_to(penalty), 1.0),
            None => {
                let path = problem.path();
                // Its columns are as large as the features: making them again costs less than keeping them beside the folds'.
                problem.columns = vec![];
                let (last, relief) = choose(task, &w, &path, (n_folds, seed), watch)?;
                problem.columns = columns(task.x.into(), &problem.moments);
                (path[..=last].to_vec(), relief)
            }
        };
        let mut fit = problem.start();
        let mut before = problem.largest;
        for penalty in path {
            watch()?;
            problem.solve(penalty, before, &mut fit);
            before = penalty;
        }
        if relief < 1.0 {
            problem.relieve(relief * before, &mut fit);
        }
        Ok(problem.in_units(&fit))
    }

    /// Means or probabilities.
    pub(crate) fn predict(&self, x: &Features) -> Vec<f64> {
        let mut out = linear_predictor(x, self.intercept, &self.coef);
        if self.loss == Loss::Logistic {
            out.iter_mut().for_each(|v| *v = sigmoid(v.clamp(-MAX_LOGIT, MAX_LOGIT)));
        }
        out
    }

    pub(crate) fn put(&self, state: &mut State) {
        state.put_f64("lasso/intercept", &[1], vec![self.intercept]);
        state.put_f64("lasso/coef", &[self.coef.len()], self.coef.clone());
    }

    pub(crate) fn get(state: &State, loss: Loss, n_features: usize) -> Result<Self> {
        let intercept = state.f64("lasso/intercept", &[1])?[0];
        let coef = state.f64("lasso/coef", &[n_features])?.to_vec();
        if coef.iter().chain([&intercept]).any(|v| !v.is_finite()) {
            return Err(Error::bad_model("a lasso holds coefficients that are not finite"));
        }
        Ok(Self { intercept, coef, loss })
    }
}

/// The place on the path and the relief that predict held-out rows best.
fn choose(
    task: &LassoTask<'_>,
    w: &[f64],
    path: &[f64],
    (wanted, seed): (usize, Seed),
    watch: Watch<'_>,
) -> Result<(usize, f64)> {
    let n = task.y.len();
    let strata: Vec<u8> = match task.loss {
        Loss::Logistic => task.y.iter().map(|y| u8::from(*y > 0.5)).collect(),
        Loss::Squared => vec![0; n],
    };
    let Some(k) = fold_count(&strata, task.groups, wanted) else { return Ok((path.len() / 2, 1.0)) };
    let parts = folds(&strata, task.groups, k, seed.named("lasso"))?;
    let losses: Vec<Vec<[f64; 2]>> = parts
        .par_iter()
        .map(|fold| {
            let pick = |values: &[f64], rows: &[usize]| rows.iter().map(|&i| values[i]).collect::<Vec<f64>>();
            let (y, own) = (pick(task.y, &fold.train), pick(w, &fold.train));
            let (y_out, w_out) = (pick(task.y, &fold.held_out), pick(w, &fold.held_out));
            if own.iter().sum::<f64>() <= 0.0 {
                return Ok(vec![[0.0; 2]; path.len()]);
            }
            let problem = Problem::new(View::of(task.x, &fold.train), &y, &own, task.loss)?;
            let held_out = |fit: &Fit| -> f64 {
                let found = problem.in_units(fit);
                let scores = linear_predictor(View::of(task.x, &fold.held_out), found.intercept, &found.coef);
                scores.iter().zip(&y_out).zip(&w_out).map(|((s, y), w)| w * loss(task.loss, *y, *s)).sum()
            };
            let (mut fit, mut before) = (problem.start(), problem.largest);
            let (mut losses, mut best, mut worse) = (vec![], f64::INFINITY, 0);
            for &penalty in path {
                watch()?;
                problem.solve(penalty, before, &mut fit);
                before = penalty;
                let own = RELIEF.map(|relief| {
                    if relief < 1.0 {
                        let mut relieved = fit.clone();
                        problem.relieve(relief * penalty, &mut relieved);
                        held_out(&relieved)
                    } else {
                        held_out(&fit)
                    }
                });
                let least = own[0].min(own[1]);
                losses.push(own);
                worse = if least < best { 0 } else { worse + 1 };
                best = best.min(least);
                if worse > PATIENCE {
                    break;
                }
            }
            // Beyond its end a fold stays as bad as its last; the best place is not there.
            let last = losses.last().copied().unwrap_or([f64::INFINITY; 2]);
            losses.resize(path.len(), last);
            Ok(losses)
        })
        .collect::<Result<_>>()?;
    let total = |(k, relief): (usize, usize)| losses.iter().map(|own| own[k][relief]).sum::<f64>();
    let all = (0..RELIEF.len()).flat_map(|relief| (0..path.len()).map(move |k| (k, relief)));
    let (k, relief) =
        all.min_by(|&a, &b| total(a).total_cmp(&total(b)).then((a.1, a.0).cmp(&(b.1, b.0)))).unwrap_or((0, 0));
    Ok((k, RELIEF[relief]))
}

fn loss(kind: Loss, y: f64, score: f64) -> f64 {
    match kind {
        Loss::Squared => 0.5 * (y - score).powi(2),
        Loss::Logistic => score.max(0.0) + (-score.abs()).exp().ln_1p() - y * score,
    }
}

/// A standardised column: `z_i = value_i - mean`, with values of 0 where a sparse one stores none.
struct Column {
    rows: Option<Vec<u32>>,
    values: Vec<f64>,
    mean: f64,
}

impl Column {
    /// `Σ u_i z_i`, where `total` is `Σ u_i`.
    fn dot(&self, u: &[f64], total: f64) -> f64 {
        let sum: f64 = match &self.rows {
            None => self.values.iter().zip(u).map(|(z, u)| z * u).sum(),
            Some(rows) => rows.iter().zip(&self.values).map(|(&i, z)| z * u[i as usize]).sum(),
        };
        sum - self.mean * total
    }

    /// Adds `step · z_i` to every entry.
    fn add_to(&self, out: &mut [f64], step: f64) {
        match &self.rows {
            None => out.iter_mut().zip(&self.values).for_each(|(o, z)| *o += step * z),
            Some(rows) => {
                let shift = step * self.mean;
                out.iter_mut().for_each(|o| *o -= shift);
                rows.iter().zip(&self.values).for_each(|(&i, z)| out[i as usize] += step * z);
            }
        }
    }
}

/// One set of rows, ready to be solved for several penalties.
struct Problem<'a> {
    columns: Vec<Column>,
    y: &'a [f64],
    /// Row weights that sum to 1.
    w: Vec<f64>,
    moments: Moments,
    loss: Loss,
    /// The smallest penalty that leaves every column out.
    largest: f64,
    /// The loss without features.
    null: f64,
    n_rows: usize,
}

/// Where a fit stands.
#[derive(Clone)]
struct Fit {
    intercept: f64,
    beta: Vec<f64>,
    /// `a + z_iᵀβ`.
    scores: Vec<f64>,
    curvature: Curvature,
}

/// Second derivatives of the loss among the columns that were needed so far, the intercept moving along: weighted products
/// of columns without their means. With them a column's step costs as much as there are columns, not rows.
#[derive(Clone)]
struct Curvature {
    /// The rows' second derivatives, weights included.
    v: Vec<f64>,
    total: f64,
    /// Where each column stands below; `usize::MAX` for those that were not needed.
    place: Vec<usize>,
    columns: Vec<usize>,
    /// Means of the columns under `v`.
    means: Vec<f64>,
    rows: Vec<Vec<f64>>,
}

impl Curvature {
    fn of(v: Vec<f64>, n_columns: usize) -> Self {
        let total = v.iter().sum();
        Self { v, total, place: vec![usize::MAX; n_columns], columns: vec![], means: vec![], rows: vec![] }
    }

    fn include(&mut self, j: usize, columns: &[Column]) {
        if self.place[j] != usize::MAX {
            return;
        }
        let mean = columns[j].dot(&self.v, self.total) / self.total;
        let mut z = vec![-mean; self.v.len()];
        columns[j].add_to(&mut z, 1.0);
        z.iter_mut().zip(&self.v).for_each(|(z, v)| *z *= v);
        // Its sum is 0 but for rounding, which must not be multiplied by large means.
        let sum: f64 = z.iter().sum();
        let mut own: Vec<f64> = self.columns.iter().map(|&l| columns[l].dot(&z, sum)).collect();
        for (row, product) in self.rows.iter_mut().zip(&own) {
            row.push(*product);
        }
        own.push(columns[j].dot(&z, sum).max(0.0));
        self.place[j] = self.columns.len();
        self.columns.push(j);
        self.means.push(mean);
        self.rows.push(own);
    }
}

/// The second derivative of the log-loss.
fn variance(score: f64) -> f64 {
    let p = sigmoid(score);
    (p * (1.0 - p)).max(LEAST_VARIANCE)
}

impl<'a> Problem<'a> {
    fn new<'x>(x: impl Into<View<'x>>, y: &'a [f64], w: &[f64], kind: Loss) -> Result<Self> {
        let x: View<'x> = x.into();
        let total: f64 = w.iter().sum();
        if total.partial_cmp(&0.0) != Some(std::cmp::Ordering::Greater) {
            return Err(Error::unfit("all rows to learn from have weight 0"));
        }
        let moments = Moments::of(x, w);
        let w: Vec<f64> = w.iter().map(|v| v / total).collect();
        let columns = columns(x, &moments);
        let (n_rows, mean) = (y.len(), y.iter().zip(&w).map(|(y, w)| y * w).sum::<f64>());
        let mut out = Self { columns, y, w, moments, loss: kind, largest: 0.0, null: 0.0, n_rows };
        let start = out.start();
        let slope: Vec<f64> = (0..n_rows).map(|i| out.w[i] * (y[i] - mean)).collect();
        let sum: f64 = slope.iter().sum();
        out.largest = out.columns.iter().map(|c| c.dot(&slope, sum).abs()).fold(0.0, f64::max);
        out.null = (0..n_rows).map(|i| out.w[i] * loss(kind, y[i], start.scores[i])).sum::<f64>();
        Ok(out)
    }

    /// No feature, and the intercept that fits best.
    fn start(&self) -> Fit {
        let mean: f64 = self.y.iter().zip(&self.w).map(|(y, w)| y * w).sum();
        let intercept = match self.loss {
            Loss::Squared => mean,
            Loss::Logistic => {
                // Half a row of each class, as if one more had been seen, when there is only one.
                let n = self.n_rows as f64;
                let rate = if mean <= 0.0 || mean >= 1.0 { (mean * n + 0.5) / (n + 1.0) } else { mean };
                logit(rate)
            }
        };
        let curve = match self.loss {
            Loss::Squared => 1.0,
            Loss::Logistic => variance(intercept),
        };
        let curvature = Curvature::of(self.w.iter().map(|w| w * curve).collect(), self.columns.len());
        Fit { intercept, beta: vec![0.0; self.columns.len()], scores: vec![intercept; self.n_rows], curvature }
    }

    fn path(&self) -> Vec<f64> {
        let end: f64 = if self.n_rows > self.columns.len() { PATH_END.0 } else { PATH_END.1 };
        (0..PATH_LENGTH).map(|k| self.largest * end.powf(k as f64 / (PATH_LENGTH - 1) as f64)).collect()
    }

    /// A path that ends at a given penalty.
    fn path_to(&self, penalty: f64) -> Vec<f64> {
        self.path().into_iter().filter(|p| *p > penalty).chain([penalty]).collect()
    }

    /// Moves a fit of the penalty `before` to the optimum for a smaller one.
    fn solve(&self, penalty: f64, before: f64, fit: &mut Fit) {
        if self.largest <= 0.0 || self.null <= 0.0 {
            return;
        }
        let slopes = self.slopes(fit);
        // What the penalty before left below this seldom enters now (Tibshirani and others 2012); it is looked at below.
        let hopeful = |j: usize| fit.beta[j] != 0.0 || slopes[j].abs() >= 2.0 * penalty - before;
        let mut own: Vec<usize> = (0..self.columns.len()).filter(|&j| hopeful(j)).collect();
        loop {
            self.reach(penalty, &own, fit);
            let slopes = self.slopes(fit);
            let missed: Vec<usize> = (0..self.columns.len())
                .filter(|&j| {
                    fit.beta[j] == 0.0 && slopes[j].abs() > penalty * (1.0 + 1e-6) && own.binary_search(&j).is_err()
                })
                .collect();
            if missed.is_empty() {
                return;
            }
            own.extend(missed);
            own.sort_unstable();
        }
    }

    /// Moves the columns that are in the fit, and no others, to the optimum for a smaller penalty.
    fn relieve(&self, penalty: f64, fit: &mut Fit) {
        let kept: Vec<usize> = (0..self.columns.len()).filter(|&j| fit.beta[j] != 0.0).collect();
        if !kept.is_empty() && self.null > 0.0 {
            self.reach(penalty, &kept, fit);
        }
    }

    /// How fast the loss falls along each column.
    fn slopes(&self, fit: &Fit) -> Vec<f64> {
        let residual = self.residual(fit);
        let sum = residual.iter().sum();
        self.columns.iter().map(|c| c.dot(&residual, sum)).collect()
    }

    /// Weighted residuals.
    fn residual(&self, fit: &Fit) -> Vec<f64> {
        let expected = |score: f64| match self.loss {
            Loss::Squared => score,
            Loss::Logistic => sigmoid(score),
        };
        (0..self.n_rows).map(|i| self.w[i] * (self.y[i] - expected(fit.scores[i]))).collect()
    }

    /// Moves intercept and some columns to the optimum among them.
    ///
    /// Each step minimises a quadratic model of the loss with the penalty. For the squared error the model is exact, and one
    /// step is enough; for the log-loss its curvature is taken anew when the rows' variances have moved away from it.
    fn reach(&self, penalty: f64, own: &[usize], fit: &mut Fit) {
        if self.loss == Loss::Squared {
            let (delta, shift) = self.step(penalty, own, fit);
            self.advance(own, &delta, shift, 1.0, fit);
            return;
        }
        let objective = |fit: &Fit| {
            let sum: f64 = (0..self.n_rows).map(|i| self.w[i] * loss(self.loss, self.y[i], fit.scores[i])).sum();
            sum + penalty * fit.beta.iter().map(|b| b.abs()).sum::<f64>()
        };
        let mut before = objective(fit);
        for _ in 0..MOST_STEPS {
            let v: Vec<f64> = self.w.iter().zip(&fit.scores).map(|(w, s)| w * variance(*s)).collect();
            let moved: f64 = v.iter().zip(&fit.curvature.v).map(|(now, then)| (now - then).abs()).sum();
            if moved > MOVED * fit.curvature.total {
                fit.curvature = Curvature::of(v, self.columns.len());
            }
            let (delta, shift) = self.step(penalty, own, fit);
            self.advance(own, &delta, shift, 1.0, fit);
            let mut after = objective(fit);
            // A step too far is halved towards where it began.
            let mut share = 1.0;
            for _ in 0..30 {
                if after <= before + 1e-12 * before.abs() {
                    break;
                }
                share *= 0.5;
                self.advance(own, &delta, shift, -share, fit);
                after = objective(fit);
            }
            if before - after <= SETTLED * self.null {
                return;
            }
            before = after;
        }
    }

    /// How far the optimum of the quadratic model lies: along each of the columns, and for the intercept.
    fn step(&self, penalty: f64, own: &[usize], fit: &mut Fit) -> (Vec<f64>, f64) {
        own.iter().for_each(|&j| fit.curvature.include(j, &self.columns));
        let curvature = &fit.curvature;
        let residual = self.residual(fit);
        let sum: f64 = residual.iter().sum();
        let place: Vec<usize> = own.iter().map(|&j| curvature.place[j]).collect();
        // The intercept moves along with the columns, so that every slope is that of a column without its mean.
        let mut slopes: Vec<f64> = own
            .iter()
            .zip(&place)
            .map(|(&j, &a)| self.columns[j].dot(&residual, sum) - curvature.means[a] * sum)
            .collect();
        let mut beta: Vec<f64> = own.iter().map(|&j| fit.beta[j]).collect();
        let limit = SETTLED * self.null;
        let mut all = true;
        for _ in 0..MOST_ROUNDS {
            let mut largest = 0.0_f64;
            for k in 0..own.len() {
                let row = &curvature.rows[place[k]];
                let (old, curve) = (beta[k], row[place[k]]);
                if curve <= 0.0 || (!all && old == 0.0) {
                    continue;
                }
                let slope = slopes[k] + curve * old;
                let new = slope.signum() * (slope.abs() - penalty).max(0.0) / curve;
                let change = new - old;
                if change == 0.0 {
                    continue;
                }
                beta[k] = new;
                slopes.iter_mut().zip(&place).for_each(|(slope, &l)| *slope -= change * row[l]);
                largest = largest.max(change * change * curve);
            }
            // Columns that stay out are looked at again when the others have settled.
            let settled = largest <= limit;
            if settled && all {
                break;
            }
            all = settled;
        }
        let delta: Vec<f64> = beta.iter().zip(own).map(|(b, &j)| b - fit.beta[j]).collect();
        let along: f64 = delta.iter().zip(&place).map(|(d, &a)| d * curvature.means[a]).sum();
        (delta, sum / curvature.total - along)
    }

    /// Goes a share of a step.
    fn advance(&self, own: &[usize], delta: &[f64], shift: f64, share: f64, fit: &mut Fit) {
        fit.intercept += share * shift;
        fit.scores.iter_mut().for_each(|s| *s += share * shift);
        for (&j, d) in own.iter().zip(delta).filter(|(_, d)| **d != 0.0) {
            fit.beta[j] += share * d;
            self.columns[j].add_to(&mut fit.scores, share * d);
        }
    }

    /// The fit in the units of the features.
    fn in_units(&self, fit: &Fit) -> Lasso {
        let coef: Vec<f64> = fit.beta.iter().zip(&self.moments.inverse_sd).map(|(b, s)| b * s).collect();
        let shift: f64 = coef.iter().zip(&self.moments.mean).map(|(c, m)| c * m).sum();
        Lasso { intercept: fit.intercept - shift, coef, loss: self.loss }
    }
}

fn columns(view: View<'_>, moments: &Moments) -> Vec<Column> {
    let (d, n) = (view.n_cols(), view.n_rows());
    match view.x {
        Features::Dense(m) => (0..d)
            .map(|j| Column {
                rows: None,
                values: (0..n).map(|i| (m.get(view.place(i), j) - moments.mean[j]) * moments.inverse_sd[j]).collect(),
                mean: 0.0,
            })
            .collect(),
        Features::Sparse(m) => {
            let mut out: Vec<Column> = (0..d)
                .map(|j| Column { rows: Some(vec![]), values: vec![], mean: moments.mean[j] * moments.inverse_sd[j] })
                .collect();
            for i in 0..n {
                let (cols, values) = m.row(view.place(i));
                for (&j, v) in cols.iter().zip(values) {
                    let (column, scale) = (&mut out[j as usize], moments.inverse_sd[j as usize]);
                    if let (Some(rows), true) = (&mut column.rows, scale > 0.0) {
                        rows.push(i as u32);
                        column.values.push(v * scale);
                    }
                }
            }
            out
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use paretau_core::{Csr, Dense};

    use super::*;

    fn rows(n: usize, d: usize, seed: u64) -> (Features, Vec<f64>, Vec<f64>) {
        let mut rng = Seed(seed).rng();
        let x: Vec<f64> = (0..n * d).map(|k| 3.0 + (1.0 + (k % d) as f64) * rng.normal()).collect();
        let score = |i: usize| (x[i * d] - 3.0) - 0.5 * (x[i * d + 1] - 3.0) / 2.0;
        let y = (0..n).map(|i| 2.0 + score(i) + 0.5 * rng.normal()).collect();
        let t = (0..n).map(|i| f64::from(u8::from(rng.bernoulli(sigmoid(score(i)))))).collect();
        (Features::Dense(Dense::new(n, d, x).unwrap()), y, t)
    }

    /// At the optimum the slope along a column is the penalty where it takes part, and no larger elsewhere.
    fn is_optimal(task: &LassoTask<'_>, penalty: f64) {
        let w = weights_or_ones(task.weight, task.y.len());
        let problem = Problem::new(task.x, task.y, &w, task.loss).unwrap();
        let (mut fit, mut before) = (problem.start(), problem.largest);
        for penalty in problem.path_to(penalty) {
            problem.solve(penalty, before, &mut fit);
            before = penalty;
        }
        let slopes = problem.slopes(&fit);
        assert!(fit.beta.contains(&0.0) && fit.beta.iter().any(|b| *b != 0.0), "{:?}", fit.beta);
        for (slope, beta) in slopes.iter().zip(&fit.beta) {
            let off = if *beta == 0.0 { slope.abs() - penalty } else { (slope - penalty * beta.signum()).abs() };
            assert!(off < 2e-3 * penalty, "{slope} at {beta} for {penalty}");
        }
    }

    #[test]
    fn the_slopes_say_that_it_is_the_optimum() {
        let (x, y, t) = rows(400, 12, 1);
        let weight: Vec<f64> = (0..400).map(|i| f64::from(1 + i % 3)).collect();
        for weight in [None, Some(weight.as_slice())] {
            is_optimal(&LassoTask { x: &x, y: &y, weight, groups: None, loss: Loss::Squared }, 0.1);
            is_optimal(&LassoTask { x: &x, y: &t, weight, groups: None, loss: Loss::Logistic }, 0.05);
        }
    }

    #[test]
    fn sparse_features_and_whole_weights_change_nothing() {
        let mut rng = Seed(5).rng();
        let (n, d) = (300, 8);
        let x: Vec<f64> = (0..n * d).map(|_| if rng.bernoulli(0.3) { rng.normal() + 1.0 } else { 0.0 }).collect();
        let y: Vec<f64> = (0..n).map(|i| x[i * d] + rng.normal()).collect();
        let t: Vec<f64> = y.iter().map(|y| f64::from(u8::from(*y > 0.3))).collect();
        let dense = Features::Dense(Dense::new(n, d, x.clone()).unwrap());
        let (mut starts, mut cols, mut values) = (vec![0], vec![], vec![]);
        for row in x.chunks(d) {
            for (j, v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                cols.push(j as u32);
                values.push(*v);
            }
            starts.push(cols.len());
        }
        let sparse = Features::Sparse(Csr::new(n, d, starts, cols, values).unwrap());
        let twice: Vec<usize> = (0..n).chain(0..n / 2).collect();
        let weight: Vec<f64> = (0..n).map(|i| if i < n / 2 { 2.0 } else { 1.0 }).collect();
        for (y, loss) in [(&y, Loss::Squared), (&t, Loss::Logistic)] {
            let task = LassoTask { x: &dense, y, weight: None, groups: None, loss };
            let fit =
                |task: &LassoTask<'_>| Lasso::fit(task, Some(0.03), 5, Seed(1), &|| Ok(())).unwrap().predict(&dense);
            let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 2e-3);
            assert!(close(&fit(&task), &fit(&LassoTask { x: &sparse, ..task })), "{loss:?}");
            let copies: Vec<f64> = twice.iter().map(|&i| y[i]).collect();
            let copied = LassoTask { x: &dense.select(&twice), y: &copies, ..task };
            assert!(close(&fit(&copied), &fit(&LassoTask { weight: Some(&weight), ..task })), "{loss:?}");
        }
    }

    #[test]
    fn it_finds_the_few_columns_that_matter() {
        let (x, y, t) = rows(300, 100, 3);
        for (y, loss) in [(&y, Loss::Squared), (&t, Loss::Logistic)] {
            let task = LassoTask { x: &x, y, weight: None, groups: None, loss };
            let found = Lasso::fit(&task, None, 5, Seed(2), &|| Ok(())).unwrap();
            let kept = found.coef.iter().filter(|c| **c != 0.0).count();
            assert!(found.coef[0] > 0.3 && found.coef[1] < 0.0 && kept < 50, "{loss:?}: {kept} {:?}", &found.coef[..3]);
        }
    }

    #[test]
    fn outcomes_and_features_without_variation_are_no_trouble() {
        let x = Features::Dense(Dense::new(10, 2, vec![1.0; 20]).unwrap());
        let task = LassoTask { x: &x, y: &[2.0; 10], weight: None, groups: None, loss: Loss::Squared };
        let found = Lasso::fit(&task, None, 5, Seed(1), &|| Ok(())).unwrap().predict(&x);
        assert!(found.iter().all(|v| (v - 2.0).abs() < 1e-12), "{found:?}");
        let task = LassoTask { y: &[1.0; 10], loss: Loss::Logistic, ..task };
        let p = Lasso::fit(&task, None, 5, Seed(1), &|| Ok(())).unwrap().predict(&x);
        assert!(p.iter().all(|p| *p > 0.9 && *p < 1.0), "{p:?}");
    }
}
