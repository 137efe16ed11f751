//! Row-wise passes between the products: bias, activation and dropout in one sweep, and their backward sweep with the
//! column sums that make the bias gradient.

use paretau_kernels::parallel::Parallelism;
use paretau_kernels::real::Real;
use paretau_kernels::simd::{Vectorised, dispatch};
use rayon::prelude::*;

use super::activation::Activation;
use super::dropout::Dropout;

/// Rows a task handles. Part of the result: partial sums are cut by it.
pub const ROWS: usize = 256;

/// Below this many values a second thread costs more than it brings.
const SMALL: usize = 1 << 14;

/// Values whose dropout factors are made at a time: in one loop with the activation, neither becomes vector code.
const PIECE: usize = 64;

/// Whether a pass over this many values is shared among threads.
pub(super) fn worth_it(parallelism: Parallelism, values: usize) -> bool {
    parallelism == Parallelism::Rayon && values >= SMALL && rayon::current_num_threads() > 1
}

struct Forward<'a, T> {
    z: &'a mut [T],
    bias: &'a [T],
    activation: Activation,
    dropout: Option<Dropout<T>>,
    first: usize,
}

impl<T: Real> Vectorised for Forward<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: pulp::Simd, const FMA: bool>(self, _: S) {
        let width = self.bias.len();
        let mut factors = [T::ZERO; PIECE];
        // The match is outside the loops, so that each loop holds one function and becomes vector code.
        macro_rules! rows {
            ($f:expr) => {
                for (row, z) in self.z.chunks_exact_mut(width).enumerate() {
                    match self.dropout {
                        None => z.iter_mut().zip(self.bias).for_each(|(z, b)| *z = $f.value::<T, FMA>(*z + *b)),
                        Some(mask) => {
                            let start = self.first + row * width;
                            let pieces = z.chunks_mut(PIECE).zip(self.bias.chunks(PIECE)).enumerate();
                            for (piece, (z, bias)) in pieces {
                                let factors = &mut factors[..z.len()];
                                mask.factors(start + piece * PIECE, factors);
                                for ((z, b), factor) in z.iter_mut().zip(bias).zip(factors) {
                                    *z = $f.value::<T, FMA>(*z + *b) * *factor;
                                }
                            }
                        }
                    }
                }
            };
        }
        match self.activation {
            Activation::Elu => rows!(Activation::Elu),
            Activation::Tanh => rows!(Activation::Tanh),
            Activation::Softplus => rows!(Activation::Softplus),
            Activation::LeakyRelu => rows!(Activation::LeakyRelu),
            Activation::Linear => rows!(Activation::Linear),
        }
    }
}

/// `z = dropout(f(z + bias))` in place; `z` holds rows of `bias.len()` values.
pub fn forward<T: Real>(
    z: &mut [T],
    bias: &[T],
    activation: Activation,
    dropout: Option<Dropout<T>>,
    parallelism: Parallelism,
) {
    let size = ROWS * bias.len();
    let work = |index: usize, z: &mut [T]| {
        dispatch(Forward { z, bias, activation, dropout, first: index * size });
    };
    if worth_it(parallelism, z.len()) {
        z.par_chunks_mut(size).enumerate().for_each(|(i, z)| work(i, z));
    } else {
        z.chunks_mut(size).enumerate().for_each(|(i, z)| work(i, z));
    }
}

struct Backward<'a, T> {
    dz: &'a mut [T],
    y: &'a [T],
    sums: &'a mut [T],
    activation: Activation,
    dropout: Option<Dropout<T>>,
    first: usize,
}

impl<T: Real> Vectorised for Backward<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: pulp::Simd, const FMA: bool>(self, _: S) {
        let width = self.sums.len();
        let mut factors = [T::ZERO; PIECE];
        self.sums.fill(T::ZERO);
        macro_rules! rows {
            ($f:expr) => {
                for (row, (dz, y)) in self.dz.chunks_exact_mut(width).zip(self.y.chunks_exact(width)).enumerate() {
                    match self.dropout {
                        None => {
                            for ((dz, y), sum) in dz.iter_mut().zip(y).zip(self.sums.iter_mut()) {
                                *dz *= $f.slope::<T, FMA>(*y);
                                *sum += *dz;
                            }
                        }
                        Some(mask) => {
                            let (start, unscale) = (self.first + row * width, mask.unscale());
                            let sums = self.sums.chunks_mut(PIECE);
                            let pieces = dz.chunks_mut(PIECE).zip(y.chunks(PIECE)).zip(sums).enumerate();
                            for (piece, ((dz, y), sums)) in pieces {
                                let factors = &mut factors[..dz.len()];
                                mask.factors(start + piece * PIECE, factors);
                                for (((dz, y), sum), factor) in dz.iter_mut().zip(y).zip(sums).zip(factors) {
                                    *dz *= $f.slope::<T, FMA>(*y * unscale) * *factor;
                                    *sum += *dz;
                                }
                            }
                        }
                    }
                }
            };
        }
        match self.activation {
            Activation::Elu => rows!(Activation::Elu),
            Activation::Tanh => rows!(Activation::Tanh),
            Activation::Softplus => rows!(Activation::Softplus),
            Activation::LeakyRelu => rows!(Activation::LeakyRelu),
            Activation::Linear => rows!(Activation::Linear),
        }
    }
}

/// What a backward sweep reads beside the gradient it turns round.
#[derive(Debug, Clone, Copy)]
pub struct Swept<'a, T> {
    /// Outputs of the forward sweep.
    pub y: &'a [T],
    /// Their number of columns.
    pub width: usize,
    /// The activation.
    pub activation: Activation,
    /// The mask of the forward sweep.
    pub dropout: Option<Dropout<T>>,
}

/// Turns the gradient with respect to the outputs into the one with respect to the sums before them, in place, and
/// leaves its column sums in the first `width` places of `sums`.
///
/// `sums` has room for one row of `width` values for every [`ROWS`] rows.
pub fn backward<T: Real>(dz: &mut [T], swept: Swept<'_, T>, sums: &mut [T], parallelism: Parallelism) {
    let Swept { y, width, activation, dropout } = swept;
    let size = ROWS * width;
    let chunks = dz.len().div_ceil(size);
    let sums = &mut sums[..chunks * width];
    let work = |index: usize, dz: &mut [T], y: &[T], sums: &mut [T]| {
        dispatch(Backward { dz, y, sums, activation, dropout, first: index * size });
    };
    if worth_it(parallelism, dz.len()) {
        let parts = dz.par_chunks_mut(size).zip(y.par_chunks(size)).zip(sums.par_chunks_mut(width)).enumerate();
        parts.for_each(|(i, ((dz, y), sums))| work(i, dz, y, sums));
    } else {
        let parts = dz.chunks_mut(size).zip(y.chunks(size)).zip(sums.chunks_mut(width)).enumerate();
        parts.for_each(|(i, ((dz, y), sums))| work(i, dz, y, sums));
    }
    let (total, rest) = sums.split_at_mut(width);
    for part in rest.chunks_exact(width) {
        total.iter_mut().zip(part).for_each(|(t, p)| *t += *p);
    }
}
