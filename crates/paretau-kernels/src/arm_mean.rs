//! Weights divided by their arm's mean ("Norm." in the paper), with the derivative.

use crate::error::{KernelError, check_arms, check_finite, check_len, check_result, check_weights};

/// Arm-mean normalisation with its tape. Buffers are kept between calls.
#[derive(Debug, Clone, Default)]
pub struct ArmMean {
    t: Vec<u8>,
    normalised: Vec<f64>,
    means: [f64; 2],
    counts: [usize; 2],
}

impl ArmMean {
    /// Writes `w_i / mean_{j: t_j = t_i} w_j` to `out`, so that each arm's weights have mean 1. O(n).
    ///
    /// # Shapes
    /// `w`, `t`, `out`: n; `t` holds 0 and 1.
    ///
    /// # Errors
    /// Empty, non-finite or non-positive weights, lengths that differ, arms other than 0 and 1, an arm without rows,
    /// sums that overflow.
    pub fn forward(&mut self, w: &[f64], t: &[u8], out: &mut [f64]) -> Result<(), KernelError> {
        self.t.clear();
        check_weights("w", w)?;
        check_len("t", w.len(), t.len())?;
        check_len("out", w.len(), out.len())?;
        let counts = check_arms(t)?;
        let mut sums = [0.0; 2];
        for (&v, &a) in w.iter().zip(t) {
            sums[usize::from(a)] += v;
        }
        let means = [0, 1].map(|a| sums[a] / counts[a] as f64);
        check_result("mean weight", &means)?;
        for ((o, &v), &a) in out.iter_mut().zip(w).zip(t) {
            *o = v / means[usize::from(a)];
        }
        check_result("normalised weights", out)?;
        self.t.extend_from_slice(t);
        self.normalised.clear();
        self.normalised.extend_from_slice(out);
        (self.means, self.counts) = (means, counts);
        Ok(())
    }

    /// Writes the product of `g` with the Jacobian of the last forward pass to `out`:
    /// `(g_i - mean_arm(g ∘ normalised)) / mean_arm(w)`. O(n).
    ///
    /// # Errors
    /// No forward pass before, lengths that differ, non-finite `g`, results that overflow.
    pub fn vjp(&self, g: &[f64], out: &mut [f64]) -> Result<(), KernelError> {
        let n = self.t.len();
        if n == 0 {
            return Err(KernelError::NoForward { what: "arm-mean normalisation" });
        }
        check_len("g", n, g.len())?;
        check_len("out", n, out.len())?;
        check_finite("g", g)?;
        let mut dots = [0.0; 2];
        for i in 0..n {
            dots[usize::from(self.t[i])] += g[i] * self.normalised[i];
        }
        for i in 0..n {
            let a = usize::from(self.t[i]);
            out[i] = (g[i] - dots[a] / self.counts[a] as f64) / self.means[a];
        }
        check_result("normalisation derivative", out)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn each_arm_has_mean_one_and_scaling_an_arm_changes_nothing() {
        let mut norm = ArmMean::default();
        let (w, t) = ([1.0, 3.0, 10.0, 30.0], [0, 0, 1, 1]);
        let mut out = [0.0; 4];
        norm.forward(&w, &t, &mut out).unwrap();
        assert_eq!(out, [0.5, 1.5, 0.5, 1.5]);
        let mut d = [0.0; 4];
        norm.vjp(&[0.3, -2.0, 5.0, 1.0], &mut d).unwrap();
        // Along (1, 3), arm 0 is only scaled.
        assert!((d[0] * 1.0 + d[1] * 3.0).abs() < 1e-15);
    }

    #[test]
    fn bad_batches_are_refused() {
        let mut norm = ArmMean::default();
        let mut out = [0.0; 2];
        assert!(matches!(norm.vjp(&[], &mut []), Err(KernelError::NoForward { .. })));
        assert!(matches!(norm.forward(&[1.0, 2.0], &[1, 1], &mut out), Err(KernelError::ArmMissing { arm: 0, n: 2 })));
        assert!(matches!(norm.forward(&[1.0, 2.0], &[1, 3], &mut out), Err(KernelError::Arm { index: 1, value: 3 })));
        assert!(matches!(norm.forward(&[1.0, 0.0], &[1, 0], &mut out), Err(KernelError::OutOfRange { index: 1, .. })));
    }
}
