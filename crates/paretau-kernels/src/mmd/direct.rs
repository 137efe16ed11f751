//! Kernel sums for few columns: distances straight from the differences, all in registers.

use super::tile::Tile;
use std::f64::consts::LOG2_E;

use crate::lanes;
use crate::real::Real;
use crate::simd::{LANES, Vectorised, dispatch};

/// Up to this many columns the direct path is the faster one.
pub(super) const MAX_COLUMNS: usize = 4;

/// Rows of `x` that meet the rows of `y` together.
const ROWS: usize = 4;

/// Distances and kernel values of one row, slopes of all [`ROWS`].
const SCRATCH_LINES: usize = 2 + ROWS;

/// Values that a tile of `len` rows stores: column by column, filled up with zeros to whole vector registers.
pub(super) fn stored_len(len: usize, k: usize) -> usize {
    len.next_multiple_of(LANES) * k
}

/// Position of column `c` of row `i` in that layout, in a tile of `len` rows.
pub(super) fn position(i: usize, c: usize, len: usize) -> usize {
    c * len.next_multiple_of(LANES) + i
}

/// Adds the forces `coef Σ_j G_ij (z_i - z_j)` between the rows of two tiles to both, and `Σ_ij K_ij` to the answer.
///
/// `K = mean_s exp(-d² / 2 f_s²)`, `G = mean_s exp(-d² / 2 f_s²) / f_s²` for the factors `f_s`.
/// If `y` is `None` the rows meet each other, in both orders.
pub(super) fn pair<T: Real>(
    x: &mut Tile<T>,
    y: Option<&mut Tile<T>>,
    factors: &[f64],
    coef: T,
    scratch: &mut Vec<T>,
    k: usize,
) -> f64 {
    let len_y = y.as_ref().map_or(x.len, |y| y.len);
    let stored_y = len_y.next_multiple_of(LANES);
    scratch.clear();
    scratch.resize(SCRATCH_LINES * stored_y + stored_len(len_y, k), T::ZERO);
    let sum = {
        let zy = y.as_ref().map_or(&x.z, |y| &y.z);
        let all = Block { zx: &x.z, acc: &mut x.acc, rows: x.len, zy, scratch, cols: len_y, factors, coef };
        match k {
            1 => dispatch(Columns::<T, 1>(all)),
            2 => dispatch(Columns::<T, 2>(all)),
            3 => dispatch(Columns::<T, 3>(all)),
            _ => dispatch(Columns::<T, MAX_COLUMNS>(all)),
        }
    };
    if let Some(y) = y {
        for (acc, &force) in y.acc.iter_mut().zip(&scratch[SCRATCH_LINES * stored_y..]) {
            *acc -= coef * force;
        }
    }
    sum
}

struct Block<'a, T> {
    zx: &'a [T],
    acc: &'a mut [T],
    rows: usize,
    zy: &'a [T],
    /// [`SCRATCH_LINES`] lines of `y`'s length, then the forces on `y`.
    scratch: &'a mut [T],
    cols: usize,
    factors: &'a [f64],
    coef: T,
}

struct Columns<'a, T, const K: usize>(Block<'a, T>);

/// The columns of a tile, each of `stored` values.
#[inline(always)]
fn columns<T, const K: usize>(z: &[T], stored: usize) -> [&[T]; K] {
    std::array::from_fn(|c| &z[c * stored..(c + 1) * stored])
}

impl<T: Real, const K: usize> Vectorised for Columns<'_, T, K> {
    type Output = f64;

    /// Rows go through the other tile a few at a time, in passes that stay in the first-level cache: the kernel values of a
    /// row in plain loops, which the compiler turns into vector code, then the forces with sums in registers.
    #[inline(always)]
    fn run<S: pulp::Simd, const FMA: bool>(self, simd: S) -> f64 {
        let block = self.0;
        let stored_x = block.rows.next_multiple_of(LANES);
        let stored = block.cols.next_multiple_of(LANES);
        let zx = columns::<T, K>(block.zx, stored_x);
        let zy = columns::<T, K>(block.zy, stored);
        let (distance, rest) = block.scratch.split_at_mut(stored);
        let (kernel, rest) = rest.split_at_mut(stored);
        let (slopes, forces) = rest.split_at_mut(ROWS * stored);
        let mut total = 0.0;
        for start in (0..block.rows).step_by(ROWS) {
            let mut x = [[T::ZERO; ROWS]; K];
            for (r, slope) in slopes.chunks_exact_mut(stored).enumerate() {
                if start + r >= block.rows {
                    slope.fill(T::ZERO);
                    continue;
                }
                let point: [T; K] = std::array::from_fn(|c| zx[c][start + r]);
                for c in 0..K {
                    x[c][r] = point[c];
                }
                total += if let &[factor] = block.factors {
                    let rate = T::from_f64(-0.5 * LOG2_E / (factor * factor));
                    let steep = T::from_f64(1.0 / (factor * factor));
                    for j in 0..stored {
                        let d2 = squared_distance::<T, K, FMA>(&point, &zy, j);
                        slope[j] = steep * (rate * d2).exp2_nonpositive::<FMA>();
                    }
                    slope[block.cols..].fill(T::ZERO);
                    lanes::sum(simd, T::ZERO, slope).to_f64() * (factor * factor)
                } else {
                    for j in 0..stored {
                        distance[j] = squared_distance::<T, K, FMA>(&point, &zy, j);
                    }
                    kernel.fill(T::ZERO);
                    slope.fill(T::ZERO);
                    let share = T::from_f64(1.0 / block.factors.len() as f64);
                    for factor in block.factors {
                        let rate = T::from_f64(-0.5 * LOG2_E / (factor * factor));
                        let steep = T::from_f64(1.0 / (factor * factor));
                        for j in 0..stored {
                            let e = share * (rate * distance[j]).exp2_nonpositive::<FMA>();
                            kernel[j] += e;
                            slope[j] = steep.mul_add::<FMA>(e, slope[j]);
                        }
                    }
                    kernel[block.cols..].fill(T::ZERO);
                    slope[block.cols..].fill(T::ZERO);
                    lanes::sum(simd, T::ZERO, kernel).to_f64()
                };
            }
            for c in 0..K {
                let force = &mut forces[c * stored..(c + 1) * stored];
                let pulls = attract(simd, &x[c], zy[c], slopes, force);
                for r in 0..ROWS.min(block.rows - start) {
                    block.acc[c * stored_x + start + r] += block.coef * pulls[r];
                }
            }
        }
        total
    }
}

/// In one column, for rows at `x` and at `z` with slopes `g` (one line per row at `x`): adds `Σ_r g_rj (x_r - z_j)` to
/// `force[j]` and answers `Σ_j g_rj (x_r - z_j)`.
#[inline(always)]
fn attract<T: Real, S: pulp::Simd>(simd: S, x: &[T; ROWS], z: &[T], slopes: &[T], force: &mut [T]) -> [T; ROWS] {
    let x = x.map(|x| T::splat(simd, x));
    let mut pulls = x.map(|_| T::splat(simd, T::ZERO));
    let z = T::regs::<S>(z).0;
    let force = T::regs_mut::<S>(force).0;
    let n = z.len().min(force.len());
    let slopes = T::regs::<S>(slopes).0;
    let lines: [_; ROWS] = std::array::from_fn(|r| &slopes[r * n..(r + 1) * n]);
    for j in 0..n {
        let mut sum = force[j];
        for r in 0..ROWS {
            let difference = T::vsub(simd, x[r], z[j]);
            let g = lines[r][j];
            pulls[r] = T::vmul_add(simd, g, difference, pulls[r]);
            sum = T::vmul_add(simd, g, difference, sum);
        }
        force[j] = sum;
    }
    pulls.map(|pull| T::vsum(simd, pull))
}

#[inline(always)]
fn squared_distance<T: Real, const K: usize, const FMA: bool>(x: &[T; K], y: &[&[T]; K], j: usize) -> T {
    let mut sum = T::ZERO;
    for c in 0..K {
        let d = x[c] - y[c][j];
        sum = d.mul_add::<FMA>(d, sum);
    }
    sum
}
