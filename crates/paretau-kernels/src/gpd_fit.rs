//! Two fits of a generalised Pareto distribution to excesses over a threshold.
//!
//! Probability weighted moments (Hosking and Wallis 1987) are smooth in the data and drive the smoother; the empirical
//! Bayes fit of Zhang and Stephens (2009) with the settings of `loo` and ArviZ gives the k-hat that users compare.

use crate::error::{KernelError, check_finite};
use crate::fallback::{FallBack, MAX_SHAPE, MIN_SHAPE};

/// A fitted scale and shape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GpdFit {
    /// Scale.
    pub sigma: f64,
    /// Shape; positive for heavy tails.
    pub xi: f64,
}

/// The two probability weighted moments of a tail, of order 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    /// `a0 = 1/M Σ x_j`.
    pub a0: f64,
    /// `a1 = 1/M Σ (M-j)/(M-1) x_j`. The paper's α̂1 lacks the factor 1/(M-1).
    pub a1: f64,
}

impl Moments {
    /// Moments of excesses sorted ascending. O(M).
    ///
    /// # Errors
    /// Fewer than two excesses, non-finite entries.
    pub fn of_sorted(x: &[f64]) -> Result<Self, KernelError> {
        let m = x.len();
        if m < 2 {
            return Err(KernelError::Length { what: "x", expected: 2, found: m });
        }
        check_finite("x", x)?;
        let (mut s0, mut s1) = (0.0, 0.0);
        for (j, &v) in x.iter().enumerate() {
            s0 += v;
            s1 += (m - 1 - j) as f64 / (m - 1) as f64 * v;
        }
        Ok(Self { a0: s0 / m as f64, a1: s1 / m as f64 })
    }

    /// `sigma = 2 a0 a1/(a0 - 2 a1)`, `xi = 2 - a0/(a0 - 2 a1)`; the reason when these say nothing.
    ///
    /// With `keep_negative_scale` a negative scale is returned with its sign for the caller to deal with, and shapes of 1 and
    /// more, which go with it, pass too.
    ///
    /// # Errors
    /// The [`FallBack`] reason: equal excesses, a scale that is not positive, a shape out of range, overflow.
    pub fn solve(&self, keep_negative_scale: bool) -> Result<GpdFit, FallBack> {
        let Self { a0, a1 } = *self;
        let gap = a0 - 2.0 * a1;
        if !(a0.is_finite() && a1.is_finite()) {
            return Err(FallBack::NonFinite);
        }
        if gap.abs() <= 1e-12 * a0.abs() {
            return Err(FallBack::AllEqual);
        }
        let sigma = 2.0 * a0 * (a1 / gap);
        let xi = 2.0 - a0 / gap;
        if !(sigma.is_finite() && xi.is_finite()) {
            return Err(FallBack::NonFinite);
        }
        if sigma == 0.0 || (sigma < 0.0 && !keep_negative_scale) {
            return Err(FallBack::NonPositiveScale { sigma });
        }
        // Moments in their proper order, 0 < 2 a1 < a0, give a shape below 1. Soft ones may both be negative, and their
        // quotients then look like a scale although they say nothing.
        if xi < MIN_SHAPE || (xi >= MAX_SHAPE && !keep_negative_scale) {
            return Err(FallBack::ExtremeShape { xi });
        }
        Ok(GpdFit { sigma, xi })
    }

    /// Derivatives of loss with respect to `(a0, a1)` from those with respect to `(sigma, xi)`.
    pub(crate) fn solve_vjp(&self, g_sigma: f64, g_xi: f64) -> (f64, f64) {
        let gap = self.a0 - 2.0 * self.a1;
        // Ratios first: squares of large moments would overflow.
        let (b0, b1) = (self.a0 / gap, self.a1 / gap);
        (-4.0 * b1 * b1 * g_sigma + 2.0 * b1 / gap * g_xi, 2.0 * b0 * b0 * g_sigma - 2.0 * b0 / gap * g_xi)
    }
}

/// Fits by probability weighted moments. `x` are excesses over the threshold, ascending. O(M).
///
/// # Errors
/// As [`Moments::of_sorted`]; the inner result holds the reason when the moments say nothing.
pub fn fit_pwm(x: &[f64]) -> Result<Result<GpdFit, FallBack>, KernelError> {
    Ok(Moments::of_sorted(x)?.solve(false))
}

/// Reusable buffers of the Zhang-Stephens fit.
#[derive(Debug, Clone, Default)]
pub struct ZhangStephens {
    b: Vec<f64>,
    log_posterior: Vec<f64>,
}

impl ZhangStephens {
    /// Fits positive excesses sorted ascending by the empirical Bayes method of Zhang and Stephens (2009), with the
    /// constants of `loo` and ArviZ: a grid of `30 + floor(sqrt n)` values of `b = -xi/sigma` anchored at the first
    /// quartile with prior 3, and the shape shrunk to `(n xi + 5)/(n + 10)`.
    ///
    /// Returns an infinite shape (and scale) when the likelihood cannot be evaluated, as these packages do.
    ///
    /// # Cost
    /// O(n sqrt n) time, O(sqrt n) memory, kept between calls.
    ///
    /// # Errors
    /// Empty or non-finite `x`.
    pub fn fit(&mut self, x: &[f64]) -> Result<GpdFit, KernelError> {
        const PRIOR_BS: f64 = 3.0;
        const PRIOR_K: f64 = 10.0;
        let n = x.len();
        if n == 0 {
            return Err(KernelError::Empty { what: "x" });
        }
        check_finite("x", x)?;
        let failed = GpdFit { sigma: f64::INFINITY, xi: f64::INFINITY };
        let nf = n as f64;
        let quartile = x[((nf / 4.0 + 0.5) as usize).max(1) - 1];
        let largest = x[n - 1];
        if !(quartile > 0.0 && largest > 0.0) {
            return Ok(failed);
        }
        let grid = 30 + nf.sqrt() as usize;
        let shape_at = |b: f64| x.iter().map(|&v| (-b * v).ln_1p()).sum::<f64>() / nf;
        self.b.clear();
        self.log_posterior.clear();
        for i in 1..=grid {
            let b = (1.0 - (grid as f64 / (i as f64 - 0.5)).sqrt()) / (PRIOR_BS * quartile) + 1.0 / largest;
            let k = shape_at(b);
            self.b.push(b);
            self.log_posterior.push(nf * ((-b / k).ln() - k - 1.0));
        }
        let peak = self.log_posterior.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = self.log_posterior.iter().map(|l| (l - peak).exp()).sum();
        let (mut sum, mut weighted) = (0.0, 0.0);
        for (&b, &l) in self.b.iter().zip(&self.log_posterior) {
            let weight = (l - peak).exp() / total;
            if weight >= 10.0 * f64::EPSILON {
                sum += weight;
                weighted += weight * b;
            }
        }
        let b = weighted / sum;
        let k = shape_at(b);
        let sigma = -k / b;
        let xi = (nf * k + PRIOR_K * 0.5) / (nf + PRIOR_K);
        if total.is_finite() && sigma.is_finite() && xi.is_finite() { Ok(GpdFit { sigma, xi }) } else { Ok(failed) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::gpd::Gpd;
    use rand::{RngExt, SeedableRng};

    fn sample(n: usize, sigma: f64, xi: f64, seed: u64) -> Vec<f64> {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
        let gpd = Gpd::new(0.0, sigma, xi).unwrap();
        let mut x: Vec<f64> = (0..n).map(|_| gpd.quantile(rng.random::<f64>()).unwrap()).collect();
        x.sort_unstable_by(f64::total_cmp);
        x
    }

    #[test]
    fn pwm_recovers_scale_and_shape() {
        // The variance of the moments is infinite from xi = 1/2 on, so the last one needs room.
        for (xi, tolerance) in [(-0.3, 0.01), (0.0, 0.01), (0.3, 0.02), (0.7, 0.05)] {
            let fit = fit_pwm(&sample(200_000, 2.0, xi, 3)).unwrap().unwrap();
            assert!((fit.xi - xi).abs() < tolerance, "{xi}: {fit:?}");
            assert!((fit.sigma - 2.0).abs() < 4.0 * tolerance, "{xi}: {fit:?}");
        }
    }

    #[test]
    fn without_the_factor_of_the_paper_the_fit_fails() {
        // The published α̂1 sums (M-j) x_j without 1/(M-1): the scale comes out negative, the shape near 2.
        let x = sample(1000, 1.0, 0.3, 4);
        let m = Moments::of_sorted(&x).unwrap();
        let literal = Moments { a1: m.a1 * 999.0, ..m };
        assert!(matches!(literal.solve(false), Err(FallBack::NonPositiveScale { .. })));
        let kept = literal.solve(true).unwrap();
        assert!(kept.sigma < 0.0 && (kept.xi - 2.0).abs() < 0.01, "{kept:?}");
    }

    #[test]
    fn exponential_moments_give_shape_zero() {
        let fit = Moments { a0: 3.0, a1: 0.75 }.solve(false).unwrap();
        assert_eq!((fit.sigma, fit.xi), (3.0, 0.0));
    }

    #[test]
    fn zhang_stephens_recovers_the_shape() {
        let mut zs = ZhangStephens::default();
        for xi in [-0.3, 0.0, 0.3, 0.7] {
            let fit = zs.fit(&sample(20_000, 2.0, xi, 5)).unwrap();
            assert!((fit.xi - xi).abs() < 0.03, "{xi}: {fit:?}");
        }
    }

    #[test]
    fn solve_vjp_matches_central_differences() {
        let m = Moments { a0: 2.0, a1: 0.4 };
        let h = 1e-6;
        for (gs, gx) in [(1.0, 0.0), (0.0, 1.0), (0.7, -1.3)] {
            let f = |a0: f64, a1: f64| {
                let fit = Moments { a0, a1 }.solve(false).unwrap();
                gs * fit.sigma + gx * fit.xi
            };
            let (d0, d1) = m.solve_vjp(gs, gx);
            assert!((d0 - (f(m.a0 + h, m.a1) - f(m.a0 - h, m.a1)) / (2.0 * h)).abs() < 1e-7);
            assert!((d1 - (f(m.a0, m.a1 + h) - f(m.a0, m.a1 - h)) / (2.0 * h)).abs() < 1e-7);
        }
    }

    #[test]
    fn degenerate_tails_have_reasons() {
        assert_eq!(fit_pwm(&[2.0; 8]).unwrap(), Err(FallBack::AllEqual));
        assert_eq!(fit_pwm(&[0.0; 8]).unwrap(), Err(FallBack::AllEqual));
        assert!(matches!(fit_pwm(&[10.0, 10.0, 10.0, 10.0, 10.3]).unwrap(), Err(FallBack::ExtremeShape { .. })));
        assert!(matches!(fit_pwm(&[1.0]), Err(KernelError::Length { .. })));
        assert!(matches!(fit_pwm(&[1.0, f64::NAN]), Err(KernelError::NonFinite { index: 1, .. })));
        let mut zs = ZhangStephens::default();
        assert_eq!(zs.fit(&[0.0; 9]).unwrap().xi, f64::INFINITY);
        assert!(matches!(zs.fit(&[]), Err(KernelError::Empty { .. })));
    }
}
