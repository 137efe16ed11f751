//! Helpers that the tests of several kernels share.

use rand::{RngExt, SeedableRng};

/// `n` numbers in `[-1, 1)` from a seed.
pub(crate) fn uniform(n: usize, seed: u64) -> Vec<f64> {
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    (0..n).map(|_| rng.random_range(-1.0..1.0)).collect()
}

/// The same numbers in single precision.
pub(crate) fn single(x: &[f64]) -> Vec<f32> {
    x.iter().map(|&v| v as f32).collect()
}

/// Weights with a logistic-like spread, without randomness, in scrambled order.
pub(crate) fn spread_weights(n: usize) -> Vec<f64> {
    (0..n).map(|i| 1.0 + (6.0 * ((i * 37 % n) as f64 + 0.5) / n as f64 - 3.0).exp()).collect()
}

/// A pool of `threads` threads.
pub(crate) fn pool(threads: usize) -> rayon::ThreadPool {
    let builder = rayon::ThreadPoolBuilder::new().num_threads(threads);
    builder.build().unwrap()
}

/// Compares `grad` with central differences of `f` at up to `at_most` coordinates of `x`; the error is relative to the largest
/// derivative that was checked.
pub(crate) fn check_gradient(
    x: &[f64],
    grad: &[f64],
    step: f64,
    at_most: usize,
    mut f: impl FnMut(&[f64]) -> f64,
) -> f64 {
    let mut worst: f64 = 0.0;
    let scale = grad.iter().fold(0.0_f64, |m, g| m.max(g.abs()));
    let stride = x.len().div_ceil(at_most).max(1);
    for i in (0..x.len()).step_by(stride) {
        let mut moved = x.to_vec();
        let mut at = |h: f64| {
            moved[i] = x[i] + h;
            f(&moved)
        };
        // Fourth-order differences: the step can be large enough for rounding not to matter.
        let slope = (8.0 * (at(step) - at(-step)) - (at(2.0 * step) - at(-2.0 * step))) / (12.0 * step);
        worst = worst.max((slope - grad[i]).abs());
    }
    worst / scale.max(1e-8)
}
