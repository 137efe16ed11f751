//! Adam with L2 in the gradient (not decoupled), and plain gradient descent with momentum, over stretches of the flat
//! parameter vector; the gradient's norm and its clipping.

use paretau_kernels::parallel::Parallelism;
use paretau_kernels::real::Real;
use paretau_kernels::simd::{Vectorised, dispatch};
use rayon::prelude::*;

use super::layout::Move;

/// Parameters a task handles.
const CHUNK: usize = 1 << 14;

/// How far and how a step goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdamRates {
    /// Learning rate.
    pub rate: f64,
    /// L2 strength: `l2 · θ` is added to the gradient of weights (not of biases).
    pub l2: f64,
    /// What the gradient is multiplied by first (clipping).
    pub scale: f64,
    /// Plain gradient descent with momentum 0.9 instead of Adam.
    pub sgd: bool,
}

/// First and second moments of the gradient.
#[derive(Debug, Clone, PartialEq)]
pub struct Adam<T> {
    /// Running mean of the gradient.
    pub m: Vec<T>,
    /// Running mean of its square.
    pub v: Vec<T>,
}

const BETA1: f64 = 0.9;
const BETA2: f64 = 0.999;
const EPSILON: f64 = 1e-8;

struct Step<'a, T> {
    values: &'a mut [T],
    grads: &'a [T],
    m: &'a mut [T],
    v: &'a mut [T],
    l2: T,
    scale: T,
    /// Learning rate divided by the first moment's bias.
    rate: T,
    /// One over the square root of the second moment's bias.
    root: T,
    sgd: bool,
}

impl<T: Real> Vectorised for Step<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: pulp::Simd, const FMA: bool>(self, _: S) {
        let (b1, b2, eps) = (T::from_f64(BETA1), T::from_f64(BETA2), T::from_f64(EPSILON));
        let (c1, c2) = (T::from_f64(1.0 - BETA1), T::from_f64(1.0 - BETA2));
        let Self { values, grads, m, v, l2, scale, rate, root, sgd } = self;
        if sgd {
            for ((x, g), m) in values.iter_mut().zip(grads).zip(m) {
                *m = b1 * *m + (*g * scale + l2 * *x);
                *x -= rate * *m;
            }
            return;
        }
        for (((x, g), m), v) in values.iter_mut().zip(grads).zip(m).zip(v) {
            let g = *g * scale + l2 * *x;
            *m = b1 * *m + c1 * g;
            *v = b2 * *v + c2 * (g * g);
            *x -= rate * *m / (v.sqrt() * root + eps);
        }
    }
}

impl<T: Real> Adam<T> {
    /// Moments of `len` parameters that have not moved yet.
    pub fn new(len: usize) -> Self {
        Self { m: vec![T::ZERO; len], v: vec![T::ZERO; len] }
    }

    /// The `count`-th step (from 1) of the given stretches.
    pub fn step(
        &mut self,
        values: &mut [T],
        grads: &[T],
        moves: &[Move],
        (rates, count): (AdamRates, u64),
        parallelism: Parallelism,
    ) {
        let power = count.min(1 << 20) as i32;
        let (bias1, bias2) = (1.0 - BETA1.powi(power), 1.0 - BETA2.powi(power));
        let (rate, root) = if rates.sgd { (rates.rate, 1.0) } else { (rates.rate / bias1, 1.0 / bias2.sqrt()) };
        let wide = parallelism == Parallelism::Rayon && rayon::current_num_threads() > 1;
        for Move { range, decays } in moves {
            let l2 = if *decays { rates.l2 } else { 0.0 };
            let work = |values: &mut [T], grads: &[T], m: &mut [T], v: &mut [T]| {
                dispatch(Step {
                    values,
                    grads,
                    m,
                    v,
                    l2: T::from_f64(l2),
                    scale: T::from_f64(rates.scale),
                    rate: T::from_f64(rate),
                    root: T::from_f64(root),
                    sgd: rates.sgd,
                });
            };
            let (values, grads) = (&mut values[range.clone()], &grads[range.clone()]);
            let (m, v) = (&mut self.m[range.clone()], &mut self.v[range.clone()]);
            if wide && values.len() > 2 * CHUNK {
                let moments = m.par_chunks_mut(CHUNK).zip(v.par_chunks_mut(CHUNK));
                let parts = values.par_chunks_mut(CHUNK).zip(grads.par_chunks(CHUNK)).zip(moments);
                parts.for_each(|((x, g), (m, v))| work(x, g, m, v));
            } else {
                work(values, grads, m, v);
            }
        }
    }
}

/// Length of the gradient over the given stretches, summed in double precision in an order that threads do not change.
pub fn norm<T: Real>(grads: &[T], moves: &[Move], parallelism: Parallelism) -> f64 {
    /// Parts of a long stretch; more threads than that would find little to do.
    const PARTS: usize = 8;
    let squares: f64 = moves
        .iter()
        .map(|m| {
            let own = &grads[m.range.clone()];
            if own.len() <= 2 * CHUNK {
                return dispatch(Squares(own));
            }
            let mut sums = [0.0; PARTS];
            let start = |part: usize| own.len() * part / PARTS;
            let sum = |part: usize, sum: &mut f64| *sum = dispatch(Squares(&own[start(part)..start(part + 1)]));
            parallelism.for_each_mut(&mut sums, sum);
            sums.iter().sum()
        })
        .sum();
    squares.sqrt()
}

struct Squares<'a, T>(&'a [T]);

impl<T: Real> Vectorised for Squares<'_, T> {
    type Output = f64;
    #[inline(always)]
    fn run<S: pulp::Simd, const FMA: bool>(self, _: S) -> f64 {
        let mut lanes = [0.0; 8];
        let (blocks, rest) = self.0.as_chunks::<8>();
        for block in blocks {
            for l in 0..8 {
                let g = block[l].to_f64();
                lanes[l] += g * g;
            }
        }
        lanes.iter().sum::<f64>() + rest.iter().map(|g| g.to_f64() * g.to_f64()).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_step_goes_the_learning_rate_and_l2_spares_biases() {
        let moves = [Move { range: 0..1, decays: true }, Move { range: 1..2, decays: false }];
        let mut adam = Adam::<f64>::new(3);
        let mut x = [1.0, 1.0, 1.0];
        let rates = AdamRates { rate: 0.1, l2: 5.0, scale: 1.0, sgd: false };
        adam.step(&mut x, &[-2.0, -2.0, -2.0], &moves, (rates, 1), Parallelism::None);
        // 5 - 2 > 0 moves the weight down, the bias follows its gradient up, the third is not in any stretch.
        assert!((x[0] - 0.9).abs() < 1e-6 && (x[1] - 1.1).abs() < 1e-6 && x[2] == 1.0, "{x:?}");
        assert!((norm(&[3.0, 4.0, 9.0], &moves, Parallelism::None) - 5.0).abs() < 1e-12);
        let long = vec![2.0_f32; 100_001];
        let all = [Move { range: 0..long.len(), decays: true }];
        let lengths = [Parallelism::None, Parallelism::Rayon].map(|p| norm(&long, &all, p));
        assert!(lengths[0] == lengths[1] && (lengths[0] - 400_004_f64.sqrt()).abs() < 1e-9, "{lengths:?}");
    }
}
