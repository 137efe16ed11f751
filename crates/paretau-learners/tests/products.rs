//! The lasso of products: what a line cannot see, sparse features, saved models, values far out.
#![allow(clippy::unwrap_used)]

use paretau_core::{
    BaseEntry, Csr, Dense, Features, FitContext, FittedRegressor, Params, RegressionTask, Seed, Target,
};
use paretau_learners::PRODUCTS;

fn task<'a>(x: &'a Features, y: &'a [f64], target: Target) -> RegressionTask<'a> {
    RegressionTask { x, columns: &[], y, weight: None, groups: None, target }
}

fn fit(params: &Params, task: &RegressionTask<'_>) -> Box<dyn FittedRegressor> {
    PRODUCTS.build(params).unwrap().fit(task, &FitContext::silent(Seed(3))).unwrap()
}

fn rows(n: usize, d: usize, seed: u64) -> (Features, Vec<f64>, Vec<f64>) {
    let mut rng = Seed(seed).rng();
    let x: Vec<f64> = (0..n * d).map(|_| rng.normal()).collect();
    let score = |i: usize| x[i * d] * x[i * d + 1] + 0.5 * x[i * d + 2].powi(2);
    let y = (0..n).map(|i| score(i) + 0.5 * rng.normal()).collect();
    let t = (0..n).map(|i| f64::from(u8::from(rng.bernoulli(1.0 / (1.0 + (1.0 - 2.0 * score(i)).exp()))))).collect();
    (Features::Dense(Dense::new(n, d, x).unwrap()), y, t)
}

#[test]
fn what_a_line_cannot_see_is_found_among_many_columns() {
    for d in [6, 60] {
        let (x, y, t) = rows(500, d, 4);
        let (later, truth, classes) = rows(500, d, 5);
        let predicted = fit(&Params::none(), &task(&x, &y, Target::Mean)).predict(&later).unwrap();
        let miss = |p: &[f64]| p.iter().zip(&truth).map(|(p, y)| (p - y).powi(2)).sum::<f64>() / 500.0;
        let mean = y.iter().sum::<f64>() / 500.0;
        // The noise alone is 0.25.
        assert!(miss(&predicted) < 0.45 && miss(&[mean; 500]) > 1.2, "{d}: {}", miss(&predicted));
        let p = fit(&Params::none(), &task(&x, &t, Target::Probability)).predict(&later).unwrap();
        let right = p.iter().zip(&classes).filter(|(p, t)| (**p > 0.5) == (**t > 0.5)).count();
        assert!(right > 350 && p.iter().all(|p| *p > 0.0 && *p < 1.0), "{d}: {right}");
    }
}

#[test]
fn sparse_features_and_saved_models_predict_the_same() {
    let mut rng = Seed(6).rng();
    let (n, d) = (200, 5);
    let x: Vec<f64> = (0..n * d).map(|_| if rng.bernoulli(0.4) { rng.normal() } else { 0.0 }).collect();
    let y: Vec<f64> = (0..n).map(|i| x[i * d] * x[i * d + 1] + 0.1 * rng.normal()).collect();
    let (mut starts, mut columns, mut values) = (vec![0], vec![], vec![]);
    for row in x.chunks(d) {
        for (j, v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            columns.push(j as u32);
            values.push(*v);
        }
        starts.push(columns.len());
    }
    let dense = Features::Dense(Dense::new(n, d, x).unwrap());
    let sparse = Features::Sparse(Csr::new(n, d, starts, columns, values).unwrap());
    let model = fit(&Params::none(), &task(&dense, &y, Target::Mean));
    let of_dense = model.predict(&dense).unwrap();
    let of_sparse = fit(&Params::none(), &task(&sparse, &y, Target::Mean)).predict(&sparse).unwrap();
    assert!(of_dense.iter().zip(&of_sparse).all(|(a, b)| (a - b).abs() < 1e-9));
    let back = PRODUCTS.load(&model.state().unwrap()).unwrap();
    assert_eq!(back.predict(&dense).unwrap(), of_dense);
    assert!(back.predict(&Features::Dense(Dense::new(1, 2, vec![0.0; 2]).unwrap())).is_err());
}

#[test]
fn a_value_far_out_moves_a_product_no_more_than_one_at_the_edge() {
    let (x, y, _) = rows(300, 4, 8);
    let model = fit(&Params::none().with("penalty", 0.05), &task(&x, &y, Target::Mean));
    let of = |v: f64| model.predict(&Features::Dense(Dense::new(1, 4, vec![v, 1.0, 0.0, 0.0]).unwrap())).unwrap()[0];
    let by_column = of(1000.0) - of(100.0);
    assert!((by_column / 900.0).abs() < 0.2, "{by_column}");
    assert!(of(1.0) - of(0.0) > 0.5);
}

#[test]
fn columns_without_variation_indicators_and_few_products_are_no_trouble() {
    let mut rng = Seed(2).rng();
    let x: Vec<f64> =
        (0..60).flat_map(|_| [1.0, f64::from(u8::from(rng.bernoulli(0.5))), rng.normal(), rng.normal()]).collect();
    let y: Vec<f64> = (0..60).map(|i| x[4 * i + 1] * x[4 * i + 2]).collect();
    let features = Features::Dense(Dense::new(60, 4, x).unwrap());
    let model = fit(&Params::none().with("most", 2).with("penalty", 0.0), &task(&features, &y, Target::Mean));
    assert!(model.predict(&features).unwrap().iter().all(|p| p.is_finite()));
    let flat = fit(&Params::none(), &task(&features, &[2.0; 60], Target::Mean)).predict(&features).unwrap();
    assert!(flat.iter().all(|p| (p - 2.0).abs() < 1e-9));
}
