//! Entropic optimal transport between two samples (Sinkhorn-Wasserstein), value and gradient, in the log domain.
//!
//! With uniform weights `α_i = 1/n0`, `β_j = 1/n1`, a cost `C_ij` and a strength `ε`, the value is
//! ```text
//! OT_ε = min_P <P, C> + ε KL(P | α βᵀ)  =  max_{f,g} mean(f) + mean(g) - ε (Σ_ij P_ij - 1)
//! P_ij = α_i β_j exp((f_i + g_j - C_ij) / ε)
//! ```
//! over couplings `P` of the two samples (Cuturi 2013; Feydy et al. 2019). It is reached by turns
//! `f_i = -ε log Σ_j β_j exp((g_j - C_ij)/ε)` and the same for `g`. It tends to the Wasserstein cost as `ε → 0` and is above
//! it otherwise, by at most `ε log min(n0, n1)`.
//!
//! The gradient is that of this value (not of `<P, C>` alone): by the envelope theorem `Σ_ij P_ij ∂C_ij`, with `ε`
//! constant. It is exact once the turns have converged and off by about the marginal error otherwise.
//!
//! Costs are recomputed in tiles whenever they are needed; no matrix of all pairs is stored.

mod tile;

use std::f64::consts::LOG2_E;

use crate::arms::{Arms, ArmsGrad, column_means};
use crate::error::KernelError;
use crate::parallel::{Parallelism, ScratchPool};
use crate::real::Real;
use tile::{Scratch, Side, TILE_ROWS};

/// What it costs to move a point from `x` to `y`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cost {
    /// `|x - y|`: the value approximates the 1-Wasserstein distance. Where points coincide its gradient counts as zero.
    #[default]
    Euclidean,
    /// `|x - y|²`: the value approximates the squared 2-Wasserstein distance.
    SquaredEuclidean,
}

/// The strength `ε` of the entropic term.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Strength {
    /// A multiple of the mean cost. A constant for the gradient, although the mean cost depends on the points.
    OfMeanCost(f64),
    /// In the units of the cost.
    Absolute(f64),
}

/// Which value to compute, and how long to try.
///
/// | field | default | purpose |
/// |---|---|---|
/// | `cost` | `Euclidean` | cost of moving a point |
/// | `strength` | `OfMeanCost(0.1)` | `ε`; positive. Smaller is closer to Wasserstein and needs more turns |
/// | `tolerance` | `1e-3` | stop once the marginals of `P` are off by no more (total absolute difference) |
/// | `max_iterations` | 100 | stop then at the latest; at least 1 |
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sinkhorn {
    /// Cost of moving a point.
    pub cost: Cost,
    /// Strength of the entropic term.
    pub strength: Strength,
    /// Largest marginal error to stop at.
    pub tolerance: f64,
    /// Largest number of turns.
    pub max_iterations: usize,
}

impl Default for Sinkhorn {
    fn default() -> Self {
        Self { cost: Cost::Euclidean, strength: Strength::OfMeanCost(0.1), tolerance: 1e-3, max_iterations: 100 }
    }
}

/// What [`Sinkhorn::eval`] found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SinkhornValue {
    /// `OT_ε`.
    pub value: f64,
    /// The `ε` that was used; zero if all points coincide.
    pub epsilon: f64,
    /// Turns that were taken.
    pub iterations: usize,
    /// `Σ_i |Σ_j P_ij - α_i|` before the last half turn, which sets it to zero: an upper bound for what is left.
    pub marginal_error: f64,
}

/// Memory that [`Sinkhorn::eval`] keeps between calls: about `(n0 + n1) (k + 5)` values and one tile per thread.
#[derive(Debug, Default)]
pub struct SinkhornWorkspace<T> {
    a: Side<T>,
    b: Side<T>,
    mean: Vec<f64>,
    mean_b: Vec<f64>,
    /// New potentials, or sums, one per row.
    rows: Vec<f64>,
    scratch: ScratchPool<Scratch<T>>,
}

impl<T: Real> SinkhornWorkspace<T> {
    /// An empty workspace; it grows at the first call.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Sinkhorn {
    /// `OT_ε` between the arms and, if asked for, its gradient with respect to every point, which overwrites `grad`.
    ///
    /// # Cost
    /// `n0 n1 (k + c)` per half turn, twice that for the gradient. Same bits for every number of threads.
    ///
    /// # Errors
    /// A strength that is not positive and finite, a negative tolerance, no iterations, a gradient of the wrong shape, or
    /// costs outside the range of floats.
    pub fn eval<T: Real>(
        &self,
        arms: &Arms<'_, T>,
        grad: Option<ArmsGrad<'_, T>>,
        workspace: &mut SinkhornWorkspace<T>,
        parallelism: Parallelism,
    ) -> Result<SinkhornValue, KernelError> {
        self.check(arms, grad.as_ref())?;
        let SinkhornWorkspace { a, b, mean, mean_b, rows, scratch } = workspace;
        let k = arms.k();
        mean.resize(k, 0.0);
        mean_b.resize(k, 0.0);
        column_means(arms.a(), k, mean);
        column_means(arms.b(), k, mean_b);
        for (m, b) in mean.iter_mut().zip(mean_b.iter()) {
            *m = 0.5 * *m + 0.5 * b;
        }
        a.load(arms.a(), mean);
        b.load(arms.b(), mean);

        let mean_cost = {
            rows.resize(a.len(), 0.0);
            parallelism.for_each_chunk(rows, TILE_ROWS, |tile, out| {
                scratch.with(|s| tile::sum_costs(a, b, tile * TILE_ROWS, out, self.cost, s));
            });
            rows.iter().sum::<f64>() / (a.len() as f64 * b.len() as f64)
        };
        let epsilon = match self.strength {
            Strength::Absolute(epsilon) => epsilon,
            Strength::OfMeanCost(share) => share * mean_cost,
        };
        let rate = LOG2_E / epsilon;
        if mean_cost == 0.0 {
            if let Some(grad) = grad {
                grad.a.fill(T::ZERO);
                grad.b.fill(T::ZERO);
            }
            return Ok(SinkhornValue { value: 0.0, epsilon: 0.0, iterations: 0, marginal_error: 0.0 });
        }
        if !T::from_f64(mean_cost * rate).is_finite() || !T::from_f64(rate).is_finite() || rate <= 0.0 {
            return Err(KernelError::NonFinite { what: "mean cost over ε", index: 0, value: mean_cost * rate });
        }

        let half_turn = |own: &mut Side<T>, other: &mut Side<T>, rows: &mut Vec<f64>| {
            other.scale(rate);
            rows.resize(own.len(), 0.0);
            let (own_side, other) = (&*own, &*other);
            parallelism.for_each_chunk(rows, TILE_ROWS, |tile, out| {
                let first = tile * TILE_ROWS;
                scratch.with(|s| {
                    tile::soft_minimum(own_side, other, first, out, (self.cost, rate), s);
                });
            });
            own.replace_potential(rows, rate)
        };
        let (mut iterations, mut marginal_error) = (0, f64::INFINITY);
        while iterations < self.max_iterations {
            if iterations > 0 {
                half_turn(b, a, rows);
            }
            let error = half_turn(a, b, rows);
            if iterations > 0 {
                marginal_error = error;
            }
            iterations += 1;
            if marginal_error <= self.tolerance {
                break;
            }
        }
        let value = a.mean_potential() + b.mean_potential();
        if !value.is_finite() {
            return Err(KernelError::NonFinite { what: "Sinkhorn value", index: 0, value });
        }
        if let Some(grad) = grad {
            a.scale(rate);
            b.scale(rate);
            for (own, other, out) in [(&*a, &*b, grad.a), (&*b, &*a, grad.b)] {
                parallelism.for_each_chunk(out, TILE_ROWS * k, |tile, out| {
                    let first = tile * TILE_ROWS;
                    scratch.with(|s| tile::pull(own, other, first, out, (self.cost, rate), s));
                });
            }
        }
        Ok(SinkhornValue { value, epsilon, iterations, marginal_error })
    }

    fn check<T: Real>(&self, arms: &Arms<'_, T>, grad: Option<&ArmsGrad<'_, T>>) -> Result<(), KernelError> {
        let wrong = |what, value, range| Err(KernelError::Parameter { name: what, value, expected: range });
        let (Strength::OfMeanCost(strength) | Strength::Absolute(strength)) = self.strength;
        if !(strength > 0.0 && strength.is_finite()) {
            return wrong("strength", strength, "the positive finite numbers");
        }
        if self.tolerance.is_nan() || self.tolerance < 0.0 {
            return wrong("tolerance", self.tolerance, "0 or more");
        }
        if self.max_iterations == 0 {
            return wrong("max_iterations", 0.0, "1 or more");
        }
        grad.map_or(Ok(()), |grad| arms.check_grad(grad))
    }
}

#[cfg(test)]
mod tests;
