//! Inverses of very small symmetric matrices, without allocation.

/// Most contrasts that one forest estimates together.
pub(crate) const MAX_DIM: usize = 7;

/// A short vector; entries beyond the dimension in use are 0.
pub(crate) type Vector = [f64; MAX_DIM];

/// A small matrix; entries beyond the dimension in use are 0.
pub(crate) type Matrix = [[f64; MAX_DIM]; MAX_DIM];

/// The inverse of the leading `d` × `d` block by Gauss and Jordan, or nothing if it is singular to working precision.
pub(crate) fn inverse(matrix: &Matrix, d: usize) -> Option<Matrix> {
    let mut a = *matrix;
    let mut out = [[0.0; MAX_DIM]; MAX_DIM];
    let scale = (0..d).map(|k| matrix[k][k].abs()).fold(0.0, f64::max);
    (0..d).for_each(|k| out[k][k] = 1.0);
    for k in 0..d {
        let pivot = (k..d).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs()))?;
        if a[pivot][k].abs() <= 1e-10 * scale || scale == 0.0 {
            return None;
        }
        a.swap(k, pivot);
        out.swap(k, pivot);
        let factor = 1.0 / a[k][k];
        a[k].iter_mut().chain(out[k].iter_mut()).for_each(|v| *v *= factor);
        let (row_a, row_out) = (a[k], out[k]);
        for i in (0..d).filter(|&i| i != k) {
            let factor = a[i][k];
            for j in 0..d {
                a[i][j] -= factor * row_a[j];
                out[i][j] -= factor * row_out[j];
            }
        }
    }
    Some(out)
}

/// The product of the leading block with a vector.
#[inline]
pub(crate) fn multiply(matrix: &Matrix, v: &Vector, d: usize) -> Vector {
    let mut out = [0.0; MAX_DIM];
    for i in 0..d {
        out[i] = (0..d).map(|j| matrix[i][j] * v[j]).sum();
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn inverse_times_matrix_is_the_identity() {
        let mut m = [[0.0; MAX_DIM]; MAX_DIM];
        for (i, row) in [[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]].iter().enumerate() {
            m[i][..3].copy_from_slice(row);
        }
        let inv = inverse(&m, 3).unwrap();
        for j in 0..3 {
            let mut column = [0.0; MAX_DIM];
            (0..3).for_each(|i| column[i] = m[i][j]);
            let product = multiply(&inv, &column, 3);
            (0..3).for_each(|i| assert!((product[i] - f64::from(u8::from(i == j))).abs() < 1e-12));
        }
        m[2] = m[1];
        assert!(inverse(&m, 3).is_none());
    }
}
