//! Meta-learners on the base learners that there are: forest, boosting, ridge and net.

#![allow(clippy::unwrap_used)]

mod common;

use common::{rmse, simulate};
use paretau_core::{
    Dense, Design, Effects, EstimatorEntry, Features, FitContext, FittedModel, Params, Result, Seed, Toolbox,
};
use paretau_data::simulate::{CausalmlConfig, Simulated, causalml};
use paretau_forest::{BOOSTING, FOREST};
use paretau_learners::{DR_LEARNER, R_LEARNER, RIDGE, S_LEARNER, T_LEARNER, X_LEARNER};
use paretau_neural::MlpBase;

const TOOLS: Toolbox = Toolbox { bases: &[&RIDGE, &FOREST, &BOOSTING, &MlpBase] };

static ALL: &[&dyn EstimatorEntry] = &[&S_LEARNER, &T_LEARNER, &X_LEARNER, &R_LEARNER, &DR_LEARNER];
/// Those that learn a propensity.
static WITH_PROPENSITY: &[&dyn EstimatorEntry] = &[&X_LEARNER, &R_LEARNER, &DR_LEARNER];

/// A base with parameters that make it quick.
fn on(base: &str) -> Params {
    let quick: &[(&str, &str)] = match base {
        "forest" => &[("base.n_estimators", "100")],
        "mlp" => &[
            ("base.hidden", "32"),
            ("base.max_steps", "1500"),
            ("base.patience", "300"),
            ("base.members", "1"),
            ("base.rate", "0.003"),
        ],
        _ => &[],
    };
    quick.iter().fold(Params::none().with("base", base), |params, (key, value)| params.with(key, *value))
}

fn fit(entry: &dyn EstimatorEntry, params: &Params, design: &Design) -> Result<Box<dyn FittedModel>> {
    entry.build(params, &TOOLS)?.fit(design, &FitContext::silent(Seed(1)))
}

fn effects(entry: &dyn EstimatorEntry, params: &Params, design: &Design) -> Effects {
    fit(entry, params, design).unwrap().effects(design.x()).unwrap()
}

fn mean(v: &[f64]) -> f64 {
    v.iter().sum::<f64>() / v.len() as f64
}

fn confounded(n: usize, seed: u64) -> (Design, Vec<f64>) {
    let (design, tau, _) = simulate(n, seed, |x| 0.8 * x[0], |x| 1.0 + x[0] + x[1], |x| 2.0 + 1.5 * x[2]);
    (design, tau)
}

#[test]
fn every_learner_stands_on_every_base() {
    let (design, tau) = confounded(1200, 1);
    for entry in ALL {
        for base in ["forest", "boosting", "ridge", "mlp"] {
            let name = format!("{} on {base}", entry.info().name);
            let model = fit(*entry, &on(base), &design).unwrap();
            let got = model.effects(design.x()).unwrap();
            assert!((mean(&got.tau) - mean(&tau)).abs() < 0.35, "{name}: {}", mean(&got.tau));
            // The mean effect for everyone is 1.5 off; an S-learner of a line can say no more than that.
            let bound = if name == "s-learner on ridge" { 1.6 } else { 0.9 };
            assert!(rmse(&got.tau, &tau) < bound, "{name}: {}", rmse(&got.tau, &tau));
            let back = entry.load(&model.state().unwrap(), &TOOLS).unwrap();
            assert_eq!(back.effects(design.x()).unwrap(), got, "{name}");
        }
    }
}

/// Noisy scores are regressed with what the forest recommends for them, unless its parameters say otherwise.
#[test]
fn noisy_effects_follow_the_recommendation_of_the_base() {
    let (design, _) = confounded(400, 3);
    for entry in [&R_LEARNER as &dyn EstimatorEntry, &DR_LEARNER] {
        let base = || on("forest").with("base.n_estimators", 20);
        let tau = |params: Params| effects(entry, &params, &design).tau;
        let own = serde_json::json!({
            "name": "forest", "n_estimators": 20, "honest": true, "min_node_size": 20, "max_features": 200,
        });
        assert_eq!(tau(base()), tau(base().with("effect_base", own)), "{}", entry.info().name);
        assert_eq!(tau(base()), tau(base().with("effect_base", "forest")), "{}", entry.info().name);
        let plain = serde_json::json!({ "name": "forest", "params": { "n_estimators": 20 } });
        assert_ne!(tau(base()), tau(base().with("effect_base", plain)), "{}", entry.info().name);
    }
}

/// The design with every seventh value missing.
fn with_holes(design: &Design) -> Design {
    let Features::Dense(m) = design.x() else { unreachable!() };
    let values = m.values().iter().enumerate().map(|(k, &v)| if k % 7 == 3 { f64::NAN } else { v }).collect();
    let x = Features::Dense(Dense::new(m.n_rows(), m.n_cols(), values).unwrap());
    Design::new(x, design.t().to_vec(), design.y().to_vec()).unwrap()
}

#[test]
fn missing_values_are_taken_where_the_base_takes_them() {
    let (design, tau) = confounded(1200, 2);
    let holes = with_holes(&design);
    for entry in ALL {
        for base in ["forest", "boosting"] {
            let got = effects(*entry, &on(base), &holes);
            assert!(rmse(&got.tau, &tau) < 1.2, "{} on {base}: {}", entry.info().name, rmse(&got.tau, &tau));
        }
        for base in ["ridge", "mlp"] {
            let error = fit(*entry, &on(base), &holes).unwrap_err().to_string();
            assert!(error.contains("missing"), "{} on {base}: {error}", entry.info().name);
        }
    }
}

#[test]
fn propensities_are_calibrated_on_request() {
    // Treatment depends on the square of a feature: a line in the logit cannot follow, a monotone map of it helps not,
    // but the map must be used, stay inside (0, 1) and survive the state.
    let (design, _, e) = simulate(1500, 3, |x| x[0] + 0.5 * x[0].abs(), |x| x[0], |_| 1.0);
    for entry in WITH_PROPENSITY {
        let plain = on("ridge");
        let model = fit(*entry, &plain.clone().with("calibrate", true), &design).unwrap();
        let got = model.effects(design.x()).unwrap();
        let (raw, calibrated) = (effects(*entry, &plain, &design).e.unwrap(), got.e.clone().unwrap());
        assert!(calibrated.iter().all(|e| *e > 0.0 && *e < 1.0));
        assert!(rmse(&raw, &calibrated) > 1e-3, "{}", entry.info().name);
        assert!(rmse(&calibrated, &e) < 0.08, "{}: {}", entry.info().name, rmse(&calibrated, &e));
        assert!((mean(&calibrated) - mean(&raw)).abs() < 0.02);
        let state = model.state().unwrap();
        assert_eq!(entry.load(&state, &TOOLS).unwrap().effects(design.x()).unwrap(), got);
        let mut torn = state.clone();
        torn.tensors.retain(|name, _| !name.starts_with("e-calibration"));
        assert!(entry.load(&torn, &TOOLS).is_err());
    }
}

#[test]
fn an_arm_of_one_row_is_refused_by_name() {
    let (design, _) = confounded(60, 4);
    let mut t = vec![0; 60];
    t[7] = 1;
    let lonely = Design::new(design.x().clone(), t, design.y().to_vec()).unwrap();
    for entry in ALL.iter().filter(|entry| entry.info().name != "s-learner") {
        for base in ["forest", "boosting", "ridge", "mlp"] {
            let error = fit(*entry, &on(base), &lonely).unwrap_err().to_string();
            assert!(error.contains("1 row of arm 1") && error.contains("at least two rows of each arm"), "{error}");
        }
    }
    assert!(effects(&S_LEARNER, &on("forest"), &lonely).is_finite());
}

#[test]
fn bad_input_is_refused_with_the_column_and_a_remedy() {
    let (design, _) = confounded(60, 5);
    let Features::Dense(m) = design.x() else { unreachable!() };
    // One arm empty, an outcome that is no number: no design can be made of them.
    let error = Design::new(design.x().clone(), vec![0; 60], design.y().to_vec()).unwrap_err().to_string();
    assert!(error.contains("no row has treatment 1") && error.contains("check the treatment column"), "{error}");
    let mut y = design.y().to_vec();
    y[3] = f64::INFINITY;
    let error = Design::new(design.x().clone(), design.t().to_vec(), y).unwrap_err().to_string();
    assert!(error.contains("outcome: row 4") && error.contains("remove the row or mend"), "{error}");
    // A column without a value.
    let values = m.values().iter().enumerate().map(|(k, &v)| if k % 3 == 1 { f64::NAN } else { v }).collect();
    let hollow = Features::Dense(Dense::new(60, 3, values).unwrap());
    let hollow = Design::new(hollow, design.t().to_vec(), design.y().to_vec()).unwrap();
    for entry in ALL {
        let error = fit(*entry, &on("forest"), &hollow).unwrap_err().to_string();
        assert!(
            error.contains("feature column `x2` has no value") && error.contains("leave the column out"),
            "{error}"
        );
    }
    // An arm whose 0/1 outcome never varies.
    let y = design.t().iter().enumerate().map(|(i, &t)| f64::from(t) * (i % 2) as f64).collect();
    let one_class = Design::new(design.x().clone(), design.t().to_vec(), y).unwrap();
    for base in ["forest", "ridge"] {
        match fit(&T_LEARNER, &on(base), &one_class) {
            Ok(model) => assert!(model.effects(design.x()).unwrap().is_finite(), "{base}"),
            Err(error) => assert!(error.to_string().contains("class"), "{base}: {error}"),
        }
    }
}

fn mode(mode: u8, seed: u64) -> (Simulated, Vec<f64>) {
    let made = causalml(&CausalmlConfig { n: 2000, d: 6, noise: 1.0, mode }, Seed(seed)).unwrap();
    let tau = made.mu1.iter().zip(&made.mu0).map(|(a, b)| a - b).collect();
    (made, tau)
}

/// On fresh rows of CausalML's modes (noise has a standard deviation of 1) the average effect is near the truth, and
/// where the effect is simple beside its nuisances (modes 1 and 3) learners of the effect itself beat a difference of
/// two outcome models.
#[test]
fn learners_with_a_propensity_answer_causalml_modes() {
    for (number, of_average) in [(1, 0.15), (2, 0.15), (3, 0.2), (4, 0.25)] {
        let design = mode(number, 11).0.design().unwrap();
        let (fresh, tau) = mode(number, 12);
        let errors: Vec<f64> = (ALL.iter())
            .map(|entry| {
                let got = fit(*entry, &on("forest"), &design).unwrap().effects(&fresh.x).unwrap().tau;
                let off = mean(&got) - mean(&tau);
                // S- and T-learners of forests have no guard against confounding: where the baseline is steep and
                // drives the treatment (mode 3) they miss the average effect, which is 1, by a third and more.
                let guarded = WITH_PROPENSITY.iter().any(|other| other.info().name == entry.info().name);
                assert!(!guarded || off.abs() < of_average, "{} in mode {number}: {off}", entry.info().name);
                rmse(&got, &tau)
            })
            .collect();
        let of = |name: &str| errors[ALL.iter().position(|entry| entry.info().name == name).unwrap()];
        if number == 1 || number == 3 {
            for name in ["x-learner", "r-learner", "dr-learner"] {
                assert!(of(name) < of("t-learner"), "{name} in mode {number}: {errors:?}");
            }
        }
    }
}
