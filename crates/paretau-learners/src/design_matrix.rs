//! The working matrix of a penalised regression: features centred, scaled and cleared of the unpenalised columns.
//!
//! With row weights `w`, features `X` (n x d), and `Q` an orthonormal basis of the unpenalised columns
//! (the constant, and a free column if there is one) in the weighted inner product, it is
//!
//! `A = (I - Q Qᵀ) W^½ X S⁻¹`, with `S` the weighted standard deviations; constant columns become 0.
//!
//! A penalised fit of `A` alone is then the same as a joint fit in which the columns of `Q` go unpenalised.
//! Dense features are worked out explicitly, which is the accurate way. Sparse features stay sparse:
//! `A` is then kept as `B S⁻¹ - Q (C S⁻¹)` with `B = W^½ X` and `C = QᵀB`, a correction of rank one or two.

use std::convert::Infallible;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use paretau_core::{Csr, Dense, Error, Features, Result};
use paretau_kernels::numeric::dot;
use rayon::prelude::*;

use crate::logistic::Watch;
use crate::view::View;

/// Columns of an output block that one task computes; fixed, so that results do not depend on threads.
const BLOCK: usize = 128;
/// Cells beyond which the working matrix is not kept but worked out anew, this many cells at a time.
const MOST_CELLS: usize = 1 << 20;
/// Blocks of rows at work at the same time: their products are kept until they are added in order.
const BLOCKS_AT_ONCE: usize = 8;

/// Weighted means and standard deviations of all columns.
#[derive(Debug, Clone)]
pub(crate) struct Moments {
    /// Means.
    pub(crate) mean: Vec<f64>,
    /// One over the standard deviation; 0 for columns that hardly vary.
    pub(crate) inverse_sd: Vec<f64>,
}

impl Moments {
    /// Moments of `x` under row weights `w`, whose sum is positive.
    pub(crate) fn of<'a>(x: impl Into<View<'a>>, w: &[f64]) -> Self {
        let view: View<'a> = x.into();
        let d = view.n_cols();
        let total: f64 = w.iter().sum();
        let (mut mean, mut var) = (vec![0.0; d], vec![0.0; d]);
        match view.x {
            Features::Dense(m) => {
                for (i, &wi) in w.iter().enumerate() {
                    mean.iter_mut().zip(m.row(view.place(i))).for_each(|(s, v)| *s += wi * v);
                }
                mean.iter_mut().for_each(|s| *s /= total);
                for (i, &wi) in w.iter().enumerate() {
                    for ((s, v), c) in var.iter_mut().zip(m.row(view.place(i))).zip(&mean) {
                        *s += wi * (v - c).powi(2);
                    }
                }
            }
            Features::Sparse(m) => {
                let mut stored = vec![0.0; d];
                for (i, &wi) in w.iter().enumerate() {
                    let (cols, values) = m.row(view.place(i));
                    for (&j, v) in cols.iter().zip(values) {
                        mean[j as usize] += wi * v;
                        stored[j as usize] += wi;
                    }
                }
                mean.iter_mut().for_each(|s| *s /= total);
                for (i, &wi) in w.iter().enumerate() {
                    let (cols, values) = m.row(view.place(i));
                    for (&j, v) in cols.iter().zip(values) {
                        var[j as usize] += wi * (v - mean[j as usize]).powi(2);
                    }
                }
                // Entries that are not stored are zeros at distance `mean`.
                for ((s, c), kept) in var.iter_mut().zip(&mean).zip(&stored) {
                    *s += (total - kept).max(0.0) * c * c;
                }
            }
        }
        let inverse_sd = var.iter().zip(&mean).map(|(v, c)| inverse_sd(v / total, *c)).collect();
        Self { mean, inverse_sd }
    }
}

/// One over the standard deviation of a column with this variance about this mean; 0 if it hardly varies.
pub(crate) fn inverse_sd(variance: f64, mean: f64) -> f64 {
    let sd = variance.sqrt();
    if sd > 1e-10 * mean.abs() && sd > f64::MIN_POSITIVE.sqrt() { 1.0 / sd } else { 0.0 }
}

/// Refuses missing values with a sentence that says what to do.
pub(crate) fn refuse_missing(x: &Features, who: &str) -> Result<()> {
    if x.has_missing() {
        return Err(Error::unfit(format!(
            "{who} cannot take missing feature values; impute them first or use a forest, which can"
        )));
    }
    Ok(())
}

/// Row weights as given, or all ones.
pub(crate) fn weights_or_ones(weight: Option<&[f64]>, n: usize) -> Vec<f64> {
    weight.map_or_else(|| vec![1.0; n], <[f64]>::to_vec)
}

enum Body<'a> {
    Dense(Mat<f64>),
    /// Dense features of many rows, read where they lie.
    Blocks {
        x: &'a Dense,
        view: View<'a>,
        mean: Vec<f64>,
        /// Each column's part along each unpenalised one.
        along: Vec<Vec<f64>>,
    },
    Sparse {
        x: &'a Csr,
        view: View<'a>,
        /// `C S⁻¹`, one row for each unpenalised column.
        correction: Vec<Vec<f64>>,
    },
}

/// The working matrix `A`, its scales and its unpenalised columns.
pub(crate) struct Working<'a> {
    body: Body<'a>,
    /// Square roots of the row weights.
    root_w: Vec<f64>,
    /// Orthonormal unpenalised columns, in the space of rows times `root_w`.
    free: Vec<Vec<f64>>,
    inverse_sd: Vec<f64>,
    /// Sum of row weights.
    pub(crate) total_weight: f64,
}

impl<'a> Working<'a> {
    /// The working matrix of `x` under weights `w`, with the constant and perhaps one more column unpenalised. Of more than
    /// `most_cells` dense cells none is kept; wide matrices, whose kernel is asked for, always are.
    pub(crate) fn new(view: View<'a>, w: &[f64], free_column: Option<&[f64]>) -> Result<Self> {
        Self::with_most_cells(view, w, free_column, MOST_CELLS)
    }

    fn with_most_cells(view: View<'a>, w: &[f64], free_column: Option<&[f64]>, most_cells: usize) -> Result<Self> {
        let total: f64 = w.iter().sum();
        if total.partial_cmp(&0.0) != Some(std::cmp::Ordering::Greater) {
            return Err(Error::unfit("all rows to learn from have weight 0"));
        }
        let moments = Moments::of(view, w);
        let root_w: Vec<f64> = w.iter().map(|v| v.sqrt()).collect();
        let free = free_basis(&root_w, total, free_column);
        let body = match view.x {
            Features::Dense(m) if view.n_rows() >= m.n_cols() && view.n_rows() * m.n_cols() > most_cells => {
                let along = vec![vec![0.0; m.n_cols()]; free.len()];
                let body = Body::Blocks { x: m, view, mean: moments.mean.clone(), along };
                let mut work = Self { body, root_w, free, inverse_sd: moments.inverse_sd, total_weight: total };
                let found: Vec<Vec<f64>> = work.free.iter().map(|q| work.transpose_times(q)).collect();
                if let Body::Blocks { along, .. } = &mut work.body {
                    *along = found;
                }
                return Ok(work);
            }
            Features::Dense(m) => {
                let mut a = Mat::from_fn(view.n_rows(), m.n_cols(), |i, j| {
                    root_w[i] * (m.get(view.place(i), j) - moments.mean[j]) * moments.inverse_sd[j]
                });
                for j in 0..a.ncols() {
                    let column = a.col_as_slice_mut(j);
                    for q in &free {
                        let along = dot(q, column);
                        column.iter_mut().zip(q).for_each(|(v, u)| *v -= along * u);
                    }
                }
                Body::Dense(a)
            }
            Features::Sparse(m) => {
                let correction = free
                    .iter()
                    .map(|q| {
                        let mut c = vec![0.0; m.n_cols()];
                        for i in 0..view.n_rows() {
                            let (cols, values) = m.row(view.place(i));
                            for (&j, v) in cols.iter().zip(values) {
                                c[j as usize] += root_w[i] * q[i] * v;
                            }
                        }
                        c.iter_mut().zip(&moments.inverse_sd).for_each(|(v, s)| *v *= s);
                        c
                    })
                    .collect();
                Body::Sparse { x: m, view, correction }
            }
        };
        Ok(Self { body, root_w, free, inverse_sd: moments.inverse_sd, total_weight: total })
    }

    pub(crate) fn n_rows(&self) -> usize {
        self.root_w.len()
    }

    /// Rows `from..to` of a matrix that is not kept.
    fn block(
        &self,
        from: usize,
        to: usize,
        (x, view): (&Dense, &View<'_>),
        mean: &[f64],
        along: &[Vec<f64>],
    ) -> Mat<f64> {
        let mut out = Mat::zeros(to - from, x.n_cols());
        for i in from..to {
            for (j, v) in x.row(view.place(i)).iter().enumerate() {
                let free: f64 = self.free.iter().zip(along).map(|(q, along)| along[j] * q[i]).sum();
                out[(i - from, j)] = self.root_w[i] * (v - mean[j]) * self.inverse_sd[j] - free;
            }
        }
        out
    }

    /// The sum of something over blocks of rows, in their order whatever the threads.
    fn sum_over_blocks<E: Send>(
        &self,
        part: impl Fn(usize, usize) -> Result<Mat<f64>, E> + Sync,
    ) -> Result<Mat<f64>, E> {
        let (n, rows) = (self.n_rows(), (MOST_CELLS / self.n_cols().max(1)).max(BLOCK));
        let starts: Vec<usize> = (0..n).step_by(rows).collect();
        let mut sum: Option<Mat<f64>> = None;
        for wave in starts.chunks(BLOCKS_AT_ONCE) {
            let parts: Vec<Mat<f64>> =
                wave.par_iter().map(|&from| part(from, (from + rows).min(n))).collect::<Result<_, E>>()?;
            for part in parts {
                match &mut sum {
                    Some(sum) => *sum += part,
                    None => sum = Some(part),
                }
            }
        }
        Ok(sum.unwrap_or_else(Mat::new))
    }

    pub(crate) fn n_cols(&self) -> usize {
        self.inverse_sd.len()
    }

    /// One over the standard deviation of each column.
    pub(crate) fn inverse_sd(&self) -> &[f64] {
        &self.inverse_sd
    }

    /// The outcome in the same space: weighted, and cleared of the unpenalised columns.
    pub(crate) fn outcome(&self, y: &[f64]) -> Vec<f64> {
        let mut b: Vec<f64> = y.iter().zip(&self.root_w).map(|(v, r)| v * r).collect();
        // Twice, because a large mean leaves rounding behind the first time.
        for q in self.free.iter().chain(&self.free) {
            let along = dot(q, &b);
            b.iter_mut().zip(q).for_each(|(v, u)| *v -= along * u);
        }
        b
    }

    /// Leverage of each row on the unpenalised columns alone.
    pub(crate) fn free_leverage(&self) -> Vec<f64> {
        (0..self.n_rows()).map(|i| self.free.iter().map(|q| q[i] * q[i]).sum()).collect()
    }

    /// `AᵀA`, d x d, lower triangle.
    pub(crate) fn gram(&self, watch: Watch<'_>) -> Result<Mat<f64>> {
        match &self.body {
            Body::Dense(a) => lower_product(a.transpose(), a.as_ref(), watch),
            Body::Blocks { x, view, mean, along } => self.sum_over_blocks(|from, to| {
                let a = self.block(from, to, (x, view), mean, along);
                lower_product(a.transpose(), a.as_ref(), watch)
            }),
            Body::Sparse { x, view, correction } => {
                let d = self.n_cols();
                let mut g = Mat::<f64>::zeros(d, d);
                for i in 0..view.n_rows() {
                    if i % BLOCK == 0 {
                        watch()?;
                    }
                    let (cols, values) = x.row(view.place(i));
                    let w = self.root_w[i] * self.root_w[i];
                    for (k, (&j, v)) in cols.iter().zip(values).enumerate() {
                        let scaled = w * v * self.inverse_sd[j as usize];
                        let column = g.col_as_slice_mut(j as usize);
                        for (&l, u) in cols[k..].iter().zip(&values[k..]) {
                            column[l as usize] += scaled * u;
                        }
                    }
                }
                for j in 0..d {
                    let column = g.col_as_slice_mut(j);
                    for l in j..d {
                        let shared: f64 = correction.iter().map(|c| c[l] * c[j]).sum();
                        column[l] = column[l] * self.inverse_sd[l] - shared;
                    }
                }
                Ok(g)
            }
        }
    }

    /// `AAᵀ`, n x n, lower triangle.
    pub(crate) fn kernel(&self, watch: Watch<'_>) -> Result<Mat<f64>> {
        match &self.body {
            Body::Dense(a) => lower_product(a.as_ref(), a.transpose(), watch),
            Body::Blocks { x, view, mean, along } => {
                let a = self.block(0, self.n_rows(), (x, view), mean, along);
                lower_product(a.as_ref(), a.transpose(), watch)
            }
            Body::Sparse { x, view, correction } => {
                let n = view.n_rows();
                // Rows of `B S⁻¹` against the correction, and the correction against itself.
                let across: Vec<Vec<f64>> =
                    (0..n).map(|i| correction.iter().map(|c| self.sparse_row_dot((x, view), i, c)).collect()).collect();
                let inner: Vec<Vec<f64>> =
                    correction.iter().map(|c| correction.iter().map(|e| dot(c, e)).collect()).collect();
                let columns: Vec<Vec<f64>> = (0..n)
                    .into_par_iter()
                    .map(|j| {
                        watch()?;
                        let mut wide = vec![0.0; self.n_cols()];
                        let (cols, values) = x.row(view.place(j));
                        for (&c, v) in cols.iter().zip(values) {
                            wide[c as usize] = self.root_w[j] * v * self.inverse_sd[c as usize];
                        }
                        Ok((j..n)
                            .map(|i| {
                                let mut k = self.sparse_row_dot((x, view), i, &wide);
                                for (p, q) in self.free.iter().enumerate() {
                                    k -= across[i][p] * q[j] + across[j][p] * q[i];
                                    for (r, q2) in self.free.iter().enumerate() {
                                        k += q[i] * inner[p][r] * q2[j];
                                    }
                                }
                                k
                            })
                            .collect())
                    })
                    .collect::<Result<_>>()?;
                let mut kernel = Mat::zeros(n, n);
                for (j, column) in columns.iter().enumerate() {
                    kernel.col_as_slice_mut(j)[j..].copy_from_slice(column);
                }
                Ok(kernel)
            }
        }
    }

    fn sparse_row_dot(&self, (x, view): (&Csr, &View<'_>), i: usize, other: &[f64]) -> f64 {
        let (cols, values) = x.row(view.place(i));
        let sum: f64 = cols.iter().zip(values).map(|(&j, v)| v * self.inverse_sd[j as usize] * other[j as usize]).sum();
        sum * self.root_w[i]
    }

    /// `Aᵀv`, of length d.
    pub(crate) fn transpose_times(&self, v: &[f64]) -> Vec<f64> {
        match &self.body {
            Body::Dense(a) => (0..a.ncols()).map(|j| dot(a.col_as_slice(j), v)).collect(),
            Body::Blocks { x, view, mean, along } => {
                let Ok(sum) = self.sum_over_blocks(|from, to| {
                    let a = self.block(from, to, (x, view), mean, along);
                    Ok::<_, Infallible>(Mat::from_fn(a.ncols(), 1, |j, _| dot(a.col_as_slice(j), &v[from..to])))
                });
                sum.col_as_slice(0).to_vec()
            }
            Body::Sparse { x, view, correction } => {
                let mut out = vec![0.0; self.n_cols()];
                for i in 0..view.n_rows() {
                    let (cols, values) = x.row(view.place(i));
                    let scaled = self.root_w[i] * v[i];
                    cols.iter().zip(values).for_each(|(&j, u)| out[j as usize] += scaled * u);
                }
                out.iter_mut().zip(&self.inverse_sd).for_each(|(o, s)| *o *= s);
                for (q, c) in self.free.iter().zip(correction) {
                    let along = dot(q, v);
                    out.iter_mut().zip(c).for_each(|(o, u)| *o -= along * u);
                }
                out
            }
        }
    }

    /// Rows `from..to` of `A V`, for `V` of d rows.
    pub(crate) fn rows_times(&self, from: usize, to: usize, v: MatRef<'_, f64>) -> Mat<f64> {
        let mut out = Mat::zeros(to - from, v.ncols());
        match &self.body {
            Body::Dense(a) => {
                matmul(&mut out, Accum::Replace, a.subrows(from, to - from), v, 1.0, Par::Seq);
            }
            Body::Blocks { x, view, mean, along } => {
                let a = self.block(from, to, (x, view), mean, along);
                matmul(&mut out, Accum::Replace, a.as_ref(), v, 1.0, Par::Seq);
            }
            Body::Sparse { x, view, correction } => {
                for k in 0..v.ncols() {
                    let column: Vec<f64> = (0..v.nrows()).map(|j| v[(j, k)]).collect();
                    let shift: Vec<f64> = correction.iter().map(|c| dot(c, &column)).collect();
                    let target = out.col_as_slice_mut(k);
                    for i in from..to {
                        let moved: f64 = self.free.iter().zip(&shift).map(|(q, s)| q[i] * s).sum();
                        target[i - from] = self.sparse_row_dot((x, view), i, &column) - moved;
                    }
                }
            }
        }
        out
    }
}

/// Orthonormal columns spanning the constant and the free column, both times `root_w`.
fn free_basis(root_w: &[f64], total: f64, free_column: Option<&[f64]>) -> Vec<Vec<f64>> {
    let scale = 1.0 / total.sqrt();
    let constant: Vec<f64> = root_w.iter().map(|r| r * scale).collect();
    let Some(column) = free_column else { return vec![constant] };
    let mean = column.iter().zip(root_w).map(|(v, r)| v * r * r).sum::<f64>() / total;
    let mut centred: Vec<f64> = column.iter().zip(root_w).map(|(v, r)| (v - mean) * r).collect();
    let norm = dot(&centred, &centred).sqrt();
    // A constant free column says nothing beyond the intercept.
    if norm <= 1e-10 * total.sqrt() * mean.abs().max(f64::MIN_POSITIVE) {
        return vec![constant];
    }
    centred.iter_mut().for_each(|v| *v /= norm);
    vec![constant, centred]
}

/// The lower triangle of a symmetric product, by column blocks of a fixed width.
pub(crate) fn lower_product(left: MatRef<'_, f64>, right: MatRef<'_, f64>, watch: Watch<'_>) -> Result<Mat<f64>> {
    let n = left.nrows();
    let starts: Vec<usize> = (0..n).step_by(BLOCK).collect();
    let blocks: Vec<Mat<f64>> = starts
        .par_iter()
        .map(|&from| {
            watch()?;
            let width = BLOCK.min(n - from);
            let mut block = Mat::zeros(n - from, width);
            matmul(&mut block, Accum::Replace, left.subrows(from, n - from), right.subcols(from, width), 1.0, Par::Seq);
            Ok(block)
        })
        .collect::<Result<_>>()?;
    let mut out = Mat::zeros(n, n);
    for (&from, block) in starts.iter().zip(&blocks) {
        for j in 0..block.ncols() {
            out.col_as_slice_mut(from + j)[from..].copy_from_slice(block.col_as_slice(j));
        }
    }
    Ok(out)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use paretau_core::Seed;

    use super::*;

    #[test]
    fn a_matrix_that_is_not_kept_gives_what_the_kept_one_gives() {
        let (n, d) = (700, 5);
        let mut rng = Seed(3).rng();
        let x: Vec<f64> = (0..n * d).map(|k| 40.0 * (k % d) as f64 + rng.normal()).collect();
        let x = Features::Dense(Dense::new(n, d, x).unwrap());
        let rows: Vec<usize> = (0..n).filter(|i| i % 3 != 0).collect();
        let w: Vec<f64> = rows.iter().map(|_| 0.5 + rng.uniform()).collect();
        let u: Vec<f64> = rows.iter().map(|_| f64::from(u8::from(rng.bernoulli(0.4)))).collect();
        let y: Vec<f64> = rows.iter().map(|_| rng.normal()).collect();
        for free in [None, Some(u.as_slice())] {
            let work = |most| Working::with_most_cells(View::of(&x, &rows), &w, free, most).unwrap();
            let (kept, blocks) = (work(usize::MAX), work(10));
            assert!(matches!(kept.body, Body::Dense(_)) && matches!(blocks.body, Body::Blocks { .. }));
            let near = |a: &Mat<f64>, b: &Mat<f64>| {
                for j in 0..a.ncols() {
                    for i in 0..a.nrows() {
                        assert!((a[(i, j)] - b[(i, j)]).abs() < 1e-8, "({i}, {j}): {} {}", a[(i, j)], b[(i, j)]);
                    }
                }
            };
            let watch: Watch<'_> = &|| Ok(());
            near(&kept.gram(watch).unwrap(), &blocks.gram(watch).unwrap());
            near(&kept.kernel(watch).unwrap(), &blocks.kernel(watch).unwrap());
            let b = kept.outcome(&y);
            assert_eq!(b, blocks.outcome(&y));
            let column = |v: Vec<f64>| Mat::from_fn(v.len(), 1, |i, _| v[i]);
            near(&column(kept.transpose_times(&b)), &column(blocks.transpose_times(&b)));
            let v = Mat::from_fn(d, 2, |i, k| (i + k) as f64);
            near(&kept.rows_times(100, 200, v.as_ref()), &blocks.rows_times(100, 200, v.as_ref()));
        }
    }
}
