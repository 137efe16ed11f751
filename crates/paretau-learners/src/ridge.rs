//! Ridge regression with the penalty chosen by cross-validation.
//!
//! It minimises `1/Σw Σ w_i (y_i - a - γ u_i - x_iᵀβ)² + λ Σ (s_j β_j)²`, where `s_j` is the weighted standard
//! deviation of column j: the penalty acts on standardised features, the intercept `a` and the optional free column
//! `u` (a treatment indicator) go unpenalised. Weights that are whole numbers equal repeated rows.
//!
//! One eigendecomposition, of the d x d Gram matrix or of the n x n kernel matrix, whichever is smaller, serves
//! the whole path of penalties. By default the penalty minimises the *exact leave-one-out* squared error, which the
//! same decomposition gives at no extra fit: row i is predicted without itself by `r_i / (1 - h_i)`. With groups, or
//! when a number of folds is asked for, ordinary K-fold cross-validation that keeps groups together is used instead.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};
use paretau_core::{Error, Features, Result, Seed, State};
use paretau_kernels::numeric::dot;
use paretau_nuisance::folds::{Fold, fold_count, folds};
use rayon::prelude::*;

use crate::design_matrix::{Working, refuse_missing, weights_or_ones};
use crate::eigen::{Eigen, symmetric_eigen};
use crate::logistic::Watch;
use crate::view::View;

/// Penalties tried, as a share of the largest eigenvalue of the standardised second moments.
const PATH_DECADES: (f64, f64) = (-6.0, 2.0);
/// Penalties a decade.
const PATH_DENSITY: usize = 5;
/// Rows whose leave-one-out errors one task works out.
const CHUNK: usize = 256;
/// Folds when groups forbid leaving out single rows.
pub(crate) const GROUP_FOLDS: usize = 5;

/// How to choose the penalty.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RidgeOptions {
    /// A fixed penalty; `None` chooses by cross-validation.
    pub penalty: Option<f64>,
    /// Number of folds; `None` is leave-one-out, or 5 folds of groups when there are groups.
    pub folds: Option<usize>,
}

/// Rows of a ridge regression.
#[derive(Debug, Clone, Copy)]
pub struct RidgeTask<'a> {
    /// Features.
    pub x: &'a Features,
    /// Outcome.
    pub y: &'a [f64],
    /// A column that goes unpenalised, e.g. the treatment.
    pub free: Option<&'a [f64]>,
    /// Row weights.
    pub weight: Option<&'a [f64]>,
    /// Groups that cross-validation must not split.
    pub groups: Option<&'a [u32]>,
}

/// The same with some rows of a larger matrix; all else is about these rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub(crate) x: View<'a>,
    pub(crate) y: &'a [f64],
    pub(crate) free: Option<&'a [f64]>,
    pub(crate) weight: Option<&'a [f64]>,
    pub(crate) groups: Option<&'a [u32]>,
}

impl<'a> From<RidgeTask<'a>> for Rows<'a> {
    fn from(task: RidgeTask<'a>) -> Self {
        let RidgeTask { x, y, free, weight, groups } = task;
        Self { x: x.into(), y, free, weight, groups }
    }
}

/// A fitted ridge regression, in the units of the features.
#[derive(Debug, Clone, PartialEq)]
pub struct Ridge {
    /// Intercept.
    pub intercept: f64,
    /// Coefficient of the free column; 0 without one.
    pub free: f64,
    /// Coefficients of the features.
    pub coef: Vec<f64>,
    /// Standard deviation of each feature, 0 for a constant one.
    pub sd: Vec<f64>,
    /// The penalty used.
    pub penalty: f64,
    /// Cross-validated share of variance explained; `None` when the penalty was given.
    pub r2: Option<f64>,
}

impl Ridge {
    /// Fits by `options`. The seed only deals rows to folds, so leave-one-out does not use it.
    pub fn fit(task: &RidgeTask<'_>, options: &RidgeOptions, seed: Seed) -> Result<Self> {
        Self::fit_watched(task, options, seed, &|| Ok(()))
    }

    /// The same; while it is at work `watch` may end it, so that a request to stop is heard soon.
    pub fn fit_watched(task: &RidgeTask<'_>, options: &RidgeOptions, seed: Seed, watch: Watch<'_>) -> Result<Self> {
        refuse_missing(task.x, "ridge regression")?;
        Self::fit_view(&Rows::from(*task), options, seed, watch)
    }

    /// The same on some rows of features without gaps, read where they lie.
    pub(crate) fn fit_view(task: &Rows<'_>, options: &RidgeOptions, seed: Seed, watch: Watch<'_>) -> Result<Self> {
        let n = task.x.n_rows();
        if n == 0 || task.y.len() != n {
            return Err(Error::LengthMismatch { what: "outcome", expected: n, found: task.y.len() });
        }
        let w = weights_or_ones(task.weight, n);
        let path = Path::new(task, &w, watch)?;
        let chosen = match options.penalty {
            Some(penalty) => Choice { penalty, r2: None },
            None => path.choose(task, &w, (options.folds, seed), watch)?,
        };
        Ok(path.solution(task, &w, &chosen))
    }

    /// `a + xᵀβ` for each row: the free column at 0.
    pub fn predict(&self, x: &Features) -> Vec<f64> {
        linear_predictor(x, self.intercept, &self.coef)
    }

    /// Writes itself into a state under a prefix.
    pub(crate) fn put(&self, state: &mut State, prefix: &str) {
        let d = self.coef.len();
        let head = vec![self.intercept, self.free, self.penalty, self.r2.unwrap_or(f64::NAN)];
        state.put_f64(&format!("{prefix}/head"), &[4], head);
        state.put_f64(&format!("{prefix}/coef"), &[d], self.coef.clone());
        state.put_f64(&format!("{prefix}/sd"), &[d], self.sd.clone());
    }

    /// Reads itself back from a state.
    pub(crate) fn get(state: &State, prefix: &str, n_features: usize) -> Result<Self> {
        let head = state.f64(&format!("{prefix}/head"), &[4])?;
        let coef = state.f64(&format!("{prefix}/coef"), &[n_features])?.to_vec();
        let sd = state.f64(&format!("{prefix}/sd"), &[n_features])?.to_vec();
        if n_features == 0 || head[..3].iter().chain(&coef).any(|v| !v.is_finite()) {
            return Err(Error::bad_model("a ridge regression holds coefficients that are not finite"));
        }
        let r2 = Some(head[3]).filter(|v| v.is_finite());
        Ok(Self { intercept: head[0], free: head[1], coef, sd, penalty: head[2], r2 })
    }

    /// The features' coefficients on standardised features.
    pub fn standardised(&self) -> Vec<f64> {
        self.coef.iter().zip(&self.sd).map(|(b, s)| b * s).collect()
    }
}

/// `intercept + xᵀcoef` for each row.
pub(crate) fn linear_predictor<'a>(x: impl Into<View<'a>>, intercept: f64, coef: &[f64]) -> Vec<f64> {
    let view: View<'a> = x.into();
    (0..view.n_rows())
        .map(|i| {
            let i = view.place(i);
            intercept
                + match view.x {
                    Features::Dense(m) => dot(m.row(i), coef),
                    Features::Sparse(m) => {
                        let (cols, values) = m.row(i);
                        cols.iter().zip(values).map(|(&j, v)| v * coef[j as usize]).sum::<f64>()
                    }
                }
        })
        .collect()
}

/// A penalty, and the share of variance explained where it was chosen by cross-validation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Choice {
    pub(crate) penalty: f64,
    pub(crate) r2: Option<f64>,
}

impl Choice {
    /// The best of some penalties by their weighted squared errors; `spread` is that of the mean.
    pub(crate) fn of_losses(penalties: &[f64], losses: &[f64], spread: f64) -> Self {
        // The largest penalty among equals: ties mean that the features say nothing.
        let best = (0..penalties.len()).rev().min_by(|&i, &j| losses[i].total_cmp(&losses[j])).unwrap_or(0);
        let r2 = if spread > 0.0 { 1.0 - losses[best] / spread } else { 0.0 };
        Self { penalty: penalties[best], r2: Some(r2) }
    }
}

/// The eigendecomposition of `AᵀA` or `AAᵀ`, and what the outcome has along each direction.
pub(crate) struct Spectrum {
    /// Eigenvalues, at least 0.
    values: Vec<f64>,
    /// Eigenvectors, as columns.
    pub(crate) vectors: Mat<f64>,
    /// Eigenvectors times `Aᵀb` (primal) or `b` (dual).
    pub(crate) loads: Vec<f64>,
    /// Sum of row weights.
    total_weight: f64,
}

impl Spectrum {
    pub(crate) fn new(symmetric: Mat<f64>, target: &[f64], total_weight: f64, watch: Watch<'_>) -> Result<Self> {
        let size = symmetric.nrows();
        let Some(Eigen { mut values, vectors }) = symmetric_eigen(symmetric, watch)? else {
            let message = "the eigendecomposition did not converge".to_owned();
            return Err(Error::Numeric { what: "ridge regression", message });
        };
        let floor = values.last().copied().unwrap_or(0.0).max(0.0) * size as f64 * f64::EPSILON;
        values.iter_mut().for_each(|v| *v = if *v <= floor { 0.0 } else { *v });
        let loads = (0..size).map(|k| dot(vectors.col_as_slice(k), target)).collect();
        Ok(Self { values, vectors, loads, total_weight })
    }

    /// Penalties from nearly none to nearly all, or a single one if no feature varies.
    pub(crate) fn penalties(&self) -> Vec<f64> {
        let top = self.values.last().copied().unwrap_or(0.0) / self.total_weight;
        if top <= 0.0 {
            return vec![1.0];
        }
        let steps = ((PATH_DECADES.1 - PATH_DECADES.0) * PATH_DENSITY as f64) as usize;
        (0..=steps).map(|k| top * 10_f64.powf(PATH_DECADES.0 + k as f64 / PATH_DENSITY as f64)).collect()
    }

    /// One over the penalised eigenvalue; directions without variance get no coefficient even without a penalty.
    fn shrink(&self, k: usize, penalty: f64) -> f64 {
        if self.values[k] > 0.0 { 1.0 / (self.values[k] + penalty * self.total_weight) } else { 0.0 }
    }

    /// The same for all directions and some penalties.
    pub(crate) fn shrinks(&self, penalties: &[f64]) -> Mat<f64> {
        Mat::from_fn(self.values.len(), penalties.len(), |k, p| self.shrink(k, penalties[p]))
    }

    /// The eigenvectors put together for one penalty.
    pub(crate) fn combination(&self, penalty: f64) -> Vec<f64> {
        let mut out = vec![0.0; self.vectors.nrows()];
        for (k, load) in self.loads.iter().enumerate() {
            let share = load * self.shrink(k, penalty);
            out.iter_mut().zip(self.vectors.col_as_slice(k)).for_each(|(o, v)| *o += share * v);
        }
        out
    }
}

/// Weighted sums of squared leave-one-out errors of rows for each penalty, from their loadings `z` on the directions, what these
/// give to fit and leverage, the leverage of unpenalised columns, and the rows' outcome without these.
pub(crate) fn leave_one_out_errors(
    mut z: Mat<f64>,
    (moved, shrink): (&Mat<f64>, &Mat<f64>),
    base: &[f64],
    b: &[f64],
) -> Vec<f64> {
    let (n, rank, m) = (z.nrows(), z.ncols(), shrink.ncols());
    let (mut fit, mut leverage) = (Mat::zeros(n, m), Mat::zeros(n, m));
    matmul(&mut fit, Accum::Replace, &z, moved, 1.0, Par::Seq);
    (0..rank).for_each(|k| z.col_as_slice_mut(k).iter_mut().for_each(|v| *v *= *v));
    matmul(&mut leverage, Accum::Replace, &z, shrink, 1.0, Par::Seq);
    let error = |i: usize, p: usize| {
        let left = 1.0 - base[i] - leverage[(i, p)];
        // A row that alone determines the fit cannot be predicted without itself.
        if left < 1e-9 { 0.0 } else { ((b[i] - fit[(i, p)]) / left).powi(2) }
    };
    (0..m).map(|p| (0..n).map(|i| error(i, p)).sum()).collect()
}

/// Everything needed to solve for any penalty at once.
struct Path<'a> {
    work: Working<'a>,
    /// Weighted outcome, cleared of the unpenalised columns.
    b: Vec<f64>,
    spectrum: Spectrum,
    dual: bool,
}

impl<'a> Path<'a> {
    fn new(task: &Rows<'a>, w: &[f64], watch: Watch<'_>) -> Result<Self> {
        Self::in_form(task, w, task.x.n_rows() < task.x.n_cols(), watch)
    }

    fn in_form(task: &Rows<'a>, w: &[f64], dual: bool, watch: Watch<'_>) -> Result<Self> {
        let work = Working::new(task.x, w, task.free)?;
        let b = work.outcome(task.y);
        let symmetric = if dual { work.kernel(watch)? } else { work.gram(watch)? };
        let target = if dual { b.clone() } else { work.transpose_times(&b) };
        let spectrum = Spectrum::new(symmetric, &target, work.total_weight, watch)?;
        Ok(Self { work, b, spectrum, dual })
    }

    /// Coefficients on the standardised features, for one penalty.
    fn standardised(&self, penalty: f64) -> Vec<f64> {
        let out = self.spectrum.combination(penalty);
        if self.dual { self.work.transpose_times(&out) } else { out }
    }

    fn solution(&self, task: &Rows<'_>, w: &[f64], choice: &Choice) -> Ridge {
        let inverse_sd = self.work.inverse_sd();
        let coef: Vec<f64> = self.standardised(choice.penalty).iter().zip(inverse_sd).map(|(b, s)| b * s).collect();
        let rest: Vec<f64> = linear_predictor(task.x, 0.0, &coef).iter().zip(task.y).map(|(fit, y)| y - fit).collect();
        let (intercept, free) = line(&rest, task.free, w);
        let sd = inverse_sd.iter().map(|s| if *s > 0.0 { 1.0 / s } else { 0.0 }).collect();
        Ridge { intercept, free, coef, sd, penalty: choice.penalty, r2: choice.r2 }
    }

    fn choose(
        &self,
        task: &Rows<'_>,
        w: &[f64],
        (n_folds, seed): (Option<usize>, Seed),
        watch: Watch<'_>,
    ) -> Result<Choice> {
        let penalties = self.spectrum.penalties();
        let strata = strata(task);
        let n_folds = n_folds.or(task.groups.map(|_| GROUP_FOLDS));
        let losses = match n_folds.and_then(|k| fold_count(&strata, task.groups, k)) {
            None => self.leave_one_out(&penalties, watch)?,
            Some(k) => k_fold(task, w, &penalties, &folds(&strata, task.groups, k, seed)?, watch)?,
        };
        let total: f64 = w.iter().sum();
        let mean = w.iter().zip(task.y).map(|(w, y)| w * y).sum::<f64>() / total;
        let spread: f64 = w.iter().zip(task.y).map(|(w, y)| w * (y - mean).powi(2)).sum();
        Ok(Choice::of_losses(&penalties, &losses, spread))
    }

    /// Weighted sum of squared leave-one-out errors for each penalty.
    fn leave_one_out(&self, penalties: &[f64], watch: Watch<'_>) -> Result<Vec<f64>> {
        let Spectrum { values, vectors, loads, .. } = &self.spectrum;
        let (n, rank, m) = (self.work.n_rows(), values.len(), penalties.len());
        let shrink = self.spectrum.shrinks(penalties);
        // Row i of the loadings Z gives the fit Z_i · (g shrink) and the leverage Z_i² · shrink.
        let g = |k: usize| if self.dual { loads[k] * values[k].sqrt() } else { loads[k] };
        let moved = Mat::from_fn(rank, m, |k, p| g(k) * shrink[(k, p)]);
        let base = self.work.free_leverage();
        let starts: Vec<usize> = (0..n).step_by(CHUNK).collect();
        let parts: Vec<Vec<f64>> = starts
            .par_iter()
            .map(|&from| {
                watch()?;
                let to = (from + CHUNK).min(n);
                let z = if self.dual {
                    Mat::from_fn(to - from, rank, |i, k| vectors[(from + i, k)] * values[k].sqrt())
                } else {
                    self.work.rows_times(from, to, vectors.as_ref())
                };
                Ok(leave_one_out_errors(z, (&moved, &shrink), &base[from..to], &self.b[from..to]))
            })
            .collect::<Result<_>>()?;
        Ok((0..m).map(|p| parts.iter().map(|part| part[p]).sum()).collect())
    }
}

/// Folds are dealt within the values of a free column that is an indicator, so that none lacks an arm.
fn strata(task: &Rows<'_>) -> Vec<u8> {
    task.free.map_or_else(|| vec![0; task.y.len()], |u| u.iter().map(|v| u8::from(*v > 0.5)).collect())
}

/// Weighted sum of squared errors on held-out folds for each penalty.
fn k_fold(task: &Rows<'_>, w: &[f64], penalties: &[f64], parts: &[Fold], watch: Watch<'_>) -> Result<Vec<f64>> {
    let losses: Vec<Result<Vec<f64>>> = parts
        .par_iter()
        .map(|fold| {
            let pick = |v: &[f64]| -> Vec<f64> { fold.train.iter().map(|&i| v[i]).collect() };
            let places = |rows: &[usize]| -> Vec<usize> { rows.iter().map(|&i| task.x.place(i)).collect() };
            let (train, held_out) = (places(&fold.train), places(&fold.held_out));
            let (y, free, weight) = (pick(task.y), task.free.map(pick), pick(w));
            let x = View::of(task.x.x, &train);
            let sub = Rows { x, y: &y, free: free.as_deref(), weight: None, groups: None };
            let path = Path::new(&sub, &weight, watch)?;
            let held = View::of(task.x.x, &held_out);
            Ok(penalties
                .iter()
                .map(|&penalty| {
                    let model = path.solution(&sub, &weight, &Choice { penalty, r2: None });
                    linear_predictor(held, model.intercept, &model.coef)
                        .iter()
                        .zip(&fold.held_out)
                        .map(|(fit, &i)| {
                            w[i] * (task.y[i] - fit - task.free.map_or(0.0, |u| model.free * u[i])).powi(2)
                        })
                        .sum()
                })
                .collect())
        })
        .collect();
    let mut total = vec![0.0; penalties.len()];
    for fold in losses {
        total.iter_mut().zip(fold?).for_each(|(t, l)| *t += l);
    }
    Ok(total)
}

/// Weighted least squares of `y` on a constant and perhaps one column: intercept and slope.
fn line(y: &[f64], u: Option<&[f64]>, w: &[f64]) -> (f64, f64) {
    let total: f64 = w.iter().sum();
    let mean = |v: &[f64]| w.iter().zip(v).map(|(w, v)| w * v).sum::<f64>() / total;
    let y_mean = mean(y);
    let Some(u) = u else { return (y_mean, 0.0) };
    let u_mean = mean(u);
    let (mut cross, mut square) = (0.0, 0.0);
    for ((w, y), u) in w.iter().zip(y).zip(u) {
        cross += w * (u - u_mean) * (y - y_mean);
        square += w * (u - u_mean).powi(2);
    }
    let slope = if square > 0.0 { cross / square } else { 0.0 };
    (y_mean - slope * u_mean, slope)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use paretau_core::{Csr, Dense};

    use super::*;

    fn draw(n: usize, d: usize, seed: u64) -> (Vec<f64>, Vec<f64>, Vec<f64>, Vec<f64>) {
        let mut rng = Seed(seed).rng();
        // Mostly zeros, so that the sparse form means something.
        let x: Vec<f64> = (0..n * d).map(|_| if rng.bernoulli(0.4) { 3.0 + rng.normal() } else { 0.0 }).collect();
        let u: Vec<f64> = (0..n).map(|_| f64::from(u8::from(rng.bernoulli(0.4)))).collect();
        let y = (0..n).map(|i| 5.0 + x[i * d] - x[i * d + 1] + 2.0 * u[i] + rng.normal()).collect();
        let w = (0..n).map(|_| 0.2 + rng.uniform()).collect();
        (x, u, y, w)
    }

    fn sparse(n: usize, d: usize, x: &[f64]) -> Features {
        let (mut indptr, mut indices, mut values) = (vec![0], vec![], vec![]);
        for row in x.chunks(d) {
            for (j, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                indices.push(j as u32);
                values.push(v);
            }
            indptr.push(indices.len());
        }
        Features::Sparse(Csr::new(n, d, indptr, indices, values).unwrap())
    }

    fn assert_near(a: &[f64], b: &[f64], tolerance: f64) {
        assert_eq!(a.len(), b.len());
        for (x, y) in a.iter().zip(b) {
            assert!((x - y).abs() <= tolerance * (1.0 + x.abs()), "{x} against {y}");
        }
    }

    #[test]
    fn dual_primal_sparse_and_dense_agree() {
        for (n, d) in [(30, 6), (12, 20)] {
            let (x, u, y, w) = draw(n, d, 3);
            let dense = Features::Dense(Dense::new(n, d, x.clone()).unwrap());
            let csr = sparse(n, d, &x);
            let solve = |x: &Features, dual: bool| {
                let task = Rows { x: x.into(), y: &y, free: Some(&u), weight: None, groups: None };
                let path = Path::in_form(&task, &w, dual, &|| Ok(())).unwrap();
                let model = path.solution(&task, &w, &Choice { penalty: 0.3, r2: None });
                let loo = path.leave_one_out(&[0.01, 0.3, 10.0], &|| Ok(())).unwrap();
                [model.coef, vec![model.intercept, model.free], loo].concat()
            };
            let reference = solve(&dense, false);
            assert_near(&solve(&dense, true), &reference, 1e-9);
            assert_near(&solve(&csr, false), &reference, 1e-9);
            assert_near(&solve(&csr, true), &reference, 1e-9);
        }
    }

    #[test]
    fn leave_one_out_is_what_leaving_out_gives() {
        let (n, d) = (15, 3);
        let (x, u, y, w) = draw(n, d, 4);
        let x = Features::Dense(Dense::new(n, d, x).unwrap());
        let task = Rows { x: (&x).into(), y: &y, free: Some(&u), weight: None, groups: None };
        let path = Path::new(&task, &w, &|| Ok(())).unwrap();
        let penalty = 0.7;
        // The shortcut keeps the full data's scales and total weight; so must the slow way, by solving the normal
        // equations of the remaining rows with the penalty matrix of all rows.
        let inverse_sd = path.work.inverse_sd();
        let total: f64 = w.iter().sum();
        let mut slow = 0.0;
        for left in 0..n {
            let p = d + 2;
            let row = |i: usize| -> Vec<f64> {
                let mut r = vec![1.0, u[i]];
                let mut buffer = vec![0.0; d];
                x.copy_row(i, &mut buffer);
                r.extend(buffer);
                r
            };
            let rows: Vec<usize> = (0..n).filter(|&i| i != left).collect();
            let mut m = Mat::from_fn(p, p, |a, b| rows.iter().map(|&i| w[i] * row(i)[a] * row(i)[b]).sum::<f64>());
            for j in 0..d {
                m[(j + 2, j + 2)] += penalty * total / inverse_sd[j].powi(2);
            }
            let v = Mat::from_fn(p, 1, |a, _| rows.iter().map(|&i| w[i] * row(i)[a] * y[i]).sum::<f64>());
            let beta = faer::linalg::solvers::Solve::solve(&m.partial_piv_lu(), &v);
            let fit: f64 = row(left).iter().enumerate().map(|(a, r)| r * beta[(a, 0)]).sum();
            slow += w[left] * (y[left] - fit).powi(2);
        }
        assert_near(&path.leave_one_out(&[penalty], &|| Ok(())).unwrap(), &[slow], 1e-9);
    }
}
