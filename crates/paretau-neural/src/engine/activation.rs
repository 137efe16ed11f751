//! Activation functions whose slope can be read off their output, so that no pass stores its input.

use paretau_kernels::real::Real;
use serde::{Deserialize, Serialize};

/// What a hidden unit does with its sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// `x` above zero, `e^x - 1` below: smooth enough for Pareto smoothing's assumption on the weights.
    Elu,
    /// Hyperbolic tangent.
    Tanh,
    /// `ln(1 + e^x)`.
    Softplus,
    /// `x` above zero, `0.01 x` below. Not smooth: inside a propensity net it makes the weights' distribution jump.
    LeakyRelu,
    /// Nothing: a linear layer.
    Linear,
}

/// Slope of the leaky ReLU below zero.
const LEAK: f64 = 0.01;

impl Activation {
    /// Whether Pareto smoothing's assumption of a continuous weight distribution survives this in a propensity net.
    pub fn is_smooth(self) -> bool {
        self != Self::LeakyRelu
    }

    /// The value at `x`.
    #[inline(always)]
    #[must_use]
    pub fn value<T: Real, const FMA: bool>(self, x: T) -> T {
        match self {
            Self::Elu => {
                let below = x.min(T::ZERO).exp_flushed::<FMA>() - T::ONE;
                if x > T::ZERO { x } else { below }
            }
            Self::Tanh => {
                let two = T::ONE + T::ONE;
                let e = (-(two * x.abs())).exp_flushed::<FMA>();
                let size = (T::ONE - e) / (T::ONE + e);
                if x < T::ZERO { -size } else { size }
            }
            Self::Softplus => x.max(T::ZERO) + (-x.abs()).exp().ln_1p(),
            Self::LeakyRelu => {
                if x > T::ZERO {
                    x
                } else {
                    x * T::from_f64(LEAK)
                }
            }
            Self::Linear => x,
        }
    }

    /// The slope where the value is `y`.
    #[inline(always)]
    #[must_use]
    pub fn slope<T: Real, const FMA: bool>(self, y: T) -> T {
        match self {
            Self::Elu => {
                if y > T::ZERO {
                    T::ONE
                } else {
                    y + T::ONE
                }
            }
            Self::Tanh => T::ONE - y * y,
            Self::Softplus => T::ONE - (-y).exp_flushed::<FMA>(),
            Self::LeakyRelu => {
                if y > T::ZERO {
                    T::ONE
                } else {
                    T::from_f64(LEAK)
                }
            }
            Self::Linear => T::ONE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_the_derivatives_of_the_values() {
        for f in [Activation::Elu, Activation::Tanh, Activation::Softplus, Activation::LeakyRelu, Activation::Linear] {
            for x in [-30.0, -3.0, -0.7, -1e-3, 1e-3, 0.4, 2.0, 30.0_f64] {
                let h = 1e-6;
                let numeric = (f.value::<f64, false>(x + h) - f.value::<f64, false>(x - h)) / (2.0 * h);
                let slope = f.slope::<f64, false>(f.value::<f64, false>(x));
                assert!((numeric - slope).abs() < 1e-8, "{f:?} at {x}: {numeric} {slope}");
            }
        }
    }
}
