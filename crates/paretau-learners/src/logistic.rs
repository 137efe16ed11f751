//! Logistic regression with a ridge penalty chosen by cross-validated log-loss.
//!
//! It minimises `1/Σw Σ w_i loss(y_i, a + z_iᵀβ) + λ/2 |β|²` over standardised features z; the intercept goes
//! unpenalised. Dense problems with few columns take Newton steps on the normal equations, dense ones with far more columns than
//! rows are solved among the rows (`row_space.rs`), all others by L-BFGS, which reads the features as they are stored (sparse
//! stays sparse). The penalty is never 0, so that perfectly separated
//! arms keep finite coefficients; logits are held within ±30, so that probabilities are strictly inside (0, 1).

use faer::linalg::solvers::Solve;
use faer::{Mat, Side};
use paretau_core::{Dense, Error, Features, Result, Seed, State};
use paretau_kernels::numeric::{logit, sigmoid};
use paretau_nuisance::folds::{fold_count, folds};
use rayon::prelude::*;

use crate::design_matrix::{Moments, lower_product, refuse_missing, weights_or_ones};
use crate::minimise::{Smooth, lbfgs};
use crate::ridge::linear_predictor;
use crate::row_space::RowSpace;
use crate::view::View;

/// Up to this many dense columns Newton steps are used.
const NEWTON_COLUMNS: usize = 64;
/// Largest and smallest penalty tried, as powers of ten, in half decades.
const PATH: (f64, f64) = (2.0, -4.0);
/// The path ends after this many penalties in a row that are worse than the best.
const PATIENCE: usize = 3;
/// The smallest penalty that is used, whatever is asked for.
const LEAST_PENALTY: f64 = 1e-8;
/// The penalty when the classes are too small for cross-validation.
const FALLBACK_PENALTY: f64 = 1.0;
/// Largest entry of the gradient at the final fit.
const FINAL_TOLERANCE: f64 = 1e-8;
/// The same while a penalty is chosen, which needs no more digits than the noise of its loss.
const PATH_TOLERANCE: f64 = 1e-5;
const MAX_LOGIT: f64 = 30.0;
/// Standardised cells that there are at a time.
const MOST_CELLS: usize = 1 << 20;
/// Rows that are standardised together: as many as a cache holds.
const ROWS_AT_A_TIME: usize = 256;

/// What is asked between the steps of a long fit: an error ends it.
pub type Watch<'a> = &'a (dyn Fn() -> Result<()> + Sync);

/// How to choose the penalty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogisticOptions {
    /// A fixed penalty; `None` chooses by cross-validation.
    pub penalty: Option<f64>,
    /// Folds of the choice; fewer are used when a class is small.
    pub folds: usize,
}

impl Default for LogisticOptions {
    fn default() -> Self {
        Self { penalty: None, folds: 5 }
    }
}

/// Rows of a logistic regression.
#[derive(Debug, Clone, Copy)]
pub struct LogisticTask<'a> {
    /// Features.
    pub x: &'a Features,
    /// Labels, 0 or 1.
    pub y: &'a [f64],
    /// Row weights.
    pub weight: Option<&'a [f64]>,
    /// Groups that cross-validation must not split.
    pub groups: Option<&'a [u32]>,
}

/// A fitted logistic regression, in the units of the features.
#[derive(Debug, Clone, PartialEq)]
pub struct Logistic {
    /// Intercept of the logit.
    pub intercept: f64,
    /// Coefficients of the logit.
    pub coef: Vec<f64>,
    /// The penalty used.
    pub penalty: f64,
    /// Cross-validated mean log-loss; `None` when the penalty was given.
    pub log_loss: Option<f64>,
}

impl Logistic {
    /// Fits by `options`; the seed deals rows to folds.
    pub fn fit(task: &LogisticTask<'_>, options: &LogisticOptions, seed: Seed) -> Result<Self> {
        Self::fit_watched(task, options, seed, &|| Ok(()))
    }

    /// The same; between steps `watch` may end it, so that a request to stop is heard soon.
    pub fn fit_watched(
        task: &LogisticTask<'_>,
        options: &LogisticOptions,
        seed: Seed,
        watch: Watch<'_>,
    ) -> Result<Self> {
        refuse_missing(task.x, "logistic regression")?;
        let n = task.x.n_rows();
        if task.y.len() != n {
            return Err(Error::LengthMismatch { what: "labels", expected: n, found: task.y.len() });
        }
        if let Some(i) = task.y.iter().position(|v| *v != 0.0 && *v != 1.0) {
            return Err(Error::unfit(format!("labels: row {} holds {}, not 0 or 1", i + 1, task.y[i])));
        }
        let w = weights_or_ones(task.weight, n);
        let problem = Problem::new(task.x.into(), task.y.to_vec(), &w, watch)?;
        let (penalty, log_loss) = match options.penalty {
            Some(penalty) => (penalty.max(LEAST_PENALTY), None),
            None => choose(task, &w, (options.folds, seed), watch)?,
        };
        watch()?;
        let mut theta = problem.start();
        problem.solve(penalty, &mut theta, FINAL_TOLERANCE, watch)?;
        let (intercept, coef) = problem.in_units(&theta);
        Ok(Self { intercept, coef, penalty, log_loss })
    }

    /// Logits, within ±30.
    pub fn logits(&self, x: &Features) -> Vec<f64> {
        bounded_logits(x.into(), self.intercept, &self.coef)
    }

    /// Probabilities of label 1, strictly between 0 and 1.
    pub fn predict(&self, x: &Features) -> Vec<f64> {
        self.logits(x).into_iter().map(sigmoid).collect()
    }

    /// Writes itself into a state under a prefix.
    pub(crate) fn put(&self, state: &mut State, prefix: &str) {
        let head = vec![self.intercept, self.penalty, self.log_loss.unwrap_or(f64::NAN)];
        state.put_f64(&format!("{prefix}/head"), &[3], head);
        state.put_f64(&format!("{prefix}/coef"), &[self.coef.len()], self.coef.clone());
    }

    /// Reads itself back from a state.
    pub(crate) fn get(state: &State, prefix: &str, n_features: usize) -> Result<Self> {
        let head = state.f64(&format!("{prefix}/head"), &[3])?;
        let coef = state.f64(&format!("{prefix}/coef"), &[n_features])?.to_vec();
        if head[..2].iter().chain(&coef).any(|v| !v.is_finite()) {
            return Err(Error::bad_model("a logistic regression holds coefficients that are not finite"));
        }
        let log_loss = Some(head[2]).filter(|v| v.is_finite());
        Ok(Self { intercept: head[0], coef, penalty: head[1], log_loss })
    }
}

/// Logits of rows, within ±30.
fn bounded_logits(x: View<'_>, intercept: f64, coef: &[f64]) -> Vec<f64> {
    linear_predictor(x, intercept, coef).into_iter().map(|v| v.clamp(-MAX_LOGIT, MAX_LOGIT)).collect()
}

/// The log-loss of a label at a logit.
fn loss(y: f64, logit: f64) -> f64 {
    logit.max(0.0) + (-logit.abs()).exp().ln_1p() - y * logit
}

/// One set of rows, ready to be solved for several penalties.
struct Problem<'a> {
    x: View<'a>,
    y: Vec<f64>,
    /// Row weights that sum to 1.
    w: Vec<f64>,
    moments: Moments,
    /// The rows of a wide problem in few columns; `theta` then belongs to these.
    space: Option<RowSpace>,
    /// The logit of the rate when only one class occurs: then nothing else can be learned.
    only: Option<f64>,
}

impl<'a> Problem<'a> {
    fn new(x: View<'a>, y: Vec<f64>, w: &[f64], watch: Watch<'_>) -> Result<Self> {
        let total: f64 = w.iter().sum();
        if total.partial_cmp(&0.0) != Some(std::cmp::Ordering::Greater) {
            return Err(Error::unfit("all rows to learn from have weight 0"));
        }
        let moments = Moments::of(x, w);
        let w: Vec<f64> = w.iter().map(|v| v / total).collect();
        let rate: f64 = y.iter().zip(&w).map(|(y, w)| y * w).sum();
        let n = y.len() as f64;
        // Half a row of each class, as if one more had been seen.
        let only = (rate <= 0.0 || rate >= 1.0).then(|| {
            let smoothed = (rate * n + 0.5) / (n + 1.0);
            logit(smoothed)
        });
        let space = if only.is_none() { RowSpace::of(x, &moments, watch)? } else { None };
        Ok(Self { x, y, w, moments, space, only })
    }

    /// Standardised dense columns after a column of ones, each row times its entry of `root`: what Newton steps are made of.
    /// Made anew for each step, so that only problems that are being solved take the memory.
    fn scaled(&self, m: &Dense, root: &[f64], (first, last): (usize, usize)) -> Mat<f64> {
        let mut out = Mat::zeros(last - first, m.n_cols() + 1);
        out.col_as_slice_mut(0).copy_from_slice(&root[first..last]);
        for from in (first..last).step_by(ROWS_AT_A_TIME) {
            let to = (from + ROWS_AT_A_TIME).min(last);
            for (j, (mean, inverse_sd)) in self.moments.mean.iter().zip(&self.moments.inverse_sd).enumerate() {
                let column = &mut out.col_as_slice_mut(j + 1)[from - first..to - first];
                for (i, (v, r)) in (from..to).zip(column.iter_mut().zip(&root[from..to])) {
                    *v = (m.get(self.x.place(i), j) - mean) * inverse_sd * r;
                }
            }
        }
        out
    }

    /// Products of these columns, the lower triangle; of many rows a part at a time.
    fn curvature(&self, m: &Dense, root: &[f64], watch: Watch<'_>) -> Result<Mat<f64>> {
        let (n, rows) = (self.x.n_rows(), MOST_CELLS / (m.n_cols() + 1));
        let mut sum: Option<Mat<f64>> = None;
        for from in (0..n).step_by(rows) {
            let scaled = self.scaled(m, root, (from, (from + rows).min(n)));
            let part = lower_product(scaled.transpose(), scaled.as_ref(), watch)?;
            match &mut sum {
                Some(sum) => *sum += part,
                None => sum = Some(part),
            }
        }
        Ok(sum.unwrap_or_else(Mat::new))
    }

    /// Coefficients 0 and the intercept at the logit of the rate.
    fn start(&self) -> Vec<f64> {
        let mut theta = vec![0.0; self.space.as_ref().map_or(self.x.n_cols(), |space| space.rows.n_cols()) + 1];
        let rate: f64 = self.y.iter().zip(&self.w).map(|(y, w)| y * w).sum();
        theta[0] = self.only.unwrap_or_else(|| logit(rate));
        theta
    }

    /// Moves `theta` (intercept first) to the optimum for a penalty: no entry of the gradient above `tolerance`.
    fn solve(&self, penalty: f64, theta: &mut Vec<f64>, tolerance: f64, watch: Watch<'_>) -> Result<()> {
        if self.only.is_some() {
            return Ok(());
        }
        if let Some(space) = &self.space {
            let d = space.rows.n_cols();
            let moments = Moments { mean: vec![0.0; d], inverse_sd: vec![1.0; d] };
            let (y, w) = (self.y.clone(), self.w.clone());
            return Problem { x: (&space.rows).into(), y, w, moments, space: None, only: None }
                .solve(penalty, theta, tolerance, watch);
        }
        let objective = Objective { problem: self, penalty };
        let done = match self.x.x {
            Features::Dense(m) if m.n_cols() <= NEWTON_COLUMNS => newton(&objective, m, theta, tolerance, watch)?,
            _ => false,
        };
        if done { Ok(()) } else { lbfgs(&objective, theta, tolerance, 500, watch) }
    }

    /// Intercept and coefficients in the features' units.
    fn in_units(&self, theta: &[f64]) -> (f64, Vec<f64>) {
        let wide = self.space.as_ref().map(|space| space.coefficients(self.x, &self.moments, &theta[1..]));
        let beta = wide.as_deref().unwrap_or(&theta[1..]);
        let coef: Vec<f64> = beta.iter().zip(&self.moments.inverse_sd).map(|(b, s)| b * s).collect();
        let shift: f64 = coef.iter().zip(&self.moments.mean).map(|(c, m)| c * m).sum();
        (theta[0] - shift, coef)
    }
}

struct Objective<'a> {
    problem: &'a Problem<'a>,
    penalty: f64,
}

impl Smooth for Objective<'_> {
    fn value(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let p = self.problem;
        let (intercept, coef) = p.in_units(theta);
        let logits = linear_predictor(p.x, intercept, &coef);
        gradient.fill(0.0);
        let (mut value, mut pull_sum) = (0.0, 0.0);
        for (i, &logit) in logits.iter().enumerate() {
            value += p.w[i] * loss(p.y[i], logit);
            let pull = p.w[i] * (sigmoid(logit) - p.y[i]);
            pull_sum += pull;
            match p.x.x {
                Features::Dense(m) => {
                    gradient[1..].iter_mut().zip(m.row(p.x.place(i))).for_each(|(g, x)| *g += pull * x);
                }
                Features::Sparse(m) => {
                    let (cols, values) = m.row(p.x.place(i));
                    cols.iter().zip(values).for_each(|(&j, x)| gradient[j as usize + 1] += pull * x);
                }
            }
        }
        gradient[0] = pull_sum;
        for j in 1..theta.len() {
            let centred = gradient[j] - p.moments.mean[j - 1] * pull_sum;
            gradient[j] = centred * p.moments.inverse_sd[j - 1] + self.penalty * theta[j];
            value += 0.5 * self.penalty * theta[j] * theta[j];
        }
        value
    }
}

/// Newton's method with step halving; false when the equations could not be solved.
fn newton(
    objective: &Objective<'_>,
    m: &Dense,
    theta: &mut Vec<f64>,
    tolerance: f64,
    watch: Watch<'_>,
) -> Result<bool> {
    let p = objective.problem;
    let size = theta.len();
    let mut gradient = vec![0.0; size];
    let mut value = objective.value(theta, &mut gradient);
    for _ in 0..100 {
        watch()?;
        if gradient.iter().fold(0.0_f64, |m, g| m.max(g.abs())) <= tolerance {
            return Ok(true);
        }
        let (intercept, coef) = p.in_units(theta);
        let root: Vec<f64> = linear_predictor(p.x, intercept, &coef)
            .into_iter()
            .zip(&p.w)
            .map(|(logit, w)| {
                let e = sigmoid(logit);
                (w * e * (1.0 - e)).sqrt()
            })
            .collect();
        let mut hessian = p.curvature(m, &root, watch)?;
        for j in 0..size {
            hessian[(j, j)] += if j == 0 { 1e-12 } else { objective.penalty };
        }
        let Ok(factor) = hessian.llt(Side::Lower) else { return Ok(false) };
        let right = Mat::from_fn(size, 1, |j, _| gradient[j]);
        let move_by = factor.solve(&right);
        let slope: f64 = -(0..size).map(|j| move_by[(j, 0)] * gradient[j]).sum::<f64>();
        if !slope.is_finite() {
            return Ok(false);
        }
        // The promised decrease is below what the value can resolve.
        if -slope <= 1e-15 * value.abs() {
            return Ok(true);
        }
        let mut step = 1.0;
        let mut next_gradient = vec![0.0; size];
        loop {
            let next: Vec<f64> = (0..size).map(|j| theta[j] - step * move_by[(j, 0)]).collect();
            let next_value = objective.value(&next, &mut next_gradient);
            if next_value <= value + 1e-4 * step * slope {
                *theta = next;
                value = next_value;
                gradient = next_gradient;
                break;
            }
            step *= 0.5;
            if step < 1e-10 {
                // No progress left in floating point: the optimum, as near as it can be known.
                return Ok(true);
            }
        }
    }
    Ok(true)
}

/// The penalty of least cross-validated log-loss, and that loss.
fn choose(
    task: &LogisticTask<'_>,
    w: &[f64],
    (n_folds, seed): (usize, Seed),
    watch: Watch<'_>,
) -> Result<(f64, Option<f64>)> {
    let labels: Vec<u8> = task.y.iter().map(|v| u8::from(*v > 0.5)).collect();
    let Some(k) = fold_count(&labels, task.groups, n_folds) else { return Ok((FALLBACK_PENALTY, None)) };
    let parts = folds(&labels, task.groups, k, seed)?;
    let mut problems = Vec::with_capacity(k);
    for fold in &parts {
        let pick = |v: &[f64]| -> Vec<f64> { fold.train.iter().map(|&i| v[i]).collect() };
        watch()?;
        problems.push(Problem::new(View::of(task.x, &fold.train), pick(task.y), &pick(w), watch)?);
    }
    let mut thetas: Vec<Vec<f64>> = problems.iter().map(Problem::start).collect();
    let total: f64 = w.iter().sum();
    let steps = ((PATH.0 - PATH.1) * 2.0) as i32;
    let (mut best, mut worse) = ((FALLBACK_PENALTY, f64::INFINITY), 0);
    for step in 0..=steps {
        watch()?;
        let penalty = 10_f64.powf(PATH.0 - f64::from(step) / 2.0);
        // Each fold starts where the penalty before left it.
        let losses: Vec<f64> = problems
            .par_iter()
            .zip(thetas.par_iter_mut())
            .zip(&parts)
            .map(|((problem, theta), fold)| {
                problem.solve(penalty, theta, PATH_TOLERANCE, watch)?;
                let (intercept, coef) = problem.in_units(theta);
                let logits = bounded_logits(View::of(task.x, &fold.held_out), intercept, &coef);
                Ok(logits.iter().zip(&fold.held_out).map(|(l, &i)| w[i] * loss(task.y[i], *l)).sum())
            })
            .collect::<Result<_>>()?;
        let mean = losses.iter().sum::<f64>() / total;
        if mean < best.1 {
            best = (penalty, mean);
            worse = 0;
        } else {
            worse += 1;
            if worse == PATIENCE {
                break;
            }
        }
    }
    Ok((best.0, Some(best.1)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn data(n: usize, d: usize) -> (Features, Vec<f64>) {
        let mut rng = Seed(21).rng();
        let x: Vec<f64> = (0..n * d).map(|_| 10.0 + 3.0 * rng.normal()).collect();
        let y = (0..n).map(|i| f64::from(u8::from(rng.bernoulli(sigmoid((x[i * d] - 10.0) / 3.0))))).collect();
        (Features::Dense(Dense::new(n, d, x).unwrap()), y)
    }

    #[test]
    fn a_request_to_stop_is_heard_between_steps() {
        let (x, y) = data(200, 4);
        let task = LogisticTask { x: &x, y: &y, weight: None, groups: None };
        let asked = std::sync::atomic::AtomicUsize::new(0);
        let stop_at = |n: usize| {
            asked.store(0, std::sync::atomic::Ordering::Relaxed);
            Logistic::fit_watched(&task, &LogisticOptions::default(), Seed(1), &|| {
                let before = asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                if before == n { Err(Error::Interrupted) } else { Ok(()) }
            })
        };
        assert!(stop_at(usize::MAX).is_ok());
        let times = asked.load(std::sync::atomic::Ordering::Relaxed);
        assert!(times > 8, "it was asked {times} times");
        for n in 0..times {
            assert!(matches!(stop_at(n), Err(Error::Interrupted)), "not at {n}");
        }
    }

    #[test]
    fn wide_problems_among_their_rows_agree_with_those_among_their_columns() {
        let (x, y) = data(60, 200);
        let w: Vec<f64> = (0..60).map(|i| 0.5 + f64::from(i % 3)).collect();
        let wide = Problem::new((&x).into(), y.clone(), &w, &|| Ok(())).unwrap();
        assert!(wide.space.is_some());
        let columns = Problem { space: None, ..Problem::new((&x).into(), y, &w, &|| Ok(())).unwrap() };
        for penalty in [1.0, 0.01] {
            let (mut a, mut b) = (wide.start(), columns.start());
            wide.solve(penalty, &mut a, 1e-10, &|| Ok(())).unwrap();
            lbfgs(&Objective { problem: &columns, penalty }, &mut b, 1e-10, 2000, &|| Ok(())).unwrap();
            let ((a, beta), (b, other)) = (wide.in_units(&a), columns.in_units(&b));
            assert!((a - b).abs() < 1e-6, "{a} {b}");
            beta.iter().zip(&other).for_each(|(a, b)| assert!((a - b).abs() < 1e-7, "{a} {b}"));
        }
    }

    #[test]
    fn the_gradient_is_zero_at_the_optimum_and_newton_agrees_with_lbfgs() {
        let (x, y) = data(200, 4);
        let w: Vec<f64> = (0..200).map(|i| 0.5 + f64::from(i % 3)).collect();
        let Features::Dense(dense) = &x else { panic!("the rows are dense") };
        let problem = Problem::new((&x).into(), y, &w, &|| Ok(())).unwrap();
        let objective = Objective { problem: &problem, penalty: 0.01 };
        let (mut a, mut b) = (problem.start(), problem.start());
        assert!(newton(&objective, dense, &mut a, 1e-10, &|| Ok(())).unwrap());
        lbfgs(&objective, &mut b, 1e-9, 500, &|| Ok(())).unwrap();
        let mut gradient = vec![0.0; 5];
        objective.value(&a, &mut gradient);
        assert!(gradient.iter().all(|g| g.abs() < 1e-9), "{gradient:?}");
        a.iter().zip(&b).for_each(|(a, b)| assert!((a - b).abs() < 1e-6, "{a} {b}"));
        // And the gradient is the derivative of the value.
        let theta = vec![0.3, -0.2, 0.1, 0.4, -0.5];
        let mut scratch = vec![0.0; 5];
        objective.value(&theta, &mut gradient);
        for j in 0..5 {
            let at = |h: f64, s: &mut [f64]| {
                let mut moved = theta.clone();
                moved[j] += h;
                objective.value(&moved, s)
            };
            let numeric = (at(1e-5, &mut scratch) - at(-1e-5, &mut scratch)) / 2e-5;
            assert!((numeric - gradient[j]).abs() < 1e-8);
        }
    }
}
