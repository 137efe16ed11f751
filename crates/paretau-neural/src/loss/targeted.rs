//! Targeted regularisation (Shi et al. 2019): a squared error of outcomes that are moved by `ε` times the clever covariate.

use paretau_kernels::real::Real;

use super::outcome::sigmoid;

/// Propensities are drawn to the middle by this much before they divide, as the authors do.
const SQUEEZE: f64 = 0.01;

/// What [`targeted`] reads of a batch.
#[derive(Debug, Clone, Copy)]
pub struct Fluctuation<'a, T> {
    /// Predicted outcomes of the received arm.
    pub h: &'a [T],
    /// Observed outcomes.
    pub y: &'a [T],
    /// Logits of the propensity.
    pub logits: &'a [T],
    /// What each row counts for.
    pub coefficients: &'a [T],
    /// How many rows, the first ones, are controls.
    pub n0: usize,
    /// Size of the fluctuation.
    pub epsilon: T,
    /// Strength of the term.
    pub strength: T,
}

/// `strength Σ c_i (y_i - h_i - ε (t_i/g_i - (1-t_i)/(1-g_i)))²` with `g = (sigmoid(logit) + 0.01) / 1.02`.
///
/// Adds its derivatives to `d_h` and `d_logits` and returns the value with the derivative with respect to `ε`.
pub fn targeted<T: Real>(terms: &Fluctuation<'_, T>, d_h: &mut [T], d_logits: &mut [T]) -> (f64, T) {
    let (squeeze, whole) = (T::from_f64(SQUEEZE), T::from_f64(1.0 + 2.0 * SQUEEZE));
    let two = T::ONE + T::ONE;
    let (mut total, mut d_epsilon) = (0.0, T::ZERO);
    for i in 0..terms.h.len() {
        let p = sigmoid(terms.logits[i]);
        let g = (p + squeeze) / whole;
        // The clever covariate and its derivative with respect to g.
        let (clever, slope) = if i < terms.n0 {
            let other = T::ONE - g;
            (-(T::ONE / other), -(T::ONE / (other * other)))
        } else {
            (T::ONE / g, -(T::ONE / (g * g)))
        };
        let gap = terms.h[i] + terms.epsilon * clever - terms.y[i];
        let c = terms.strength * terms.coefficients[i];
        total += (c * gap * gap).to_f64();
        let pull = two * c * gap;
        d_h[i] += pull;
        d_epsilon += pull * clever;
        d_logits[i] += pull * terms.epsilon * slope * p * (T::ONE - p) / whole;
    }
    (total, d_epsilon)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_match_central_differences() {
        let (y, c) = ([0.2, -1.0, 0.7, 1.5], [0.25, 0.3, 0.2, 0.25]);
        let value = |v: &[f64; 9]| {
            let terms = Fluctuation {
                h: &v[..4],
                y: &y,
                logits: &v[4..8],
                coefficients: &c,
                n0: 2,
                epsilon: v[8],
                strength: 0.7,
            };
            let (mut d_h, mut d_l) = ([0.0; 4], [0.0; 4]);
            let (total, d_e) = targeted(&terms, &mut d_h, &mut d_l);
            (total, d_h, d_l, d_e)
        };
        let at = [0.1, 0.4, -0.3, 2.0, 1.0, -2.0, 0.3, 3.0, 0.15];
        let (_, d_h, d_l, d_e) = value(&at);
        for i in 0..9 {
            let (mut up, mut down) = (at, at);
            up[i] += 1e-6;
            down[i] -= 1e-6;
            let numeric = (value(&up).0 - value(&down).0) / 2e-6;
            let exact = if i < 4 {
                d_h[i]
            } else if i < 8 {
                d_l[i - 4]
            } else {
                d_e
            };
            assert!((numeric - exact).abs() < 1e-8, "{i}: {numeric} {exact}");
        }
    }
}
