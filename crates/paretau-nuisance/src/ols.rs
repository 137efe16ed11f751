//! Least squares with few columns and HC3 or clustered standard errors.

use faer::Mat;
use faer::linalg::solvers::DenseSolveCore;

use crate::inference::{Score, group_sums};

/// Columns with less than this of their own, at length 1, are collinear.
const COLLINEAR: f64 = 1e-10;

/// Coefficients of `y` on the columns (no intercept is added), weighted, with HC3 standard errors, or clustered ones
/// when groups are given. `None` when the columns do not determine them.
pub fn ols(columns: &[Vec<f64>], y: &[f64], w: &[f64], groups: Option<&[u32]>) -> Option<Vec<Score>> {
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
            Score::new(beta[a], Some(squares.sqrt())).finite()
        })
        .collect()
}

/// The inverse of a small symmetric positive definite matrix, its columns scaled to 1 first; `None` when they are
/// collinear to working precision.
fn invert(matrix: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let p = matrix.len();
    let scale: Vec<f64> = (0..p).map(|a| matrix[a][a].sqrt()).collect();
    if scale.iter().any(|s| *s <= 0.0 || !s.is_finite()) {
        return None;
    }
    let scaled = Mat::from_fn(p, p, |a, b| matrix[a][b] / (scale[a] * scale[b]));
    let qr = scaled.col_piv_qr();
    // With pivots, the last diagonal of R is the least of what the columns have of their own.
    if (0..p).any(|k| qr.R()[(k, k)].abs() < COLLINEAR) {
        return None;
    }
    let inverse = qr.inverse();
    Some((0..p).map(|a| (0..p).map(|b| inverse[(a, b)] / (scale[a] * scale[b])).collect()).collect())
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
