//! Least squares with few columns and HC3 or clustered standard errors.

use crate::Score;
use crate::score::group_sums;

/// Coefficients of `y` on the columns (no intercept is added), weighted, with HC3 standard errors, or clustered ones
/// when groups are given. `None` when the columns do not determine them.
pub(crate) fn ols(columns: &[Vec<f64>], y: &[f64], w: &[f64], groups: Option<&[u32]>) -> Option<Vec<Score>> {
    let (n, p) = (y.len(), columns.len());
    let mut gram = vec![vec![0.0; p]; p];
    let mut right = vec![0.0; p];
    for a in 0..p {
        for b in 0..p {
            gram[a][b] = (0..n).map(|i| w[i] * columns[a][i] * columns[b][i]).sum();
        }
        right[a] = (0..n).map(|i| w[i] * columns[a][i] * y[i]).sum();
    }
    let inverse = invert(&gram)?;
    let beta: Vec<f64> = (0..p).map(|a| (0..p).map(|b| inverse[a][b] * right[b]).sum()).collect();
    // Influence of each row on each coefficient, as HC3: the residual over one minus the leverage.
    let mut influence = vec![vec![0.0; n]; p];
    for i in 0..n {
        let fit: f64 = (0..p).map(|a| columns[a][i] * beta[a]).sum();
        let lifted: Vec<f64> = (0..p).map(|a| (0..p).map(|b| inverse[a][b] * columns[b][i]).sum()).collect();
        let leverage = w[i] * (0..p).map(|a| columns[a][i] * lifted[a]).sum::<f64>();
        let scale = if groups.is_some() { 1.0 } else { 1.0 / (1.0 - leverage).max(1e-9) };
        for a in 0..p {
            influence[a][i] = lifted[a] * w[i] * (y[i] - fit) * scale;
        }
    }
    (0..p)
        .map(|a| {
            let squares: f64 = match groups {
                None => influence[a].iter().map(|v| v * v).sum(),
                Some(groups) => {
                    let sums = group_sums(&influence[a], groups);
                    let g = sums.len() as f64;
                    sums.iter().map(|v| v * v).sum::<f64>() * g / (g - 1.0).max(1.0)
                }
            };
            Score { value: beta[a], se: Some(squares.sqrt()) }.finite()
        })
        .collect()
}

/// The inverse of a small symmetric positive definite matrix by Gauss-Jordan with pivots on scaled columns.
fn invert(matrix: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let p = matrix.len();
    let scale: Vec<f64> = (0..p).map(|a| matrix[a][a].sqrt()).collect();
    if scale.iter().any(|s| *s <= 0.0 || !s.is_finite()) {
        return None;
    }
    let mut m: Vec<Vec<f64>> = (0..p)
        .map(|a| {
            let mut row: Vec<f64> = (0..p).map(|b| matrix[a][b] / (scale[a] * scale[b])).collect();
            row.extend((0..p).map(|b| f64::from(u8::from(a == b))));
            row
        })
        .collect();
    for k in 0..p {
        let pivot = (k..p).max_by(|&a, &b| m[a][k].abs().total_cmp(&m[b][k].abs()))?;
        if m[pivot][k].abs() < 1e-10 {
            return None;
        }
        m.swap(k, pivot);
        let lead = m[k][k];
        m[k].iter_mut().for_each(|v| *v /= lead);
        let row = m[k].clone();
        for (a, other) in m.iter_mut().enumerate() {
            if a != k {
                let factor = other[k];
                other.iter_mut().zip(&row).for_each(|(v, r)| *v -= factor * r);
            }
        }
    }
    Some((0..p).map(|a| (0..p).map(|b| m[a][p + b] / (scale[a] * scale[b])).collect()).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn slope_and_hc3_by_hand() {
        // y on x without intercept: slope = Σxy/Σx²; leverage x²/Σx².
        let x = vec![1.0, 2.0, 3.0];
        let y = [1.0, 3.0, 2.0];
        let got = ols(std::slice::from_ref(&x), &y, &[1.0; 3], None).unwrap()[0];
        let slope = 13.0 / 14.0;
        assert!((got.value - slope).abs() < 1e-12);
        let var: f64 = (0..3)
            .map(|i| {
                let (r, h) = (y[i] - slope * x[i], x[i] * x[i] / 14.0);
                (x[i] * r / (1.0 - h) / 14.0).powi(2)
            })
            .sum();
        assert!((got.se.unwrap() - var.sqrt()).abs() < 1e-12);
        assert!(ols(&[x.clone(), x], &y, &[1.0; 3], None).is_none());
    }
}
