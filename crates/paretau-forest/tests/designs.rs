//! The named designs of grf and the synthetic modes of CausalML: effects within stated errors.
#![allow(clippy::unwrap_used)]

mod common;

use common::{mean, rmse};
use paretau_core::{Design, EstimatorEntry, FitContext, FittedModel, Params, Seed, Toolbox};
use paretau_data::simulate::{CausalmlConfig, GrfConfig, Simulated, causalml, grf};
use paretau_forest::{CAUSAL_FOREST, CAUSAL_FOREST_DML, FOREST};

const TOOLS: Toolbox = Toolbox { bases: &[&FOREST] };

fn fit(entry: &dyn EstimatorEntry, design: &Design) -> Box<dyn FittedModel> {
    let params = Params::none().with("n_estimators", 400);
    entry.build(&params, &TOOLS).unwrap().fit(design, &FitContext::silent(Seed(1))).unwrap()
}

fn effect(made: &Simulated) -> Vec<f64> {
    made.mu1.iter().zip(&made.mu0).map(|(a, b)| a - b).collect()
}

/// Single effects out of bag within `bound`, and the average effect within four of its standard errors.
fn check(name: &str, made: &Simulated, bound: f64) {
    let (design, tau) = (made.design().unwrap(), effect(made));
    for entry in [&CAUSAL_FOREST as &dyn EstimatorEntry, &CAUSAL_FOREST_DML] {
        let model = fit(entry, &design);
        let error = rmse(&model.held_out().unwrap()[0].tau, &tau);
        assert!(error < bound, "{} in {name}: {error}", entry.info().name);
        let numbers = &model.diagnostics().numbers;
        let z = (numbers["oob_ate"] - mean(&tau)) / numbers["oob_ate_se"];
        assert!(z.abs() < 4.0, "{} in {name}: average effect {z} standard errors off", entry.info().name);
    }
}

#[test]
fn grf_designs_are_answered_within_stated_errors() {
    for (design, bound) in
        [("simple", 0.3), ("aw1", 0.2), ("aw2", 0.5), ("aw3", 0.5), ("aw3reverse", 0.55), ("ai1", 0.3), ("ai2", 0.6)]
    {
        let made = grf(&GrfConfig { n: 2000, d: 6, design: design.into(), ..GrfConfig::default() }, Seed(5)).unwrap();
        check(design, &made, bound);
    }
}

#[test]
fn causalml_modes_are_answered_within_stated_errors() {
    for (mode, bound) in [(1, 0.25), (2, 0.55), (3, 0.45), (4, 0.95)] {
        let made = causalml(&CausalmlConfig { n: 2000, d: 6, noise: 1.0, mode }, Seed(5)).unwrap();
        check(&format!("mode {mode}"), &made, bound);
    }
}

#[test]
fn a_hidden_confounder_stays_hidden() {
    // Mode 5: adjustment for noisy proxies of the confounder cannot take all of its bias out, but some of it.
    let made = causalml(&CausalmlConfig { n: 3000, d: 6, noise: 1.0, mode: 5 }, Seed(5)).unwrap();
    let (design, truth) = (made.design().unwrap(), mean(&effect(&made)));
    let of_arm = |arm: u8| {
        let rows = design.rows_of_arm(arm);
        mean(&rows.iter().map(|&i| design.y()[i]).collect::<Vec<f64>>())
    };
    let naive = of_arm(1) - of_arm(0) - truth;
    let adjusted = fit(&CAUSAL_FOREST, &design).diagnostics().numbers["oob_ate"] - truth;
    assert!(naive > 0.05 && adjusted.abs() < 0.7 * naive, "{naive} {adjusted}");
}
