//! A penalty that keeps the first of several encoders from what the others read: in the first layer, the first encoder's weights of each
//! column are decayed by how strongly the others read that column.
//!
//! ```text
//! s_j = mean square of the other encoders' weights of column j, over the largest of all columns (a constant for the gradient)
//! P = strength / 2 · Σ_j s_j Σ_u W_ju²,   ∂P/∂W_ju = strength · s_j W_ju   over the first encoder's units u
//! ```

use paretau_kernels::real::Real;

/// Adds the penalty's gradient to `grads` and returns its value.
///
/// # Shapes
/// `weights`, `grads`: one row per column, `groups · units` values each, the first encoder's first.
pub fn add<T: Real>(strength: f64, (weights, grads): (&[T], &mut [T]), (groups, units): (usize, usize)) -> f64 {
    let width = groups * units;
    if groups < 2 || units == 0 {
        return 0.0;
    }
    let squares = |row: &[T]| row.iter().map(|w| w.to_f64().powi(2)).sum::<f64>();
    let most = weights.chunks_exact(width).map(|row| squares(&row[units..])).fold(0.0, f64::max);
    if most <= 0.0 {
        return 0.0;
    }
    let mut value = 0.0;
    for (row, grads) in weights.chunks_exact(width).zip(grads.chunks_exact_mut(width)) {
        let pull = strength * squares(&row[units..]) / most;
        value += 0.5 * pull * squares(&row[..units]);
        let pull = T::from_f64(pull);
        grads[..units].iter_mut().zip(row).for_each(|(g, w)| *g += pull * *w);
    }
    value
}
