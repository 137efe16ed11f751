//! The generalised Pareto distribution: quantile and distribution function with all derivatives, smooth through `xi = 0`.

use crate::error::{KernelError, check_parameter};

/// Below this size of `u` the difference quotients are summed as series; above, cancellation costs less than 1e-13.
const SERIES_BELOW: f64 = 0.3;

/// A value with its derivatives with respect to the argument and the parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Derivatives {
    /// The value.
    pub value: f64,
    /// Derivative with respect to the probability (quantile) or the point (distribution function).
    pub d_arg: f64,
    /// Derivative with respect to the scale.
    pub d_sigma: f64,
    /// Derivative with respect to the shape.
    pub d_xi: f64,
}

/// A generalised Pareto distribution with location `mu`, scale `sigma` and shape `xi`:
/// `F(x) = 1 - (1 + xi (x-mu)/sigma)^(-1/xi)` for `x >= mu`, exponential at `xi = 0`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gpd {
    mu: f64,
    sigma: f64,
    xi: f64,
}

impl Gpd {
    /// Checks the parameters: all finite, `sigma > 0`.
    pub fn new(mu: f64, sigma: f64, xi: f64) -> Result<Self, KernelError> {
        check_parameter("mu", mu, "a finite number", |_| true)?;
        check_parameter("sigma", sigma, "a positive number", |s| s > 0.0)?;
        check_parameter("xi", xi, "a finite number", |_| true)?;
        Ok(Self { mu, sigma, xi })
    }

    /// Location.
    pub fn mu(&self) -> f64 {
        self.mu
    }

    /// Scale.
    pub fn sigma(&self) -> f64 {
        self.sigma
    }

    /// Shape.
    pub fn xi(&self) -> f64 {
        self.xi
    }

    /// The quantile `mu + sigma/xi ((1-p)^(-xi) - 1)`, `mu - sigma log(1-p)` at `xi = 0`. O(1).
    ///
    /// # Errors
    /// `p` outside `[0, 1]`; an infinite quantile (`p = 1` with `xi >= 0`, or overflow).
    pub fn quantile(&self, p: f64) -> Result<f64, KernelError> {
        check_parameter("p", p, "a number in [0, 1]", |p| (0.0..=1.0).contains(&p))?;
        finite(self.quantile_at(p))
    }

    /// [`quantile`](Self::quantile) with its derivatives (that with respect to `mu` is 1). O(1).
    ///
    /// # Errors
    /// As [`quantile`](Self::quantile), also when a derivative is infinite.
    pub fn quantile_with_derivatives(&self, p: f64) -> Result<Derivatives, KernelError> {
        check_parameter("p", p, "a number in [0, 1)", |p| (0.0..1.0).contains(&p))?;
        let q = self.quantile_derivatives_at(p);
        for v in [q.value, q.d_arg, q.d_sigma, q.d_xi] {
            finite(v)?;
        }
        Ok(q)
    }

    /// The distribution function `F(x)`. O(1).
    ///
    /// # Errors
    /// Non-finite `x`.
    pub fn cdf(&self, x: f64) -> Result<f64, KernelError> {
        Ok(self.cdf_with_derivatives(x)?.value)
    }

    /// [`cdf`](Self::cdf) with its derivatives (`d_arg` is the density; that with respect to `mu` is minus the density).
    /// Outside the support the derivatives are 0. O(1).
    ///
    /// # Errors
    /// Non-finite `x`; a derivative that is infinite (at the upper end of the support for `xi <= -1`).
    pub fn cdf_with_derivatives(&self, x: f64) -> Result<Derivatives, KernelError> {
        check_parameter("x", x, "a finite number", |_| true)?;
        let flat = |value| Derivatives { value, d_arg: 0.0, d_sigma: 0.0, d_xi: 0.0 };
        let y = (x - self.mu) / self.sigma;
        if y < 0.0 {
            return Ok(flat(0.0));
        }
        let v = self.xi * y;
        if v <= -1.0 || y == f64::INFINITY {
            return Ok(flat(1.0));
        }
        // Survival = exp(-h), h = log1p(xi y)/xi.
        let h = y * log1p_ratio(v);
        let survival = (-h).exp();
        let density = survival / (1.0 + v) / self.sigma;
        let out = Derivatives {
            value: -(-h).exp_m1(),
            d_arg: density,
            d_sigma: -density * y,
            // With no survival left nothing can change, and 0 times an overflowing y² is not a number.
            d_xi: if survival == 0.0 { 0.0 } else { survival * y * y * log1p_curve(v) },
        };
        for d in [out.value, out.d_arg, out.d_sigma, out.d_xi] {
            finite(d)?;
        }
        Ok(out)
    }

    /// The quantile without checks; infinite or NaN where the checked one refuses.
    pub(crate) fn quantile_at(&self, p: f64) -> f64 {
        let l = -(-p).ln_1p();
        if l == f64::INFINITY && self.xi < 0.0 {
            return self.mu - self.sigma / self.xi;
        }
        self.mu + self.sigma * (l * expm1_ratio(self.xi * l))
    }

    /// The quantile with derivatives, without checks, for `p < 1`.
    pub(crate) fn quantile_derivatives_at(&self, p: f64) -> Derivatives {
        let l = -(-p).ln_1p();
        let u = self.xi * l;
        let d_sigma = l * expm1_ratio(u);
        Derivatives {
            value: self.mu + self.sigma * d_sigma,
            // d l/dp = 1/(1-p) = exp(l).
            d_arg: self.sigma * (u + l).exp(),
            d_sigma,
            d_xi: self.sigma * (l * l * expm1_curve(u)),
        }
    }
}

fn finite(v: f64) -> Result<f64, KernelError> {
    if v.is_finite() { Ok(v) } else { Err(KernelError::Overflow { what: "generalised Pareto value" }) }
}

/// `(e^u - 1)/u`, 1 at 0.
fn expm1_ratio(u: f64) -> f64 {
    if u.abs() < 1e-12 { 1.0 + 0.5 * u } else { u.exp_m1() / u }
}

/// `(u e^u - (e^u - 1))/u² = Σ_k u^k / ((k+2) k!)`, 1/2 at 0.
fn expm1_curve(u: f64) -> f64 {
    if u.abs() < SERIES_BELOW {
        let (mut term, mut sum) = (1.0, 0.5);
        for k in 1..16 {
            let kf = f64::from(k);
            term *= u / kf;
            sum += term / (kf + 2.0);
        }
        sum
    } else {
        // e^u ((u-1)/u²) + 1/u², so that a very negative u gives 1/u² and not 0 times infinity.
        (u.exp() * (u - 1.0) + 1.0) / (u * u)
    }
}

/// `log(1+v)/v`, 1 at 0.
fn log1p_ratio(v: f64) -> f64 {
    if v.abs() < 1e-12 { 1.0 - 0.5 * v } else { v.ln_1p() / v }
}

/// `(v/(1+v) - log(1+v))/v² = Σ_k (-1)^(k+1) (k+1)/(k+2) v^k`, -1/2 at 0.
fn log1p_curve(v: f64) -> f64 {
    if v.abs() < 0.1 {
        let (mut power, mut sum) = (1.0, -0.5);
        for k in 1..18 {
            let kf = f64::from(k);
            power *= -v;
            sum -= power * (kf + 1.0) / (kf + 2.0);
        }
        sum
    } else {
        (v / (1.0 + v) - v.ln_1p()) / v / v
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const SHAPES: [f64; 11] = [-2.0, -0.5, -0.3, -1e-3, -1e-9, 0.0, 1e-13, 1e-6, 0.05, 0.4, 1.5];

    fn close(a: f64, b: f64, rel: f64) -> bool {
        (a - b).abs() <= rel * (1.0 + a.abs().max(b.abs()))
    }

    #[test]
    fn cdf_inverts_quantile() {
        for xi in SHAPES {
            let gpd = Gpd::new(0.5, 2.0, xi).unwrap();
            for p in [0.0, 1e-6, 0.1, 0.5, 0.9, 0.999] {
                let x = gpd.quantile(p).unwrap();
                assert!(close(gpd.cdf(x).unwrap(), p, 1e-12), "xi {xi} p {p}");
            }
        }
    }

    #[test]
    fn derivatives_match_central_differences() {
        let h = 1e-5;
        for xi in SHAPES {
            for p in [0.01, 0.3, 0.7, 0.99] {
                let q = |s: f64, k: f64, p: f64| Gpd::new(0.5, s, k).unwrap().quantile(p).unwrap();
                let d = Gpd::new(0.5, 2.0, xi).unwrap().quantile_with_derivatives(p).unwrap();
                let hp = h * (1.0 - p);
                assert!(close(d.d_arg, (q(2.0, xi, p + hp) - q(2.0, xi, p - hp)) / (2.0 * hp), 1e-7));
                assert!(close(d.d_sigma, (q(2.0 + h, xi, p) - q(2.0 - h, xi, p)) / (2.0 * h), 1e-8));
                assert!(close(d.d_xi, (q(2.0, xi + h, p) - q(2.0, xi - h, p)) / (2.0 * h), 1e-7), "xi {xi} p {p}");

                if xi <= -1.0 && p > 0.5 {
                    // The density grows without bound towards the end of the support: differences say nothing there.
                    continue;
                }
                let x = d.value;
                let f = |s: f64, k: f64, x: f64| Gpd::new(0.5, s, k).unwrap().cdf(x).unwrap();
                let c = Gpd::new(0.5, 2.0, xi).unwrap().cdf_with_derivatives(x).unwrap();
                assert!(close(c.d_arg * d.d_arg, 1.0, 1e-10));
                assert!(close(c.d_sigma, (f(2.0 + h, xi, x) - f(2.0 - h, xi, x)) / (2.0 * h), 1e-7));
                assert!(close(c.d_xi, (f(2.0, xi + h, x) - f(2.0, xi - h, x)) / (2.0 * h), 1e-6), "xi {xi} p {p}");
            }
        }
    }

    #[test]
    fn value_and_derivative_are_continuous_at_the_switch_to_the_series() {
        for (f, at) in [(expm1_curve as fn(f64) -> f64, SERIES_BELOW), (log1p_curve, 0.1), (expm1_ratio, 1e-12)] {
            for s in [-1.0, 1.0] {
                let (inside, outside) = (f(s * at * (1.0 - 1e-14)), f(s * at * (1.0 + 1e-14)));
                assert!((inside - outside).abs() < 1e-12, "{at}: {inside} {outside}");
            }
        }
    }

    #[test]
    fn ends_of_the_support() {
        let bounded = Gpd::new(1.0, 2.0, -0.5).unwrap();
        assert_eq!(bounded.quantile(1.0).unwrap(), 5.0);
        assert_eq!(bounded.cdf(6.0).unwrap(), 1.0);
        assert_eq!(bounded.cdf(0.0).unwrap(), 0.0);
        let heavy = Gpd::new(1.0, 2.0, 0.5).unwrap();
        assert!(matches!(heavy.quantile(1.0), Err(KernelError::Overflow { .. })));
        assert!(matches!(heavy.quantile(1.5), Err(KernelError::Parameter { name: "p", .. })));
        assert!(matches!(Gpd::new(0.0, 0.0, 0.1), Err(KernelError::Parameter { name: "sigma", .. })));
        assert!(matches!(Gpd::new(0.0, 1.0, f64::NAN), Err(KernelError::Parameter { name: "xi", .. })));
    }
}
