//! The moments of which an effect is made: means of y, z, zy and zzᵀ.

use super::LeafRule;
use crate::relabel::weight_of;

/// Where the residuals of a row stand: treatment (one or several) and outcome.
pub(crate) trait Residual: Sync {
    /// Number of contrasts.
    fn dim(&self) -> usize;
    /// Outcome residual.
    fn y(&self, row: u32) -> f64;
    /// Treatment residual of a contrast.
    fn z(&self, row: u32, contrast: usize) -> f64;
}

impl Residual for &[[f64; 2]] {
    fn dim(&self) -> usize {
        1
    }

    #[inline(always)]
    fn y(&self, row: u32) -> f64 {
        self[row as usize][1]
    }

    #[inline(always)]
    fn z(&self, row: u32, _: usize) -> f64 {
        self[row as usize][0]
    }
}

impl Residual for crate::relabel::Arms<'_> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn y(&self, row: u32) -> f64 {
        self.y[row as usize]
    }

    fn z(&self, row: u32, contrast: usize) -> f64 {
        self.z[row as usize * self.dim + contrast]
    }
}

/// Keeps weighted means of y, z (`dim`), zy (`dim`) and zz (upper triangle by rows).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moments<'a, R> {
    pub(crate) residual: R,
    pub(crate) weight: Option<&'a [f64]>,
}

/// Numbers kept for `dim` contrasts.
pub(crate) const fn width(dim: usize) -> usize {
    1 + 2 * dim + dim * (dim + 1) / 2
}

impl<R: Residual> LeafRule for Moments<'_, R> {
    fn width(&self) -> usize {
        width(self.residual.dim())
    }

    fn summarise(&self, rows: &[u32], out: &mut Vec<f32>) -> bool {
        let d = self.residual.dim();
        let mut sums = [0.0; width(crate::solve::MAX_DIM)];
        let mut total = 0.0;
        for &i in rows {
            let (w, y) = (weight_of(self.weight, i), self.residual.y(i));
            total += w;
            sums[0] += w * y;
            let mut at = 1 + 2 * d;
            for a in 0..d {
                let wz = w * self.residual.z(i, a);
                sums[1 + a] += wz;
                sums[1 + d + a] += wz * y;
                for b in a..d {
                    sums[at] += wz * self.residual.z(i, b);
                    at += 1;
                }
            }
        }
        if total > 0.0 {
            out.extend(sums[..width(d)].iter().map(|s| (s / total) as f32));
        }
        total > 0.0
    }
}
