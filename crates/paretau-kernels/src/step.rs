//! The smooth step that softens "belongs to the tail".

use crate::error::{KernelError, check_finite, check_len, check_parameter};
use crate::numeric::sigmoid;

/// [`sigmoid`] and its derivative `s (1 - s)`, the latter without cancellation where `s` is near 1.
#[inline]
pub fn sigmoid_with_slope(x: f64) -> (f64, f64) {
    let e = (-x.abs()).exp();
    let d = 1.0 + e;
    (if x >= 0.0 { 1.0 / d } else { e / d }, e / (d * d))
}

/// Writes `1/(1+exp(-kappa (r_i - center)))` to `out`. O(n).
///
/// # Errors
/// Lengths that differ, non-finite `r` or `center`, `kappa` that is not positive and finite.
pub fn smooth_step(r: &[f64], kappa: f64, center: f64, out: &mut [f64]) -> Result<(), KernelError> {
    check_len("out", r.len(), out.len())?;
    check_step(r, kappa, center)?;
    for (o, &ri) in out.iter_mut().zip(r) {
        *o = sigmoid(kappa * (ri - center));
    }
    Ok(())
}

/// Writes `g_i` times the derivative of [`smooth_step`] with respect to `r_i` to `out`. O(n).
///
/// # Errors
/// As [`smooth_step`]; also results that overflow.
pub fn smooth_step_vjp(r: &[f64], kappa: f64, center: f64, g: &[f64], out: &mut [f64]) -> Result<(), KernelError> {
    check_len("g", r.len(), g.len())?;
    check_len("out", r.len(), out.len())?;
    check_step(r, kappa, center)?;
    check_finite("g", g)?;
    for ((o, &ri), &gi) in out.iter_mut().zip(r).zip(g) {
        *o = gi * kappa * sigmoid_with_slope(kappa * (ri - center)).1;
    }
    crate::error::check_result("step derivative", out)
}

fn check_step(r: &[f64], kappa: f64, center: f64) -> Result<(), KernelError> {
    check_parameter("kappa", kappa, "a positive number", |k| k > 0.0)?;
    check_parameter("center", center, "a finite number", |_| true)?;
    check_finite("r", r)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn is_safe_at_both_ends() {
        assert_eq!(sigmoid_with_slope(0.0), (0.5, 0.25));
        let (s, slope) = sigmoid_with_slope(40.0);
        assert_eq!(s, 1.0);
        assert!(slope > 0.0);
    }

    #[test]
    fn derivative_matches_differences() {
        for x in [-30.0, -2.0, 0.1, 3.0, 20.0] {
            let h = 1e-5;
            let numeric = (sigmoid(x + h) - sigmoid(x - h)) / (2.0 * h);
            assert!((sigmoid_with_slope(x).1 - numeric).abs() < 1e-9);
        }
        let mut d = [0.0];
        smooth_step_vjp(&[3.0], 2.0, 3.0, &[10.0], &mut d).unwrap();
        assert_eq!(d, [5.0]);
    }

    #[test]
    fn bad_parameters_are_refused() {
        let mut o = [0.0];
        assert!(matches!(smooth_step(&[1.0], -1.0, 0.0, &mut o), Err(KernelError::Parameter { name: "kappa", .. })));
        assert!(matches!(smooth_step(&[f64::NAN], 1.0, 0.0, &mut o), Err(KernelError::NonFinite { .. })));
    }
}
