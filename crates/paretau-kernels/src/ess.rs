//! Effective sample size of weights.

use crate::error::{KernelError, check_arms, check_finite, check_len};

/// `(Σ w)² / Σ w²`: n for equal weights, near 1 when one weight dominates; 0 when all weights are 0. O(n).
///
/// # Errors
/// Empty, non-finite or negative weights.
pub fn ess(w: &[f64]) -> Result<f64, KernelError> {
    check(w)?;
    Ok(ess_of(w.iter().copied()))
}

/// [`ess`] within arm 0 and within arm 1. O(n).
///
/// # Errors
/// As [`ess`]; also lengths that differ, arms other than 0 and 1, an arm without rows.
pub fn ess_by_arm(w: &[f64], t: &[u8]) -> Result<[f64; 2], KernelError> {
    check_len("t", w.len(), t.len())?;
    check(w)?;
    check_arms(t)?;
    Ok([0, 1].map(|arm| ess_of(w.iter().zip(t).filter(|&(_, &a)| a == arm).map(|(&v, _)| v))))
}

fn check(w: &[f64]) -> Result<(), KernelError> {
    if w.is_empty() {
        return Err(KernelError::Empty { what: "w" });
    }
    check_finite("w", w)?;
    match w.iter().position(|&v| v < 0.0) {
        None => Ok(()),
        Some(index) => {
            Err(KernelError::OutOfRange { what: "w", index, value: w[index], expected: "a number from 0 up" })
        }
    }
}

/// Scales by the largest weight first: squares of large weights would overflow.
fn ess_of(w: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = w.clone().fold(0.0, f64::max);
    if largest == 0.0 {
        return 0.0;
    }
    let (sum, squares) = w.fold((0.0, 0.0), |(s, q), v| {
        let v = v / largest;
        (s + v, q + v * v)
    });
    sum * sum / squares
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn equal_weights_count_fully_and_one_giant_counts_once() {
        assert_eq!(ess(&[3.0; 7]).unwrap(), 7.0);
        assert!((ess(&[1e300, 1.0, 1.0]).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(ess(&[0.0, 0.0]).unwrap(), 0.0);
        assert_eq!(ess_by_arm(&[1.0, 2.0, 1.0], &[0, 1, 0]).unwrap(), [2.0, 1.0]);
    }

    #[test]
    fn bad_weights_are_refused() {
        assert!(matches!(ess(&[]), Err(KernelError::Empty { .. })));
        assert!(matches!(ess(&[1.0, -1.0]), Err(KernelError::OutOfRange { index: 1, .. })));
        assert!(matches!(ess(&[f64::INFINITY]), Err(KernelError::NonFinite { .. })));
        assert!(matches!(ess_by_arm(&[1.0], &[1]), Err(KernelError::ArmMissing { arm: 0, n: 1 })));
        assert!(matches!(ess_by_arm(&[1.0], &[7]), Err(KernelError::Arm { index: 0, value: 7 })));
    }
}
