//! Linear discrepancies: how far apart two samples are in the eyes of linear functions.
//!
//! Two definitions are in use, and both are here:
//! * the **linear MMD**, the maximum mean discrepancy with kernel `x·y`: `|mean(a) - mean(b)|²`;
//! * the **linear discrepancy** of Mansour, Mohri and Rostamizadeh (2009, section 5): the largest difference in expected
//!   squared loss between two linear hypotheses `u·x` with `|u| <= 1`, which is the spectral norm of the difference of the
//!   second-moment matrices, `|AᵀA/n0 - BᵀB/n1|`. Means count, since the moments are not centred.

use crate::arms::{Arms, ArmsGrad, column_means};
use crate::error::KernelError;
use crate::parallel::Parallelism;
use crate::product::{MatMut, MatRef, matmul};
use crate::real::Real;

/// Memory that the discrepancies keep between calls: a few values per column, and for [`linear_discrepancy`] `5 k²`.
#[derive(Debug, Default)]
pub struct DiscrepancyWorkspace<T> {
    mean: Vec<f64>,
    mean_b: Vec<f64>,
    moments: Vec<T>,
    difference: Vec<f64>,
    power: Vec<f64>,
    square: Vec<f64>,
}

impl<T: Real> DiscrepancyWorkspace<T> {
    /// An empty workspace; it grows at the first call.
    pub fn new() -> Self {
        Self::default()
    }
}

fn finite(what: &'static str, value: f64) -> Result<f64, KernelError> {
    if value.is_finite() {
        return Ok(value);
    }
    let index = 0;
    Err(KernelError::NonFinite { what, index, value })
}

/// `|mean(a) - mean(b)|²` and, if asked for, its gradient: `±2 (mean(a) - mean(b)) / n` in every row.
///
/// Cost: one pass over the points, one over the gradient, which is overwritten.
///
/// # Errors
/// A gradient of the wrong shape, or a value outside the range of floats.
pub fn linear_mmd2<T: Real>(
    arms: &Arms<'_, T>,
    grad: Option<ArmsGrad<'_, T>>,
    workspace: &mut DiscrepancyWorkspace<T>,
) -> Result<f64, KernelError> {
    let k = arms.k();
    if let Some(grad) = &grad {
        arms.check_grad(grad)?;
    }
    let (gap, mean_b) = (&mut workspace.mean, &mut workspace.mean_b);
    gap.resize(k, 0.0);
    mean_b.resize(k, 0.0);
    column_means(arms.a(), k, gap);
    column_means(arms.b(), k, mean_b);
    let mut value = 0.0;
    for (gap, b) in gap.iter_mut().zip(mean_b.iter()) {
        *gap -= b;
        value += *gap * *gap;
    }
    let value = finite("linear MMD²", value)?;
    if let Some(grad) = grad {
        let sides = [(grad.a, 2.0 / arms.n0() as f64), (grad.b, -2.0 / arms.n1() as f64)];
        for (out, scale) in sides {
            for row in out.chunks_exact_mut(k) {
                for (out, gap) in row.iter_mut().zip(gap.iter()) {
                    *out = T::from_f64(scale * gap);
                }
            }
        }
    }
    Ok(value)
}

/// Squarings of the matrix: the power `2^40` separates eigenvalues that agree to twelve digits.
const MAX_SQUARINGS: usize = 40;

/// The spectral norm `|M|`, `M = AᵀA/n0 - BᵀB/n1`, and, if asked for, its gradient.
///
/// With a unit eigenvector `u` of the eigenvalue `λ` of largest size, `s = sign(λ)`:
/// ```text
/// ∂|M|/∂a_i =  2 s (a_i·u) u / n0,   ∂|M|/∂b_j = -2 s (b_j·u) u / n1
/// ```
/// (where two eigenvalues tie for the largest size, one subgradient; zero if `M = 0`). `u` comes from power iteration in
/// squarings: `M², M⁴, M⁸, …`, each scaled to size one, so that no starting vector is needed.
///
/// # Cost
/// `(n0 + n1) k²` for the moments, at most `40 k³` for the eigenvector, `(n0 + n1) k` for the gradient, which is overwritten.
///
/// # Errors
/// A gradient of the wrong shape, or moments outside the range of floats.
pub fn linear_discrepancy<T: Real>(
    arms: &Arms<'_, T>,
    grad: Option<ArmsGrad<'_, T>>,
    workspace: &mut DiscrepancyWorkspace<T>,
    parallelism: Parallelism,
) -> Result<f64, KernelError> {
    let k = arms.k();
    if let Some(grad) = &grad {
        arms.check_grad(grad)?;
    }
    workspace.moments.resize(k * k, T::ZERO);
    let moments = &mut workspace.moments;
    let sides = [(arms.a(), 1.0 / arms.n0() as f64, T::ZERO), (arms.b(), -1.0 / arms.n1() as f64, T::ONE)];
    for (x, scale, keep) in sides {
        let x = MatRef::row_major(x, x.len() / k, k)?;
        let out = MatMut::row_major(moments, k, k)?;
        matmul(out, x.t(), x, (T::from_f64(scale), keep), parallelism)?;
    }
    let difference = &mut workspace.difference;
    difference.clear();
    // Rounding may differ across the diagonal; the eigenvector below is that of a symmetric matrix.
    difference.extend((0..k * k).map(|at| {
        let mirrored = at % k * k + at / k;
        0.5 * (moments[at].to_f64() + moments[mirrored].to_f64())
    }));
    let largest = difference.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    let sum: f64 = difference.iter().sum();
    finite("second moments", largest + 0.0 * sum)?;

    let mut value = 0.0;
    let mut sign = 0.0;
    if largest > 0.0 {
        workspace.power.clear();
        workspace.power.extend(difference.iter().map(|x| x / largest));
        let column = square_repeatedly(&mut workspace.power, &mut workspace.square, k, parallelism)?;
        let vector = &mut workspace.mean;
        vector.clear();
        vector.extend((0..k).map(|c| workspace.power[c * k + column]));
        let lambda = largest * split_sign(&workspace.difference, vector, &mut workspace.mean_b, largest);
        value = finite("linear discrepancy", lambda.abs())?;
        sign = lambda.signum();
    }
    if let Some(grad) = grad {
        let sides =
            [(arms.a(), grad.a, 2.0 * sign / arms.n0() as f64), (arms.b(), grad.b, -2.0 * sign / arms.n1() as f64)];
        for (x, out, scale) in sides {
            if sign == 0.0 {
                out.fill(T::ZERO);
                continue;
            }
            for (x, out) in x.chunks_exact(k).zip(out.chunks_exact_mut(k)) {
                let u = &workspace.mean;
                let dot: f64 = x.iter().zip(u).map(|(x, u)| x.to_f64() * u).sum();
                for (out, u) in out.iter_mut().zip(u) {
                    *out = T::from_f64(scale * dot * u);
                }
            }
        }
    }
    Ok(value)
}

/// Replaces `power` by a high even power of itself, scaled; answers its largest column, an eigenvector of the square.
fn square_repeatedly(
    power: &mut Vec<f64>,
    square: &mut Vec<f64>,
    k: usize,
    parallelism: Parallelism,
) -> Result<usize, KernelError> {
    square.resize(k * k, 0.0);
    for _ in 0..MAX_SQUARINGS {
        let x = MatRef::row_major(power, k, k)?;
        let out = MatMut::row_major(square, k, k)?;
        matmul(out, x, x, (1.0, 0.0), parallelism)?;
        let size = square.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        let mut change = 0.0_f64;
        for (new, old) in square.iter_mut().zip(power.iter()) {
            *new /= size;
            change = change.max((*new - old).abs());
        }
        std::mem::swap(power, square);
        if change <= 4.0 * f64::EPSILON {
            break;
        }
    }
    // The diagonal of a projector holds the squared lengths of its columns.
    let diagonal = (0..k).map(|c| power[c * k + c]);
    let best = diagonal.enumerate().max_by(|x, y| x.1.total_cmp(&y.1));
    Ok(best.map_or(0, |(c, _)| c))
}

/// From an eigenvector `x` of `M²`, an eigenvector of `M` of length one in `x`, and its eigenvalue in units of `scale`.
///
/// If `M` has both `+λ` and `-λ`, `x` may be a mixture of their eigenvectors: `M x + λ x` keeps only the one of `+λ`, `M x - λ x` that of `-λ`.
fn split_sign(m: &[f64], x: &mut [f64], mx: &mut Vec<f64>, scale: f64) -> f64 {
    let k = x.len();
    let unit = |x: &mut [f64]| {
        let norm = x.iter().map(|v| v * v).sum::<f64>().sqrt();
        for v in x {
            *v /= norm;
        }
    };
    let times = |x: &[f64], out: &mut Vec<f64>| {
        out.clear();
        out.extend(m.chunks_exact(k).map(|row| {
            let dot: f64 = row.iter().zip(x).map(|(m, x)| m * x).sum();
            dot / scale
        }));
    };
    unit(x);
    times(x, mx);
    let size = mx.iter().map(|v| v * v).sum::<f64>().sqrt();
    let dot: f64 = x.iter().zip(mx.iter()).map(|(x, y)| x * y).sum();
    let sign = if dot < 0.0 { -1.0 } else { 1.0 };
    for (x, y) in x.iter_mut().zip(mx.iter()) {
        *x = y + sign * size * *x;
    }
    unit(x);
    times(x, mx);
    x.iter().zip(mx.iter()).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{check_gradient, pool, single, uniform};

    type Kernel<T> =
        fn(&Arms<'_, T>, Option<ArmsGrad<'_, T>>, &mut DiscrepancyWorkspace<T>) -> Result<f64, KernelError>;

    fn mansour<T: Real>(
        arms: &Arms<'_, T>,
        grad: Option<ArmsGrad<'_, T>>,
        workspace: &mut DiscrepancyWorkspace<T>,
    ) -> Result<f64, KernelError> {
        linear_discrepancy(arms, grad, workspace, Parallelism::Rayon)
    }

    fn eval<T: Real>(kernel: Kernel<T>, x: &[T], n0: usize, k: usize) -> (f64, Vec<T>) {
        let (a, b) = x.split_at(n0 * k);
        let mut grad = vec![T::ZERO; x.len()];
        let (ga, gb) = grad.split_at_mut(n0 * k);
        let arms = Arms::new(a, b, k).unwrap();
        let out = ArmsGrad { a: ga, b: gb };
        let value = kernel(&arms, Some(out), &mut DiscrepancyWorkspace::new());
        (value.unwrap(), grad)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn gradients_agree_with_differences(n0 in 1_usize..40, n1 in 1_usize..40, k in 1_usize..9, seed: u64) {
            let x = uniform((n0 + n1) * k, seed);
            for (kernel, kernel32) in [
                (linear_mmd2::<f64> as Kernel<f64>, linear_mmd2::<f32> as Kernel<f32>),
                (mansour::<f64>, mansour::<f32>),
            ] {
                let (value, grad) = eval(kernel, &x, n0, k);
                prop_assert!(value >= 0.0);
                let error = check_gradient(&x, &grad, 1e-6, 8, |x| eval(kernel, x, n0, k).0);
                // Where two eigenvalues nearly tie, a difference quotient sees both.
                prop_assert!(error <= 1e-5, "gradient off by {}", error);
                let (value32, _) = eval(kernel32, &single(&x), n0, k);
                prop_assert!((value32 - value).abs() <= 1e-5 * (1.0 + value), "{} {}", value32, value);
            }
        }

        #[test]
        fn any_bits_give_a_finite_answer_or_an_error(
            bits in proptest::collection::vec(any::<u32>(), 1..40), k in 0_usize..6, cut in 0_usize..40,
        ) {
            let x: Vec<f32> = bits.iter().map(|&b| f32::from_bits(b)).collect();
            let cut = (cut % (x.len() + 1)) / k.max(1) * k.max(1);
            let (a, b) = x.split_at(cut.min(x.len()));
            if let Ok(arms) = Arms::new(a, b, k) {
                for kernel in [linear_mmd2::<f32> as Kernel<f32>, mansour::<f32>] {
                    let found = kernel(&arms, None, &mut DiscrepancyWorkspace::new());
                    prop_assert!(found.is_err() || found.is_ok_and(|v| v.is_finite() && v >= 0.0));
                }
            }
        }
    }

    #[test]
    fn the_spectral_norm_is_the_largest_quadratic_form() {
        let (n0, n1, k) = (30, 50, 4);
        let x = uniform((n0 + n1) * k, 3);
        let (value, _) = eval(mansour::<f64>, &x, n0, k);
        let form = |u: &[f64]| {
            let mean = |x: &[f64]| {
                let dots = x.chunks(k).map(|r| r.iter().zip(u).map(|(x, u)| x * u).sum::<f64>());
                dots.map(|d| d * d).sum::<f64>() / (x.len() / k) as f64
            };
            (mean(&x[..n0 * k]) - mean(&x[n0 * k..])).abs() / u.iter().map(|u| u * u).sum::<f64>()
        };
        let best = (0..20_000).map(|s| form(&uniform(k, s))).fold(0.0, f64::max);
        assert!(best <= value * (1.0 + 1e-12) && best >= 0.97 * value, "{best} {value}");
    }

    #[test]
    fn opposite_eigenvalues_of_equal_size_are_told_apart() {
        // M = diag(1, -1).
        let (value, grad) = eval(mansour::<f64>, &[1.0, 0.0, 0.0, 1.0], 1, 2);
        assert!((value - 1.0).abs() < 1e-12);
        let one_side = (grad[0].abs() - 2.0).abs() < 1e-9 && grad[3].abs() < 1e-9;
        let other_side = (grad[3].abs() - 2.0).abs() < 1e-9 && grad[0].abs() < 1e-9;
        assert!(one_side || other_side, "{grad:?}");
    }

    #[test]
    fn equal_samples_have_none() {
        let mut x = uniform(24, 4);
        x.extend_from_within(..);
        for kernel in [linear_mmd2::<f64> as Kernel<f64>, mansour::<f64>] {
            let (value, grad) = eval(kernel, &x, 8, 3);
            assert!(value < 1e-15);
            assert!(grad.iter().all(|g| g.is_finite()));
        }
        let (value, grad) = eval(mansour::<f32>, &[0.0; 12], 2, 3);
        assert_eq!((value, grad), (0.0, vec![0.0; 12]));
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let x = single(&uniform(3000 * 20, 5));
        let run = |threads| pool(threads).install(|| eval(mansour::<f32>, &x, 1000, 20));
        let one = run(1);
        assert!(run(2) == one && run(3) == one);
    }

    #[test]
    fn a_gradient_of_another_shape_is_refused() {
        let x = [1.0, 2.0];
        let arms = Arms::new(&x, &x, 1).unwrap();
        for kernel in [linear_mmd2::<f64> as Kernel<f64>, mansour::<f64>] {
            let (mut a, mut b) = ([0.0; 2], [0.0; 3]);
            let grad = ArmsGrad { a: &mut a, b: &mut b };
            let error = kernel(&arms, Some(grad), &mut DiscrepancyWorkspace::new());
            assert!(matches!(error, Err(KernelError::Length { .. })));
        }
    }
}
