//! Missing values and categories.
#![allow(clippy::unwrap_used)]

mod common;

use common::{mean, rmse};
use paretau_core::{
    BaseEntry, Column, ColumnKind, Csr, Dense, Features, FitContext, FittedRegressor, Params, RegressionTask,
    Regressor, Seed, Target,
};
use paretau_forest::{BOOSTING, FOREST, ForestConfig, ForestRegressor, RegressionForest};

fn fit(x: &Features, columns: &[Column], y: &[f64]) -> RegressionForest {
    let config = ForestConfig { n_estimators: 100, max_features: Some(x.n_cols()), ..ForestConfig::default() };
    let task = RegressionTask { x, columns, y, weight: None, groups: None, target: Target::Mean };
    ForestRegressor::new(config).unwrap().fit_forest(&task, &FitContext::silent(Seed(1))).unwrap()
}

fn dense(p: usize, values: Vec<f64>) -> Features {
    Features::Dense(Dense::new(values.len() / p, p, values).unwrap())
}

#[test]
fn missing_values_go_to_the_better_side() {
    let mut rng = Seed(1).rng();
    for high in [true, false] {
        // A missing value behaves as a high (or low) one does.
        let (mut values, mut y) = (vec![], vec![]);
        for _ in 0..1000 {
            let v = rng.uniform();
            let hidden = if high { v > 0.8 } else { v < 0.2 };
            values.push(if hidden && rng.bernoulli(0.5) { f64::NAN } else { v });
            y.push(f64::from(u8::from(v > 0.5)) + 0.01 * rng.normal());
        }
        let forest = fit(&dense(1, values), &Column::numbered(1), &y);
        let at = forest.predict(&dense(1, vec![f64::NAN, 0.1, 0.9])).unwrap();
        assert!((at[0] - f64::from(u8::from(high))).abs() < 0.1, "{at:?}");
        assert!(forest.oob_error().unwrap() < 0.01, "{:?}", forest.oob_error());
    }
}

#[test]
fn that_a_value_is_missing_can_be_all_there_is_to_know() {
    let mut rng = Seed(2).rng();
    let gone: Vec<bool> = (0..800).map(|_| rng.bernoulli(0.3)).collect();
    let values: Vec<f64> = gone.iter().map(|&g| if g { f64::NAN } else { rng.normal() }).collect();
    let y: Vec<f64> = gone.iter().map(|&g| f64::from(u8::from(g)) + 0.01 * rng.normal()).collect();
    let forest = fit(&dense(1, values), &Column::numbered(1), &y);
    let at = forest.predict(&dense(1, vec![f64::NAN, -3.0, 0.0, 3.0])).unwrap();
    assert!((at[0] - 1.0).abs() < 0.05 && at[1..].iter().all(|v| v.abs() < 0.05), "{at:?}");
}

#[test]
fn a_value_missing_only_at_prediction_follows_the_larger_side() {
    let values: Vec<f64> = (0..200).map(f64::from).collect();
    let y: Vec<f64> = values.iter().map(|&v| f64::from(u8::from(v >= 150.0))).collect();
    let forest = fit(&dense(1, values), &Column::numbered(1), &y);
    assert!(forest.predict(&dense(1, vec![f64::NAN])).unwrap()[0] < 0.1);
}

#[test]
fn categories_are_split_as_sets() {
    let mut rng = Seed(3).rng();
    let levels = 40;
    let codes: Vec<f64> = (0..2000).map(|_| rng.below(levels) as f64).collect();
    // Odd levels differ from even ones: as a number this needs a cut between any two codes, as a set one split.
    let y: Vec<f64> = codes.iter().map(|c| c % 2.0 + 0.1 * rng.normal()).collect();
    let x = dense(1, codes);
    let named = [Column { name: "c".into(), kind: ColumnKind::Categorical { levels: levels as u32 } }];
    let config = ForestConfig { n_estimators: 50, max_depth: Some(1), ..ForestConfig::default() };
    let error = |columns: &[Column]| {
        let task = RegressionTask { x: &x, columns, y: &y, weight: None, groups: None, target: Target::Mean };
        let forest = ForestRegressor::new(config).unwrap().fit_forest(&task, &FitContext::silent(Seed(1))).unwrap();
        forest.oob_error().unwrap()
    };
    assert!(error(&named) < 0.012, "{}", error(&named));
    assert!(error(&Column::numbered(1)) > 0.2);
}

#[test]
fn more_levels_than_bins_still_work_and_unknown_ones_do_not_break_prediction() {
    let mut rng = Seed(4).rng();
    let codes: Vec<f64> = (0..4000).map(|_| rng.below(600) as f64).collect();
    let y: Vec<f64> = codes.iter().map(|c| if *c < 300.0 { 0.0 } else { 1.0 }).collect();
    let named = [Column { name: "c".into(), kind: ColumnKind::Categorical { levels: 600 } }];
    let forest = fit(&dense(1, codes), &named, &y);
    assert!(forest.oob_error().unwrap() < 0.2);
    let at = forest.predict(&dense(1, vec![f64::NAN, 1e9, -1.0, 0.5])).unwrap();
    assert!(at.iter().all(|v| v.is_finite()));
    let state = forest.state().unwrap();
    let back = paretau_core::BaseEntry::load(&paretau_forest::FOREST, &state).unwrap();
    assert_eq!(
        back.predict(&dense(1, vec![1.0, 400.0])).unwrap(),
        forest.predict(&dense(1, vec![1.0, 400.0])).unwrap()
    );
}

#[test]
fn probabilities_lie_strictly_inside_and_are_calibrated() {
    let mut rng = Seed(5).rng();
    let values: Vec<f64> = (0..3000).map(|_| rng.uniform()).collect();
    let truth: Vec<f64> = values.iter().map(|v| if *v > 0.9 { 1.0 } else { 0.2 }).collect();
    let y: Vec<f64> = truth.iter().map(|&p| f64::from(u8::from(rng.bernoulli(p)))).collect();
    let x = dense(1, values);
    let columns = Column::numbered(1);
    let task =
        RegressionTask { x: &x, columns: &columns, y: &y, weight: None, groups: None, target: Target::Probability };
    let config = ForestConfig { min_node_size: 100, ..ForestConfig::default() };
    let forest = ForestRegressor::new(config).unwrap().fit_forest(&task, &FitContext::silent(Seed(1))).unwrap();
    let held_out = forest.held_out().unwrap();
    assert!(held_out.iter().all(|p| *p > 0.0 && *p < 1.0));
    assert!(rmse(held_out, &truth) < 0.1, "{}", rmse(held_out, &truth));
    assert!((mean(held_out) - mean(&y)).abs() < 0.01);
}

/// Rows of which one far column says something, with noise in some others and zeros everywhere else.
fn wide(n: usize, p: usize, telling: usize) -> (Features, Vec<f64>) {
    let mut rng = Seed(11).rng();
    let (mut indptr, mut indices, mut values, mut y) = (vec![0], vec![], vec![], vec![]);
    for _ in 0..n {
        let told = rng.uniform();
        // The same lower half as the column that tells: whoever forgets the upper one reads this.
        for (j, value) in [(telling & 0xffff, rng.uniform()), (1 << 16, rng.uniform()), (telling, told)] {
            indices.push(j as u32);
            values.push(value);
        }
        indptr.push(indices.len());
        y.push(f64::from(u8::from(told > 0.5)) + 0.01 * rng.normal());
    }
    (Features::Sparse(Csr::new(n, p, indptr, indices, values).unwrap()), y)
}

#[test]
fn trees_name_columns_beyond_sixteen_bits() {
    let (n, p, telling) = (120, 70_000, 69_990);
    let (x, y) = wide(n, p, telling);
    let columns = Column::numbered(p);
    let config = ForestConfig { n_estimators: 20, max_features: Some(p), ..ForestConfig::default() };
    let task = RegressionTask { x: &x, columns: &columns, y: &y, weight: None, groups: None, target: Target::Mean };
    let forest = ForestRegressor::new(config).unwrap().fit_forest(&task, &FitContext::silent(Seed(1))).unwrap();
    let best = forest.importance().iter().max_by(|a, b| a.share.total_cmp(&b.share)).unwrap();
    assert!(best.name == columns[telling].name && best.share > 0.5, "{best:?}");
    assert!(forest.oob_error().unwrap() < 0.05, "{:?}", forest.oob_error());
    let at = forest.predict(&x).unwrap();
    assert!(rmse(&at, &y) < 0.1);
    // Few rows walk in another way than many, and a loaded forest as the one that was saved.
    let Features::Sparse(rows) = &x else { unreachable!() };
    let few = Features::Sparse(rows.select(&[3, 4, 5]));
    assert_eq!(forest.predict(&few).unwrap(), at[3..6]);
    let loaded = FOREST.load(&forest.state().unwrap()).unwrap();
    assert_eq!(loaded.predict(&x).unwrap(), at);
}

#[test]
fn codes_beyond_any_memory_are_refused() {
    let (n, p) = (70_000, 70_000);
    let x = Features::Sparse(Csr::new(n, p, vec![0; n + 1], vec![], vec![]).unwrap());
    let task =
        RegressionTask { x: &x, columns: &[], y: &vec![0.0; n], weight: None, groups: None, target: Target::Mean };
    let fit = |regressor: &dyn Regressor| {
        let error = regressor.fit(&task, &FitContext::silent(Seed(1))).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("70000"), "{error}");
    };
    fit(&ForestRegressor::new(ForestConfig::default()).unwrap());
    let boosting = BOOSTING.build(&Params::none()).unwrap();
    fit(&*boosting);
}
