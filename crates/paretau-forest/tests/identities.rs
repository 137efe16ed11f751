//! Equalities that hold whatever the data: signs, scales, levels, weights, bins, threads, out-of-bag.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Known, confounded, mean, rmse, simulate, splits};
use paretau_core::{
    Column, Dense, EstimatorEntry, Features, FitContext, FittedModel, FittedRegressor, Params, RegressionTask, Seed,
    Target, Toolbox,
};
use paretau_forest::{
    CAUSAL_FOREST, CAUSAL_FOREST_DML, CausalForest, CausalForestConfig, CausalForestModel, CausalRows, FOREST,
    ForestConfig, ForestRegressor, RegressionForest,
};

const TOOLS: Toolbox = Toolbox { bases: &[&FOREST] };

fn config() -> CausalForestConfig {
    CausalForestConfig { n_estimators: 60, n_nuisance: Some(20), ..CausalForestConfig::default() }
}

fn rows(known: &Known) -> CausalRows<'_> {
    CausalRows {
        x: &known.x,
        columns: &known.columns,
        treatment: &known.w,
        y: &known.y,
        weight: None,
        groups: None,
        y_hat: Some(&known.m),
        e_hat: Some(&known.e),
    }
}

fn fit(config: CausalForestConfig, rows: &CausalRows<'_>) -> CausalForestModel {
    CausalForest::new(config).unwrap().fit_rows(rows, &FitContext::silent(Seed(3))).unwrap()
}

fn task<'a>(known: &'a Known, y: &'a [f64]) -> RegressionTask<'a> {
    RegressionTask { x: &known.x, columns: &known.columns, y, weight: None, groups: None, target: Target::Mean }
}

fn forest(config: ForestConfig, task: &RegressionTask<'_>) -> RegressionForest {
    ForestRegressor::new(config).unwrap().fit_forest(task, &FitContext::silent(Seed(3))).unwrap()
}

#[test]
fn flipping_or_scaling_the_treatment_leaves_every_split_as_it_was() {
    let known = confounded(600, 4, 1);
    let base = fit(config(), &rows(&known));
    for factor in [-1.0, 4.0, -0.5] {
        let w: Vec<f64> = known.w.iter().map(|w| factor * w).collect();
        let e: Vec<f64> = known.e.iter().map(|e| factor * e).collect();
        let scaled = fit(config(), &CausalRows { treatment: &w, e_hat: Some(&e), ..rows(&known) });
        assert_eq!(
            splits(&base.state().unwrap(), "forest/"),
            splits(&scaled.state().unwrap(), "forest/"),
            "factor {factor}"
        );
        let (a, b) = (&base.held_out().unwrap()[0], &scaled.held_out().unwrap()[0]);
        assert!(a.tau.iter().zip(&b.tau).all(|(a, b)| (a - factor * b).abs() <= 1e-12 * a.abs()));
    }
}

#[test]
fn moving_the_outcome_moves_the_means_and_not_the_effect() {
    let known = confounded(600, 4, 2);
    let y: Vec<f64> = known.y.iter().map(|y| y + 1000.0).collect();
    let model = |y: &[f64]| fit(config(), &CausalRows { y, y_hat: None, e_hat: None, ..rows(&known) });
    let (a, b) = (model(&known.y).effects(&known.x).unwrap(), model(&y).effects(&known.x).unwrap());
    assert!(rmse(&a.tau, &b.tau) < 1e-5);
    let moved: Vec<f64> = b.mu0.iter().map(|m| m - 1000.0).collect();
    assert!(rmse(&a.mu0, &moved) < 1e-5);
}

#[test]
fn expected_outcomes_differ_by_the_effect() {
    let known = confounded(300, 3, 4);
    let effects = fit(config(), &rows(&known)).effects(&known.x).unwrap();
    let difference: Vec<f64> = effects.mu1.iter().zip(&effects.mu0).map(|(a, b)| a - b).collect();
    assert!(rmse(&difference, &effects.tau) < 1e-12);
    assert!(effects.is_finite());
    assert!(effects.e.unwrap().iter().all(|e| *e > 0.0 && *e < 1.0));
    assert!(effects.se.unwrap().iter().all(|s| *s > 0.0));
}

/// Repeats row `i` as often as its weight says; groups keep the copies together, so that the same rows are drawn.
fn replicated(known: &Known, weight: &[f64]) -> (Known, Vec<u32>) {
    let index: Vec<usize> = weight.iter().enumerate().flat_map(|(i, &w)| vec![i; w as usize]).collect();
    let pick = |v: &[f64]| index.iter().map(|&i| v[i]).collect::<Vec<f64>>();
    let out = Known {
        x: known.x.select(&index),
        columns: known.columns.clone(),
        t: index.iter().map(|&i| known.t[i]).collect(),
        w: pick(&known.w),
        y: pick(&known.y),
        e: pick(&known.e),
        m: pick(&known.m),
        tau: pick(&known.tau),
    };
    (out, index.iter().map(|&i| i as u32).collect())
}

/// Features on a grid, so that replication does not move the bins.
fn gridded(n: usize, p: usize, seed: u64) -> Known {
    let mut known = confounded(n, p, seed);
    if let Features::Dense(m) = &known.x {
        let values = m.values().iter().map(|v| (v * 50.0).round() / 50.0).collect();
        known.x = Features::Dense(Dense::new(n, p, values).unwrap());
    }
    known
}

#[test]
fn weights_are_replication_in_regression_forests() {
    let known = gridded(400, 3, 5);
    let weight: Vec<f64> = (0..400).map(|i| f64::from(1 + i % 3)).collect();
    let (copies, groups) = replicated(&known, &weight);
    let config = ForestConfig { n_estimators: 30, max_depth: Some(3), min_node_size: 1, ..ForestConfig::default() };
    let weighted = forest(config, &RegressionTask { weight: Some(&weight), ..task(&known, &known.y) });
    let repeated = forest(config, &RegressionTask { groups: Some(&groups), ..task(&copies, &copies.y) });
    assert!(rmse(&weighted.predict(&known.x).unwrap(), &repeated.predict(&known.x).unwrap()) < 1e-6);
}

#[test]
fn weights_are_replication_in_causal_forests() {
    let known = gridded(400, 3, 6);
    let weight: Vec<f64> = (0..400).map(|i| f64::from(1 + i % 3)).collect();
    let (copies, groups) = replicated(&known, &weight);
    let config = CausalForestConfig { min_node_size: 1, alpha: 0.25, ..config() };
    let weighted = fit(config, &CausalRows { weight: Some(&weight), ..rows(&known) });
    let repeated = fit(config, &CausalRows { groups: Some(&groups), ..rows(&copies) });
    let (a, b) = (weighted.effects(&known.x).unwrap().tau, repeated.effects(&known.x).unwrap().tau);
    assert!(rmse(&a, &b) < 1e-5, "{}", rmse(&a, &b));
}

#[test]
fn bins_are_exact_when_columns_have_few_values() {
    let mut known = simulate((800, 3, 7), |x| x[0] * x[1], |_| 0.5, |x| x[0]);
    if let Features::Dense(m) = &known.x {
        // 256 values in the first column, holes in the second, mostly zeros in the third.
        let code = |k: usize, v: f64| match k % 3 {
            0 => (v * 256.0).floor().min(255.0),
            1 if v < 0.1 => f64::NAN,
            2 if v < 0.8 => 0.0,
            _ => (v * 200.0).floor(),
        };
        let mut values: Vec<f64> = m.values().iter().enumerate().map(|(k, &v)| code(k, v)).collect();
        (0..256).for_each(|i| values[3 * i] = i as f64);
        known.x = Features::Dense(Dense::new(800, 3, values).unwrap());
    }
    let exact = CausalForestConfig { exact: true, ..config() };
    let (a, b) = (fit(config(), &rows(&known)), fit(exact, &rows(&known)));
    assert_eq!(a.state().unwrap().tensors, b.state().unwrap().tensors);
    assert_eq!(a.held_out(), b.held_out());
}

#[test]
fn bins_are_close_to_exact_when_columns_have_many_values() {
    let known = confounded(2000, 3, 8);
    let (a, b) = (fit(config(), &rows(&known)), fit(CausalForestConfig { exact: true, ..config() }, &rows(&known)));
    let (a, b) = (a.effects(&known.x).unwrap().tau, b.effects(&known.x).unwrap().tau);
    assert!(rmse(&a, &b) < 0.15 && (mean(&a) - mean(&b)).abs() < 0.02, "{}", rmse(&a, &b));
}

#[test]
fn out_of_bag_never_uses_the_rows_own_outcome() {
    let known = confounded(300, 3, 9);
    let base = fit(config(), &rows(&known));
    let config_r = ForestConfig { n_estimators: 40, ..ForestConfig::default() };
    let base_r = forest(config_r, &task(&known, &known.y));
    for (i, j) in [(0, 7), (11, 250), (299, 3)] {
        let mut y = known.y.clone();
        y[i] += 512.0;
        let own = fit(config(), &CausalRows { y: &y, ..rows(&known) });
        let (a, b) = (&base.held_out().unwrap()[0], &own.held_out().unwrap()[0]);
        assert!((a.tau[i] - b.tau[i]).abs() < 1e-4, "{} {}", a.tau[i], b.tau[i]);
        assert!((a.tau[j] - b.tau[j]).abs() > 1e-3);
        let own = forest(config_r, &task(&known, &y));
        assert!((base_r.out_of_bag()[i] - own.out_of_bag()[i]).abs() < 1e-4);
        assert!((base_r.out_of_bag()[j] - own.out_of_bag()[j]).abs() > 1e-3);
    }
}

#[test]
fn the_number_of_threads_does_not_change_a_bit() {
    let known = confounded(500, 5, 10);
    let design = known.design();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let params = Params::none().with("n_estimators", 40);
            [CAUSAL_FOREST.build(&params, &TOOLS), CAUSAL_FOREST_DML.build(&params, &TOOLS)].map(|estimator| {
                let model = estimator.unwrap().fit(&design, &FitContext::silent(Seed(1))).unwrap();
                let effects = model.effects(&known.x).unwrap();
                (model.state().unwrap(), effects, model.held_out().unwrap()[0].clone())
            })
        })
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn models_come_back_from_their_state() {
    let known = confounded(300, 4, 11);
    let design = known.design();
    let params = Params::none().with("n_estimators", 40);
    let entries: [&dyn EstimatorEntry; 2] = [&CAUSAL_FOREST, &CAUSAL_FOREST_DML];
    for entry in entries {
        let model = entry.build(&params, &TOOLS).unwrap().fit(&design, &FitContext::silent(Seed(1))).unwrap();
        let state = model.state().unwrap();
        let back = entry.load(&state, &TOOLS).unwrap();
        assert_eq!(model.effects(&known.x).unwrap(), back.effects(&known.x).unwrap());
        assert_eq!(back.state().unwrap(), state);
        for name in state.tensors.keys() {
            let mut damaged = state.clone();
            damaged.tensors.remove(name);
            assert!(entry.load(&damaged, &TOOLS).is_err(), "{name} missing went unnoticed");
        }
    }
}

#[test]
fn sparse_features_give_the_same_forest_as_dense_ones() {
    let mut known = confounded(300, 3, 12);
    let Features::Dense(m) = &known.x else { return };
    let values: Vec<f64> = m.values().iter().map(|&v| if v < 0.5 { 0.0 } else { v }).collect();
    let (mut indptr, mut indices, mut stored) = (vec![0], vec![], vec![]);
    for row in values.chunks(3) {
        for (j, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(j as u32);
            stored.push(v);
        }
        indptr.push(indices.len());
    }
    let sparse = Features::Sparse(paretau_core::Csr::new(300, 3, indptr, indices, stored).unwrap());
    known.x = Features::Dense(Dense::new(300, 3, values).unwrap());
    let dense = fit(config(), &rows(&known)).effects(&known.x).unwrap();
    let from_sparse = fit(config(), &CausalRows { x: &sparse, ..rows(&known) });
    assert_eq!(dense, from_sparse.effects(&sparse).unwrap());
    assert_eq!(dense, from_sparse.effects(&known.x).unwrap());
}

#[test]
fn one_row_at_a_time_is_the_same_as_all_at_once() {
    let known = confounded(200, 3, 13);
    let model = fit(config(), &rows(&known));
    let all = model.effects(&known.x).unwrap();
    for i in [0, 57, 199] {
        let one = model.effects(&known.x.select(&[i])).unwrap();
        assert_eq!((one.tau[0], one.mu0[0]), (all.tau[i], all.mu0[i]));
        assert_eq!(one.se.unwrap()[0], all.se.as_ref().unwrap()[i]);
    }
    assert!(model.effects(&known.x.select(&[])).unwrap().is_empty());
    assert!(model.effects(&Features::Dense(Dense::new(1, 2, vec![0.0; 2]).unwrap())).is_err());
    let names = Column::numbered(3);
    assert_eq!(model.diagnostics().importance.len(), names.len());
}
