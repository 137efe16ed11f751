//! Balance penalties: how differently an encoder's outputs are distributed in the two arms.

use paretau_kernels::arms::{Arms, ArmsGrad};
use paretau_kernels::discrepancy::{DiscrepancyWorkspace, linear_discrepancy, linear_mmd2};
use paretau_kernels::error::KernelError;
use paretau_kernels::mmd::{Bandwidth, MmdWorkspace, RbfMmd, median_distance};
use paretau_kernels::parallel::Parallelism;
use paretau_kernels::real::Real;
use paretau_kernels::sinkhorn::{Sinkhorn, SinkhornWorkspace, Strength};
use serde::{Deserialize, Serialize};

/// Which discrepancy between arms is penalised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Balance {
    /// None.
    None,
    /// Squared maximum mean discrepancy with a Gaussian kernel of median width.
    Rbf,
    /// Squared distance of the means.
    Linear,
    /// Spectral norm of the difference of second moments.
    LinearDiscrepancy,
    /// Entropic Wasserstein distance.
    Wasserstein,
}

/// Buffers of a balance penalty.
#[derive(Debug, Default)]
pub struct BalanceWork<T> {
    points: Vec<T>,
    grads: Vec<T>,
    distances: Vec<f64>,
    mmd: MmdWorkspace<T>,
    linear: DiscrepancyWorkspace<T>,
    sinkhorn: SinkhornWorkspace<T>,
}

/// A balance penalty with its strength.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Penalty {
    /// Which.
    pub balance: Balance,
    /// How strong.
    pub strength: f64,
    /// Width of the Gaussian kernel or strength of the entropic term; by the batch's own distances if `None`.
    pub width: Option<f64>,
}

/// Rows of each arm that decide the kernel's width. Batches are shuffled, so the first ones are as good as any.
const WIDTH_ROWS: usize = 32;

/// Where an encoder's outputs are among the columns of all encoders.
#[derive(Debug, Clone, Copy)]
pub struct Stripe {
    /// Columns of all encoders.
    pub width: usize,
    /// First column of this one.
    pub start: usize,
    /// Columns of this one.
    pub k: usize,
    /// How many rows, the first ones, are controls.
    pub n0: usize,
}

impl<T: Real> BalanceWork<T> {
    /// Adds the gradient of `strength · discrepancy` to `d_z` and returns its value.
    ///
    /// # Shapes
    /// `z`, `d_z`: rows of `stripe.width` values.
    pub fn add(
        &mut self,
        penalty: Penalty,
        (z, d_z): (&[T], &mut [T]),
        stripe: Stripe,
        parallelism: Parallelism,
    ) -> Result<f64, KernelError> {
        let Stripe { width, start, k, n0 } = stripe;
        self.points.clear();
        for row in z.chunks_exact(width) {
            self.points.extend_from_slice(&row[start..start + k]);
        }
        self.grads.clear();
        self.grads.resize(self.points.len(), T::ZERO);
        let (a, b) = self.points.split_at(n0 * k);
        let arms = Arms::new(a, b, k)?;
        let (grad_a, grad_b) = self.grads.split_at_mut(n0 * k);
        let grad = Some(ArmsGrad { a: grad_a, b: grad_b });
        let value = match penalty.balance {
            Balance::None => return Ok(0.0),
            Balance::Rbf => {
                let some = |arm: &[T]| (WIDTH_ROWS * k).min(arm.len());
                let few = Arms::new(&a[..some(a)], &b[..some(b)], k)?;
                let width = penalty.width.unwrap_or_else(|| median_distance(&few, &mut self.distances));
                let bandwidth = Bandwidth::Fixed(width);
                let mmd = RbfMmd { bandwidth, ..RbfMmd::default() };
                mmd.eval(&arms, grad, &mut self.mmd, parallelism)?.value
            }
            Balance::Linear => linear_mmd2(&arms, grad, &mut self.linear)?,
            Balance::LinearDiscrepancy => linear_discrepancy(&arms, grad, &mut self.linear, parallelism)?,
            Balance::Wasserstein => {
                let strength = penalty.width.map_or(Strength::OfMeanCost(0.1), Strength::Absolute);
                let sinkhorn = Sinkhorn { strength, ..Sinkhorn::default() };
                sinkhorn.eval(&arms, grad, &mut self.sinkhorn, parallelism)?.value
            }
        };
        let scale = T::from_f64(penalty.strength);
        for (row, grads) in d_z.chunks_exact_mut(width).zip(self.grads.chunks_exact(k)) {
            row[start..start + k].iter_mut().zip(grads).for_each(|(d, g)| *d += scale * *g);
        }
        Ok(penalty.strength * value)
    }
}
