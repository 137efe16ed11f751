//! Ridge regression of more rows than memory holds, the same as [`Ridge::fit`] up to rounding: rows come in parts, as often as they
//! are asked for. One pass gives means, a second one the products of all columns, and the penalty is chosen by exact
//! leave-one-out in a third, or by folds of whole parts from products alone.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};
use paretau_core::{Error, FitContext, Result, Seed};
use paretau_nuisance::folds_up_to;
use rayon::prelude::*;

use crate::design_matrix::inverse_sd;
use crate::logistic::Watch;
use crate::ridge::{Choice, GROUP_FOLDS, Ridge, RidgeOptions, Spectrum, leave_one_out_errors};

/// Rows of one part.
pub(crate) struct Part {
    /// Features.
    pub(crate) x: Vec<Vec<f64>>,
    /// A column that goes unpenalised.
    pub(crate) free: Option<Vec<f64>>,
    /// Outcome.
    pub(crate) y: Vec<f64>,
    /// Row weights.
    pub(crate) w: Vec<f64>,
}

impl Part {
    /// All columns: features, the free one if there is one, the outcome.
    fn columns(&self) -> impl Iterator<Item = &Vec<f64>> {
        self.x.iter().chain(&self.free).chain([&self.y])
    }
}

/// Rows in parts.
pub(crate) struct Parts<'a> {
    /// How many parts there are.
    pub(crate) n: usize,
    /// Features.
    pub(crate) n_features: usize,
    /// Reads a part; one without rows is passed over.
    pub(crate) read: &'a (dyn Fn(usize) -> Result<Part> + Sync),
    /// Whether groups, each of which lies in one part, forbid leaving out single rows.
    pub(crate) grouped: bool,
}

/// Sums over rows of columns and of their products, of columns about given centres.
#[derive(Debug, Clone)]
struct Products {
    weight: f64,
    sums: Vec<f64>,
    squares: Mat<f64>,
}

impl Products {
    fn none(k: usize) -> Self {
        Self { weight: 0.0, sums: vec![0.0; k], squares: Mat::zeros(k, k) }
    }

    fn of(part: &Part, centre: &[f64]) -> Self {
        let root: Vec<f64> = part.w.iter().map(|w| w.sqrt()).collect();
        let columns: Vec<&Vec<f64>> = part.columns().collect();
        let a = Mat::from_fn(root.len(), columns.len(), |i, j| root[i] * (columns[j][i] - centre[j]));
        let mut squares = Mat::zeros(columns.len(), columns.len());
        matmul(&mut squares, Accum::Replace, a.transpose(), &a, 1.0, Par::Seq);
        let sum = |j: usize| a.col_as_slice(j).iter().zip(&root).map(|(v, r)| v * r).sum();
        Self { weight: part.w.iter().sum(), sums: (0..columns.len()).map(sum).collect(), squares }
    }

    fn add(&mut self, other: &Self, sign: f64) {
        self.weight += sign * other.weight;
        self.sums.iter_mut().zip(&other.sums).for_each(|(a, b)| *a += sign * b);
        for j in 0..self.sums.len() {
            let own = self.squares.col_as_slice_mut(j).iter_mut();
            own.zip(other.squares.col_as_slice(j)).for_each(|(a, b)| *a += sign * b);
        }
    }

    /// The product of two columns, each about its mean.
    fn centred(&self, a: usize, b: usize) -> f64 {
        self.squares[(a, b)] - self.sums[a] * self.sums[b] / self.weight
    }

    /// Weighted squared errors of `intercept + Σ vector · column` as a prediction of 0.
    fn loss(&self, intercept: f64, vector: &[f64]) -> f64 {
        let k = vector.len();
        let products = (0..k).map(|a| vector[a] * (0..k).map(|b| self.squares[(a, b)] * vector[b]).sum::<f64>());
        let first: f64 = vector.iter().zip(&self.sums).map(|(v, s)| v * s).sum();
        products.sum::<f64>() + 2.0 * intercept * first + intercept * intercept * self.weight
    }
}

/// What the products of all rows give for any penalty.
struct Solver {
    /// Centres of the columns, about which products are.
    centre: Vec<f64>,
    means: Vec<f64>,
    inverse_sd: Vec<f64>,
    /// What a free column explains of each other one; none without.
    along: Option<Vec<f64>>,
    spectrum: Spectrum,
    weight: f64,
    /// Sum of squares of the free column about its mean.
    free_square: f64,
    spread: f64,
}

impl Solver {
    fn new(products: &Products, centre: &[f64], d: usize, watch: Watch<'_>) -> Result<Self> {
        let k = centre.len();
        let (y, weight) = (k - 1, products.weight);
        let means: Vec<f64> = (0..k).map(|j| centre[j] + products.sums[j] / weight).collect();
        let scale: Vec<f64> = (0..d).map(|j| inverse_sd(products.centred(j, j).max(0.0) / weight, means[j])).collect();
        let free = (k == d + 2).then_some(d);
        let free_square = free.map_or(0.0, |u| products.centred(u, u).max(0.0));
        let along: Option<Vec<f64>> = free
            .filter(|&u| inverse_sd(free_square / weight, means[u]) > 0.0)
            .map(|u| (0..k).map(|j| products.centred(j, u) / free_square).collect());
        let cleared = |a: usize, b: usize| {
            let on_free = along.as_ref().map_or(0.0, |along| along[a] * along[b] * free_square);
            products.centred(a, b) - on_free
        };
        let gram = Mat::from_fn(d, d, |a, b| scale[a] * scale[b] * cleared(a, b));
        let target: Vec<f64> = (0..d).map(|j| scale[j] * cleared(j, y)).collect();
        let spectrum = Spectrum::new(gram, &target, weight, watch)?;
        let spread = products.centred(y, y);
        let centre = centre.to_vec();
        Ok(Self { centre, means, inverse_sd: scale, along, spectrum, weight, free_square, spread })
    }

    fn solution(&self, choice: &Choice) -> Ridge {
        let (d, k) = (self.inverse_sd.len(), self.means.len());
        let coef: Vec<f64> =
            self.spectrum.combination(choice.penalty).iter().zip(&self.inverse_sd).map(|(b, s)| b * s).collect();
        let free = self
            .along
            .as_ref()
            .map_or(0.0, |along| along[k - 1] - coef.iter().zip(along).map(|(b, share)| b * share).sum::<f64>());
        let of_means: f64 = coef.iter().zip(&self.means).map(|(b, mean)| b * mean).sum();
        let of_free = if k == d + 2 { free * self.means[d] } else { 0.0 };
        let intercept = self.means[k - 1] - of_means - of_free;
        let sd = self.inverse_sd.iter().map(|s| if *s > 0.0 { 1.0 / s } else { 0.0 }).collect();
        Ridge { intercept, free, coef, sd, penalty: choice.penalty, r2: choice.r2 }
    }

    /// Weighted sums of squared leave-one-out errors of a part's rows, for each penalty.
    fn leave_one_out(&self, part: &Part, penalties: &[f64]) -> Vec<f64> {
        let (n, d, k) = (part.y.len(), self.inverse_sd.len(), self.means.len());
        let root: Vec<f64> = part.w.iter().map(|w| w.sqrt()).collect();
        let free: Option<(&Vec<f64>, f64)> = part.free.as_ref().map(|u| (u, self.means[d]));
        let on_free = |j: usize, i: usize| match (&self.along, free) {
            (Some(along), Some((u, mean))) => along[j] * (u[i] - mean),
            _ => 0.0,
        };
        let a =
            Mat::from_fn(n, d, |i, j| root[i] * self.inverse_sd[j] * (part.x[j][i] - self.means[j] - on_free(j, i)));
        let b: Vec<f64> = (0..n).map(|i| root[i] * (part.y[i] - self.means[k - 1] - on_free(k - 1, i))).collect();
        let base: Vec<f64> = (0..n)
            .map(|i| {
                let of_free = free.filter(|_| self.along.is_some());
                let of_free = of_free.map_or(0.0, |(u, mean)| (u[i] - mean).powi(2) / self.free_square);
                part.w[i] * (1.0 / self.weight + of_free)
            })
            .collect();
        let mut z = Mat::zeros(n, self.spectrum.vectors.ncols());
        matmul(&mut z, Accum::Replace, &a, &self.spectrum.vectors, 1.0, Par::Seq);
        let shrink = self.spectrum.shrinks(penalties);
        let moved = Mat::from_fn(shrink.nrows(), shrink.ncols(), |k, p| self.spectrum.loads[k] * shrink[(k, p)]);
        leave_one_out_errors(z, (&moved, &shrink), &base, &b)
    }
}

/// Fits by `options`; parts are dealt to folds by the seed.
pub(crate) fn fit_parts(parts: &Parts<'_>, options: &RidgeOptions, ctx: &FitContext<'_>, seed: Seed) -> Result<Ridge> {
    let d = parts.n_features;
    let mut centre = vec![];
    let (mut weight, mut n_rows) = (0.0, 0);
    each(
        parts,
        ctx,
        |part| (part.w.iter().sum::<f64>(), part.y.len(), weighted_sums(part)),
        |_, (own, n, sums)| {
            weight += own;
            n_rows += n;
            centre.resize(sums.len(), 0.0);
            centre.iter_mut().zip(sums).for_each(|(a, b): (&mut f64, f64)| *a += b);
        },
    )?;
    if weight <= 0.0 || n_rows == 0 {
        return Err(Error::unfit("ridge regression needs rows with positive weight"));
    }
    centre.iter_mut().for_each(|sum| *sum /= weight);
    let n_folds = options.folds.or(parts.grouped.then_some(GROUP_FOLDS)).filter(|_| options.penalty.is_none());
    let fold_of = match n_folds {
        None => vec![0; parts.n],
        Some(folds) => {
            let mut fold_of = vec![0; parts.n];
            for (k, fold) in folds_up_to(&vec![0; parts.n], None, folds, seed)?.iter().enumerate() {
                fold.held_out.iter().for_each(|&part| fold_of[part] = k);
            }
            fold_of
        }
    };
    let n_folds = fold_of.iter().max().map_or(1, |last| last + 1);
    let mut of_folds = vec![Products::none(centre.len()); n_folds];
    each(parts, ctx, |part| Products::of(part, &centre), |k, own| of_folds[fold_of[k]].add(&own, 1.0))?;
    let mut all = Products::none(centre.len());
    of_folds.iter().for_each(|own| all.add(own, 1.0));
    let watch = || ctx.check_interrupt();
    let solver = Solver::new(&all, &centre, d, &watch)?;
    if let Some(penalty) = options.penalty {
        return Ok(solver.solution(&Choice { penalty, r2: None }));
    }
    let penalties = solver.spectrum.penalties();
    let mut losses = vec![0.0; penalties.len()];
    if n_folds > 1 {
        for fold in &of_folds {
            let mut others = all.clone();
            others.add(fold, -1.0);
            let own = Solver::new(&others, &centre, d, &watch)?;
            for (loss, &penalty) in losses.iter_mut().zip(&penalties) {
                *loss += own.loss_on(fold, penalty);
            }
        }
    } else {
        let of_part = |part: &Part| solver.leave_one_out(part, &penalties);
        each(parts, ctx, of_part, |_, own| {
            losses.iter_mut().zip(own).for_each(|(sum, loss): (&mut f64, f64)| *sum += loss);
        })?;
    }
    Ok(solver.solution(&Choice::of_losses(&penalties, &losses, solver.spread)))
}

impl Solver {
    /// Weighted squared errors on other rows, whose products are about the same centres.
    fn loss_on(&self, rows: &Products, penalty: f64) -> f64 {
        let Ridge { intercept, free, coef, .. } = self.solution(&Choice { penalty, r2: None });
        let k = self.means.len();
        let mut vector = coef;
        if k == vector.len() + 2 {
            vector.push(free);
        }
        vector.push(-1.0);
        let at_centre: f64 = vector.iter().zip(&self.centre).map(|(v, c)| v * c).sum();
        rows.loss(intercept + at_centre, &vector)
    }
}

fn weighted_sums(part: &Part) -> Vec<f64> {
    part.columns().map(|column| column.iter().zip(&part.w).map(|(v, w)| v * w).sum()).collect()
}

/// Reads all parts, some at a time, and hands over what is made of each, in order.
fn each<T: Send>(
    parts: &Parts<'_>,
    ctx: &FitContext<'_>,
    make: impl Fn(&Part) -> T + Sync,
    mut take: impl FnMut(usize, T),
) -> Result<()> {
    let batch = 4 * rayon::current_num_threads();
    for first in (0..parts.n).step_by(batch) {
        ctx.check_interrupt()?;
        let made: Vec<Option<T>> = (first..(first + batch).min(parts.n))
            .into_par_iter()
            .map(|k| {
                let part = (parts.read)(k)?;
                Ok((!part.y.is_empty()).then(|| make(&part)))
            })
            .collect::<Result<_>>()?;
        (first..).zip(made).for_each(|(k, made)| made.into_iter().for_each(|made| take(k, made)));
    }
    Ok(())
}
