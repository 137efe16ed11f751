//! Ridge regression against closed forms, and the linear estimators on top of it.

#![allow(clippy::unwrap_used)]

use paretau_core::{
    BaseEntry, Dense, Design, EstimatorEntry, Features, FitContext, Params, RegressionTask, Seed, Target, Toolbox,
};
use paretau_learners::{LR_1, LR_2, Ridge, RidgeBase, RidgeOptions, RidgeTask};

const NO_BASES: Toolbox = Toolbox { bases: &[] };

fn dense(n: usize, d: usize, values: Vec<f64>) -> Features {
    Features::Dense(Dense::new(n, d, values).unwrap())
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-9 * (1.0 + b.abs()), "{a} against {b}");
}

fn fixed(penalty: f64) -> RidgeOptions {
    RidgeOptions { penalty: Some(penalty), folds: None }
}

#[test]
fn one_column_by_hand() {
    // x has mean 2 and variance 2/3, y has mean 3; slope = cov/(var (1 + λ)) since the penalty acts on x/sd.
    let x = dense(3, 1, vec![1.0, 2.0, 3.0]);
    let y = [1.0, 3.0, 5.0];
    let task = RidgeTask { x: &x, y: &y, free: None, weight: None, groups: None };
    for (penalty, slope) in [(0.0, 2.0), (1.0, 1.0), (3.0, 0.5)] {
        let model = Ridge::fit(&task, &fixed(penalty), Seed(0)).unwrap();
        near(model.coef[0], slope);
        near(model.intercept, 3.0 - 2.0 * slope);
    }
}

#[test]
fn two_correlated_columns_by_hand() {
    // Standardised columns with correlation 1/2 (from ±1 designs); normal equations solved by hand:
    // G/n = [[1, .5], [.5, 1]], A'y/n = [1.5, 0]; with λ = 1: β = [[2, .5], [.5, 2]]⁻¹ [1.5, 0] = [.8, -.2].
    let a = [1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0];
    let b = [1.0, 1.0, 1.0, -1.0, 1.0, -1.0, -1.0, -1.0];
    let y: Vec<f64> = (0..8).map(|i| 10.0 + 2.0 * a[i] - b[i]).collect();
    let x = dense(8, 2, (0..8).flat_map(|i| [a[i], b[i]]).collect());
    let task = RidgeTask { x: &x, y: &y, free: None, weight: None, groups: None };
    let model = Ridge::fit(&task, &fixed(1.0), Seed(0)).unwrap();
    near(model.coef[0], 0.8);
    near(model.coef[1], -0.2);
    near(model.intercept, 10.0);
    let free = Ridge::fit(&task, &fixed(0.0), Seed(0)).unwrap();
    near(free.coef[0], 2.0);
    near(free.coef[1], -1.0);
}

#[test]
fn weights_are_repeated_rows_and_constants_are_harmless() {
    let mut rng = Seed(5).rng();
    let n = 12;
    let rows: Vec<[f64; 3]> = (0..n).map(|_| [rng.normal(), 7.0, rng.normal() * 100.0]).collect();
    let y: Vec<f64> = rows.iter().map(|r| r[0] + 0.02 * r[2] + rng.normal()).collect();
    let times: Vec<usize> = (0..n).map(|i| i % 3).collect();
    let x = dense(n, 3, rows.concat());
    let w: Vec<f64> = times.iter().map(|&k| k as f64).collect();
    let task = RidgeTask { x: &x, y: &y, free: None, weight: Some(&w), groups: None };
    let weighted = Ridge::fit(&task, &fixed(0.5), Seed(0)).unwrap();
    let repeated: Vec<usize> = (0..n).flat_map(|i| vec![i; times[i]]).collect();
    let (x2, y2) = (x.select(&repeated), repeated.iter().map(|&i| y[i]).collect::<Vec<_>>());
    let task = RidgeTask { x: &x2, y: &y2, free: None, weight: None, groups: None };
    let plain = Ridge::fit(&task, &fixed(0.5), Seed(0)).unwrap();
    weighted.coef.iter().zip(&plain.coef).for_each(|(a, b)| near(*a, *b));
    near(weighted.intercept, plain.intercept);
    assert_eq!(weighted.coef[1], 0.0);
    // Nothing varies at all: the mean, no NaN.
    let x = dense(4, 1, vec![3.0; 4]);
    let task = RidgeTask { x: &x, y: &[1.0, 2.0, 3.0, 4.0], free: None, weight: None, groups: None };
    let flat = Ridge::fit(&task, &RidgeOptions::default(), Seed(0)).unwrap();
    assert_eq!((flat.intercept, flat.coef[0]), (2.5, 0.0));
}

fn trial(n: usize, d: usize, seed: u64, effect: f64) -> Design {
    let mut rng = Seed(seed).rng();
    let x: Vec<f64> = (0..n * d).map(|_| rng.normal()).collect();
    let t: Vec<u8> = (0..n).map(|_| u8::from(rng.bernoulli(0.5))).collect();
    let y = (0..n).map(|i| 50.0 + x[i * d] + effect * f64::from(t[i]) + 0.1 * rng.normal()).collect();
    Design::new(dense(n, d, x), t, y).unwrap()
}

#[test]
fn a_constant_effect_survives_any_penalty() {
    let design = trial(2000, 5, 6, 3.0);
    for penalty in ["auto", "0.001", "1e6"] {
        let params = Params::none().with("penalty", penalty);
        let model = LR_1.build(&params, &NO_BASES).unwrap().fit(&design, &FitContext::silent(Seed(0))).unwrap();
        let effects = model.effects(design.x()).unwrap();
        assert!(effects.tau.iter().all(|t| *t == effects.tau[0]));
        assert!((effects.tau[0] - 3.0).abs() < 0.2, "{penalty}: {}", effects.tau[0]);
    }
}

#[test]
fn separate_arms_recover_a_linear_effect() {
    let mut rng = Seed(8).rng();
    let (n, d) = (800, 4);
    let x: Vec<f64> = (0..n * d).map(|_| rng.normal()).collect();
    let t: Vec<u8> = (0..n).map(|i| u8::from(rng.bernoulli(if x[i * d] > 0.0 { 0.7 } else { 0.3 }))).collect();
    let tau: Vec<f64> = (0..n).map(|i| 1.0 + 2.0 * x[i * d + 1]).collect();
    let y = (0..n).map(|i| x[i * d] + f64::from(t[i]) * tau[i] + 0.2 * rng.normal()).collect();
    let design = Design::new(dense(n, d, x), t, y).unwrap();
    let model = LR_2.build(&Params::none(), &NO_BASES).unwrap().fit(&design, &FitContext::silent(Seed(0))).unwrap();
    let effects = model.effects(design.x()).unwrap();
    let rmse = (effects.tau.iter().zip(&tau).map(|(a, b)| (a - b).powi(2)).sum::<f64>() / n as f64).sqrt();
    assert!(rmse < 0.06, "{rmse}");
    let importance = &model.diagnostics().importance;
    assert!(importance[1].share > 0.9 && importance[1].name == "x2");
    assert!(model.diagnostics().numbers["r2_cv_treated"] > 0.9);

    let state = model.state().unwrap();
    let back = LR_2.load(&state, &NO_BASES).unwrap();
    assert_eq!(back.effects(design.x()).unwrap(), effects);
    assert_eq!(back.diagnostics(), model.diagnostics());
    assert!(back.effects(&dense(1, 3, vec![0.0; 3])).is_err());
}

#[test]
fn folds_and_groups_choose_a_penalty_too() {
    let design = trial(60, 30, 9, 1.0);
    let by_folds = LR_1
        .build(&Params::none().with("folds", 4), &NO_BASES)
        .unwrap()
        .fit(&design, &FitContext::silent(Seed(1)))
        .unwrap();
    assert!(by_folds.diagnostics().numbers["r2_cv"] > 0.0);
    let grouped = design.grouped((0..60).map(|i| i / 6).collect()).unwrap();
    let by_groups =
        LR_2.build(&Params::none(), &NO_BASES).unwrap().fit(&grouped, &FitContext::silent(Seed(1))).unwrap();
    assert!(by_groups.effects(grouped.x()).unwrap().is_finite());
}

#[test]
fn pure_noise_gets_a_large_penalty() {
    let mut rng = Seed(10).rng();
    let (n, d) = (50, 40);
    let x = dense(n, d, (0..n * d).map(|_| rng.normal()).collect());
    let y: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
    let task = RidgeTask { x: &x, y: &y, free: None, weight: None, groups: None };
    let model = Ridge::fit(&task, &RidgeOptions::default(), Seed(0)).unwrap();
    assert!(model.coef.iter().map(|b| b * b).sum::<f64>() < 0.2, "{:?}", model.penalty);
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let design = trial(700, 300, 13, 1.0);
    for entry in [&LR_1, &LR_2] {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let model = entry.build(&Params::none(), &NO_BASES).unwrap();
                model.fit(&design, &FitContext::silent(Seed(0))).unwrap().effects(design.x()).unwrap()
            })
        };
        assert_eq!(run(1), run(2));
    }
}

#[test]
fn entries_list_as_trait_objects() {
    static ENTRIES: &[&dyn EstimatorEntry] = &[&LR_1, &LR_2];
    assert_eq!(ENTRIES.iter().map(|e| e.info().name).collect::<Vec<_>>(), ["lr-1", "lr-2"]);
    let error = LR_1.build(&Params::none().with("penaltyy", 1), &NO_BASES).unwrap_err().to_string();
    assert!(error.contains("did you mean `penalty`"));
    assert_eq!(LR_2.defaults()["arms"], "separate");
}

#[test]
fn the_ridge_base_learner_predicts_means_and_probabilities() {
    let (n, mut rng) = (300, Seed(12).rng());
    let x: Vec<f64> = (0..2 * n).map(|_| rng.normal()).collect();
    let t = (0..n).map(|i| u8::from(rng.bernoulli(1.0 / (1.0 + (-x[2 * i]).exp())))).collect();
    let y = (0..n).map(|i| x[2 * i] + rng.normal()).collect();
    let design = Design::new(dense(n, 2, x), t, y).unwrap();
    let t: Vec<f64> = design.t().iter().map(|t| f64::from(*t)).collect();
    let learner = RidgeBase.build(&Params::none()).unwrap();
    for (target, y) in [(Target::Mean, design.y()), (Target::Probability, &t[..])] {
        let task = RegressionTask { x: design.x(), columns: design.columns(), y, weight: None, groups: None, target };
        let model = learner.fit(&task, &FitContext::silent(Seed(0))).unwrap();
        let back = RidgeBase.load(&model.state().unwrap()).unwrap();
        assert_eq!(back.predict(design.x()).unwrap(), model.predict(design.x()).unwrap());
        assert!(back.predict(&design.x().select(&[])).unwrap().is_empty());
        if target == Target::Probability {
            assert!(model.predict(design.x()).unwrap().iter().all(|p| *p > 0.0 && *p < 1.0));
        }
    }
    assert!(RidgeBase.build(&Params::none().with("penalty", -1)).is_err());
}
