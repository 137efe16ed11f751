//! Helpers of the integration tests: golden files, random weights, directional derivatives.
#![allow(dead_code)]

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Reads a golden file.
pub(crate) fn golden(name: &str) -> serde_json::Value {
    let path = format!("{}/../../testdata/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// A list of numbers in a golden file.
pub(crate) fn numbers(value: &serde_json::Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

/// A reproducible stream.
pub(crate) fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// A standard normal draw (Box-Muller).
pub(crate) fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.random::<f64>()).cos()
}

/// `n` standard normal draws.
pub(crate) fn normals(n: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    (0..n).map(|_| normal(rng)).collect()
}

/// Balancing weights `1 + exp(-logit)`, logit normal with standard deviation `sd`.
pub(crate) fn balancing_weights(n: usize, sd: f64, rng: &mut ChaCha8Rng) -> Vec<f64> {
    (0..n).map(|_| 1.0 + (-sd * normal(rng)).exp()).collect()
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// What comparing a derivative with central differences says.
#[derive(Debug, PartialEq)]
pub(crate) enum Verdict {
    Agree,
    /// Differences of two widths disagree: a kink (ranks regroup, a clamp starts) lies within every width tried.
    Kink,
    Disagree {
        analytic: f64,
        numeric: f64,
    },
}

/// Compares `d · v` with central differences of `f` at `x` along `v`, to 1e-5 of the sum of the absolute contributions.
pub(crate) fn compare(mut f: impl FnMut(&[f64]) -> f64, x: &[f64], d: &[f64], v: &[f64]) -> Verdict {
    let analytic = dot(d, v);
    let scale = d.iter().zip(v).map(|(a, b)| (a * b).abs()).sum::<f64>() + 1e-8;
    let mut at = |h: f64| {
        let moved: Vec<f64> = x.iter().zip(v).map(|(a, b)| a + h * b).collect();
        f(&moved)
    };
    for h in [1e-5, 1e-6, 1e-7] {
        let wide = (at(h) - at(-h)) / (2.0 * h);
        let narrow = (at(0.5 * h) - at(-0.5 * h)) / h;
        if (wide - narrow).abs() <= 3e-6 * scale {
            return if (narrow - analytic).abs() <= 1e-5 * scale {
                Verdict::Agree
            } else {
                Verdict::Disagree { analytic, numeric: narrow }
            };
        }
    }
    Verdict::Kink
}
