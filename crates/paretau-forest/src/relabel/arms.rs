//! Labels for several arms: the causal forest's gradient, one entry per contrast.
//!
//! With treatment residuals z ∈ R^D, A = mean (z − z̄)(z − z̄)ᵀ and node slopes τ = A⁻¹ mean (z − z̄)(y − ȳ),
//! ρ = A⁻¹ (z − z̄)·[(y − ȳ) − τᵀ(z − z̄)]. With several contrasts the Hessian does matter, since it sets their scales.

use super::{Relabel, weight_of};
use crate::solve::{MAX_DIM, Matrix, Vector, inverse, multiply};

/// Gradient labels of several contrasts at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arms<'a> {
    /// Treatment residuals, `dim` per row.
    pub(crate) z: &'a [f64],
    /// Outcome residuals.
    pub(crate) y: &'a [f64],
    pub(crate) weight: Option<&'a [f64]>,
    /// Number of contrasts.
    pub(crate) dim: usize,
}

/// Means, slopes and inverse Hessian of a node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slopes {
    z: Vector,
    y: f64,
    tau: Vector,
    inverse: Matrix,
}

/// A row's label for every contrast.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ArmLabel {
    pub(crate) rho: Vector,
    pub(crate) z: Vector,
    pub(crate) w: f64,
}

impl Relabel for Arms<'_> {
    type Label = ArmLabel;
    type Node = Slopes;

    fn node(&self, rows: &[u32]) -> Option<Slopes> {
        let d = self.dim;
        let (mut z, mut y, mut total) = ([0.0; MAX_DIM], 0.0, 0.0);
        for &i in rows {
            let w = weight_of(self.weight, i);
            total += w;
            y += w * self.y[i as usize];
            (0..d).for_each(|k| z[k] += w * self.z[i as usize * d + k]);
        }
        if total <= 0.0 {
            return None;
        }
        y /= total;
        z.iter_mut().for_each(|v| *v /= total);
        let (mut hessian, mut moment) = ([[0.0; MAX_DIM]; MAX_DIM], [0.0; MAX_DIM]);
        for &i in rows {
            let w = weight_of(self.weight, i) / total;
            let dy = self.y[i as usize] - y;
            for a in 0..d {
                let za = self.z[i as usize * d + a] - z[a];
                moment[a] += w * za * dy;
                (0..d).for_each(|b| hessian[a][b] += w * za * (self.z[i as usize * d + b] - z[b]));
            }
        }
        let inverse = inverse(&hessian, d)?;
        Some(Slopes { z, y, tau: multiply(&inverse, &moment, d), inverse })
    }

    #[inline]
    fn label(&self, node: &Slopes, row: u32) -> ArmLabel {
        let d = self.dim;
        let mut z = [0.0; MAX_DIM];
        let mut residual = self.y[row as usize] - node.y;
        for k in 0..d {
            z[k] = self.z[row as usize * d + k] - node.z[k];
            residual -= node.tau[k] * z[k];
        }
        let mut rho = multiply(&node.inverse, &z, d);
        rho.iter_mut().for_each(|v| *v *= residual);
        ArmLabel { rho, z, w: weight_of(self.weight, row) }
    }
}
