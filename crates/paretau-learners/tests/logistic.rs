//! Logistic regression from outside: separation, weights, sparse features, the choice of penalty.

#![allow(clippy::unwrap_used)]

use paretau_core::{Csr, Dense, Features, Seed};
use paretau_learners::{Logistic, LogisticOptions, LogisticTask};

fn fixed(penalty: f64) -> LogisticOptions {
    LogisticOptions { penalty: Some(penalty), ..LogisticOptions::default() }
}

fn task<'a>(x: &'a Features, y: &'a [f64]) -> LogisticTask<'a> {
    LogisticTask { x, y, weight: None, groups: None }
}

fn sigmoid(v: f64) -> f64 {
    1.0 / (1.0 + (-v).exp())
}

#[test]
fn separated_arms_stay_finite_and_inside() {
    let x = Features::Dense(Dense::new(40, 1, (0..40).map(f64::from).collect()).unwrap());
    let y: Vec<f64> = (0..40).map(|i| f64::from(u8::from(i >= 20))).collect();
    for options in [LogisticOptions::default(), fixed(0.0), fixed(1e-3)] {
        let model = Logistic::fit(&task(&x, &y), &options, Seed(0)).unwrap();
        assert!(model.coef[0].is_finite() && model.coef[0] > 0.0);
        assert!(model.predict(&x).iter().all(|p| *p > 0.0 && *p < 1.0));
    }
    // One class only: near its rate, not at it.
    let model = Logistic::fit(&task(&x, &[1.0; 40]), &LogisticOptions::default(), Seed(0)).unwrap();
    assert!(model.predict(&x).iter().all(|p| (*p - 40.5 / 41.0).abs() < 1e-9));
}

#[test]
fn a_binary_feature_without_penalty_gives_the_cell_rates() {
    // 6 of 8 where x = 1, 2 of 10 where x = 0.
    let x: Vec<f64> = (0..18).map(|i| f64::from(u8::from(i < 8))).collect();
    let y: Vec<f64> = (0..18).map(|i| f64::from(u8::from(i < 6 || (8..10).contains(&i)))).collect();
    let features = Features::Dense(Dense::new(18, 1, x).unwrap());
    let p = Logistic::fit(&task(&features, &y), &fixed(0.0), Seed(0)).unwrap().predict(&features);
    assert!((p[0] - 0.75).abs() < 1e-5 && (p[17] - 0.2).abs() < 1e-5, "{} {}", p[0], p[17]);
}

#[test]
fn weights_are_repeated_rows_and_sparse_is_dense() {
    let mut rng = Seed(2).rng();
    let (n, d) = (60, 3);
    let values: Vec<f64> = (0..n * d).map(|_| if rng.bernoulli(0.5) { rng.normal() } else { 0.0 }).collect();
    let y: Vec<f64> = (0..n).map(|i| f64::from(u8::from(rng.bernoulli(sigmoid(2.0 * values[i * d]))))).collect();
    let x = Features::Dense(Dense::new(n, d, values.clone()).unwrap());
    let w: Vec<f64> = (0..n).map(|i| f64::from(u8::try_from(i % 3).unwrap())).collect();
    let weighted = Logistic::fit(&LogisticTask { weight: Some(&w), ..task(&x, &y) }, &fixed(0.05), Seed(0)).unwrap();
    let rows: Vec<usize> = (0..n).flat_map(|i| vec![i; i % 3]).collect();
    let (x2, y2) = (x.select(&rows), rows.iter().map(|&i| y[i]).collect::<Vec<_>>());
    let repeated = Logistic::fit(&task(&x2, &y2), &fixed(0.05), Seed(0)).unwrap();
    let (mut indptr, mut indices, mut stored) = (vec![0], vec![], vec![]);
    for row in values.chunks(d) {
        for (j, v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(u32::try_from(j).unwrap());
            stored.push(*v);
        }
        indptr.push(indices.len());
    }
    let csr = Features::Sparse(Csr::new(n, d, indptr, indices, stored).unwrap());
    let sparse = Logistic::fit(&LogisticTask { weight: Some(&w), ..task(&csr, &y) }, &fixed(0.05), Seed(0)).unwrap();
    for other in [&repeated, &sparse] {
        assert!((weighted.intercept - other.intercept).abs() < 1e-5);
        weighted.coef.iter().zip(&other.coef).for_each(|(a, b)| assert!((a - b).abs() < 1e-5, "{a} {b}"));
    }
}

#[test]
fn cross_validation_learns_a_signal_and_ignores_noise() {
    let mut rng = Seed(5).rng();
    let (n, d) = (600, 10);
    let values: Vec<f64> = (0..n * d).map(|_| rng.normal()).collect();
    let signal: Vec<f64> = (0..n).map(|i| f64::from(u8::from(rng.bernoulli(sigmoid(1.5 * values[i * d]))))).collect();
    let noise: Vec<f64> = (0..n).map(|_| f64::from(u8::from(rng.bernoulli(0.5)))).collect();
    let x = Features::Dense(Dense::new(n, d, values).unwrap());
    let learned = Logistic::fit(&task(&x, &signal), &LogisticOptions::default(), Seed(1)).unwrap();
    assert!((learned.coef[0] - 1.5).abs() < 0.4, "{:?}", learned.coef);
    assert!(learned.log_loss.unwrap() < 0.6);
    let flat = Logistic::fit(&task(&x, &noise), &LogisticOptions::default(), Seed(1)).unwrap();
    assert!(flat.coef.iter().all(|b| b.abs() < 0.1), "{:?}", flat.coef);
    // Three labelled rows of one class cannot bear five folds, but are no reason to fail.
    let rare: Vec<f64> = (0..n).map(|i| f64::from(u8::from(i < 3))).collect();
    assert!(Logistic::fit(&task(&x, &rare), &LogisticOptions::default(), Seed(1)).is_ok());
}
