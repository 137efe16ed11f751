//! Tails and quantiles of the normal, Student's and the chi-square distribution.

/// Quantile of the standard normal, by Newton steps on the tail from a rational start.
pub fn normal_quantile(p: f64) -> f64 {
    if p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    if p < 0.5 {
        return -normal_quantile(1.0 - p);
    }
    let tail = 1.0 - p;
    // Abramowitz and Stegun 26.2.23, good to 4.5e-4, then polished.
    let s = (-2.0 * tail.ln()).sqrt();
    let mut z = s - (2.515517 + s * (0.802853 + s * 0.010328)) / (1.0 + s * (1.432788 + s * (0.189269 + s * 0.001308)));
    for _ in 0..4 {
        let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
        if density <= 0.0 {
            break;
        }
        z += (normal_tail(z) - tail) / density;
    }
    z
}

/// Quantile of Student's distribution, by bisection on its tail; `p` above 1/2 or below, `df` above 0.
pub fn student_quantile(p: f64, df: f64) -> f64 {
    if p < 0.5 {
        return -student_quantile(1.0 - p, df);
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    let tail = 1.0 - p;
    let (mut low, mut high) = (0.0, 1.0);
    while student_tail(high, df) > tail && high < 1e300 {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if student_tail(middle, df) > tail { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// Probability that a Student variable exceeds `t >= 0`: half the regularised incomplete beta function at
/// `df / (df + t²)`, by its continued fraction.
pub fn student_tail(t: f64, df: f64) -> f64 {
    let x = df / (df + t * t);
    let (a, b) = (df / 2.0, 0.5);
    let front = |x: f64, a: f64, b: f64| {
        (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp() / a
    };
    let value = if x < (a + 1.0) / (a + b + 2.0) {
        front(x, a, b) * beta_fraction(x, a, b)
    } else {
        1.0 - front(1.0 - x, b, a) * beta_fraction(1.0 - x, b, a)
    };
    0.5 * value.clamp(0.0, 1.0)
}

/// The continued fraction of the incomplete beta function, by Lentz's method.
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let safe = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / safe(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for m in 1..500 {
        let m = f64::from(m);
        for term in [
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        ] {
            d = 1.0 / safe(1.0 + term * d);
            c = safe(1.0 + term / c);
            value *= d * c;
        }
        if (d * c - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

/// Logarithm of the gamma function for `x > 0`: Stirling's series, after shifting small arguments up.
pub fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 10.0 {
        shift -= x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    let series = (1.0 / 12.0 - inverse * (1.0 / 360.0 - inverse * (1.0 / 1260.0 - inverse / 1680.0))) / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series + shift
}

/// Probability that a standard normal exceeds `z`.
pub fn normal_tail(z: f64) -> f64 {
    if z < 0.0 {
        return 1.0 - normal_tail(-z);
    }
    let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if z < 3.0 {
        // Series of the distribution function around 0.
        let (mut term, mut sum, mut k) = (z, z, 1.0);
        while term.abs() > 1e-18 * sum.abs() && k < 200.0 {
            term *= z * z / (2.0 * k + 1.0);
            sum += term;
            k += 1.0;
        }
        (0.5 - density * sum).max(0.0)
    } else {
        // Continued fraction of Mills' ratio, from the inside out.
        let mut fraction = z;
        for k in (1..=80).rev() {
            fraction = z + f64::from(k) / fraction;
        }
        density / fraction
    }
}

/// Probability that a chi-square variable with `df` degrees of freedom is above `x`.
pub fn chi_square_tail(x: f64, df: f64) -> f64 {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_tail_and_quantile_match_known_values() {
        for (z, tail) in
            [(0.0, 0.5), (1.0, 0.15865525393145707), (2.5, 0.006209665325776132), (5.0, 2.866515718791939e-7)]
        {
            assert!((normal_tail(z) / tail - 1.0).abs() < 1e-9, "{z}");
        }
        assert!((normal_tail(3.0 - 1e-12) / normal_tail(3.0) - 1.0).abs() < 1e-9);
        assert!((normal_quantile(0.975) - 1.959963984540054).abs() < 1e-10);
        assert!((normal_quantile(0.01) + 2.3263478740408408).abs() < 1e-10);
    }

    #[test]
    fn student_matches_tables() {
        for (df, quantile) in [(1.0, 12.706_204_736), (2.0, 4.302_652_730), (5.0, 2.570_581_836), (30.0, 2.042_272_456)]
        {
            assert!((student_quantile(0.975, df) - quantile).abs() < 1e-7, "{df}: {}", student_quantile(0.975, df));
        }
        assert!((student_quantile(0.975, 1e7) - normal_quantile(0.975)).abs() < 1e-5);
        assert!((student_quantile(0.05, 4.0) + 2.131_846_786).abs() < 1e-7);
    }

    #[test]
    fn chi_square_has_its_closed_forms() {
        for x in [0.1_f64, 1.0, 3.0, 10.0, 60.0, 400.0] {
            // Two degrees of freedom: exponential. One: a squared normal. Four: by parts.
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-10 * b;
            assert!(near(chi_square_tail(x, 2.0), (-0.5 * x).exp()), "{x}");
            assert!((chi_square_tail(x, 1.0) / (2.0 * normal_tail(x.sqrt())) - 1.0).abs() < 1e-7, "{x}");
            assert!(near(chi_square_tail(x, 4.0), (-0.5 * x).exp() * (1.0 + 0.5 * x)), "{x}");
        }
        assert!((chi_square_tail(0.0, 3.0) - 1.0).abs() < 1e-15);
    }

    #[test]
    fn gamma_of_whole_and_half_numbers() {
        for (x, expected) in [(1.0, 1.0_f64), (0.5, std::f64::consts::PI.sqrt()), (5.0, 24.0), (11.0, 3_628_800.0)] {
            assert!((ln_gamma(x) - expected.ln()).abs() < 1e-12, "{x}: {}", ln_gamma(x));
        }
    }
}
