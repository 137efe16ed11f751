//! Agreement with ArviZ, SciPy and scikit-learn, whose results `testdata/golden/make_*.py` wrote.
#![allow(clippy::unwrap_used)]

mod common;

use common::{golden, numbers};
use paretau_kernels::gpd::Gpd;
use paretau_kernels::isotonic::{Direction, Isotonic};
use paretau_kernels::psis::{Psis, TailRule};

fn assert_close(got: f64, expected: f64, tolerance: f64, what: &str) {
    let bound = tolerance * (1.0 + expected.abs());
    assert!((got - expected).abs() <= bound, "{what}: {got} instead of {expected}");
}

#[test]
fn psis_equals_arviz() {
    let mut psis = Psis::default();
    for case in golden("psis.json")["cases"].as_array().unwrap() {
        let x = numbers(&case["log_ratios"]);
        let r_eff = case["r_eff"].as_f64().unwrap();
        let mut out = vec![0.0; x.len()];
        for (rule, key) in [(TailRule::Loo, "loo"), (TailRule::ArvizStats, "arviz_stats")] {
            let what = format!("{} r_eff {r_eff} {key}", case["name"]);
            let k = psis.smooth(&x, r_eff, rule, &mut out).unwrap();
            assert_close(k, case[key]["khat"].as_f64().unwrap(), 1e-8, &what);
            for (a, b) in out.iter().zip(numbers(&case[key]["log_weights"])) {
                assert_close(*a, b, 1e-8, &what);
            }
        }
    }
}

#[test]
fn gpd_equals_scipy() {
    for case in golden("gpd.json")["cases"].as_array().unwrap() {
        let [mu, sigma, xi] = ["mu", "sigma", "xi"].map(|k| case[k].as_f64().unwrap());
        let gpd = Gpd::new(mu, sigma, xi).unwrap();
        let (p, q) = (numbers(&case["p"]), numbers(&case["quantile"]));
        let (cdf, pdf) = (numbers(&case["cdf"]), numbers(&case["pdf"]));
        for i in 0..p.len() {
            let what = format!("mu {mu} sigma {sigma} xi {xi} p {}", p[i]);
            assert_close(gpd.quantile(p[i]).unwrap(), q[i], 1e-12, &what);
            assert_close(gpd.quantile_with_derivatives(p[i]).unwrap().value, q[i], 1e-12, &what);
            if let Ok(c) = gpd.cdf_with_derivatives(q[i]) {
                assert_close(c.value, cdf[i], 1e-10, &what);
                if i < pdf.len() {
                    assert_close(c.d_arg, pdf[i], 1e-9, &what);
                }
            }
        }
    }
}

#[test]
fn isotonic_equals_scikit_learn() {
    let mut iso = Isotonic::default();
    for case in golden("isotonic.json")["cases"].as_array().unwrap() {
        let (y, c) = (numbers(&case["y"]), numbers(&case["weights"]));
        let mut out = vec![0.0; y.len()];
        for (key, weights, direction) in [
            ("increasing", None, Direction::NonDecreasing),
            ("decreasing", None, Direction::NonIncreasing),
            ("increasing_weighted", Some(c.as_slice()), Direction::NonDecreasing),
            ("decreasing_weighted", Some(c.as_slice()), Direction::NonIncreasing),
        ] {
            iso.fit(&y, weights, direction, &mut out).unwrap();
            for (a, b) in out.iter().zip(numbers(&case[key])) {
                assert_close(*a, b, 1e-12, key);
            }
        }
    }
}
