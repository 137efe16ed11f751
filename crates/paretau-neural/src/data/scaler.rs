//! Centre and scale of every feature column, learned on training rows only.

use paretau_core::{Error, Features, Result};
use paretau_kernels::real::Real;
use paretau_kernels::simd::{Vectorised, dispatch};

use super::pieces::Pieces;
use super::table::stays_sparse;

/// Standardised values are held within this many standard deviations: one wild cell must not own a batch.
const FARTHEST: f64 = 10.0;

/// Centre and scale of every column; a column that does not vary gets scale 0 and is read as 0.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scaler {
    /// Means.
    pub mean: Vec<f64>,
    /// One over the standard deviations; 0 for constant columns.
    pub scale: Vec<f64>,
    /// Whether far-out values are held back. Sparse columns are standardised inside a product, where they cannot be.
    pub clamps: bool,
    /// Further inputs beside the standardised values.
    pub pieces: Pieces,
}

struct Standardised<'a, T> {
    row: &'a [f64],
    mean: &'a [f64],
    scale: &'a [f64],
    far: f64,
    out: &'a mut [T],
}

impl<T: Real> Vectorised for Standardised<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: pulp::Simd, const FMA: bool>(self, _: S) {
        let columns = self.mean.iter().zip(self.scale);
        for ((out, v), (mean, scale)) in self.out.iter_mut().zip(self.row).zip(columns) {
            *out = T::from_f64(((v - mean) * scale).max(-self.far).min(self.far));
        }
    }
}

impl Scaler {
    /// Learns centre and scale from the given rows of `x`.
    pub fn fit(x: &Features, rows: &[usize]) -> Self {
        let (n, d) = (rows.len() as f64, x.n_cols());
        // Means around the first row: columns of size 1e12 keep their digits. Sparse rows are summed around zero.
        let pivot = match (x, rows.first()) {
            (Features::Dense(m), Some(&first)) => m.row(first).to_vec(),
            _ => vec![0.0; d],
        };
        let mut mean = pivot.clone();
        let mut largest = vec![0.0_f64; d];
        for_each_value(x, rows, |j, v| {
            mean[j] += (v - pivot[j]) / n;
            largest[j] = largest[j].max(v.abs());
        });
        // Second pass around the mean; zeros of sparse rows are added at the end.
        let mut square = vec![0.0; d];
        let mut seen = vec![0.0; d];
        for_each_value(x, rows, |j, v| {
            square[j] += (v - mean[j]).powi(2) / n;
            seen[j] += 1.0;
        });
        let scale = (0..d)
            .map(|j| {
                let variance = square[j] + mean[j].powi(2) * (n - seen[j]).max(0.0) / n;
                let sd = variance.sqrt();
                if sd > 1e-13 * largest[j] && sd.is_normal() { 1.0 / sd } else { 0.0 }
            })
            .collect();
        Self { mean, scale, clamps: !stays_sparse(x), pieces: Pieces::default() }
    }

    /// The same with up to `bins` pieces per column beside the standardised values, learned from the same rows.
    #[must_use]
    pub fn with_pieces(self, x: &Features, rows: &[usize], bins: usize) -> Self {
        Self { pieces: Pieces::fit(x, rows, bins), ..self }
    }

    /// Inputs of a net: columns and pieces.
    pub fn width(&self) -> usize {
        self.mean.len() + self.pieces.len()
    }

    /// Appends a standardised row.
    pub fn extend_row<T: Real>(&self, row: &[f64], out: &mut Vec<T>) {
        let far = if self.clamps { FARTHEST } else { f64::INFINITY };
        let start = out.len();
        out.resize(start + row.len(), T::ZERO);
        dispatch(Standardised { row, mean: &self.mean, scale: &self.scale, far, out: &mut out[start..] });
    }

    /// Number of columns that do not vary.
    pub fn n_constant(&self) -> usize {
        self.scale.iter().filter(|s| **s == 0.0).count()
    }

    /// Refuses features with missing values, which a net cannot read.
    pub fn check(x: &Features) -> Result<()> {
        if x.has_missing() {
            return Err(Error::unfit(
                "the features have missing values; neural estimators need them filled in (the data layer's encoder does)",
            ));
        }
        Ok(())
    }
}

fn for_each_value(x: &Features, rows: &[usize], mut f: impl FnMut(usize, f64)) {
    match x {
        Features::Dense(m) => rows.iter().for_each(|&i| m.row(i).iter().enumerate().for_each(|(j, &v)| f(j, v))),
        Features::Sparse(m) => rows.iter().for_each(|&i| {
            let (columns, values) = m.row(i);
            columns.iter().zip(values).for_each(|(&j, &v)| f(j as usize, v));
        }),
    }
}

#[cfg(test)]
mod tests {
    use paretau_core::{Csr, Dense};

    use super::*;

    #[test]
    fn sparse_and_dense_agree_and_constants_are_silenced() {
        let values = vec![0.0, 5.0, 1e12, 2.0, 5.0, 1e12 + 4.0, 0.0, 5.0, 1e12 + 2.0];
        let dense = Features::Dense(Dense::new(3, 3, values.clone()).unwrap());
        let (mut indptr, mut indices, mut kept) = (vec![0], vec![], vec![]);
        for row in values.chunks(3) {
            for (j, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                indices.push(j as u32);
                kept.push(v);
            }
            indptr.push(indices.len());
        }
        let sparse = Features::Sparse(Csr::new(3, 3, indptr, indices, kept).unwrap());
        let (a, b) = (Scaler::fit(&dense, &[0, 1, 2]), Scaler::fit(&sparse, &[0, 1, 2]));
        for j in 0..3 {
            assert!((a.mean[j] - b.mean[j]).abs() <= 1e-9 * a.mean[j].abs());
            assert!((a.scale[j] - b.scale[j]).abs() <= 1e-3 * a.scale[j].abs());
        }
        assert_eq!(a.n_constant(), 1);
        let mut row = Vec::<f64>::new();
        a.extend_row(&[0.0, 7.0, 1e12 + 4.0], &mut row);
        assert_eq!(row[1], 0.0);
        assert!((row[2] - 1.224_744_871).abs() < 1e-6);
    }
}
