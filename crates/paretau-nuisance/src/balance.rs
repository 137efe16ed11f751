//! Are the arms alike? Standardised mean differences of every feature, before and after weighting.

use paretau_core::{Column, Error, Features, Result};
use paretau_kernels::KernelError;
use paretau_kernels::balance::{BalanceWorkspace, Groups, standardised_differences, standardised_differences_csr};
use paretau_kernels::sparse::CsrView;
use serde::{Deserialize, Serialize};

use crate::rows::same_length;

/// Differences beyond this are usually called imbalance.
pub const IMBALANCE: f64 = 0.1;

/// How far apart the arms are in one feature, in standard deviations: treated minus untreated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FeatureBalance {
    /// Column name.
    pub name: String,
    /// Before weighting. `None` when the feature separates the arms without varying within them.
    pub before: Option<f64>,
    /// After weighting.
    pub after: Option<f64>,
}

impl FeatureBalance {
    /// Whether the arms still differ noticeably after weighting.
    pub fn is_off(&self) -> bool {
        self.after.is_none_or(|d| d.abs() > IMBALANCE)
    }
}

/// Balance of all features under row weights `w` (inverse propensity weights, say), worst before weighting first. A
/// missing value counts as its column's mean.
pub fn balance(x: &Features, columns: &[Column], t: &[u8], w: &[f64]) -> Result<Vec<FeatureBalance>> {
    same_length("treatment", x.n_rows(), t.len())?;
    same_length("weights", x.n_rows(), w.len())?;
    same_length("column names", x.n_cols(), columns.len())?;
    let treated: Vec<bool> = t.iter().map(|&a| a == 1).collect();
    let filled;
    let x = if x.has_missing() {
        filled = without_missing(x)?;
        &filled
    } else {
        x
    };
    let before = differences(x, &treated, None)?;
    let after = differences(x, &treated, Some(w))?;
    let mut out: Vec<FeatureBalance> = columns
        .iter()
        .zip(before.iter().zip(&after))
        .map(|(column, (b, a))| FeatureBalance {
            name: column.name.clone(),
            before: Some(*b).filter(|v| v.is_finite()),
            after: Some(*a).filter(|v| v.is_finite()),
        })
        .collect();
    let size = |b: &FeatureBalance| b.before.map_or(f64::INFINITY, f64::abs);
    out.sort_by(|a, b| size(b).total_cmp(&size(a)));
    Ok(out)
}

fn differences(x: &Features, treated: &[bool], w: Option<&[f64]>) -> Result<Vec<f64>> {
    let fail = |e: KernelError| Error::Numeric { what: "covariate balance", message: e.to_string() };
    let groups = Groups::new(treated, w).map_err(fail)?;
    let mut out = vec![0.0; x.n_cols()];
    let mut workspace = BalanceWorkspace::new();
    match x {
        Features::Dense(m) => standardised_differences(&mut out, m.values(), &groups, &mut workspace).map_err(fail)?,
        Features::Sparse(m) => {
            let view = CsrView::new(m.indptr(), m.indices(), m.values(), m.n_cols()).map_err(fail)?;
            standardised_differences_csr(&mut out, &view, &groups, &mut workspace).map_err(fail)?;
        }
    }
    Ok(out)
}

/// The features with missing values at their column's mean (0 in a column with nothing else).
fn without_missing(x: &Features) -> Result<Features> {
    let (n, d) = (x.n_rows(), x.n_cols());
    let (mut sum, mut seen) = (vec![0.0; d], vec![0.0; d]);
    let mut row = vec![0.0; d];
    for i in 0..n {
        x.copy_row(i, &mut row);
        for (j, v) in row.iter().enumerate().filter(|(_, v)| !v.is_nan()) {
            sum[j] += v;
            seen[j] += 1.0;
        }
    }
    let mean = |j: usize| if seen[j] > 0.0 { sum[j] / seen[j] } else { 0.0 };
    let fill = |j: usize, v: f64| if v.is_nan() { mean(j) } else { v };
    Ok(match x {
        Features::Dense(m) => {
            let values = m.values().iter().enumerate().map(|(k, v)| fill(k % d, *v)).collect();
            Features::Dense(paretau_core::Dense::new(n, d, values)?)
        }
        Features::Sparse(m) => {
            let values = m.indices().iter().zip(m.values()).map(|(&j, v)| fill(j as usize, *v)).collect();
            Features::Sparse(paretau_core::Csr::new(n, d, m.indptr().to_vec(), m.indices().to_vec(), values)?)
        }
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use paretau_core::{Csr, Dense, Seed};

    use super::*;

    #[test]
    fn weighting_by_the_true_propensity_balances_and_sparse_is_dense() {
        let mut rng = Seed(8).rng();
        let n = 4000;
        let x: Vec<f64> = (0..2 * n).map(|_| rng.normal()).collect();
        let e: Vec<f64> = (0..n).map(|i| 1.0 / (1.0 + (-x[2 * i]).exp())).collect();
        let t: Vec<u8> = e.iter().map(|e| u8::from(rng.bernoulli(*e))).collect();
        let w: Vec<f64> = e.iter().zip(&t).map(|(e, t)| if *t == 1 { 1.0 / e } else { 1.0 / (1.0 - e) }).collect();
        let columns = Column::numbered(2);
        let dense = Features::Dense(Dense::new(n, 2, x.clone()).unwrap());
        let got = balance(&dense, &columns, &t, &w).unwrap();
        assert_eq!(got[0].name, "x1");
        assert!(got[0].before.unwrap() > 0.6 && !got[0].is_off(), "{got:?}");
        let indices = (0..n).flat_map(|_| [0, 1]).collect();
        let csr = Csr::new(n, 2, (0..=n).map(|i| 2 * i).collect(), indices, x).unwrap();
        let sparse = balance(&Features::Sparse(csr), &columns, &t, &w).unwrap();
        for (a, b) in got.iter().zip(&sparse) {
            assert!((a.after.unwrap() - b.after.unwrap()).abs() < 1e-9);
        }
    }

    #[test]
    fn missing_and_separating_columns_are_distinguished() {
        let values = vec![1.0, 0.0, f64::NAN, 0.0, 3.0, 1.0, 2.0, 1.0];
        let x = Features::Dense(Dense::new(4, 2, values).unwrap());
        let got = balance(&x, &Column::numbered(2), &[0, 0, 1, 1], &[1.0; 4]).unwrap();
        // x2 is 0 without and 1 with treatment.
        assert_eq!((got[0].name.as_str(), got[0].before), ("x2", None));
        assert!(got[0].is_off());
        // Arms 1, 2 (filled) against 3, 2: means 1.5 and 2.5, both variances 1/2.
        assert!((got[1].before.unwrap() - 1.0 / 0.5_f64.sqrt()).abs() < 1e-12);
    }
}
