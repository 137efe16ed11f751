//! What the forests estimate, on designs whose truth is known.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Known, confounded, mean, rmse, simulate, smooth};
use paretau_core::{Design, EstimatorEntry, FitContext, FittedModel, Params, Seed, Toolbox, Want};
use paretau_forest::{
    ArmsForest, ArmsForestModel, CAUSAL_FOREST, CAUSAL_FOREST_DML, CausalForest, CausalForestConfig, CausalRows, FOREST,
};

const TOOLS: Toolbox = Toolbox { bases: &[&FOREST] };

fn fit(entry: &dyn EstimatorEntry, known: &Known, trees: usize) -> Box<dyn FittedModel> {
    let params = Params::none().with("n_estimators", trees);
    entry.build(&params, &TOOLS).unwrap().fit(&known.design(), &FitContext::silent(Seed(1))).unwrap()
}

#[test]
fn a_smooth_effect_is_found() {
    let (train, test) = (smooth(3000, 8, 1), smooth(1000, 8, 2));
    let spread = rmse(&test.tau, &vec![mean(&test.tau); 1000]);
    for entry in [&CAUSAL_FOREST as &dyn EstimatorEntry, &CAUSAL_FOREST_DML] {
        let model = fit(entry, &train, 400);
        let error = rmse(&model.effects(&test.x).unwrap().tau, &test.tau);
        assert!(error < 0.45 * spread, "{}: {error} of {spread}", entry.info().name);
        let top: Vec<&str> = {
            let mut ranked = model.diagnostics().importance.clone();
            ranked.sort_by(|a, b| b.share.total_cmp(&a.share));
            ranked.iter().take(2).map(|i| if i.name == "x1" { "x1" } else { "x2" }).collect()
        };
        assert!(top.contains(&"x1") && top.contains(&"x2"));
        let shares: f64 = model.diagnostics().importance.iter().map(|i| i.share).sum();
        assert!((shares - 1.0).abs() < 1e-9);
    }
}

#[test]
fn confounding_is_taken_out() {
    let train = confounded(4000, 5, 3);
    let treated: Vec<f64> = (0..4000).filter(|&i| train.t[i] == 1).map(|i| train.y[i]).collect();
    let control: Vec<f64> = (0..4000).filter(|&i| train.t[i] == 0).map(|i| train.y[i]).collect();
    assert!(mean(&treated) - mean(&control) > 1.6, "the naive difference should be biased");
    for entry in [&CAUSAL_FOREST as &dyn EstimatorEntry, &CAUSAL_FOREST_DML] {
        let numbers = fit(entry, &train, 400).diagnostics().numbers.clone();
        let z = (numbers["oob_ate"] - mean(&train.tau)) / numbers["oob_ate_se"];
        assert!(z.abs() < 3.0, "{}: {numbers:?}", entry.info().name);
        assert!(numbers["oob_ate_se"] < 0.05);
    }
}

#[test]
fn the_null_design_shows_no_heterogeneity() {
    // One sample in a hundred passes 2.3 by chance even with the true nuisances, so a rate over many samples is what can be
    // asked; a single sample below a bound cannot.
    let mut z = vec![];
    for seed in 0..20 {
        let train = simulate((1500, 5, 40 + seed), |x| 2.0 * x[0], |_| 0.5, |_| 0.0);
        let model = fit(&CAUSAL_FOREST, &train, 200);
        let numbers = &model.diagnostics().numbers;
        z.push(numbers["calibration_differential"] / numbers["calibration_differential_se"]);
        assert!(numbers["oob_ate"].abs() < 4.0 * numbers["oob_ate_se"]);
    }
    assert!(z.iter().filter(|z| **z >= 2.6).count() <= 1 && mean(&z) < 0.4, "{z:?}");
    let train = smooth(1500, 5, 50);
    let numbers = fit(&CAUSAL_FOREST, &train, 200).diagnostics().numbers.clone();
    assert!(numbers["calibration_differential"] / numbers["calibration_differential_se"] > 4.0);
    assert!((numbers["calibration_differential"] - 1.0).abs() < 0.3);
}

#[test]
fn intervals_cover_the_truth() {
    // A small version of examples/coverage.rs.
    let (mut covered, mut all) = (0, 0);
    let test = confounded(50, 4, 999);
    for seed in 0..20 {
        let train = confounded(800, 4, 100 + seed);
        let effects = fit(&CAUSAL_FOREST, &train, 400).effects(&test.x).unwrap();
        let se = effects.se.unwrap();
        for i in 0..50 {
            covered += usize::from((effects.tau[i] - test.tau[i]).abs() < 1.96 * se[i]);
            all += 1;
        }
    }
    let share = covered as f64 / f64::from(all);
    assert!((0.85..=1.0).contains(&share), "{share}");
}

#[test]
fn known_propensities_are_used() {
    let train = confounded(1000, 3, 5);
    let design = train.design().with_propensity(train.e.clone()).unwrap();
    let params = Params::none().with("n_estimators", 100);
    let model = CAUSAL_FOREST.build(&params, &TOOLS).unwrap().fit(&design, &FitContext::silent(Seed(1))).unwrap();
    let used = model.held_out().unwrap()[0].e.clone().unwrap();
    assert!(rmse(&used, &train.e) < 1e-3);
}

#[test]
fn a_continuous_treatment_gives_its_partial_effect() {
    let mut rng = Seed(6).rng();
    let known = simulate((3000, 3, 7), |_| 0.0, |_| 0.5, |_| 0.0);
    let paretau_core::Features::Dense(m) = &known.x else { return };
    let dose: Vec<f64> = (0..3000).map(|i| 3.0 * m.get(i, 1) + rng.normal()).collect();
    let tau: Vec<f64> = (0..3000).map(|i| 1.0 + 2.0 * m.get(i, 0)).collect();
    let y: Vec<f64> = (0..3000).map(|i| 5.0 * m.get(i, 1) + tau[i] * dose[i] + rng.normal()).collect();
    let rows = CausalRows {
        x: &known.x,
        columns: &known.columns,
        treatment: &dose,
        y: &y,
        weight: None,
        groups: None,
        y_hat: None,
        e_hat: None,
    };
    let config = CausalForestConfig { n_estimators: 300, ..CausalForestConfig::default() };
    let model = CausalForest::new(config).unwrap().fit_rows(&rows, &FitContext::silent(Seed(1))).unwrap();
    let held_out = &model.held_out().unwrap()[0];
    assert!(held_out.e.is_none());
    assert!(rmse(&held_out.tau, &tau) < 0.25, "{}", rmse(&held_out.tau, &tau));
}

fn three_arms(n: usize, seed: u64) -> (Design, Vec<f64>, Vec<f64>) {
    let mut rng = Seed(seed).rng();
    let known = simulate((n, 4, seed), |_| 0.0, |_| 0.5, |_| 0.0);
    let paretau_core::Features::Dense(m) = &known.x else { unreachable!() };
    let (mut t, mut y, mut first, mut second) = (vec![], vec![], vec![], vec![]);
    for i in 0..n {
        let (a, b) = (1.0 + 2.0 * m.get(i, 0), -1.0 - f64::from(u8::from(m.get(i, 1) > 0.5)));
        // The third feature moves both the outcome and the choice of arm.
        let arm = if rng.bernoulli(0.2 + 0.3 * m.get(i, 2)) { 1 } else { 2 * u8::from(rng.bernoulli(0.5)) };
        t.push(arm);
        y.push(2.0 * m.get(i, 2) + [0.0, a, b][usize::from(arm)] + rng.normal());
        first.push(a);
        second.push(b);
    }
    (Design::with_arms(known.x.clone(), t, y, 3).unwrap(), first, second)
}

#[test]
fn several_arms_are_told_apart() {
    let (design, first, second) = three_arms(4000, 8);
    let config = CausalForestConfig { n_estimators: 300, ..CausalForestConfig::default() };
    let model = ArmsForest::new(config).unwrap().fit(&design, &FitContext::silent(Seed(1))).unwrap();
    let effects = model.predict(design.x(), Want::Everything).unwrap();
    assert_eq!(effects.len(), 2);
    assert!(effects.iter().all(paretau_core::Effects::is_finite));
    for (found, truth) in effects.iter().zip([&first, &second]) {
        assert!(rmse(&found.tau, truth) < 0.35, "{}", rmse(&found.tau, truth));
        assert!((mean(&found.tau) - mean(truth)).abs() < 0.12);
        assert!(found.se.as_ref().unwrap().iter().all(|s| *s > 0.0));
    }
    let back = ArmsForestModel::load(&model.state().unwrap(), &TOOLS).unwrap();
    assert_eq!(back.predict(design.x(), Want::Everything).unwrap(), effects);
}

#[test]
fn two_arms_by_the_forest_for_several_agree_with_the_forest_for_two() {
    let train = confounded(1500, 3, 9);
    let config = CausalForestConfig { n_estimators: 200, ..CausalForestConfig::default() };
    let ctx = FitContext::silent(Seed(1));
    let several = ArmsForest::new(config).unwrap().fit(&train.design(), &ctx).unwrap();
    let two = fit(&CAUSAL_FOREST, &train, 200);
    let (a, b) = (&several.effects(&train.x).unwrap(), two.effects(&train.x).unwrap());
    assert!(rmse(&a.tau, &b.tau) < 0.1, "{}", rmse(&a.tau, &b.tau));
}

#[test]
fn clusters_widen_the_intervals() {
    // Effects vary by cluster: rows of one cluster are no independent evidence.
    let mut rng = Seed(10).rng();
    let known = simulate((2000, 3, 11), |_| 0.0, |_| 0.5, |_| 0.0);
    let groups: Vec<u32> = (0..2000).map(|i| i / 50).collect();
    let shift: Vec<f64> = (0..40).map(|_| 2.0 * rng.normal()).collect();
    let y: Vec<f64> = (0..2000).map(|i| known.y[i] + known.w[i] * (1.0 + shift[groups[i] as usize])).collect();
    let design = Design::new(known.x.clone(), known.t.clone(), y).unwrap();
    let params = Params::none().with("n_estimators", 200);
    let width = |design: &Design| {
        let model = CAUSAL_FOREST.build(&params, &TOOLS).unwrap().fit(design, &FitContext::silent(Seed(1))).unwrap();
        let numbers = model.diagnostics().numbers.clone();
        (mean(&model.effects(&known.x).unwrap().se.unwrap()), numbers["oob_ate_se"])
    };
    let (plain, clustered) = (width(&design), width(&design.clone().grouped(groups).unwrap()));
    assert!(clustered.0 > 1.15 * plain.0 && clustered.1 > 2.0 * plain.1, "{plain:?} {clustered:?}");
}
