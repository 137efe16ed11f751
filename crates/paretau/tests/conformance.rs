//! What every estimator must do, whoever wrote it: each test runs over the whole registry, so that a new entry is
//! covered the moment it is listed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use paretau::data::{RoleSpec, Table, TableColumn, Text};
use paretau::{
    Contrasts, Dense, Design, Effects, Estimator, EstimatorEntry, Features, FitContext, FitOptions, FittedModel,
    Params, Seed, TOOLBOX, Want, find, model_file, parameter_of, registry::ESTIMATORS, with_threads,
};

/// Budgets for tests: whoever has one of these parameters runs with less than its default.
const SMALL: &[(&str, &str)] = &[
    ("members", "1"),
    ("max_steps", "600"),
    ("n_estimators", "200"),
    ("n_nuisance", "100"),
    ("base.n_estimators", "100"),
    ("effort", "quick"),
];

/// What `fit` would otherwise choose on validation rows, at several times the cost.
const CHOSEN: &[(&str, &str)] = &[("dropout", "0"), ("l2", "0.001"), ("gamma", "1")];

/// Small budgets, everything still chosen by the data.
fn small(entry: &dyn EstimatorEntry) -> Params {
    SMALL
        .iter()
        .filter(|(name, _)| entry.params().iter().any(|spec| spec.name == parameter_of(name)))
        .fold(Params::none(), |params, (name, value)| params.with(name, *value))
}

/// Small budgets, and nothing left to choose.
fn fixed(entry: &dyn EstimatorEntry) -> Params {
    let defaults = entry.defaults();
    CHOSEN
        .iter()
        .filter(|(name, _)| defaults.get(name).is_some_and(serde_json::Value::is_null))
        .fold(small(entry), |params, (name, value)| params.with(name, *value))
}

/// A trial with noise `sd` whose effect is `effect(x)`.
fn trial(n: usize, sd: f64, effect: fn(&[f64]) -> f64) -> (Design, Vec<f64>) {
    drawn(Seed(11), n, sd, effect)
}

/// Rows of the same kind that no model has seen, with their effects.
fn fresh(effect: fn(&[f64]) -> f64) -> (Features, Vec<f64>) {
    let (design, tau) = drawn(Seed(12), 500, 0.0, effect);
    (design.x().clone(), tau)
}

fn drawn(seed: Seed, n: usize, sd: f64, effect: fn(&[f64]) -> f64) -> (Design, Vec<f64>) {
    let d = 5;
    let mut rng = seed.rng();
    let x: Vec<f64> = (0..n * d).map(|_| rng.normal()).collect();
    let t: Vec<u8> = (0..n).map(|_| u8::from(rng.bernoulli(0.5))).collect();
    let tau: Vec<f64> = x.chunks(d).map(effect).collect();
    let y: Vec<f64> =
        (0..n).map(|i| 1.0 + x[i * d] + 0.5 * x[i * d + 1] + f64::from(t[i]) * tau[i] + sd * rng.normal()).collect();
    (Design::new(Features::Dense(Dense::new(n, d, x).unwrap()), t, y).unwrap(), tau)
}

fn heterogeneous(x: &[f64]) -> f64 {
    2.0 + 1.5 * x[0]
}

fn fit(entry: &dyn EstimatorEntry, design: &Design, threads: usize) -> Box<dyn FittedModel> {
    fit_with(entry, &fixed(entry), design, threads)
}

fn fit_with(entry: &dyn EstimatorEntry, params: &Params, design: &Design, threads: usize) -> Box<dyn FittedModel> {
    let estimator = entry.build(params, &TOOLBOX).unwrap();
    with_threads(Some(threads), || estimator.fit(design, &FitContext::silent(Seed(5))))
        .unwrap_or_else(|e| panic!("{}: {e}", entry.info().name))
}

fn effects(model: &dyn FittedModel, x: &Features) -> Effects {
    let effects = model.effects(x).unwrap();
    assert_eq!(effects.len(), x.n_rows());
    assert!(effects.is_finite(), "a number is not finite");
    effects
}

fn mean(v: &[f64]) -> f64 {
    v.iter().sum::<f64>() / v.len() as f64
}

fn each(check: impl Fn(&dyn EstimatorEntry)) {
    for entry in ESTIMATORS {
        println!("{}", entry.info().name);
        check(*entry);
    }
}

#[test]
fn same_seed_gives_same_bits_whatever_the_number_of_threads() {
    let (design, _) = trial(240, 0.5, heterogeneous);
    each(|entry| {
        let one = effects(fit_with(entry, &small(entry), &design, 1).as_ref(), design.x());
        let two = effects(fit_with(entry, &small(entry), &design, 2).as_ref(), design.x());
        assert_eq!(one, two, "{}", entry.info().name);
    });
}

#[test]
fn a_row_is_predicted_alike_alone_in_a_batch_and_in_any_order() {
    let (design, _) = trial(240, 0.5, heterogeneous);
    each(|entry| {
        let model = fit(entry, &design, 2);
        let all = effects(model.as_ref(), design.x());
        let reversed: Vec<usize> = (0..design.n_rows()).rev().collect();
        let back = effects(model.as_ref(), &design.x().select(&reversed));
        for i in [0, 7, 100, 239] {
            let alone = effects(model.as_ref(), &design.x().select(&[i]));
            assert_eq!(all.tau[i].to_bits(), back.tau[239 - i].to_bits(), "{} row {i} reversed", entry.info().name);
            assert_eq!(all.tau[i].to_bits(), alone.tau[0].to_bits(), "{} row {i} alone", entry.info().name);
        }
        assert!(effects(model.as_ref(), &design.x().select(&[])).is_empty());
    });
}

#[test]
fn outcomes_and_effects_alone_are_those_told_with_propensities() {
    each(|entry| {
        let (design, _) = trial(200, 0.5, heterogeneous);
        let model = fit_with(entry, &small(entry), &design, 2);
        let (all, alone) =
            (effects(model.as_ref(), design.x()), model.predict(design.x(), Want::Outcomes).unwrap().swap_remove(0));
        let name = &entry.info().name;
        for (what, a, b) in
            [("mu0", &all.mu0, &alone.mu0), ("mu1", &all.mu1, &alone.mu1), ("tau", &all.tau, &alone.tau)]
        {
            assert_eq!(a, b, "{name}: {what}");
        }
        assert_eq!(all.se, alone.se, "{name}: standard errors");
        let effect = model.predict(design.x(), Want::Effect).unwrap().swap_remove(0);
        assert_eq!((all.tau, all.se), (effect.tau, effect.se), "{name}: the effect alone");
    });
}

/// A trial with three arms whose effects are 1 and -2 on average, of which the second varies.
fn three_arms(n: usize) -> Design {
    let d = 5;
    let mut rng = Seed(21).rng();
    let x: Vec<f64> = (0..n * d).map(|_| rng.normal()).collect();
    let t: Vec<u8> = (0..n).map(|_| (rng.bits() % 3) as u8).collect();
    let y: Vec<f64> =
        (0..n).map(|i| x[i * d + 1] + [0.0, 1.0, -2.0 + x[i * d]][usize::from(t[i])] + 0.5 * rng.normal()).collect();
    Design::with_arms(Features::Dense(Dense::new(n, d, x).unwrap()), t, y, 3).unwrap()
}

#[test]
fn several_arms_are_compared_with_the_control() {
    let design = three_arms(900);
    each(|entry| {
        let name = &entry.info().name;
        let estimator = entry.build(&fixed(entry), &TOOLBOX).unwrap();
        if !entry.info().handles.many_arms {
            let error = estimator.fit(&design, &FitContext::silent(Seed(5))).unwrap_err().to_string();
            assert!(error.contains("two arms"), "{name}: {error}");
        }
        // Estimators of two arms get one model per arm.
        let whole = |threads: usize| {
            let estimator = entry.build(&fixed(entry), &TOOLBOX).unwrap();
            let estimator: Box<dyn Estimator> =
                if entry.info().handles.many_arms { estimator } else { Box::new(Contrasts::of(estimator)) };
            with_threads(Some(threads), || estimator.fit(&design, &FitContext::silent(Seed(5)))).unwrap()
        };
        let model = whole(2);
        let arms = model.predict(design.x(), Want::Everything).unwrap();
        assert_eq!((arms.len(), model.n_treated_arms()), (2, 2), "{name}");
        assert_eq!(arms[0], effects(model.as_ref(), design.x()), "{name}: the first arm is the treated one");
        for (arm, truth) in arms.iter().zip([1.0, -2.0]) {
            assert!(arm.is_finite() && (mean(&arm.tau) - truth).abs() < 0.2, "{name}: {} for {truth}", mean(&arm.tau));
            // Chance dealt the arms out, half and half: the model's own propensities say so on average, and none is extreme;
            // those of one pair of arms are learned from fewer rows.
            if let Some(e) = &arm.e {
                assert!((mean(e) - 0.5).abs() < 0.05, "{name}: mean propensity {}", mean(e));
                let near = if entry.info().handles.many_arms { 0.25..0.75 } else { 0.1..0.9 };
                let extreme = e.iter().find(|e| !near.contains(*e));
                assert_eq!(extreme, None, "{name}");
            }
        }
        assert_eq!(whole(1).predict(design.x(), Want::Everything).unwrap(), arms, "{name}: another number of threads");
        let bytes = model_file::to_bytes(&model.state().unwrap()).unwrap();
        let state = model_file::from_bytes(&bytes).unwrap();
        let back = if entry.info().handles.many_arms {
            entry.load(&state, &TOOLBOX).unwrap()
        } else {
            Contrasts::load(entry, &state, &TOOLBOX).unwrap()
        };
        assert_eq!(back.predict(design.x(), Want::Everything).unwrap(), arms, "{name}: from its file");
    });
}

#[test]
fn swapping_the_arms_flips_the_sign() {
    let (design, _) = trial(600, 0.5, heterogeneous);
    let swapped =
        Design::new(design.x().clone(), design.t().iter().map(|t| 1 - t).collect(), design.y().to_vec()).unwrap();
    each(|entry| {
        let there = effects(fit(entry, &design, 2).as_ref(), design.x()).tau;
        let back = effects(fit(entry, &swapped, 2).as_ref(), design.x()).tau;
        let sums: Vec<f64> = there.iter().zip(&back).map(|(a, b)| (a + b).abs()).collect();
        // Random methods draw anew for the swapped data; the mean effect is 2.
        assert!(mean(&sums) < 0.6, "{}: {}", entry.info().name, mean(&sums));
    });
}

#[test]
fn a_constant_effect_is_recovered_on_a_trial() {
    let (design, _) = trial(800, 0.5, |_| 2.0);
    let (x, _) = fresh(|_| 2.0);
    each(|entry| {
        let tau = effects(fit(entry, &design, 2).as_ref(), &x).tau;
        assert!((mean(&tau) - 2.0).abs() < 0.25, "{}: mean {}", entry.info().name, mean(&tau));
        let spread = mean(&tau.iter().map(|v| (v - 2.0).powi(2)).collect::<Vec<_>>()).sqrt();
        assert!(spread < 0.6, "{}: root mean square error {spread}", entry.info().name);
    });
}

#[test]
fn models_survive_the_file_bit_by_bit() {
    let (design, _) = trial(240, 0.5, heterogeneous);
    each(|entry| {
        let model = fit(entry, &design, 2);
        let bytes = model_file::to_bytes(&model.state().unwrap()).unwrap();
        let back = entry.load(&model_file::from_bytes(&bytes).unwrap(), &TOOLBOX).unwrap();
        assert_eq!(effects(model.as_ref(), design.x()), effects(back.as_ref(), design.x()), "{}", entry.info().name);
        assert_eq!(back.n_features(), 5);
        // A state with a part missing is refused, not guessed at.
        let mut torn = model.state().unwrap();
        torn.tensors.pop_first();
        assert!(entry.load(&torn, &TOOLBOX).is_err(), "{}", entry.info().name);
    });
}

#[test]
fn parameters_are_checked_by_name_and_range() {
    each(|entry| {
        let wrong = entry.build(&Params::none().with("no_such_parameter", 1), &TOOLBOX).unwrap_err();
        assert!(wrong.to_string().contains("no_such_parameter"), "{wrong}");
        if let Some(spec) = entry.params().first() {
            let slip = format!("{}x", spec.name);
            let error = entry.build(&Params::none().with(&slip, 1), &TOOLBOX).unwrap_err().to_string();
            assert!(error.contains(&format!("`{}`?", spec.name)), "{error}");
        }
        for spec in entry.params() {
            let error = entry.build(&Params::none().with(spec.name, "#"), &TOOLBOX);
            assert!(error.is_err(), "{}: {} = # was taken", entry.info().name, spec.name);
        }
        // The defaults, given explicitly, are the defaults.
        let explicit = Params(entry.defaults().as_object().unwrap().clone().into_iter().collect());
        assert_eq!(entry.resolved(&explicit).unwrap(), entry.defaults(), "{}", entry.info().name);
    });
}

#[test]
fn unfit_data_is_a_typed_error_never_a_panic() {
    let (design, _) = trial(240, 0.5, heterogeneous);
    let narrow = Features::Dense(Dense::new(1, 2, vec![0.0; 2]).unwrap());
    let one_treated: Vec<usize> =
        design.rows_of_arm(0).into_iter().take(30).chain(design.rows_of_arm(1).into_iter().take(1)).collect();
    let lonely = design.select(&one_treated).unwrap();
    let flat = {
        let x = Features::Dense(Dense::new(60, 5, vec![1.0; 300]).unwrap());
        Design::new(x, design.t()[..60].to_vec(), design.y()[..60].to_vec()).unwrap()
    };
    let huge = {
        let x = design.x().select(&(0..60).collect::<Vec<_>>());
        let Features::Dense(x) = x else { unreachable!() };
        let values: Vec<f64> =
            x.values().iter().enumerate().map(|(k, v)| if k % 5 == 2 { v * 1e12 } else { *v }).collect();
        let x = Features::Dense(Dense::new(60, 5, values).unwrap());
        Design::new(x, design.t()[..60].to_vec(), design.y()[..60].to_vec()).unwrap()
    };
    each(|entry| {
        let model = fit(entry, &design, 2);
        assert!(model.check_columns(&narrow).is_err());
        assert!(model.effects(&narrow).is_err(), "{} took too few columns", entry.info().name);
        for (what, design) in [("one treated row", &lonely), ("constant features", &flat), ("a huge column", &huge)] {
            let estimator = entry.build(&fixed(entry), &TOOLBOX).unwrap();
            match estimator.fit(design, &FitContext::silent(Seed(1))) {
                Ok(model) => assert!(effects(model.as_ref(), design.x()).is_finite()),
                Err(error) => println!("  {what}: {error}"),
            }
        }
    });
}

#[test]
fn heterogeneity_is_found_where_a_method_can_express_it() {
    let (design, _) = trial(1500, 0.5, heterogeneous);
    let (x, tau) = fresh(heterogeneous);
    each(|entry| {
        if entry.info().name == find("lr-1").unwrap().info().name {
            return; // one effect for everyone, by definition
        }
        let got = effects(fit(entry, &design, 2).as_ref(), &x).tau;
        let error = mean(&got.iter().zip(&tau).map(|(a, b)| (a - b).powi(2)).collect::<Vec<_>>()).sqrt();
        // Predicting the mean effect for everyone scores 1.5.
        assert!(error < 0.9, "{}: {error}", entry.info().name);
    });
}

/// Numbers with a gap, categories, groups: whatever an estimator makes of them, averages and groups stand on the same nuisances.
#[test]
fn averages_and_groups_are_the_same_whatever_the_estimator() {
    let n = 160;
    let table = || {
        let mut rng = Seed(21).rng();
        let x: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        let town: Vec<&str> = (0..n).map(|_| if rng.bernoulli(0.4) { "Oslo" } else { "Lima" }).collect();
        let t: Vec<f64> = x.iter().map(|x| f64::from(u8::from(rng.bernoulli(1.0 / (1.0 + (-x).exp()))))).collect();
        let y: Vec<f64> = (0..n).map(|i| x[i] + t[i] * (1.0 + x[i]) + rng.normal()).collect();
        let gappy = x.iter().enumerate().map(|(i, x)| if i % 17 == 0 { f64::NAN } else { *x }).collect();
        let columns = vec![
            TableColumn::number("t", t),
            TableColumn::number("y", y),
            TableColumn::number("x", gappy),
            TableColumn::text("town", Text::from_cells(town.into_iter().map(Some))),
        ];
        Table::new(columns).unwrap()
    };
    let first = std::cell::RefCell::new(None);
    each(|entry| {
        let options =
            FitOptions { params: fixed(entry), by: vec!["town".into()], ..FitOptions::new(entry.info().name) };
        let model = paretau::fit(table(), &RoleSpec::new("t", "y"), &options).unwrap();
        let (_, _, treated) = model.about().treated().next().unwrap();
        let found = (treated.averages.clone(), model.about().groups.clone(), treated.nuisances.clone());
        assert!(found.0.ate.is_some() && found.1.is_some());
        let mut first = first.borrow_mut();
        let expected = first.get_or_insert_with(|| found.clone());
        assert_eq!(*expected, found, "{}", entry.info().name);
    });
}
