//! Two samples of points to compare: the rows of the two treatment arms.

use crate::error::KernelError;
use crate::real::{Real, check_finite, check_len};

/// Rows of two arms in the same `k` columns, checked: neither arm is empty and every value is finite.
#[derive(Debug, Clone, Copy)]
pub struct Arms<'a, T> {
    a: &'a [T],
    b: &'a [T],
    k: usize,
}

/// Where to write a gradient with respect to the points of both arms, in the shapes of the arms.
#[derive(Debug)]
pub struct ArmsGrad<'a, T> {
    /// With respect to `a`, `n0 × k`.
    pub a: &'a mut [T],
    /// With respect to `b`, `n1 × k`.
    pub b: &'a mut [T],
}

impl<'a, T: Real> Arms<'a, T> {
    /// `a` is `n0 × k` and `b` is `n1 × k`, both row-major. Cost: one pass over the values.
    ///
    /// # Errors
    /// An empty arm, no columns, a length that is no multiple of `k`, or a value that is not finite.
    pub fn new(a: &'a [T], b: &'a [T], k: usize) -> Result<Self, KernelError> {
        if k == 0 {
            return Err(KernelError::Empty { what: "columns" });
        }
        for (what, arm) in [("arm a", a), ("arm b", b)] {
            if arm.is_empty() {
                return Err(KernelError::Empty { what });
            }
            check_len(what, (arm.len() / k).max(1).saturating_mul(k), arm.len())?;
            check_finite(what, arm)?;
        }
        Ok(Self { a, b, k })
    }

    /// The first arm, `n0 × k`.
    pub fn a(&self) -> &'a [T] {
        self.a
    }

    /// The second arm, `n1 × k`.
    pub fn b(&self) -> &'a [T] {
        self.b
    }

    /// Number of columns.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Rows of the first arm.
    pub fn n0(&self) -> usize {
        self.a.len() / self.k
    }

    /// Rows of the second arm.
    pub fn n1(&self) -> usize {
        self.b.len() / self.k
    }

    /// Row `i` of the two arms stacked, `a` first.
    pub(crate) fn row(&self, i: usize) -> &'a [T] {
        let (arm, i) = if i < self.n0() { (self.a, i) } else { (self.b, i - self.n0()) };
        &arm[i * self.k..(i + 1) * self.k]
    }

    /// Refuses gradients of another shape than the arms.
    pub(crate) fn check_grad(&self, grad: &ArmsGrad<'_, T>) -> Result<(), KernelError> {
        check_len("gradient of arm a", self.a.len(), grad.a.len())?;
        check_len("gradient of arm b", self.b.len(), grad.b.len())
    }
}

/// Column means of a row-major block in double precision: `out[c] = mean_i x[i, c]`.
pub(crate) fn column_means<T: Real>(x: &[T], k: usize, out: &mut [f64]) {
    out.fill(0.0);
    for row in x.chunks_exact(k) {
        for (sum, v) in out.iter_mut().zip(row) {
            *sum += v.to_f64();
        }
    }
    let n = (x.len() / k) as f64;
    for sum in out {
        *sum /= n;
    }
}
