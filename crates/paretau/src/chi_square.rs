//! The upper tail of the chi-square distribution.

/// Probability that a chi-square variable with `df` degrees of freedom is above `x`.
pub(crate) fn chi_square_tail(x: f64, df: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    let (a, x) = (0.5 * df, 0.5 * x);
    let scale = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        // The series of the lower incomplete gamma function.
        let (mut term, mut sum, mut k) = (1.0 / a, 1.0 / a, a);
        for _ in 0..10_000 {
            k += 1.0;
            term *= x / k;
            sum += term;
            if term < sum * 1e-16 {
                break;
            }
        }
        (1.0 - scale * sum).clamp(0.0, 1.0)
    } else {
        // The continued fraction of the upper one (Lentz).
        let tiny = 1e-300;
        let mut b = x + 1.0 - a;
        let (mut c, mut d) = (1.0 / tiny, 1.0 / b);
        let mut h = d;
        for k in 1..10_000 {
            let k = f64::from(k);
            let an = -k * (k - a);
            b += 2.0;
            let next = an * d + b;
            d = 1.0 / if next.abs() < tiny { tiny } else { next };
            let next = b + an / c;
            c = if next.abs() < tiny { tiny } else { next };
            let step = c * d;
            h *= step;
            if (step - 1.0).abs() < 1e-15 {
                break;
            }
        }
        (scale * h).clamp(0.0, 1.0)
    }
}

/// Logarithm of the gamma function for arguments above 0: Stirling's series after a shift upwards.
fn ln_gamma(mut x: f64) -> f64 {
    let mut shift = 0.0;
    while x < 12.0 {
        shift += x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    let series = (1.0 / 12.0 - inverse * (1.0 / 360.0 - inverse * (1.0 / 1260.0 - inverse / 1680.0))) / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use paretau_nuisance::inference::normal_tail;

    #[test]
    fn closed_forms() {
        for x in [0.1_f64, 1.0, 3.0, 10.0, 60.0, 400.0] {
            // Two degrees of freedom: exponential. One: a squared normal. Four: by parts.
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-10 * b;
            assert!(near(chi_square_tail(x, 2.0), (-0.5 * x).exp()), "{x}");
            assert!((chi_square_tail(x, 1.0) / (2.0 * normal_tail(x.sqrt())) - 1.0).abs() < 1e-7, "{x}");
            assert!(near(chi_square_tail(x, 4.0), (-0.5 * x).exp() * (1.0 + 0.5 * x)), "{x}");
        }
        assert!((chi_square_tail(0.0, 3.0) - 1.0).abs() < 1e-15);
    }
}
