//! Kernel sums for many columns: inner products of two tiles by one matrix product, forces by two more.

use super::tile::Tile;
use crate::error::KernelError;
use std::f64::consts::LOG2_E;

use crate::lanes;
use crate::product::{MatMut, MatRef, matmul_tile};
use crate::real::Real;
use crate::simd::{LANES, Vectorised, dispatch};

/// Rows that a tile of `len` rows stores: filled up with zero rows to whole vector registers.
pub(super) fn stored_rows(len: usize) -> usize {
    len.next_multiple_of(LANES)
}

/// Scratch for one pair of tiles.
#[derive(Debug, Default)]
pub(super) struct Scratch<T> {
    /// Inner products, then slopes, `rows × cols`.
    pub(super) values: Vec<T>,
    /// Sums of slopes down the columns.
    pub(super) mass: Vec<T>,
    /// Kernel values and slopes of one row.
    pub(super) lines: Vec<T>,
}

/// What [`pair`] should compute with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Task<'a, T> {
    pub(super) factors: &'a [f64],
    pub(super) coef: T,
    pub(super) k: usize,
    pub(super) with_grad: bool,
}

/// Adds `coef Σ_j G_ij` to the masses and `coef Σ_j G_ij z_j` to the forces of both tiles; answers `Σ_ij K_ij`.
///
/// `K` and `G` as in [`super::direct::pair`]. If `y` is `None` the rows meet each other, in both orders, and the diagonal
/// counts exactly one each in `K` and nothing in `G`, where it has no effect on the gradient but a rounding error.
pub(super) fn pair<T: Real>(
    x: &mut Tile<T>,
    y: Option<&mut Tile<T>>,
    task: Task<'_, T>,
    scratch: &mut Scratch<T>,
) -> Result<f64, KernelError> {
    let (rows, k) = (x.len, task.k);
    let (len_y, zy, half_y) = match &y {
        Some(y) => (y.len, &y.z, &y.half),
        None => (x.len, &x.z, &x.half),
    };
    let cols = stored_rows(len_y);
    scratch.values.resize(rows * cols, T::ZERO);
    scratch.mass.clear();
    scratch.mass.resize(cols, T::ZERO);
    scratch.lines.resize(2 * cols, T::ZERO);
    let values = &mut scratch.values[..];
    let zx = MatRef::row_major(&x.z[..rows * k], rows, k)?;
    let zy = MatRef::row_major(zy, cols, k)?;
    let view = MatMut::row_major(values, rows, cols)?;
    matmul_tile(view, zx, zy.t(), (T::ONE, T::ZERO))?;
    let sum = dispatch(KernelTile {
        values,
        cols: len_y,
        half_x: &x.half,
        half_y,
        mass_x: &mut x.mass,
        mass_y: &mut scratch.mass,
        lines: &mut scratch.lines,
        task,
        diagonal: y.is_none(),
    });
    if task.with_grad {
        let slopes = MatRef::row_major(values, rows, cols)?;
        let acc = MatMut::row_major(&mut x.acc[..rows * k], rows, k)?;
        matmul_tile(acc, slopes, zy, (task.coef, T::ONE))?;
        if let Some(y) = y {
            let acc = MatMut::row_major(&mut y.acc, cols, k)?;
            matmul_tile(acc, slopes.t(), zx, (task.coef, T::ONE))?;
            for (mass, &more) in y.mass.iter_mut().zip(scratch.mass.iter()) {
                *mass += task.coef * more;
            }
        }
    }
    Ok(sum)
}

struct KernelTile<'a, T> {
    values: &'a mut [T],
    /// Columns that are rows of `y`; the stored ones beyond must come out as zeros.
    cols: usize,
    half_x: &'a [T],
    half_y: &'a [T],
    mass_x: &'a mut [T],
    mass_y: &'a mut [T],
    /// Two lines as long as a stored row.
    lines: &'a mut [T],
    task: Task<'a, T>,
    diagonal: bool,
}

impl<T: Real> Vectorised for KernelTile<'_, T> {
    type Output = f64;

    #[inline(always)]
    fn run<S: pulp::Simd, const FMA: bool>(self, simd: S) -> f64 {
        let half_y = self.half_y;
        let stored = half_y.len();
        let factors = self.task.factors;
        let mut total = 0.0;
        for (i, row) in self.values.chunks_exact_mut(stored).enumerate() {
            let half_x = self.half_x[i];
            for (value, &half_y) in row.iter_mut().zip(half_y) {
                let arg = *value - (half_x + half_y);
                *value = if arg > T::ZERO { T::ZERO } else { arg };
            }
            let mut own = 0.0;
            if let &[factor] = factors {
                let steep = T::from_f64(1.0 / (factor * factor));
                let rate = T::from_f64(LOG2_E / (factor * factor));
                for value in row.iter_mut() {
                    *value = steep * (rate * *value).exp2_nonpositive::<FMA>();
                }
            } else {
                let (kernel, slope) = self.lines.split_at_mut(stored);
                kernel.fill(T::ZERO);
                slope.fill(T::ZERO);
                let share = T::from_f64(1.0 / factors.len() as f64);
                for factor in factors {
                    let steep = T::from_f64(1.0 / (factor * factor));
                    let rate = T::from_f64(LOG2_E / (factor * factor));
                    for j in 0..stored {
                        let e = share * (rate * row[j]).exp2_nonpositive::<FMA>();
                        kernel[j] += e;
                        slope[j] = steep.mul_add::<FMA>(e, slope[j]);
                    }
                }
                kernel[self.cols..].fill(T::ZERO);
                if self.diagonal {
                    kernel[i] = T::ZERO;
                    own = 1.0;
                }
                row.copy_from_slice(slope);
                total += lanes::sum(simd, T::ZERO, kernel).to_f64() + own;
            }
            row[self.cols..].fill(T::ZERO);
            if self.diagonal {
                row[i] = T::ZERO;
                own = 1.0;
            }
            let mass = lanes::sum(simd, T::ZERO, row);
            self.mass_x[i] += self.task.coef * mass;
            for (sum, &g) in self.mass_y.iter_mut().zip(row.iter()) {
                *sum += g;
            }
            if let &[factor] = factors {
                total += mass.to_f64() * (factor * factor) + own;
            }
        }
        total
    }
}
