//! The lasso: linear and logistic regression with an absolute penalty, which leaves most columns out.
//!
//! It minimises `1/Σw Σ w_i loss(y_i, a + z_iᵀβ) + λ Σ |β_j|` over standardised features z, with half the squared error or
//! the log-loss; the intercept goes unpenalised. One column is moved at a time along a falling path of penalties, each
//! starting from the last. Columns that the last penalty makes hopeless are looked at again only after the rest has settled.
//! Where few of many columns matter, ridge spreads the weight over all of them and leaves confounding behind; this does not.

use paretau_core::{Error, Features, Result, Seed, State};
use paretau_kernels::numeric::sigmoid;
use paretau_nuisance::folds::{fold_count, folds};
use rayon::prelude::*;

use crate::design_matrix::{Moments, refuse_missing, weights_or_ones};
use crate::ridge::linear_predictor;

/// Penalties of the path.
const PATH_LENGTH: usize = 50;
/// The smallest penalty over the largest, with more rows than columns and with fewer.
const PATH_END: (f64, f64) = (1e-3, 1e-2);
/// The path ends after this many penalties in a row that predict held-out rows worse than the best.
const PATIENCE: usize = 6;
/// A fit has settled when no step changes the loss by more than this share of the loss without features.
const SETTLED: f64 = 1e-7;
/// Most rounds over the columns for one penalty.
const MOST_ROUNDS: usize = 1_000;
/// Most reweightings of the log-loss for one penalty.
const MOST_REWEIGHTINGS: usize = 25;
/// Probabilities nearer to 0 or 1 than this count as this near.
const LEAST_VARIANCE: f64 = 1e-5;
/// Logits are held within this.
const MAX_LOGIT: f64 = 30.0;

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
    pub(crate) fn fit(task: &LassoTask<'_>, penalty: Option<f64>, n_folds: usize, seed: Seed) -> Result<Self> {
        refuse_missing(task.x, "the lasso")?;
        let n = task.x.n_rows();
        if n == 0 || task.y.len() != n {
            return Err(Error::LengthMismatch { what: "outcome", expected: n, found: task.y.len() });
        }
        if let (Loss::Logistic, Some(i)) = (task.loss, task.y.iter().position(|v| *v != 0.0 && *v != 1.0)) {
            return Err(Error::unfit(format!("labels: row {} holds {}, not 0 or 1", i + 1, task.y[i])));
        }
        let w = weights_or_ones(task.weight, n);
        let problem = Problem::new(task.x, task.y, &w, task.loss)?;
        let path = match penalty {
            Some(penalty) => problem.path_to(penalty),
            None => {
                let path = problem.path();
                let last = choose(task, &w, &path, n_folds, seed)?;
                path[..=last].to_vec()
            }
        };
        let mut fit = problem.start();
        let mut before = problem.largest;
        for penalty in path {
            problem.solve(penalty, before, &mut fit);
            before = penalty;
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

/// The place on the path that predicts held-out rows best.
fn choose(task: &LassoTask<'_>, w: &[f64], path: &[f64], wanted: usize, seed: Seed) -> Result<usize> {
    let n = task.y.len();
    let strata: Vec<u8> = match task.loss {
        Loss::Logistic => task.y.iter().map(|y| u8::from(*y > 0.5)).collect(),
        Loss::Squared => vec![0; n],
    };
    let Some(k) = fold_count(&strata, task.groups, wanted) else { return Ok(path.len() / 2) };
    let parts = folds(&strata, task.groups, k, seed.named("lasso"))?;
    let losses: Vec<Vec<f64>> = parts
        .par_iter()
        .map(|fold| {
            let pick = |values: &[f64], rows: &[usize]| rows.iter().map(|&i| values[i]).collect::<Vec<f64>>();
            let (x, y, own) = (task.x.select(&fold.train), pick(task.y, &fold.train), pick(w, &fold.train));
            let (x_out, y_out, w_out) =
                (task.x.select(&fold.held_out), pick(task.y, &fold.held_out), pick(w, &fold.held_out));
            if own.iter().sum::<f64>() <= 0.0 {
                return Ok(vec![0.0; path.len()]);
            }
            let problem = Problem::new(&x, &y, &own, task.loss)?;
            let (mut fit, mut before) = (problem.start(), problem.largest);
            let (mut losses, mut best, mut worse) = (vec![], f64::INFINITY, 0);
            for &penalty in path {
                problem.solve(penalty, before, &mut fit);
                before = penalty;
                let found = problem.in_units(&fit);
                let scores = linear_predictor(&x_out, found.intercept, &found.coef);
                let loss: f64 =
                    scores.iter().zip(&y_out).zip(&w_out).map(|((s, y), w)| w * loss(task.loss, *y, *s)).sum();
                losses.push(loss);
                worse = if loss < best { 0 } else { worse + 1 };
                best = best.min(loss);
                if worse > PATIENCE {
                    break;
                }
            }
            // Beyond its end a fold stays as bad as its last; the best place is not there.
            let last = losses.last().copied().unwrap_or(f64::INFINITY);
            losses.resize(path.len(), last);
            Ok(losses)
        })
        .collect::<Result<_>>()?;
    let total = |k: usize| losses.iter().map(|own| own[k]).sum::<f64>();
    Ok((0..path.len()).min_by(|&a, &b| total(a).total_cmp(&total(b)).then(a.cmp(&b))).unwrap_or(0))
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

    /// `Σ v_i z_i²`, where `total` is `Σ v_i`.
    fn square(&self, v: &[f64], total: f64) -> f64 {
        let (mut first, mut second) = (0.0, 0.0);
        let mut add = |z: f64, v: f64| {
            first += v * z;
            second += v * z * z;
        };
        match &self.rows {
            None => self.values.iter().zip(v).for_each(|(z, v)| add(*z, *v)),
            Some(rows) => rows.iter().zip(&self.values).for_each(|(&i, z)| add(*z, v[i as usize])),
        }
        second - 2.0 * self.mean * first + self.mean * self.mean * total
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
struct Fit {
    intercept: f64,
    beta: Vec<f64>,
    /// `a + z_iᵀβ`.
    scores: Vec<f64>,
}

impl<'a> Problem<'a> {
    fn new(x: &Features, y: &'a [f64], w: &[f64], kind: Loss) -> Result<Self> {
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
                (rate / (1.0 - rate)).ln()
            }
        };
        Fit { intercept, beta: vec![0.0; self.columns.len()], scores: vec![intercept; self.n_rows] }
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
            match self.loss {
                Loss::Squared => {
                    self.descend(penalty, &self.w, &own, fit, &|i, score| self.y[i] - score);
                }
                Loss::Logistic => self.reweight(penalty, &own, fit),
            }
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

    /// How fast the loss falls along each column.
    fn slopes(&self, fit: &Fit) -> Vec<f64> {
        let residual: Vec<f64> = (0..self.n_rows)
            .map(|i| {
                let expected = match self.loss {
                    Loss::Squared => fit.scores[i],
                    Loss::Logistic => sigmoid(fit.scores[i]),
                };
                self.w[i] * (self.y[i] - expected)
            })
            .collect();
        let sum = residual.iter().sum();
        self.columns.iter().map(|c| c.dot(&residual, sum)).collect()
    }

    /// Newton steps for the log-loss: each solves a weighted lasso of the working outcomes.
    fn reweight(&self, penalty: f64, own: &[usize], fit: &mut Fit) {
        let objective = |fit: &Fit| {
            let sum: f64 = (0..self.n_rows).map(|i| self.w[i] * loss(self.loss, self.y[i], fit.scores[i])).sum();
            sum + penalty * fit.beta.iter().map(|b| b.abs()).sum::<f64>()
        };
        let mut before = objective(fit);
        for _ in 0..MOST_REWEIGHTINGS {
            let (mut v, mut target) = (vec![0.0; self.n_rows], vec![0.0; self.n_rows]);
            for i in 0..self.n_rows {
                let p = sigmoid(fit.scores[i]);
                let variance = (p * (1.0 - p)).max(LEAST_VARIANCE);
                v[i] = self.w[i] * variance;
                target[i] = fit.scores[i] + (self.y[i] - p) / variance;
            }
            let (old_intercept, old_beta, old_scores) = (fit.intercept, fit.beta.clone(), fit.scores.clone());
            self.descend(penalty, &v, own, fit, &|i, score| target[i] - score);
            let mut after = objective(fit);
            // A step too far is halved towards where it began.
            for _ in 0..30 {
                if after <= before + 1e-12 * before.abs() {
                    break;
                }
                fit.intercept = 0.5 * (fit.intercept + old_intercept);
                fit.beta.iter_mut().zip(&old_beta).for_each(|(b, o)| *b = 0.5 * (*b + o));
                fit.scores.iter_mut().zip(&old_scores).for_each(|(s, o)| *s = 0.5 * (*s + o));
                after = objective(fit);
            }
            if before - after <= SETTLED * self.null {
                return;
            }
            before = after;
        }
    }

    /// Moves intercept and some columns, one after the other, until the weighted squared error of
    /// `residual(row, score)` with the penalty settles.
    fn descend(&self, penalty: f64, v: &[f64], own: &[usize], fit: &mut Fit, residual: &dyn Fn(usize, f64) -> f64) {
        let total: f64 = v.iter().sum();
        let curve: Vec<f64> = own.iter().map(|&j| self.columns[j].square(v, total)).collect();
        // Weighted residuals: what every dot product needs.
        let mut r: Vec<f64> = (0..self.n_rows).map(|i| residual(i, fit.scores[i])).collect();
        let mut weighted: Vec<f64> = r.iter().zip(v).map(|(r, v)| r * v).collect();
        let limit = SETTLED * self.null;
        let mut all = true;
        for _ in 0..MOST_ROUNDS {
            let mut largest = 0.0_f64;
            let step = weighted.iter().sum::<f64>() / total;
            r.iter_mut().zip(weighted.iter_mut()).zip(v).for_each(|((r, u), v)| {
                *r -= step;
                *u = *r * v;
            });
            fit.intercept += step;
            largest = largest.max(step * step * total);
            let mut sum: f64 = weighted.iter().sum();
            for (k, &j) in own.iter().enumerate() {
                let old = fit.beta[j];
                if curve[k] <= 0.0 || (!all && old == 0.0) {
                    continue;
                }
                let slope = self.columns[j].dot(&weighted, sum) + curve[k] * old;
                let new = slope.signum() * (slope.abs() - penalty).max(0.0) / curve[k];
                if new == old {
                    continue;
                }
                fit.beta[j] = new;
                self.columns[j].add_to(&mut r, old - new);
                weighted.iter_mut().zip(&r).zip(v).for_each(|((u, r), v)| *u = r * v);
                sum = weighted.iter().sum();
                largest = largest.max((new - old).powi(2) * curve[k]);
            }
            if largest <= limit {
                if all {
                    break;
                }
                all = true;
            } else {
                // Columns that stay out are looked at again when the others have settled.
                all = false;
            }
        }
        fit.scores.iter_mut().for_each(|s| *s = fit.intercept);
        for &j in own {
            if fit.beta[j] != 0.0 {
                self.columns[j].add_to(&mut fit.scores, fit.beta[j]);
            }
        }
    }

    /// The fit in the units of the features.
    fn in_units(&self, fit: &Fit) -> Lasso {
        let coef: Vec<f64> = fit.beta.iter().zip(&self.moments.inverse_sd).map(|(b, s)| b * s).collect();
        let shift: f64 = coef.iter().zip(&self.moments.mean).map(|(c, m)| c * m).sum();
        Lasso { intercept: fit.intercept - shift, coef, loss: self.loss }
    }
}

fn columns(x: &Features, moments: &Moments) -> Vec<Column> {
    let d = x.n_cols();
    match x {
        Features::Dense(m) => (0..d)
            .map(|j| Column {
                rows: None,
                values: (0..m.n_rows()).map(|i| (m.get(i, j) - moments.mean[j]) * moments.inverse_sd[j]).collect(),
                mean: 0.0,
            })
            .collect(),
        Features::Sparse(m) => {
            let mut out: Vec<Column> = (0..d)
                .map(|j| Column { rows: Some(vec![]), values: vec![], mean: moments.mean[j] * moments.inverse_sd[j] })
                .collect();
            for i in 0..m.n_rows() {
                let (cols, values) = m.row(i);
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
            let fit = |task: &LassoTask<'_>| Lasso::fit(task, Some(0.03), 5, Seed(1)).unwrap().predict(&dense);
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
            let found = Lasso::fit(&task, None, 5, Seed(2)).unwrap();
            let kept = found.coef.iter().filter(|c| **c != 0.0).count();
            assert!(found.coef[0] > 0.3 && found.coef[1] < 0.0 && kept < 50, "{loss:?}: {kept} {:?}", &found.coef[..3]);
        }
    }

    #[test]
    fn outcomes_and_features_without_variation_are_no_trouble() {
        let x = Features::Dense(Dense::new(10, 2, vec![1.0; 20]).unwrap());
        let task = LassoTask { x: &x, y: &[2.0; 10], weight: None, groups: None, loss: Loss::Squared };
        let found = Lasso::fit(&task, None, 5, Seed(1)).unwrap().predict(&x);
        assert!(found.iter().all(|v| (v - 2.0).abs() < 1e-12), "{found:?}");
        let task = LassoTask { y: &[1.0; 10], loss: Loss::Logistic, ..task };
        let p = Lasso::fit(&task, None, 5, Seed(1)).unwrap().predict(&x);
        assert!(p.iter().all(|p| *p > 0.9 && *p < 1.0), "{p:?}");
    }
}
