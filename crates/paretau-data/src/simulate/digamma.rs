//! The digamma function of positive numbers, `ψ(x) = d/dx log Γ(x)`.

/// From here on the asymptotic series is exact to the last digits.
const LARGE: f64 = 10.0;

/// `ψ(x)` for `x > 0`: `ψ(x) = ψ(x + 1) - 1/x` until x is large, then the series in Bernoulli numbers
/// `ln x - 1/2x - 1/12x² + 1/120x⁴ - 1/252x⁶ + 1/240x⁸ - 1/132x¹⁰`.
pub(super) fn digamma(mut x: f64) -> f64 {
    let mut below = 0.0;
    while x < LARGE {
        below -= 1.0 / x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = square
        * (1.0 / 12.0 - square * (1.0 / 120.0 - square * (1.0 / 252.0 - square * (1.0 / 240.0 - square / 132.0))));
    below + x.ln() - 0.5 / x - series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_and_the_recurrence() {
        const EULER: f64 = 0.577_215_664_901_532_9;
        let ln_2 = std::f64::consts::LN_2;
        let quarter = -EULER - std::f64::consts::FRAC_PI_2 - 3.0 * ln_2;
        for (x, value) in [(1.0, -EULER), (0.5, -EULER - 2.0 * ln_2), (0.25, quarter), (2.0, 1.0 - EULER)] {
            assert!((digamma(x) - value).abs() < 1e-13, "{} is not {value}", digamma(x));
        }
        for x in [1e-3, 0.02, 3.7, 9.99, 10.01, 250.0, 1e6] {
            let (here, next) = (digamma(x), digamma(x + 1.0));
            assert!((next - here - 1.0 / x).abs() < 1e-13 * (1.0 + here.abs()), "{here}, {next} at {x}");
        }
    }
}
