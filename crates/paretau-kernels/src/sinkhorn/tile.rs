//! Sweeps over the costs between some rows of one sample and all rows of the other, tile by tile.

use pulp::Simd;

use super::Cost;
use crate::error::KernelError;
use crate::lanes;
use crate::product::{MatMut, MatRef, matmul_tile};
use crate::real::Real;
use crate::simd::{LANES, Vectorised, dispatch};

/// Rows that one task owns.
pub(super) const TILE_ROWS: usize = 64;
/// Rows of the other sample in a tile; whole registers.
const TILE_COLS: usize = 256;

/// One sample with its potential.
#[derive(Debug, Default)]
pub(super) struct Side<T> {
    /// Centred rows, filled up with zero rows to whole registers.
    z: Vec<T>,
    /// Half the squared length of each row.
    half: Vec<T>,
    /// The potential `f` or `g`, in units of the cost.
    potential: Vec<f64>,
    /// `log2(weight · exp(potential / ε))`, and next to nothing for rows that are only there to fill up.
    scaled: Vec<T>,
    k: usize,
}

impl<T: Real> Side<T> {
    /// Takes over the rows, with a potential of zero.
    pub(super) fn load(&mut self, x: &[T], mean: &[f64]) {
        self.k = mean.len();
        let n = x.len() / self.k;
        let stored = n.next_multiple_of(LANES);
        self.z.clear();
        self.half.clear();
        for row in x.chunks_exact(self.k) {
            let mut square = 0.0;
            for (x, m) in row.iter().zip(mean) {
                let z = T::from_f64(x.to_f64() - m);
                square += z.to_f64() * z.to_f64();
                self.z.push(z);
            }
            self.half.push(T::from_f64(0.5 * square));
        }
        self.z.resize(stored * self.k, T::ZERO);
        self.half.resize(stored, T::ZERO);
        self.potential.clear();
        self.potential.resize(n, 0.0);
    }

    pub(super) fn len(&self) -> usize {
        self.potential.len()
    }

    /// Prepares `scaled` from the potential, with `rate = log2(e) / ε`.
    pub(super) fn scale(&mut self, rate: f64) {
        let weight = (self.len() as f64).log2();
        let scaled = self.potential.iter().map(|f| T::from_f64(f * rate - weight));
        self.scaled.clear();
        self.scaled.extend(scaled);
        self.scaled.resize(self.half.len(), T::from_f64(-1e30));
    }

    /// Takes over a new potential that makes this side's marginals exact; answers how far off they were.
    pub(super) fn replace_potential(&mut self, new: &[f64], rate: f64) -> f64 {
        let mut error = 0.0;
        for (old, &new) in self.potential.iter_mut().zip(new) {
            error += (((*old - new) * rate).exp2() - 1.0).abs();
            *old = new;
        }
        error / self.len() as f64
    }

    pub(super) fn mean_potential(&self) -> f64 {
        self.potential.iter().sum::<f64>() / self.len() as f64
    }
}

/// Memory of one task.
#[derive(Debug, Default)]
pub(super) struct Scratch<T> {
    costs: Vec<T>,
    largest: Vec<T>,
    sums: Vec<f64>,
    mass: Vec<T>,
}

/// A tile of costs: `cols` columns per line of which `real` are rows of the other sample.
struct Tile<'a, T> {
    costs: &'a mut [T],
    start: usize,
    cols: usize,
    real: usize,
}

/// Calls `f` with the costs between `rows` rows of `own` from `first` on and each tile of `other`, in order.
fn for_each_tile<T: Real>(
    (own, first, rows): (&Side<T>, usize, usize),
    other: &Side<T>,
    cost: Cost,
    memory: &mut Vec<T>,
    mut f: impl FnMut(Tile<'_, T>) -> Result<(), KernelError>,
) -> Result<(), KernelError> {
    let k = own.k;
    let zx = MatRef::row_major(&own.z[first * k..(first + rows) * k], rows, k)?;
    let stored = other.half.len();
    for start in (0..stored).step_by(TILE_COLS) {
        let cols = TILE_COLS.min(stored - start);
        memory.resize(rows * cols, T::ZERO);
        let zy = MatRef::row_major(&other.z[start * k..(start + cols) * k], cols, k)?;
        let out = MatMut::row_major(memory, rows, cols)?;
        matmul_tile(out, zx, zy.t(), (T::ONE, T::ZERO))?;
        dispatch(Costs {
            products: memory,
            half_x: &own.half[first..first + rows],
            half_y: &other.half[start..start + cols],
            cost,
        });
        f(Tile { costs: memory, start, cols, real: cols.min(other.len() - start.min(other.len())) })?;
    }
    Ok(())
}

/// Turns inner products into costs.
struct Costs<'a, T> {
    products: &'a mut [T],
    half_x: &'a [T],
    half_y: &'a [T],
    cost: Cost,
}

impl<T: Real> Vectorised for Costs<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd, const FMA: bool>(self, _: S) {
        // Below this share of the squared lengths a squared distance is nothing but rounding.
        let noise = T::from_f64(16.0) * T::EPSILON;
        let two = T::from_f64(2.0);
        let lines = self.products.chunks_exact_mut(self.half_y.len());
        for (line, &half_x) in lines.zip(self.half_x) {
            for (value, &half_y) in line.iter_mut().zip(self.half_y) {
                let lengths = half_x + half_y;
                let square = two * (lengths - *value);
                *value = if square <= noise * lengths { T::ZERO } else { square };
            }
            if self.cost == Cost::Euclidean {
                for value in line {
                    *value = value.sqrt();
                }
            }
        }
    }
}

/// `out[i] = Σ_j C_ij` for the rows of `own` from `first` on.
pub(super) fn sum_costs<T: Real>(
    own: &Side<T>,
    other: &Side<T>,
    first: usize,
    out: &mut [f64],
    cost: Cost,
    scratch: &mut Scratch<T>,
) {
    out.fill(0.0);
    let rows = (own, first, out.len());
    let done = for_each_tile(rows, other, cost, &mut scratch.costs, |tile| {
        for (sum, line) in out.iter_mut().zip(tile.costs.chunks_exact(tile.cols)) {
            *sum += line[..tile.real].iter().map(|c| c.to_f64()).sum::<f64>();
        }
        Ok(())
    });
    report(&done, out);
}

/// A tile that does not fit its own shape cannot occur; should it, the result says so.
fn report<T: Real>(done: &Result<(), KernelError>, out: &mut [T]) {
    if done.is_err() {
        out.fill(T::from_f64(f64::NAN));
    }
}

/// `out[i] = -ε log Σ_j weight_j exp((g_j - C_ij) / ε)`, with `rate = log2(e) / ε` and `other` scaled by it.
pub(super) fn soft_minimum<T: Real>(
    own: &Side<T>,
    other: &Side<T>,
    first: usize,
    out: &mut [f64],
    (cost, rate): (Cost, f64),
    scratch: &mut Scratch<T>,
) {
    let Scratch { costs, largest, sums, .. } = scratch;
    largest.clear();
    largest.resize(out.len(), T::from_f64(-1e30));
    sums.clear();
    sums.resize(out.len(), 0.0);
    let rows = (own, first, out.len());
    let done = for_each_tile(rows, other, cost, costs, |tile| {
        dispatch(LogSums {
            scaled: &other.scaled[tile.start..tile.start + tile.cols],
            costs: tile.costs,
            rate: T::from_f64(rate),
            largest,
            sums,
        });
        Ok(())
    });
    for ((out, largest), sum) in out.iter_mut().zip(largest.iter()).zip(sums.iter()) {
        *out = -(largest.to_f64() + sum.log2()) / rate;
    }
    report(&done, out);
}

/// Goes on with `log2 Σ_j 2^(scaled_j - rate C_ij) = largest_i + log2(sums_i)`.
struct LogSums<'a, T> {
    costs: &'a mut [T],
    scaled: &'a [T],
    rate: T,
    largest: &'a mut [T],
    sums: &'a mut [f64],
}

impl<T: Real> Vectorised for LogSums<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd, const FMA: bool>(self, simd: S) {
        let lines = self.costs.chunks_exact_mut(self.scaled.len());
        let tops = self.largest.iter_mut().zip(self.sums);
        for (line, (largest, sum)) in lines.zip(tops) {
            for (value, &scaled) in line.iter_mut().zip(self.scaled) {
                *value = (-self.rate).mul_add::<FMA>(*value, scaled);
            }
            let top = lanes::maximum(simd, *largest, line);
            if top > *largest {
                *sum *= (*largest - top).to_f64().exp2();
                *largest = top;
            }
            for value in line.iter_mut() {
                *value = (*value - top).exp2_nonpositive::<FMA>();
            }
            *sum += lanes::sum(simd, T::ZERO, line).to_f64();
        }
    }
}

/// `out[i] = Σ_j P_ij ∂C_ij/∂z_i` for the rows of `own` from `first` on; both sides scaled by `rate`.
pub(super) fn pull<T: Real>(
    own: &Side<T>,
    other: &Side<T>,
    first: usize,
    out: &mut [T],
    (cost, rate): (Cost, f64),
    scratch: &mut Scratch<T>,
) {
    let k = own.k;
    let n = out.len() / k;
    let Scratch { costs, mass, .. } = scratch;
    mass.clear();
    mass.resize(n, T::ZERO);
    out.fill(T::ZERO);
    let done = for_each_tile((own, first, n), other, cost, costs, |tile| {
        dispatch(Slopes {
            costs: tile.costs,
            own: &own.scaled[first..first + n],
            other: &other.scaled[tile.start..tile.start + tile.cols],
            rate: T::from_f64(rate),
            cost,
            mass,
        });
        let slopes = MatRef::row_major(tile.costs, n, tile.cols)?;
        let rows = &other.z[tile.start * k..(tile.start + tile.cols) * k];
        let rows = MatRef::row_major(rows, tile.cols, k)?;
        let view = MatMut::row_major(out, n, k)?;
        matmul_tile(view, slopes, rows, (-T::ONE, T::ONE))
    });
    let z = own.z[first * k..(first + n) * k].chunks_exact(k);
    for ((out, z), &mass) in out.chunks_exact_mut(k).zip(z).zip(mass.iter()) {
        for (out, &z) in out.iter_mut().zip(z) {
            *out += mass * z;
        }
    }
    report(&done, out);
}

/// Turns costs into `S_ij` with `P_ij ∂C_ij/∂z_i = S_ij (z_i - z_j)`, and adds up `mass_i = Σ_j S_ij`.
struct Slopes<'a, T> {
    costs: &'a mut [T],
    own: &'a [T],
    other: &'a [T],
    rate: T,
    cost: Cost,
    mass: &'a mut [T],
}

impl<T: Real> Vectorised for Slopes<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd, const FMA: bool>(self, simd: S) {
        let two = T::from_f64(2.0);
        let lines = self.costs.chunks_exact_mut(self.other.len());
        for ((line, &own), mass) in lines.zip(self.own).zip(self.mass) {
            for (value, &other) in line.iter_mut().zip(self.other) {
                let log = (-self.rate).mul_add::<FMA>(*value, own + other);
                // A share of the whole is at most one, but for rounding.
                let log = if log > T::ZERO { T::ZERO } else { log };
                let share = log.exp2_nonpositive::<FMA>();
                *value = match self.cost {
                    Cost::SquaredEuclidean => two * share,
                    Cost::Euclidean if *value > T::ZERO => share / *value,
                    Cost::Euclidean => T::ZERO,
                };
            }
            *mass += lanes::sum(simd, T::ZERO, line);
        }
    }
}
