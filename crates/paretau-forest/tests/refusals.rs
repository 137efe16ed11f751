//! Bad input: a typed error that names the column and what to do.
#![allow(clippy::unwrap_used)]

mod common;

use common::confounded;
use paretau_core::{
    Column, Dense, Design, EstimatorEntry, Features, FitContext, Params, RegressionTask, Seed, Target, Toolbox,
};
use paretau_forest::{
    ArmsForest, CAUSAL_FOREST, CAUSAL_FOREST_DML, CausalForest, CausalForestConfig, CausalRows, FOREST, ForestConfig,
    ForestRegressor,
};

const TOOLS: Toolbox = Toolbox { bases: &[&FOREST] };

fn ctx() -> FitContext<'static> {
    FitContext::silent(Seed(0))
}

#[test]
fn parameters_out_of_range_or_unknown_are_refused() {
    let fail = |p: Params| CAUSAL_FOREST.build(&p, &TOOLS).unwrap_err().to_string();
    assert!(fail(Params::none().with("n_trees", 10)).contains("unknown parameter `n_trees`"));
    assert!(fail(Params::none().with("max_samples", 0.7)).contains("at most 0.5"));
    assert!(fail(Params::none().with("n_estimators", 5)).contains("multiple of subforest_size"));
    assert!(fail(Params::none().with("alpha", 0.5)).contains("from 0 to 0.25"));
    let base = Params::none().with("model_y", "forrest");
    assert!(CAUSAL_FOREST_DML.build(&base, &TOOLS).unwrap_err().to_string().contains("did you mean `forest`"));
    assert!(CausalForest::new(CausalForestConfig { n_estimators: 0, ..CausalForestConfig::default() }).is_err());
    assert!(ForestRegressor::new(ForestConfig { max_bins: 3, ..ForestConfig::default() }).is_err());
}

#[test]
fn unfit_rows_are_refused_with_the_column_and_a_remedy() {
    let known = confounded(50, 3, 1);
    let forest = CausalForest::new(CausalForestConfig::default()).unwrap();
    let rows = CausalRows {
        x: &known.x,
        columns: &known.columns,
        treatment: &known.w,
        y: &known.y,
        weight: None,
        groups: None,
        y_hat: None,
        e_hat: None,
    };
    let fail = |rows: CausalRows<'_>| forest.fit_rows(&rows, &ctx()).unwrap_err().to_string();
    assert!(fail(CausalRows { treatment: &[1.0; 50], ..rows }).contains("treatment: every row holds 1"));
    let mut y = known.y.clone();
    y[7] = f64::NAN;
    assert!(fail(CausalRows { y: &y, ..rows }).contains("outcome: row 8"));
    y.pop();
    assert!(fail(CausalRows { y: &y, ..rows }).contains("outcome has 49"));
    assert!(fail(CausalRows { e_hat: Some(&y), ..rows }).contains("e_hat"));
    assert!(fail(CausalRows { weight: Some(&[-1.0; 50]), ..rows }).contains("negative"));
    assert!(fail(CausalRows { weight: Some(&[0.0; 50]), ..rows }).contains("all are 0"));
    assert!(fail(CausalRows { groups: Some(&[1; 50]), ..rows }).contains("groups"));
    let Features::Dense(m) = &known.x else { return };
    let values = m.values().iter().enumerate().map(|(k, &v)| if k % 3 == 1 { f64::NAN } else { v }).collect();
    let hollow = Features::Dense(Dense::new(50, 3, values).unwrap());
    assert!(fail(CausalRows { x: &hollow, ..rows }).contains("feature column `x2` has no value"));
}

#[test]
fn few_rows_and_one_class_are_refused() {
    let known = confounded(9, 3, 4);
    let mut t = known.t.clone();
    (t[0], t[1]) = (0, 1);
    let design = Design::new(known.x.clone(), t, known.y.clone()).unwrap();
    for entry in [&CAUSAL_FOREST as &dyn EstimatorEntry, &CAUSAL_FOREST_DML] {
        let error = entry.build(&Params::none(), &TOOLS).unwrap().fit(&design, &ctx()).unwrap_err();
        assert!(error.to_string().contains("at least 10 rows, there are 9"), "{error}");
    }
    let known = confounded(20, 3, 5);
    let columns = Column::numbered(3);
    let y = vec![1.0; 20];
    let task = RegressionTask {
        x: &known.x,
        columns: &columns,
        y: &y,
        weight: None,
        groups: None,
        target: Target::Probability,
    };
    let regressor = ForestRegressor::new(ForestConfig::default()).unwrap();
    assert!(regressor.fit_forest(&task, &ctx()).unwrap_err().to_string().contains("only one class"));
    let task = RegressionTask { y: &known.y, ..task };
    assert!(regressor.fit_forest(&task, &ctx()).unwrap_err().to_string().contains("0 or 1"));
}

#[test]
fn an_empty_arm_and_an_outcome_that_is_no_number_never_reach_a_forest() {
    let known = confounded(40, 3, 7);
    for arm in [0, 1] {
        let error = Design::new(known.x.clone(), vec![arm; 40], known.y.clone()).unwrap_err().to_string();
        assert!(error.contains(&format!("no row has treatment {}", 1 - arm)), "{error}");
        assert!(error.contains("check the treatment column"), "{error}");
    }
    for value in [f64::NAN, f64::INFINITY] {
        let mut y = known.y.clone();
        y[11] = value;
        let error = Design::new(known.x.clone(), known.t.clone(), y).unwrap_err().to_string();
        assert!(error.contains("outcome: row 12") && error.contains("remove the row"), "{error}");
    }
}

#[test]
fn the_forest_for_several_arms_refuses_the_same() {
    let known = confounded(9, 3, 9);
    let t: Vec<u8> = (0..9).map(|i| (i % 3) as u8).collect();
    let design = Design::with_arms(known.x.clone(), t, known.y.clone(), 3).unwrap();
    let forest = ArmsForest::new(CausalForestConfig::default()).unwrap();
    assert!(forest.fit(&design, &ctx()).unwrap_err().to_string().contains("at least 10 rows, there are 9"));
    let known = confounded(60, 3, 10);
    let t: Vec<u8> = (0..60).map(|i| (i % 12) as u8).collect();
    let many = Design::with_arms(known.x.clone(), t, known.y.clone(), 12).unwrap();
    assert!(forest.fit(&many, &ctx()).unwrap_err().to_string().contains("combine or leave out arms"));
}

#[test]
fn several_arms_are_pointed_to_the_forest_that_takes_them() {
    let known = confounded(60, 3, 6);
    let t: Vec<u8> = (0..60).map(|i| (i % 3) as u8).collect();
    let design = Design::with_arms(known.x.clone(), t, known.y.clone(), 3).unwrap();
    let error = CAUSAL_FOREST_DML.build(&Params::none(), &TOOLS).unwrap().fit(&design, &ctx()).unwrap_err();
    assert!(error.to_string().contains("two arms, the data have 3"));
    let known = design.with_propensity(vec![0.3; 60]).unwrap();
    let error = CAUSAL_FOREST.build(&Params::none(), &TOOLS).unwrap().fit(&known, &ctx()).unwrap_err();
    assert!(error.to_string().contains("one propensity per row"), "{error}");
}

#[test]
fn a_tiny_data_set_gives_finite_effects() {
    let known = confounded(12, 3, 8);
    let mut t = known.t.clone();
    (t[0], t[1]) = (0, 1);
    let design = Design::new(known.x.clone(), t, known.y.clone()).unwrap();
    let params = Params::none().with("n_estimators", 8);
    for entry in [&CAUSAL_FOREST as &dyn EstimatorEntry, &CAUSAL_FOREST_DML] {
        let model = entry.build(&params, &TOOLS).unwrap().fit(&design, &ctx()).unwrap();
        assert!(model.effects(&known.x).unwrap().is_finite());
        assert!(model.held_out().unwrap()[0].is_finite());
    }
}
