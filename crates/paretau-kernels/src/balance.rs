//! Balance of covariates between the arms: standardised mean differences, raw or weighted, dense or sparse.
//!
//! ```text
//! smd_j = (mean_{t=1} x_j - mean_{t=0} x_j) / sqrt((var_{t=1} x_j + var_{t=0} x_j) / 2)
//! ```
//! The means are weighted if weights are given; the variances are those of the raw arms either way (divisor `n - 1`), so
//! that weighting is measured on an unmoving scale (Austin 2009; Stuart 2010). A column with no variance in either arm has a
//! difference of zero if the means agree and of signed infinity if they do not.

use crate::error::KernelError;
use crate::real::{Real, check_finite, check_len};
use crate::sparse::{CsrView, Offset};

/// Where the rows of both arms are, and what they weigh.
#[derive(Debug, Clone, Copy)]
pub struct Groups<'a, T> {
    treated: &'a [bool],
    weights: Option<&'a [T]>,
    /// Rows per arm, control first.
    counts: [f64; 2],
    /// Total weight per arm.
    totals: [f64; 2],
}

impl<'a, T: Real> Groups<'a, T> {
    /// One entry per row; weights must be finite, not negative, and not all zero in an arm.
    pub fn new(treated: &'a [bool], weights: Option<&'a [T]>) -> Result<Self, KernelError> {
        if let Some(w) = weights {
            check_len("weights", treated.len(), w.len())?;
            check_finite("weights", w)?;
            if let Some(&w) = w.iter().find(|&&w| w < T::ZERO) {
                return Err(KernelError::Parameter { name: "weight", value: w.to_f64(), expected: "0 or more" });
            }
        }
        let (mut counts, mut totals) = ([0.0; 2], [0.0; 2]);
        for (i, &t) in treated.iter().enumerate() {
            counts[usize::from(t)] += 1.0;
            totals[usize::from(t)] += weights.map_or(1.0, |w| w[i].to_f64());
        }
        for (what, arm) in [("the control arm", 0), ("the treated arm", 1)] {
            if counts[arm] == 0.0 {
                return Err(KernelError::Empty { what });
            }
            if !(totals[arm] > 0.0 && totals[arm].is_finite()) {
                return Err(KernelError::Parameter {
                    name: "total weight of an arm",
                    value: totals[arm],
                    expected: "the positive finite numbers",
                });
            }
        }
        Ok(Self { treated, weights, counts, totals })
    }

    fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |w| w[i].to_f64())
    }
}

/// Memory that balance keeps between calls: six values per column.
#[derive(Debug, Default)]
pub struct BalanceWorkspace {
    /// Raw means, control then treated, `2 × d`.
    mean: Vec<f64>,
    /// Weighted means.
    weighted: Vec<f64>,
    /// Sums of squared deviations.
    squares: Vec<f64>,
}

impl BalanceWorkspace {
    /// An empty workspace; it grows at the first call.
    pub fn new() -> Self {
        Self::default()
    }

    fn reset(&mut self, d: usize) {
        for memory in [&mut self.mean, &mut self.weighted, &mut self.squares] {
            memory.clear();
            memory.resize(2 * d, 0.0);
        }
    }

    /// Turns sums into means, arm by arm.
    fn divide<T>(&mut self, groups: &Groups<'_, T>, d: usize) {
        for arm in 0..2 {
            for c in arm * d..(arm + 1) * d {
                self.mean[c] /= groups.counts[arm];
                self.weighted[c] /= groups.totals[arm];
            }
        }
    }

    fn differences<T>(&self, groups: &Groups<'_, T>, out: &mut [f64]) {
        let d = out.len();
        for (c, out) in out.iter_mut().enumerate() {
            let variance = |arm: usize| {
                let n = groups.counts[arm];
                self.squares[arm * d + c] / (n - 1.0).max(1.0)
            };
            let gap = self.weighted[d + c] - self.weighted[c];
            let sd = (0.5 * (variance(0) + variance(1))).sqrt();
            // Means of equal numbers differ by rounding at most.
            let size = self.weighted[d + c].abs().max(self.weighted[c].abs());
            *out = if gap.abs() <= 8.0 * f64::EPSILON * size {
                0.0
            } else if sd > 8.0 * f64::EPSILON * size {
                gap / sd
            } else {
                gap.signum() * f64::INFINITY
            };
        }
    }
}

/// Standardised mean difference of every column of a dense row-major `n × d` matrix, into `out` (`d`).
///
/// # Cost
/// Two passes over `x`.
///
/// # Errors
/// Shapes that do not fit, no columns, or a value of `x` that is not finite.
pub fn standardised_differences<T: Real>(
    out: &mut [f64],
    x: &[T],
    groups: &Groups<'_, T>,
    workspace: &mut BalanceWorkspace,
) -> Result<(), KernelError> {
    let d = out.len();
    if d == 0 {
        return Err(KernelError::Empty { what: "columns" });
    }
    check_len("x", groups.treated.len().saturating_mul(d), x.len())?;
    check_finite("x", x)?;
    workspace.reset(d);
    for (i, (row, &t)) in x.chunks_exact(d).zip(groups.treated).enumerate() {
        let arm = usize::from(t) * d;
        let weight = groups.weight(i);
        for (c, v) in row.iter().enumerate() {
            workspace.mean[arm + c] += v.to_f64();
            workspace.weighted[arm + c] += weight * v.to_f64();
        }
    }
    workspace.divide(groups, d);
    for (row, &t) in x.chunks_exact(d).zip(groups.treated) {
        let arm = usize::from(t) * d;
        for (c, v) in row.iter().enumerate() {
            let deviation = v.to_f64() - workspace.mean[arm + c];
            workspace.squares[arm + c] += deviation * deviation;
        }
    }
    workspace.differences(groups, out);
    Ok(())
}

/// [`standardised_differences`] of a sparse matrix, without making it dense.
///
/// # Cost
/// Two passes over the stored values, and one over the columns.
///
/// # Errors
/// Shapes that do not fit.
pub fn standardised_differences_csr<T: Real, P: Offset>(
    out: &mut [f64],
    x: &CsrView<'_, T, P>,
    groups: &Groups<'_, T>,
    workspace: &mut BalanceWorkspace,
) -> Result<(), KernelError> {
    let d = x.cols();
    check_len("out", d, out.len())?;
    check_len("treated", x.rows(), groups.treated.len())?;
    workspace.reset(d);
    for (i, &t) in groups.treated.iter().enumerate() {
        let arm = usize::from(t) * d;
        let weight = groups.weight(i);
        let (indices, values) = x.row(i);
        for (&j, v) in indices.iter().zip(values) {
            workspace.mean[arm + j as usize] += v.to_f64();
            workspace.weighted[arm + j as usize] += weight * v.to_f64();
        }
    }
    workspace.divide(groups, d);
    // As if every value were a zero, then the stored ones put right.
    for arm in 0..2 {
        for c in arm * d..(arm + 1) * d {
            workspace.squares[c] = groups.counts[arm] * workspace.mean[c] * workspace.mean[c];
        }
    }
    for (i, &t) in groups.treated.iter().enumerate() {
        let arm = usize::from(t) * d;
        let (indices, values) = x.row(i);
        for (&j, v) in indices.iter().zip(values) {
            let mean = workspace.mean[arm + j as usize];
            let deviation = v.to_f64() - mean;
            workspace.squares[arm + j as usize] += deviation * deviation - mean * mean;
        }
    }
    for square in &mut workspace.squares {
        *square = square.max(0.0);
    }
    workspace.differences(groups, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::uniform;

    fn dense(x: &[f64], d: usize, treated: &[bool], weights: Option<&[f64]>) -> Vec<f64> {
        let groups = Groups::new(treated, weights).unwrap();
        let mut out = vec![0.0; d];
        standardised_differences(&mut out, x, &groups, &mut BalanceWorkspace::new()).unwrap();
        out
    }

    #[test]
    fn a_difference_worked_by_hand() {
        // Control 0, 2 (mean 1, variance 2), treated 3, 5, 7 (mean 5, variance 4): 4 / sqrt(3).
        let x = [0.0, 2.0, 3.0, 5.0, 7.0];
        let t = [false, false, true, true, true];
        let raw = dense(&x, 1, &t, None);
        assert!((raw[0] - 4.0 / 3.0_f64.sqrt()).abs() < 1e-14);
        // Weights move the means to 2 and 3 and leave the scale alone.
        let weighted = dense(&x, 1, &t, Some(&[0.0, 5.0, 1.0, 0.0, 0.0]));
        assert!((weighted[0] - 1.0 / 3.0_f64.sqrt()).abs() < 1e-14);
    }

    #[test]
    fn constant_columns_are_zero_or_infinite() {
        let x = [0.1, 1.0, 0.1, 1.0, 0.1, 2.0, 0.1, 2.0];
        let out = dense(&x, 2, &[false, false, true, true], Some(&[0.3, 0.2, 0.7, 0.9]));
        assert_eq!(out, [0.0, f64::INFINITY]);
    }

    proptest! {
        #[test]
        fn sparse_agrees_with_dense(n in 4_usize..40, d in 1_usize..10, weighted: bool, seed: u64) {
            let mut x = uniform(n * d, seed);
            for (v, keep) in x.iter_mut().zip(uniform(n * d, seed ^ 1)) {
                if keep > -0.2 {
                    *v = 0.0;
                }
            }
            let treated: Vec<bool> = (0..n).map(|i| i % 3 == 0).collect();
            let weights: Vec<f64> = uniform(n, seed ^ 2).iter().map(|w| w + 1.1).collect();
            let weights = weighted.then_some(&weights[..]);
            let want = dense(&x, d, &treated, weights);

            let (mut indptr, mut indices, mut values) = (vec![0_u32], vec![], vec![]);
            for row in x.chunks(d) {
                for (j, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                    indices.push(j as u32);
                    values.push(v);
                }
                indptr.push(indices.len() as u32);
            }
            let view = CsrView::new(&indptr, &indices, &values, d).unwrap();
            let groups = Groups::new(&treated, weights).unwrap();
            let mut out = vec![f64::NAN; d];
            standardised_differences_csr(&mut out, &view, &groups, &mut BalanceWorkspace::new()).unwrap();
            for (x, y) in out.iter().zip(&want) {
                prop_assert!(x == y || (x - y).abs() <= 1e-9 * (1.0 + y.abs()), "{} {}", x, y);
            }
        }

        #[test]
        fn any_bits_give_an_answer_or_an_error(
            bits in proptest::collection::vec(any::<u64>(), 0..30), d in 0_usize..4,
            treated in proptest::collection::vec(any::<bool>(), 0..12), weighted: bool,
        ) {
            let x: Vec<f64> = bits.iter().map(|&b| f64::from_bits(b)).collect();
            let weights: Vec<f64> = x.iter().copied().take(treated.len()).collect();
            if let Ok(groups) = Groups::new(&treated, weighted.then_some(&weights[..])) {
                let mut out = vec![0.0; d];
                let _ = standardised_differences(&mut out, &x, &groups, &mut BalanceWorkspace::new()).is_ok();
            }
        }
    }

    #[test]
    fn degenerate_groups_are_named() {
        use KernelError as E;
        let bad = |t: &[bool], w: Option<&[f64]>| Groups::new(t, w).unwrap_err();
        assert!(matches!(bad(&[], None), E::Empty { what: "the control arm" }));
        assert!(matches!(bad(&[false], None), E::Empty { what: "the treated arm" }));
        let both = [false, true];
        assert!(matches!(bad(&both, Some(&[1.0])), E::Length { .. }));
        assert!(matches!(bad(&both, Some(&[1.0, f64::NAN])), E::NonFinite { index: 1, .. }));
        assert!(matches!(bad(&both, Some(&[1.0, -1.0])), E::Parameter { .. }));
        assert!(matches!(bad(&both, Some(&[1.0, 0.0])), E::Parameter { .. }));
        let groups = Groups::<f64>::new(&both, None).unwrap();
        let mut workspace = BalanceWorkspace::new();
        let mut out = [0.0];
        assert!(standardised_differences(&mut out, &[1.0], &groups, &mut workspace).is_err());
        assert!(standardised_differences(&mut out, &[1.0, f64::NAN], &groups, &mut workspace).is_err());
        assert!(standardised_differences(&mut [], &[], &groups, &mut workspace).is_err());
    }
}
