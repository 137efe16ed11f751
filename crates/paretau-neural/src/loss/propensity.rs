//! Cross-entropy of the received treatment given the propensity's logit.

use paretau_kernels::real::Real;

use super::outcome::logistic;

/// `Σ c_i CE(t_i, logit_i)`; writes its derivative with respect to every logit to `d`.
///
/// The first `n0` rows are controls.
pub fn cross_entropy<T: Real>(logits: &[T], n0: usize, coefficients: &[T], d: &mut [T]) -> f64 {
    let mut total = 0.0;
    for (i, ((&logit, &c), d)) in logits.iter().zip(coefficients).zip(d).enumerate() {
        let (value, slope) = logistic(logit, if i < n0 { T::ZERO } else { T::ONE });
        total += c.to_f64() * value.to_f64();
        *d = c * slope;
    }
    total
}
