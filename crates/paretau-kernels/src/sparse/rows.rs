//! The inner loops: a row of the output as a sum of a few rows of a dense matrix, in registers.

use pulp::Simd;

use crate::real::Real;
use crate::simd::Vectorised;

/// Consecutive rows of an output; row `i` is `Σ_m v_m dense[j_m, :]` over the stored `(j_m, v_m)` of a sparse row, corrected.
pub(super) struct Block<'a, T, R> {
    /// The rows, `p` values each.
    pub(super) out: &'a mut [T],
    /// Number of the first one.
    pub(super) first: usize,
    /// Stored indices and values of a row.
    pub(super) row: R,
    pub(super) dense: &'a [T],
    pub(super) p: usize,
    /// Multiplies `v_m` by the entry of `j_m`.
    pub(super) value_scale: Option<&'a [T]>,
    /// Mean and scale of row `i`: the row becomes `scale · (row - mean · shift)`.
    pub(super) row_scale: Option<(&'a [T], &'a [T])>,
    /// What to subtract from every row; see `row_scale`.
    pub(super) shift: Option<&'a [T]>,
}

impl<'r, T: Real, R: Fn(usize) -> (&'r [u32], &'r [T])> Vectorised for Block<'_, T, R> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd, const FMA: bool>(self, simd: S) {
        let lanes = T::lanes::<S>();
        for (i, out) in self.out.chunks_exact_mut(self.p).enumerate() {
            let i = self.first + i;
            let (indices, values) = (self.row)(i);
            let line = Line { indices, values, dense: self.dense, p: self.p, scale: self.value_scale };
            let mut at = 0;
            while self.p - at >= 12 * lanes {
                line.panel::<S, 12>(simd, &mut out[at..at + 12 * lanes], at);
                at += 12 * lanes;
            }
            while self.p - at >= 4 * lanes {
                line.panel::<S, 4>(simd, &mut out[at..at + 4 * lanes], at);
                at += 4 * lanes;
            }
            while self.p - at >= lanes {
                line.panel::<S, 1>(simd, &mut out[at..at + lanes], at);
                at += lanes;
            }
            for c in at..self.p {
                out[c] = line.cell::<FMA>(c);
            }
            if let Some(shift) = self.shift {
                let (mean, scale) = self.row_scale.map_or((T::ONE, T::ONE), |(mean, scale)| (mean[i], scale[i]));
                for (x, &s) in out.iter_mut().zip(shift) {
                    *x = scale * (*x - mean * s);
                }
            }
        }
    }
}

struct Line<'a, T> {
    indices: &'a [u32],
    values: &'a [T],
    dense: &'a [T],
    p: usize,
    scale: Option<&'a [T]>,
}

impl<T: Real> Line<'_, T> {
    /// Row of the dense matrix and factor of each stored value.
    #[inline(always)]
    fn terms(&self) -> impl Iterator<Item = (usize, T)> {
        let pairs = self.indices.iter().zip(self.values);
        pairs.map(|(&j, &v)| {
            let j = j as usize;
            (j, self.scale.map_or(v, |scale| v * scale[j]))
        })
    }

    /// `REGS` registers of the output from column `at` on.
    #[inline(always)]
    fn panel<S: Simd, const REGS: usize>(&self, simd: S, out: &mut [T], at: usize) {
        let mut sums = [T::splat(simd, T::ZERO); REGS];
        let width = out.len();
        for (j, v) in self.terms() {
            let start = j * self.p + at;
            let v = T::splat(simd, v);
            let dense = T::regs::<S>(&self.dense[start..start + width]).0;
            if let Some(dense) = dense.first_chunk::<REGS>() {
                for r in 0..REGS {
                    sums[r] = T::vmul_add(simd, v, dense[r], sums[r]);
                }
            }
        }
        for (out, sum) in T::regs_mut::<S>(out).0.iter_mut().zip(sums) {
            *out = sum;
        }
    }

    #[inline(always)]
    fn cell<const FMA: bool>(&self, c: usize) -> T {
        let mut sum = T::ZERO;
        for (j, v) in self.terms() {
            sum = v.mul_add::<FMA>(self.dense[j * self.p + c], sum);
        }
        sum
    }
}

/// `out[c] = Σ_i x_i y_i m[i, c]`, or the plain column sums without weights `(x, y)`.
pub(super) struct ColumnSum<'a, T> {
    pub(super) out: &'a mut [T],
    pub(super) m: &'a [T],
    pub(super) weights: Option<(&'a [T], &'a [T])>,
}

impl<T: Real> Vectorised for ColumnSum<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd, const FMA: bool>(self, _: S) {
        self.out.fill(T::ZERO);
        for (i, row) in self.m.chunks_exact(self.out.len()).enumerate() {
            let weight = self.weights.map_or(T::ONE, |(x, y)| x[i] * y[i]);
            for (sum, &x) in self.out.iter_mut().zip(row) {
                *sum = weight.mul_add::<FMA>(x, *sum);
            }
        }
    }
}
