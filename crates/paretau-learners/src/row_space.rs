//! Penalised fits of more columns than rows, worked out among the rows.
//!
//! With a ridge penalty the best coefficients are a combination of the rows, `β = Zᵀa` for standardised features `Z` (n x d).
//! With `ZZᵀ = U D Uᵀ`, the n x r features `R = U D^½` and coefficients `γ` give the same predictions and the same penalty as
//! `β = Zᵀ U D^-½ γ`, so that each step of a search costs n² instead of n·d. What is left in d is one product `ZZᵀ`.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};
use paretau_core::{Dense, Features, Result};

use crate::design_matrix::Moments;
use crate::eigen::symmetric_eigen;
use crate::logistic::Watch;
use crate::view::View;

/// More rows than this are not worth a decomposition of their products.
const MOST_ROWS: usize = 1_000;
/// Columns that are standardised together, so that the memory does not follow their number.
const COLUMNS_AT_A_TIME: usize = 512;
/// Directions of less than this share of the largest eigenvalue are rounding.
const LEAST_SHARE: f64 = 1e-12;

/// The rows of a wide problem in as many columns as they span.
pub(crate) struct RowSpace {
    /// `R`, n x r.
    pub(crate) rows: Features,
    /// `U D^-½`, n x r.
    back: Mat<f64>,
}

impl RowSpace {
    /// The row space of dense features that are much wider than long; `None` for others, and where the decomposition fails.
    pub(crate) fn of(x: View<'_>, moments: &Moments, watch: Watch<'_>) -> Result<Option<Self>> {
        let (n, d) = (x.n_rows(), x.n_cols());
        let Features::Dense(m) = x.x else { return Ok(None) };
        if d <= 2 * n || n > MOST_ROWS {
            return Ok(None);
        }
        let Some(eigen) = symmetric_eigen(products(x, m, moments, watch)?, watch)? else { return Ok(None) };
        let values = eigen.values;
        let least = values.iter().fold(0.0_f64, |most, v| most.max(*v)) * LEAST_SHARE;
        let kept: Vec<usize> = (0..n).filter(|&k| values[k] > least).collect();
        let scaled =
            |power: f64| Mat::from_fn(n, kept.len(), |i, k| eigen.vectors[(i, kept[k])] * values[kept[k]].powf(power));
        let root = scaled(0.5);
        let cells = (0..n).flat_map(|i| (0..kept.len()).map(move |k| (i, k))).map(|at| root[at]).collect();
        let rows = Features::Dense(Dense::new(n, kept.len(), cells)?);
        Ok(Some(Self { rows, back: scaled(-0.5) }))
    }

    /// Coefficients of the standardised columns, `Zᵀ U D^-½ γ`.
    pub(crate) fn coefficients(&self, x: View<'_>, moments: &Moments, gamma: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; x.n_cols()];
        let Features::Dense(m) = x.x else { return out };
        let mut total = 0.0;
        for i in 0..x.n_rows() {
            let share: f64 = gamma.iter().enumerate().map(|(k, g)| self.back[(i, k)] * g).sum();
            total += share;
            out.iter_mut().zip(m.row(x.place(i))).for_each(|(o, v)| *o += share * v);
        }
        for ((o, mean), inverse_sd) in out.iter_mut().zip(&moments.mean).zip(&moments.inverse_sd) {
            *o = (*o - total * mean) * inverse_sd;
        }
        out
    }
}

/// `ZZᵀ`, lower triangle, column by column block in their order.
fn products(x: View<'_>, m: &Dense, moments: &Moments, watch: Watch<'_>) -> Result<Mat<f64>> {
    let (n, d) = (x.n_rows(), x.n_cols());
    let mut kernel = Mat::zeros(n, n);
    for from in (0..d).step_by(COLUMNS_AT_A_TIME) {
        watch()?;
        let to = (from + COLUMNS_AT_A_TIME).min(d);
        let mut z = Mat::zeros(n, to - from);
        for i in 0..n {
            for (j, v) in (from..to).zip(&m.row(x.place(i))[from..to]) {
                z[(i, j - from)] = (v - moments.mean[j]) * moments.inverse_sd[j];
            }
        }
        matmul(&mut kernel, Accum::Add, z.as_ref(), z.transpose(), 1.0, Par::Seq);
    }
    Ok(kernel)
}
