//! Maximum mean discrepancy with a Gaussian kernel, value and gradient, without a matrix of all pairs.
//!
//! ```text
//! MMD²(a, b) = mean_{i,i'} k(a_i, a_i') + mean_{j,j'} k(b_j, b_j') - 2 mean_{i,j} k(a_i, b_j)
//! k(x, y)    = mean_s exp(-|x - y|² / (2 (f_s σ)²))
//! ```
//! (Gretton et al., 2012, eq. 3 and 5). The linear kernel has a closed form and lives in [`crate::discrepancy`].
//!
//! Rows are cut into tiles and all pairs of tiles meet once: the kernel is symmetric, so one visit serves both. Few
//! columns go through differences in registers, many through matrix products of tiles. Rows are centred and divided by σ
//! first, which keeps the cancellation in `|x|² + |y|² - 2 x·y` small beside the kernel's own width.

mod bandwidth;
mod direct;
mod tile;
mod tiled;

use crate::arms::{Arms, ArmsGrad, column_means};
use crate::error::KernelError;
use crate::parallel::{Parallelism, ScratchPool};
use crate::real::Real;
use tile::{Tile, for_each_pair, lay_out, tile_rows};

pub use bandwidth::{MEDIAN_ROWS, median_distance};

/// The width σ of the Gaussian kernel `exp(-d² / (2 σ²))`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Bandwidth {
    /// The median distance between rows of both arms ([`median_distance`]). A constant for the gradient.
    #[default]
    Median,
    /// A given σ, in the units of the points.
    Fixed(f64),
}

/// Which pairs count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Estimator {
    /// All pairs within an arm, a row with itself too (V-statistic): never negative.
    #[default]
    Biased,
    /// Only pairs of different rows (U-statistic): right on average, may be negative. Needs two rows in each arm.
    Unbiased,
}

/// A single width.
pub const ONE_SCALE: &[f64] = &[1.0];
/// Five widths over a factor of sixteen, for when no single one is known to fit.
pub const FIVE_SCALES: &[f64] = &[0.25, 0.5, 1.0, 2.0, 4.0];

/// Which statistic to compute.
///
/// | field | default | purpose |
/// |---|---|---|
/// | `bandwidth` | `Median` | the width σ |
/// | `factors` | [`ONE_SCALE`] | the kernel is the mean over these multiples of σ; finite and positive |
/// | `estimator` | `Biased` | whether a row meets itself |
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RbfMmd<'a> {
    /// The width σ.
    pub bandwidth: Bandwidth,
    /// Multiples of σ that the kernel averages over.
    pub factors: &'a [f64],
    /// Which pairs count.
    pub estimator: Estimator,
}

impl Default for RbfMmd<'_> {
    fn default() -> Self {
        Self { bandwidth: Bandwidth::Median, factors: ONE_SCALE, estimator: Estimator::Biased }
    }
}

/// What [`RbfMmd::eval`] found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MmdValue {
    /// The statistic MMD².
    pub value: f64,
    /// The σ that was used.
    pub bandwidth: f64,
}

/// Memory that [`RbfMmd::eval`] keeps between calls: about `3 (n0 + n1) k` values and one tile of kernel values
/// (at most 256 × 256) per thread.
#[derive(Debug, Default)]
pub struct MmdWorkspace<T> {
    tiles: Vec<Tile<T>>,
    scratch: ScratchPool<tiled::Scratch<T>>,
    mean: Vec<f64>,
    mean_b: Vec<f64>,
    distances: Vec<f64>,
}

impl<T: Real> MmdWorkspace<T> {
    /// An empty workspace; it grows at the first call.
    pub fn new() -> Self {
        Self::default()
    }
}

/// Points further out than this many bandwidths are refused: their squares leave the range of `f32`.
const FARTHEST: f64 = 1e15;

impl RbfMmd<'_> {
    /// MMD² between the arms and, if asked for, its gradient with respect to every point.
    ///
    /// ```text
    /// ∂MMD²/∂a_i = -2 Σ_j c_ij mean_s k_s(a_i, z_j) / (f_s σ)² (a_i - z_j),   z = (a; b), σ constant
    /// ```
    /// with `c = 1/n0²` within the arm (`1/(n0 (n0-1))` if unbiased) and `-1/(n0 n1)` across; likewise for `b`.
    /// The gradient overwrites `grad`. The result has the same bits for every number of threads.
    ///
    /// # Cost
    /// `(n0 + n1)²/2` kernel values; with many columns `1.5 (n0 + n1)² k` multiply-adds (a third of it without gradient).
    ///
    /// # Errors
    /// A bandwidth or factor that is not positive and finite, no factors, a gradient of the wrong shape, one row
    /// in an arm with the unbiased estimator, or points more than 1e15 bandwidths from their mean.
    pub fn eval<T: Real>(
        &self,
        arms: &Arms<'_, T>,
        grad: Option<ArmsGrad<'_, T>>,
        workspace: &mut MmdWorkspace<T>,
        parallelism: Parallelism,
    ) -> Result<MmdValue, KernelError> {
        self.check(arms, grad.as_ref())?;
        let sigma = match self.bandwidth {
            Bandwidth::Fixed(sigma) => sigma,
            Bandwidth::Median => median_distance(arms, &mut workspace.distances),
        };
        let (n0, n1, k) = (arms.n0(), arms.n1(), arms.k());
        let path = if k <= direct::MAX_COLUMNS { Path::Direct } else { Path::Tiled };
        lay_out(&mut workspace.tiles, (n0, n1), tile_rows(n0 + n1));
        load(workspace, arms, sigma, path, parallelism)?;

        let coefs = self.coefficients(n0, n1);
        let coef = |x: &Tile<T>, y: &Tile<T>| match (x.second, y.second) {
            (false, false) => coefs[0],
            (true, true) => coefs[1],
            _ => coefs[2],
        };
        let mut tiles = std::mem::take(&mut workspace.tiles);
        let meet = |x: &mut Tile<T>, y: Option<&mut Tile<T>>| {
            let coef = coef(x, y.as_deref().unwrap_or(x));
            let (share, times, own) = match y {
                Some(_) => (coef, 2.0, 0.0),
                // Without the pairs of a row with itself, which count one each.
                None if self.estimator == Estimator::Unbiased => (coef, 1.0, x.len as f64),
                None => (coef, 1.0, 0.0),
            };
            let sum = workspace.scratch.with(|scratch| match path {
                Path::Direct => {
                    let lines = &mut scratch.values;
                    Ok(direct::pair(x, y, self.factors, T::from_f64(share), lines, k))
                }
                Path::Tiled => {
                    let task =
                        tiled::Task { factors: self.factors, coef: T::from_f64(share), k, with_grad: grad.is_some() };
                    tiled::pair(x, y, task, scratch)
                }
            });
            // A tile that does not fit its own shape cannot occur; NaN would be reported below.
            x.value += times * coef * (sum.unwrap_or(f64::NAN) - own);
        };
        parallelism.for_each_mut(&mut tiles, |_, tile| meet(tile, None));
        for_each_pair(&mut tiles, parallelism, |x, y| meet(x, Some(y)));
        workspace.tiles = tiles;

        let value: f64 = workspace.tiles.iter().map(|t| t.value).sum();
        if !value.is_finite() {
            return Err(KernelError::NonFinite { what: "MMD²", index: 0, value });
        }
        if let Some(grad) = grad {
            store(&workspace.tiles, grad, sigma, path, k);
        }
        Ok(MmdValue { value, bandwidth: sigma })
    }

    fn check<T: Real>(&self, arms: &Arms<'_, T>, grad: Option<&ArmsGrad<'_, T>>) -> Result<(), KernelError> {
        let positive = |what, value: f64| {
            if value.is_finite() && value > 0.0 {
                return Ok(());
            }
            let range = "the positive finite numbers";
            Err(KernelError::Parameter { name: what, value, expected: range })
        };
        if let Bandwidth::Fixed(sigma) = self.bandwidth {
            positive("bandwidth", sigma)?;
            positive("inverse bandwidth", T::from_f64(2.0 / sigma).to_f64())?;
        }
        if self.factors.is_empty() {
            return Err(KernelError::Empty { what: "factors" });
        }
        for &factor in self.factors {
            positive("bandwidth factor", factor)?;
            // Kernel values and slopes are formed in the type of the points.
            positive("squared bandwidth factor", T::from_f64(factor * factor).to_f64())?;
            positive("inverse squared bandwidth factor", T::from_f64(1.0 / (factor * factor)).to_f64())?;
        }
        if self.estimator == Estimator::Unbiased {
            let fewest = arms.n0().min(arms.n1());
            if fewest < 2 {
                return Err(KernelError::Parameter {
                    name: "rows of an arm",
                    value: fewest as f64,
                    expected: "2 or more, for the unbiased estimator",
                });
            }
        }
        grad.map_or(Ok(()), |grad| arms.check_grad(grad))
    }

    /// What a pair of rows counts: both in `a`, both in `b`, one in each.
    fn coefficients(&self, n0: usize, n1: usize) -> [f64; 3] {
        let (n0, n1) = (n0 as f64, n1 as f64);
        let own = |n: f64| match self.estimator {
            Estimator::Biased => 1.0 / (n * n),
            Estimator::Unbiased => 1.0 / (n * (n - 1.0)),
        };
        [own(n0), own(n1), -1.0 / (n0 * n1)]
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Path {
    Direct,
    Tiled,
}

/// Fills the tiles with the rows, centred on the mean of the two arms' means and in units of `sigma`.
fn load<T: Real>(
    workspace: &mut MmdWorkspace<T>,
    arms: &Arms<'_, T>,
    sigma: f64,
    path: Path,
    parallelism: Parallelism,
) -> Result<(), KernelError> {
    let k = arms.k();
    let (mean, mean_b) = (&mut workspace.mean, &mut workspace.mean_b);
    mean.resize(k, 0.0);
    mean_b.resize(k, 0.0);
    column_means(arms.a(), k, mean);
    column_means(arms.b(), k, mean_b);
    for (m, b) in mean.iter_mut().zip(mean_b.iter()) {
        *m = 0.5 * *m + 0.5 * b;
    }
    let mean = &workspace.mean[..];
    let scale = 1.0 / sigma;
    parallelism.for_each_mut(&mut workspace.tiles, |_, tile| {
        let arm = if tile.second { arms.b() } else { arms.a() };
        let rows = arm[tile.start * k..(tile.start + tile.len) * k].chunks_exact(k);
        let stored = match path {
            Path::Direct => direct::stored_len(tile.len, k),
            Path::Tiled => tiled::stored_rows(tile.len) * k,
        };
        for memory in [&mut tile.z, &mut tile.acc] {
            memory.clear();
            memory.resize(stored, T::ZERO);
        }
        for memory in [&mut tile.half, &mut tile.mass] {
            memory.clear();
            memory.resize(tiled::stored_rows(tile.len), T::ZERO);
        }
        let mut farthest = 0.0_f64;
        for (i, row) in rows.enumerate() {
            let mut square = 0.0;
            for (c, (x, m)) in row.iter().zip(mean).enumerate() {
                let z = (x.to_f64() - m) * scale;
                farthest = farthest.max(z.abs());
                let z = T::from_f64(z);
                square += z.to_f64() * z.to_f64();
                let at = match path {
                    Path::Direct => direct::position(i, c, tile.len),
                    Path::Tiled => i * k + c,
                };
                tile.z[at] = z;
            }
            tile.half[i] = T::from_f64(0.5 * square);
        }
        tile.value = if farthest <= FARTHEST { 0.0 } else { f64::INFINITY };
    });
    if workspace.tiles.iter().all(|t| t.value == 0.0) {
        return Ok(());
    }
    Err(KernelError::Parameter {
        name: "a point's distance from the mean, in bandwidths",
        value: f64::INFINITY,
        expected: "up to 1e15",
    })
}

/// Turns what the tiles accumulated into the gradient.
fn store<T: Real>(tiles: &[Tile<T>], grad: ArmsGrad<'_, T>, sigma: f64, path: Path, k: usize) {
    let scale = T::from_f64(-2.0 / sigma);
    let ArmsGrad { a, b } = grad;
    for tile in tiles {
        let arm = if tile.second { &mut *b } else { &mut *a };
        let rows = &mut arm[tile.start * k..(tile.start + tile.len) * k];
        for (i, row) in rows.chunks_exact_mut(k).enumerate() {
            for (c, out) in row.iter_mut().enumerate() {
                *out = scale
                    * match path {
                        Path::Direct => tile.acc[direct::position(i, c, tile.len)],
                        Path::Tiled => tile.z[i * k + c] * tile.mass[i] - tile.acc[i * k + c],
                    };
            }
        }
    }
}

#[cfg(test)]
mod tests;
