//! Pareto-smoothed importance sampling (Vehtari et al. 2024) as `loo` and ArviZ compute it: k-hat, the diagnostic that
//! users compare across tools, and the smoothed log-weights that go with it.

use crate::argsort::ArgSort;
use crate::error::{KernelError, check_len, check_parameter};
use crate::fallback::MIN_TAIL;
use crate::gpd::Gpd;
use crate::gpd_fit::ZhangStephens;

/// How many of S draws make the tail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TailRule {
    /// `ceil(min(S/5, 3 sqrt(S/r_eff)))`: `loo`, and ArviZ before 1.0.
    #[default]
    Loo,
    /// `floor(S/5)` up to `S r_eff = 225`, then `floor(3 sqrt(S/r_eff))`: `arviz-stats`.
    ArvizStats,
}

impl TailRule {
    /// Number of tail draws.
    pub fn length(self, s: usize, r_eff: f64) -> usize {
        let sf = s as f64;
        let root = 3.0 * (sf / r_eff).sqrt();
        let m = match self {
            Self::Loo => (sf / 5.0).min(root).ceil(),
            Self::ArvizStats if sf * r_eff > 225.0 => root.floor(),
            Self::ArvizStats => (sf / 5.0).floor(),
        };
        m as usize
    }
}

/// Above this k-hat, estimates from `s` draws are unreliable: `min(1 - 1/log10(s), 0.7)`.
pub fn khat_threshold(s: usize) -> f64 {
    if s < 2 { f64::NEG_INFINITY } else { (1.0 - 1.0 / (s as f64).log10()).min(0.7) }
}

/// PSIS with reusable buffers.
#[derive(Debug, Clone, Default)]
pub struct Psis {
    order: ArgSort,
    tail: Vec<f64>,
    zs: ZhangStephens,
}

impl Psis {
    /// Smooths the log-ratios `log_w` (not negated, unlike ArviZ's argument) into `out`, normalised so that their
    /// exponentials sum to 1, and returns k-hat.
    ///
    /// The tail's `M` largest ratios become quantiles of the Zhang-Stephens fit at `(j - 1/2)/M`, never above the largest
    /// raw ratio. With fewer than 5 tail draws, or a tail of equal values, nothing is smoothed and k-hat is infinite.
    ///
    /// # Shapes
    /// `log_w`, `out`: S.
    ///
    /// # Cost
    /// O(S log S + M^1.5) time, O(S) memory, kept between calls.
    ///
    /// # Errors
    /// Empty or non-finite `log_w`, lengths that differ, `r_eff` that is not positive and finite, ratios so far apart that
    /// their difference overflows.
    pub fn smooth(&mut self, log_w: &[f64], r_eff: f64, rule: TailRule, out: &mut [f64]) -> Result<f64, KernelError> {
        let k = self.smooth_unnormalised(log_w, r_eff, rule, out)?;
        let peak = out.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = out.iter().map(|v| (v - peak).exp()).sum();
        let shift = peak + total.ln();
        for v in out.iter_mut() {
            *v -= shift;
        }
        crate::error::check_result("normalised log-weights", out)?;
        Ok(k)
    }

    /// As [`smooth`](Self::smooth), but on the scale of `log_w`: values outside the tail are untouched.
    ///
    /// # Errors
    /// As [`smooth`](Self::smooth).
    pub fn smooth_unnormalised(
        &mut self,
        log_w: &[f64],
        r_eff: f64,
        rule: TailRule,
        out: &mut [f64],
    ) -> Result<f64, KernelError> {
        let s = log_w.len();
        if s == 0 {
            return Err(KernelError::Empty { what: "log_w" });
        }
        check_len("out", s, out.len())?;
        check_parameter("r_eff", r_eff, "a positive number", |r| r > 0.0)?;
        self.order.sort("log_w", log_w)?;
        out.copy_from_slice(log_w);
        let m = rule.length(s, r_eff);
        // A small r_eff can ask for more tail draws than there are draws above a cutoff.
        if m < MIN_TAIL || m >= s {
            return Ok(f64::INFINITY);
        }
        let sorted = self.order.sorted();
        let peak = sorted[s - 1];
        let tail = &sorted[s - m..];
        if tail[m - 1] - tail[0] < f64::MIN_POSITIVE {
            return Ok(f64::INFINITY);
        }
        // Relative to the largest ratio, so that exp cannot overflow.
        let cutoff = (sorted[s - m - 1] - peak).exp();
        self.tail.clear();
        self.tail.extend(tail.iter().map(|v| (v - peak).exp() - cutoff));
        let fit = self.zs.fit(&self.tail)?;
        let Ok(gpd) = Gpd::new(cutoff, fit.sigma, fit.xi) else {
            return Ok(fit.xi);
        };
        for (j, &row) in self.order.perm()[s - m..].iter().enumerate() {
            let p = (j as f64 + 0.5) / m as f64;
            out[row as usize] = peak + gpd.quantile_at(p).ln().min(0.0);
        }
        Ok(fit.xi)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn tail_lengths() {
        assert_eq!(TailRule::Loo.length(1000, 1.0), 95);
        assert_eq!(TailRule::ArvizStats.length(1000, 1.0), 94);
        assert_eq!(TailRule::Loo.length(101, 1.0), 21);
        assert_eq!(TailRule::ArvizStats.length(101, 1.0), 20);
    }

    #[test]
    fn thresholds() {
        assert_eq!(khat_threshold(100), 0.5);
        assert_eq!(khat_threshold(10_000_000), 0.7);
        assert_eq!(khat_threshold(1), f64::NEG_INFINITY);
    }

    #[test]
    fn degenerate_input() {
        let mut psis = Psis::default();
        let mut out = [0.0; 3];
        assert_eq!(psis.smooth(&[1.0, 2.0, 3.0], 1.0, TailRule::Loo, &mut out).unwrap(), f64::INFINITY);
        assert!((out.iter().map(|v| v.exp()).sum::<f64>() - 1.0).abs() < 1e-14);
        let mut out = [0.0; 100];
        assert_eq!(psis.smooth(&[3.0; 100], 1.0, TailRule::Loo, &mut out).unwrap(), f64::INFINITY);
        assert!(out.iter().all(|v| (v + 100_f64.ln()).abs() < 1e-14));
        assert!(matches!(psis.smooth(&[], 1.0, TailRule::Loo, &mut []), Err(KernelError::Empty { .. })));
        assert!(matches!(
            psis.smooth(&[f64::NEG_INFINITY], 1.0, TailRule::Loo, &mut [0.0]),
            Err(KernelError::NonFinite { .. })
        ));
        assert!(matches!(psis.smooth(&[1.0], 0.0, TailRule::Loo, &mut [0.0]), Err(KernelError::Parameter { .. })));
    }
}
