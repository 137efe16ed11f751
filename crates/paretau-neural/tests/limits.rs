//! Where one method must become another: soft smoothing in the limit, smoothing of weights without a tail, no tempering at all.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use paretau_kernels::parallel::Parallelism;
use paretau_kernels::soft_pareto_options::SoftParetoOptions;
use paretau_kernels::weights::Weighting;
use paretau_neural::model::repnet::OUTCOME;
use paretau_neural::model::{Model, Objective, RepNet};

/// Loss and gradient of the outcome phase.
fn outcome(n: usize, objective: Objective) -> (f64, Vec<f64>) {
    let sample = common::sample::<f64>(n, 4, false);
    let batch = common::batch(&sample);
    let mut model = RepNet::new(common::spec(3), objective, &sample, n).unwrap();
    let params = common::params(&model);
    let mut grads = vec![0.0; params.len()];
    model.begin(&sample, &batch).unwrap();
    let loss = model.loss(OUTCOME, &sample, (&params, &mut grads), Parallelism::None).unwrap();
    (loss, grads)
}

fn assert_close(a: &(f64, Vec<f64>), b: &(f64, Vec<f64>), tolerance: f64) {
    assert!((a.0 - b.0).abs() <= tolerance * b.0.abs(), "{} {}", a.0, b.0);
    let size = b.1.iter().map(|g| g.abs()).fold(0.0, f64::max);
    for (x, y) in a.1.iter().zip(&b.1) {
        assert!((x - y).abs() <= tolerance * size, "{x} {y}");
    }
}

#[test]
fn soft_smoothing_becomes_hard_smoothing() {
    let sharp = SoftParetoOptions { eps: 1e-9, kappa: 1e9, ..SoftParetoOptions::default() };
    let soft = outcome(120, common::objective(Weighting::SoftPareto(sharp)));
    let hard = outcome(120, common::objective(Weighting::HardPareto));
    assert_close(&soft, &hard, 1e-6);
    let raw = outcome(120, common::objective(Weighting::Raw));
    assert!((raw.0 - hard.0).abs() > 1e-6 * raw.0, "smoothing did nothing");
}

#[test]
fn weights_without_a_tail_are_left_alone() {
    // Below 25 rows there is no tail to fit.
    let soft = SoftParetoOptions::default();
    let dpsw = outcome(24, common::objective(Weighting::SoftPareto(soft)));
    assert_close(&dpsw, &outcome(24, common::objective(Weighting::Raw)), 0.0);
    let dpsw_norm = outcome(24, common::objective(Weighting::SoftParetoNorm(soft)));
    assert_close(&dpsw_norm, &outcome(24, common::objective(Weighting::Norm)), 0.0);
}

#[test]
fn a_tempering_exponent_of_zero_is_no_weighting() {
    let norm = Objective { gamma: 0.0, ..common::objective(Weighting::Norm) };
    let none = outcome(80, common::objective(Weighting::Uniform));
    assert_close(&outcome(80, norm), &none, 1e-12);
}
