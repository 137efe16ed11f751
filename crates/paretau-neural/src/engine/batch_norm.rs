//! Batch normalisation: each unit's sums brought to mean zero and variance one over the rows of a mini-batch, before bias and
//! activation. Like the layer normalisation beside it, it has no gain of its own.
//!
//! Outside training a row must not depend on its company, so running means and variances of the mini-batches stand in. They lie
//! in the flat parameter vector, where snapshots, checkpoints and model files find them, but no optimiser moves them.

use std::ops::Range;

use paretau_kernels::parallel::Parallelism;
use paretau_kernels::real::Real;
use paretau_kernels::simd::{Vectorised, dispatch};
use rayon::prelude::*;

use super::layout::{Block, Layout};
use super::norm::EPS;
use super::pass::{ROWS, worth_it};

/// How much of the running statistics the newest mini-batch makes up.
const MOMENTUM: f64 = 0.1;

/// A mini-batch of fewer rows has no variance.
const FEWEST: usize = 2;

/// Where the running statistics of a layer are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Running {
    pub(super) mean: Block,
    pub(super) variance: Block,
}

impl Running {
    /// Appends statistics of `width` units.
    pub(super) fn new(width: usize, layout: &mut Layout) -> Self {
        Self { mean: layout.means(width), variance: layout.variances(width) }
    }

    /// All places of the flat vector.
    pub(super) fn range(&self) -> Range<usize> {
        self.mean.start..self.variance.range().end
    }

    /// Means and variances.
    pub(super) fn of<'a, T>(&self, params: &'a [T]) -> (&'a [T], &'a [T]) {
        (&params[self.mean.range()], &params[self.variance.range()])
    }
}

/// What was normalised by, and what the backward sweep needs.
#[derive(Debug)]
pub(super) struct BatchNormed<T> {
    /// Normalised sums; empty where no backward sweep follows.
    z: Vec<T>,
    mean: Vec<T>,
    variance: Vec<T>,
    /// One over the standard deviation.
    scale: Vec<T>,
    /// Partial sums, one row of units for every [`ROWS`] rows.
    parts: Vec<T>,
    /// Column sums of the backward sweep.
    along: Vec<T>,
    /// Whether `mean` and `variance` are the rows' own, so that gradients run through them.
    by_batch: bool,
    /// Rows whose statistics are not yet part of the running ones.
    pending: usize,
}

impl<T: Real> BatchNormed<T> {
    /// Room for `rows` rows of `width` units.
    pub(super) fn new(rows: usize, width: usize, gradients: bool) -> Self {
        let units = || vec![T::ZERO; width];
        Self {
            z: vec![T::ZERO; if gradients { rows * width } else { 0 }],
            mean: units(),
            variance: units(),
            scale: units(),
            parts: vec![T::ZERO; width * rows.div_ceil(ROWS).max(1)],
            along: units(),
            by_batch: false,
            pending: 0,
        }
    }

    /// Normalises the rows of `z` in place: by their own statistics in training, else by the running ones. A single row has no
    /// variance of its own and is taken by the running statistics even in training.
    pub(super) fn forward(&mut self, z: &mut [T], training: bool, running: (&[T], &[T]), parallelism: Parallelism) {
        let width = self.mean.len();
        let rows = z.len() / width.max(1);
        self.by_batch = training && rows >= FEWEST;
        self.pending = if self.by_batch { rows } else { 0 };
        if self.by_batch {
            let share = T::from_f64(1.0 / rows as f64);
            let Self { parts, mean, variance, .. } = self;
            let add = |at: Range<usize>, sums: &mut [T]| dispatch(Sums { z: &z[at], sums });
            column_sums(z.len(), (parts, mean), add, parallelism);
            mean.iter_mut().for_each(|v| *v *= share);
            let add = |at: Range<usize>, sums: &mut [T]| dispatch(Squares { z: &z[at], mean, sums });
            column_sums(z.len(), (parts, variance), add, parallelism);
            variance.iter_mut().for_each(|v| *v *= share);
        } else {
            self.mean.copy_from_slice(running.0);
            self.variance.copy_from_slice(running.1);
        }
        let eps = T::from_f64(EPS);
        self.scale.iter_mut().zip(&self.variance).for_each(|(s, v)| *s = T::ONE / (*v + eps).sqrt());
        let (mean, scale) = (&self.mean[..], &self.scale[..]);
        in_chunks(z, width, |_, z| dispatch(Normalise { z, mean, scale }), parallelism);
        // Without room (prediction only) nothing is kept.
        if let Some(kept) = self.z.get_mut(..z.len()) {
            kept.copy_from_slice(z);
        }
    }

    /// From the gradient of the normalised sums, whose column sums are `sums`, to that of the sums, in place.
    pub(super) fn backward(&mut self, d: &mut [T], sums: &[T], parallelism: Parallelism) {
        let width = self.mean.len();
        let Self { z, parts, along, scale, .. } = self;
        if !self.by_batch {
            in_chunks(d, width, |_, d| dispatch(Rescale { d, scale }), parallelism);
            return;
        }
        let share = T::from_f64(width as f64 / d.len() as f64);
        let add = |at: Range<usize>, sums: &mut [T]| dispatch(Products { d: &d[at.clone()], z: &z[at], sums });
        column_sums(d.len(), (parts, along), add, parallelism);
        let turn = |at: Range<usize>, d: &mut [T]| dispatch(Turn { d, z: &z[at], sums, along, share, scale });
        in_chunks(d, width, turn, parallelism);
    }

    /// Folds the statistics of the last training pass into the running ones, once.
    pub(super) fn fold(&mut self, running: Running, params: &mut [T]) {
        let rows = std::mem::take(&mut self.pending) as f64;
        if rows < FEWEST as f64 {
            return;
        }
        let momentum = T::from_f64(MOMENTUM);
        // The variance of rows that are not in the mini-batch is what will be met.
        let unbiased = T::from_f64(rows / (rows - 1.0));
        let places = running.mean.range().zip(running.variance.range());
        for ((mean, variance), (m, v)) in self.mean.iter().zip(&self.variance).zip(places) {
            let variance = *variance * unbiased;
            // Sums too large to be squared hold nothing that could be kept.
            if variance.is_finite() {
                params[m] += momentum * (*mean - params[m]);
                params[v] += momentum * (variance - params[v]);
            }
        }
    }

    /// Drops statistics that were not folded.
    pub(super) fn forget(&mut self) {
        self.pending = 0;
    }
}

/// Calls `work` with every [`ROWS`] rows and their place.
fn in_chunks<T: Real>(
    values: &mut [T],
    width: usize,
    work: impl Fn(Range<usize>, &mut [T]) + Sync,
    parallelism: Parallelism,
) {
    let size = (ROWS * width).max(1);
    let one = |(index, part): (usize, &mut [T])| work(index * size..index * size + part.len(), part);
    if worth_it(parallelism, values.len()) {
        values.par_chunks_mut(size).enumerate().for_each(one);
    } else {
        values.chunks_mut(size).enumerate().for_each(one);
    }
}

/// Column sums of `len` values: `add` fills the sums of every [`ROWS`] rows, which are then added in order, so that threads
/// change nothing.
fn column_sums<T: Real>(
    len: usize,
    (parts, total): (&mut [T], &mut [T]),
    add: impl Fn(Range<usize>, &mut [T]) + Sync,
    parallelism: Parallelism,
) {
    let width = total.len().max(1);
    let size = ROWS * width;
    let parts = &mut parts[..len.div_ceil(size) * width];
    let one = |(index, part): (usize, &mut [T])| add(index * size..len.min((index + 1) * size), part);
    if worth_it(parallelism, len) {
        parts.par_chunks_mut(width).enumerate().for_each(one);
    } else {
        parts.chunks_mut(width).enumerate().for_each(one);
    }
    total.fill(T::ZERO);
    for part in parts.chunks_exact(width) {
        total.iter_mut().zip(part).for_each(|(t, p)| *t += *p);
    }
}

struct Sums<'a, T> {
    z: &'a [T],
    sums: &'a mut [T],
}

impl<T: Real> Vectorised for Sums<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: pulp::Simd, const FMA: bool>(self, _: S) {
        self.sums.fill(T::ZERO);
        for row in self.z.chunks_exact(self.sums.len()) {
            self.sums.iter_mut().zip(row).for_each(|(s, z)| *s += *z);
        }
    }
}

struct Squares<'a, T> {
    z: &'a [T],
    mean: &'a [T],
    sums: &'a mut [T],
}

impl<T: Real> Vectorised for Squares<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: pulp::Simd, const FMA: bool>(self, _: S) {
        self.sums.fill(T::ZERO);
        for row in self.z.chunks_exact(self.sums.len()) {
            for ((s, z), m) in self.sums.iter_mut().zip(row).zip(self.mean) {
                *s += (*z - *m) * (*z - *m);
            }
        }
    }
}

struct Normalise<'a, T> {
    z: &'a mut [T],
    mean: &'a [T],
    scale: &'a [T],
}

impl<T: Real> Vectorised for Normalise<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: pulp::Simd, const FMA: bool>(self, _: S) {
        for row in self.z.chunks_exact_mut(self.mean.len()) {
            row.iter_mut().zip(self.mean).zip(self.scale).for_each(|((z, m), s)| *z = (*z - *m) * *s);
        }
    }
}

struct Products<'a, T> {
    d: &'a [T],
    z: &'a [T],
    sums: &'a mut [T],
}

impl<T: Real> Vectorised for Products<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: pulp::Simd, const FMA: bool>(self, _: S) {
        self.sums.fill(T::ZERO);
        let width = self.sums.len();
        for (d, z) in self.d.chunks_exact(width).zip(self.z.chunks_exact(width)) {
            self.sums.iter_mut().zip(d).zip(z).for_each(|((s, d), z)| *s += *d * *z);
        }
    }
}

struct Turn<'a, T> {
    d: &'a mut [T],
    z: &'a [T],
    /// Column sums of `d` and of `d` times `z`.
    sums: &'a [T],
    along: &'a [T],
    /// One over the number of rows.
    share: T,
    scale: &'a [T],
}

impl<T: Real> Vectorised for Turn<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: pulp::Simd, const FMA: bool>(self, _: S) {
        let Self { d, z, sums, along, share, scale } = self;
        let width = scale.len();
        for (d, z) in d.chunks_exact_mut(width).zip(z.chunks_exact(width)) {
            let columns = sums.iter().zip(along).zip(scale);
            for ((d, z), ((sum, along), scale)) in d.iter_mut().zip(z).zip(columns) {
                *d = (*d - share * (*sum + *z * *along)) * *scale;
            }
        }
    }
}

struct Rescale<'a, T> {
    d: &'a mut [T],
    scale: &'a [T],
}

impl<T: Real> Vectorised for Rescale<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: pulp::Simd, const FMA: bool>(self, _: S) {
        for row in self.d.chunks_exact_mut(self.scale.len()) {
            row.iter_mut().zip(self.scale).for_each(|(d, s)| *d *= *s);
        }
    }
}

#[cfg(test)]
mod tests {
    use paretau_core::Seed;

    use super::*;

    const UNITS: usize = 3;

    fn sums(rows: usize, width: usize) -> Vec<f64> {
        let mut rng = Seed(2).rng();
        (0..rows * width).map(|i| 5.0 * (i % width) as f64 + (1 + i % width) as f64 * rng.normal()).collect()
    }

    /// Means and variances, one unit after the other, with `rows - less` below the squares.
    fn by_hand(z: &[f64], less: f64) -> [Vec<f64>; 2] {
        let rows = (z.len() / UNITS) as f64;
        let column = |j: usize| z.iter().skip(j).step_by(UNITS);
        let mean: Vec<f64> = (0..UNITS).map(|j| column(j).sum::<f64>() / rows).collect();
        let square = |j: usize| column(j).map(|v| (v - mean[j]).powi(2)).sum::<f64>();
        let variance = (0..UNITS).map(|j| square(j) / (rows - less)).collect();
        [mean, variance]
    }

    fn start() -> (Running, Vec<f64>) {
        let mut layout = Layout::default();
        let running = Running::new(UNITS, &mut layout);
        (running, layout.initial(Seed(1)))
    }

    #[test]
    fn a_batch_is_normalised_by_itself_and_folded_once() {
        let (running, mut params) = start();
        assert_eq!(params, [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
        // More rows than one piece of a sum.
        let rows = 2 * ROWS + 9;
        let raw = sums(rows, UNITS);
        let (mut z, mut normed) = (raw.clone(), BatchNormed::new(rows, UNITS, true));
        normed.forward(&mut z, true, running.of(&params), Parallelism::None);
        let [mean, variance] = by_hand(&raw, 0.0);
        for (i, (z, raw)) in z.iter().zip(&raw).enumerate() {
            let j = i % UNITS;
            assert!((z - (raw - mean[j]) / (variance[j] + EPS).sqrt()).abs() < 1e-12, "{i}");
        }
        normed.fold(running, &mut params);
        let [_, unbiased] = by_hand(&raw, 1.0);
        for j in 0..UNITS {
            assert!((params[j] - 0.1 * mean[j]).abs() < 1e-12, "{params:?}");
            assert!((params[UNITS + j] - 0.9 - 0.1 * unbiased[j]).abs() < 1e-12, "{params:?}");
        }
        let once = params.clone();
        normed.fold(running, &mut params);
        assert_eq!(params, once, "one pass counts once");
        normed.forward(&mut z, true, running.of(&params), Parallelism::None);
        normed.forget();
        normed.fold(running, &mut params);
        assert_eq!(params, once, "a step that was not taken does not count");
        normed.forward(&mut z, false, running.of(&params), Parallelism::None);
        normed.fold(running, &mut params);
        assert_eq!(params, once, "validation does not count");
    }

    #[test]
    fn evaluation_knows_no_company() {
        let params = [1.0, -2.0, 0.5, 4.0, 0.25, 9.0];
        let (running, _) = start();
        let raw = sums(5, UNITS);
        let evaluate = |rows: Range<usize>| {
            let mut z = raw[rows.start * UNITS..rows.end * UNITS].to_vec();
            BatchNormed::new(5, UNITS, false).forward(&mut z, false, running.of(&params), Parallelism::None);
            z
        };
        let all = evaluate(0..5);
        for row in 0..5 {
            assert_eq!(evaluate(row..row + 1), all[row * UNITS..(row + 1) * UNITS]);
        }
        assert!((all[0] - (raw[0] - 1.0) / (4.0 + EPS).sqrt()).abs() < 1e-14);
    }

    #[test]
    fn one_row_constants_and_sums_too_large_to_be_squared_stay_finite() {
        let (running, mut params) = start();
        let before = params.clone();
        let mut normed = BatchNormed::new(4, UNITS, true);
        let mut one = vec![3.0, -7.0, 0.0];
        normed.forward(&mut one, true, running.of(&params), Parallelism::None);
        let scale = 1.0 / (1.0 + EPS).sqrt();
        assert_eq!(one, [3.0 * scale, -7.0 * scale, 0.0], "a single row is taken by the running statistics");
        normed.fold(running, &mut params);
        assert_eq!(params, before, "and teaches nothing");
        let mut none: Vec<f64> = vec![];
        normed.forward(&mut none, true, running.of(&params), Parallelism::None);
        normed.fold(running, &mut params);
        assert_eq!(params, before);

        // A constant, a number whose square overflows, an ordinary unit.
        let mut z = [[2.0, 1e200, 1.0], [2.0, -1e200, 2.0], [2.0, 1e200, 3.0], [2.0, -1e200, 6.0]].concat();
        normed.forward(&mut z, true, running.of(&params), Parallelism::None);
        assert!(z.iter().all(|v| v.is_finite()) && z.iter().step_by(UNITS).all(|v| *v == 0.0), "{z:?}");
        let mut d = vec![0.5; z.len()];
        d[0] = -1.0;
        let column = |j: usize| d.iter().skip(j).step_by(UNITS).sum::<f64>();
        let total: Vec<f64> = (0..UNITS).map(column).collect();
        normed.backward(&mut d, &total, Parallelism::None);
        assert!(d.iter().all(|v| v.is_finite()), "{d:?}");
        normed.fold(running, &mut params);
        assert!(params.iter().all(|v| v.is_finite()), "{params:?}");
        assert_eq!(params[UNITS + 1], 1.0, "what overflows is not folded");
    }

    #[test]
    fn threads_change_no_bit() {
        let (rows, width) = (1000, 40);
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut layout = Layout::default();
                let running = Running::new(width, &mut layout);
                let mut params: Vec<f32> = layout.initial(Seed(1));
                let mut normed = BatchNormed::new(rows, width, true);
                let mut z: Vec<f32> = sums(rows, width).iter().map(|v| *v as f32).collect();
                let mut d: Vec<f32> = z.iter().map(|v| v.sin()).collect();
                normed.forward(&mut z, true, running.of(&params), Parallelism::Rayon);
                let total: Vec<f32> = (0..width).map(|j| d.iter().skip(j).step_by(width).sum()).collect();
                normed.backward(&mut d, &total, Parallelism::Rayon);
                normed.fold(running, &mut params);
                (z, d, params)
            })
        };
        assert_eq!(run(1), run(2));
    }
}
