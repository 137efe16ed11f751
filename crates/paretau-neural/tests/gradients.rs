//! Whole losses against central differences in double precision: both phases, every weighting, every penalty.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{batch, objective, penalty, sample, spec};
use paretau_kernels::parallel::Parallelism;
use paretau_kernels::soft_pareto_options::SoftParetoOptions;
use paretau_kernels::weights::{Pooling, Weighting};
use paretau_neural::engine::Norm;
use paretau_neural::loss::{Balance, OutcomeLoss};
use paretau_neural::model::repnet::{OUTCOME, PROPENSITY};
use paretau_neural::model::{Model, Objective, RepNet, RepSpec};

/// Largest gap between the gradient and central differences, over the gradient's own size.
fn gap(spec: &RepSpec, objective: &Objective, phase: usize) -> f64 {
    let sample = sample(60, spec.d, false);
    let batch = batch(&sample);
    let mut model = RepNet::<f64>::new(spec.clone(), objective.clone(), &sample, 60).unwrap();
    let mut params = common::params(&model);
    let mut grads = vec![0.0; params.len()];
    let mut loss = |params: &[f64], grads: &mut [f64]| {
        model.begin(&sample, &batch).unwrap();
        model.loss(phase, &sample, (params, grads), Parallelism::None).unwrap()
    };
    assert!(loss(&params, &mut grads).is_finite());
    let moves = {
        let model = RepNet::<f64>::new(spec.clone(), objective.clone(), &sample, 60).unwrap();
        model.moves(phase)
    };
    let mut idle = vec![0.0; params.len()];
    let size = moves.iter().flat_map(|m| m.range.clone()).map(|i| grads[i].abs()).fold(0.0, f64::max);
    let mut worst: f64 = 0.0;
    for i in moves.iter().flat_map(|m| m.range.clone()) {
        let keep = params[i];
        let mut difference = |h: f64| {
            params[i] = keep + h;
            let up = loss(&params, &mut idle);
            params[i] = keep - h;
            let down = loss(&params, &mut idle);
            params[i] = keep;
            ((up - down) / (2.0 * h) - grads[i]).abs()
        };
        // Soft ranks are smooth in pieces: a step that crosses a seam is repeated with shorter ones.
        let mut here = difference(1e-6);
        for h in [1e-7, 3e-8] {
            if here > 1e-6 * size {
                here = here.min(difference(h));
            }
        }
        worst = worst.max(here);
    }
    worst / size
}

fn check(name: &str, spec: &RepSpec, objective: &Objective, phase: usize) {
    let gap = gap(spec, objective, phase);
    assert!(gap < 1e-6, "{name}: relative gap {gap}");
}

#[test]
fn propensity_phase() {
    check("phase A", &spec(3), &objective(Weighting::Uniform), PROPENSITY);
    let dropped = RepSpec { dropout: 0.2, ..spec(3) };
    check("phase A with dropout", &dropped, &objective(Weighting::Uniform), PROPENSITY);
    let normed = RepSpec { norm: Norm::Batch, ..dropped };
    check("phase A with batch norm", &normed, &objective(Weighting::Uniform), PROPENSITY);
}

#[test]
fn outcome_phase_with_every_weighting() {
    let (lo, hi) = (0.3, 0.7);
    let soft = SoftParetoOptions::default();
    for weighting in [
        Weighting::Uniform,
        Weighting::InverseShare,
        Weighting::Raw,
        Weighting::Norm,
        Weighting::Truncated { lo, hi },
        Weighting::Ignored { lo, hi },
        Weighting::HardPareto,
        Weighting::SoftPareto(soft),
        Weighting::SoftParetoNorm(soft),
        Weighting::SoftParetoNorm(SoftParetoOptions::paper(0.1, 0.5)),
    ] {
        for gamma in [1.0, 0.5] {
            let plain = Objective { gamma, penalty: penalty(Balance::None), ..objective(weighting) };
            check(&format!("{weighting:?} gamma {gamma}"), &spec(3), &plain, OUTCOME);
        }
    }
    let per_arm = Objective { pooling: Pooling::PerArm, ..objective(Weighting::SoftParetoNorm(soft)) };
    check("one tail an arm", &spec(3), &Objective { penalty: penalty(Balance::None), ..per_arm }, OUTCOME);
}

#[test]
fn outcome_phase_with_every_balance_penalty() {
    let soft = Weighting::SoftParetoNorm(SoftParetoOptions::default());
    for balance in [Balance::Rbf, Balance::Linear, Balance::LinearDiscrepancy] {
        let one = Objective { penalty: penalty(balance), ..objective(soft) };
        check(&format!("{balance:?}"), &spec(3), &one, OUTCOME);
    }
    let apart = Objective { independence: 2.0, ..objective(soft) };
    check("independence", &spec(3), &apart, OUTCOME);
    // Sinkhorn's turns stop at a tolerance of 1e-3, which is then what its gradient is exact to.
    let wasserstein = Objective { penalty: penalty(Balance::Wasserstein), ..objective(soft) };
    let gap = gap(&spec(3), &wasserstein, OUTCOME);
    assert!(gap < 1e-3, "Wasserstein: relative gap {gap}");
}

#[test]
fn outcome_phase_with_dropout_and_other_losses() {
    let soft = Weighting::SoftParetoNorm(SoftParetoOptions::default());
    let dropped = RepSpec { dropout: 0.2, ..spec(3) };
    check("dropout", &dropped, &Objective { penalty: penalty(Balance::None), ..objective(soft) }, OUTCOME);
    for norm in [Norm::Layer, Norm::Batch] {
        for dropout in [0.0, 0.2] {
            let normed = RepSpec { norm, dropout, ..spec(3) };
            let plain = Objective { penalty: penalty(Balance::None), ..objective(soft) };
            check(&format!("{norm:?} norm, dropout {dropout}"), &normed, &plain, OUTCOME);
        }
    }
    let batch = RepSpec { norm: Norm::Batch, ..spec(3) };
    check("batch norm with a balance penalty", &batch, &objective(soft), OUTCOME);
    for loss in [OutcomeLoss::Logistic, OutcomeLoss::Absolute] {
        check("loss", &spec(3), &Objective { loss, penalty: penalty(Balance::None), ..objective(soft) }, OUTCOME);
    }
}

#[test]
fn joint_training_with_targeted_regularisation() {
    let joint =
        Objective { joint: 0.7, targeted: 0.9, penalty: penalty(Balance::None), ..objective(Weighting::Uniform) };
    let mut dragon = spec(1);
    dragon.propensity = Some((vec![], 0..1));
    check("dragonnet", &dragon, &joint, OUTCOME);
    let both = Objective { weighting: Weighting::Norm, ..joint };
    check("joint and through the weights", &spec(3), &both, OUTCOME);
    check("both with batch norm", &RepSpec { norm: Norm::Batch, ..spec(3) }, &both, OUTCOME);
}

#[test]
fn outcome_gradients_reach_instruments_and_confounders_through_the_weights() {
    let sample = sample(60, 4, false);
    let batch = batch(&sample);
    let run = |weighting: Weighting| {
        let plain = Objective { penalty: penalty(Balance::None), ..objective(weighting) };
        let mut model = RepNet::<f64>::new(spec(3), plain, &sample, 60).unwrap();
        let params = common::params(&model);
        let mut grads = vec![0.0; params.len()];
        model.begin(&sample, &batch).unwrap();
        model.loss(OUTCOME, &sample, (&params, &mut grads), Parallelism::None).unwrap();
        let first = model.nets().encoders.first_weights();
        let units = first.cols / 3;
        // The first layer's gradient, encoder by encoder.
        [0, 1, 2].map(|g| -> Vec<f64> {
            grads[first.range()].chunks(first.cols).flat_map(|row| row[g * units..(g + 1) * units].to_vec()).collect()
        })
    };
    let size = |v: &[f64]| v.iter().map(|g| g * g).sum::<f64>().sqrt();
    let soft = run(Weighting::SoftParetoNorm(SoftParetoOptions::default()));
    let uniform = run(Weighting::Uniform);
    // Γ is read by the propensity net only: without weights it gets nothing, with them it does.
    assert_eq!(size(&uniform[0]), 0.0);
    assert!(size(&soft[0]) > 0.01 * size(&soft[1]), "{soft:?}");
    let moved: Vec<f64> = soft[1].iter().zip(&uniform[1]).map(|(a, b)| a - b).collect();
    assert!(size(&moved) > 0.01 * size(&uniform[1]), "{soft:?} {uniform:?}");
}

#[test]
fn cross_entropy_and_separation_move_the_first_encoder_alone() {
    let sample = sample(60, 4, false);
    let batch = batch(&sample);
    let soft = Weighting::SoftParetoNorm(SoftParetoOptions::default());
    let plain = Objective { penalty: penalty(Balance::None), ..objective(soft) };
    for (norm, taught) in [
        (Norm::None, Objective { instruments: 0.8, ..plain.clone() }),
        (Norm::Batch, Objective { instruments: 0.8, ..plain.clone() }),
        (Norm::None, Objective { separation: 0.6, ..plain.clone() }),
        (Norm::None, Objective { instruments: 0.8, separation: 0.6, weighting: Weighting::Uniform, ..plain.clone() }),
    ] {
        let spec = RepSpec { norm, ..spec(3) };
        let run = |objective: &Objective, params: Option<&[f64]>| {
            let mut model = RepNet::<f64>::new(spec.clone(), objective.clone(), &sample, 60).unwrap();
            let params = params.map_or_else(|| common::params(&model), <[f64]>::to_vec);
            let mut grads = vec![0.0; params.len()];
            model.begin(&sample, &batch).unwrap();
            let loss = model.loss(OUTCOME, &sample, (&params, &mut grads), Parallelism::None).unwrap();
            (loss, grads, params, model.nets().encoders.range())
        };
        // Without weights the outcome loss does not move Γ: those parameters of the encoders are Γ's.
        let (_, still, mut params, encoders) = run(&Objective { weighting: Weighting::Uniform, ..plain.clone() }, None);
        let untaught = Objective { instruments: 0.0, separation: 0.0, ..taught.clone() };
        let (_, grads, _, _) = run(&taught, None);
        let (_, without, _, _) = run(&untaught, None);
        let mut moved = 0.0_f64;
        for i in encoders {
            if still[i] != 0.0 {
                assert!((grads[i] - without[i]).abs() < 1e-12, "{i}: {} {}", grads[i], without[i]);
                continue;
            }
            let keep = params[i];
            let mut at = |value: f64| {
                params[i] = value;
                run(&taught, Some(&params)).0
            };
            let numeric = (at(keep + 1e-6) - at(keep - 1e-6)) / 2e-6;
            params[i] = keep;
            assert!((numeric - grads[i]).abs() < 1e-6, "{taught:?} {i}: {numeric} {}", grads[i]);
            moved = moved.max((grads[i] - without[i]).abs());
        }
        assert!(moved > 1e-3, "{moved}");
    }
}

#[test]
fn all_four_losses_of_ganite() {
    use paretau_neural::model::Ganite;
    for (binary, norm) in [(false, Norm::None), (true, Norm::None), (false, Norm::Batch), (true, Norm::Batch)] {
        let sample = sample::<f64>(40, 4, binary);
        let batch = batch(&sample);
        let shape = RepSpec { encoder: vec![5], representation: 4, norm, ..spec(1) };
        let mut model = Ganite::new(shape.clone(), (1.3, 0.8), &sample, 40);
        let mut params: Vec<f64> = model.layout().initial(paretau_core::Seed(4));
        let mut rng = paretau_core::Seed(6).rng();
        params.iter_mut().for_each(|p| *p = *p * 1.3 + 0.1 * rng.normal());
        let (mut grads, mut idle) = (vec![0.0; params.len()], vec![0.0; params.len()]);
        for phase in 0..4 {
            let mut loss = |params: &[f64], grads: &mut [f64]| {
                model.begin(&sample, &batch).unwrap();
                model.loss(phase, &sample, (params, grads), Parallelism::None).unwrap()
            };
            loss(&params, &mut grads);
            for i in Ganite::<f64>::new(shape.clone(), (1.3, 0.8), &sample, 40)
                .moves(phase)
                .iter()
                .flat_map(|m| m.range.clone())
            {
                let (keep, h) = (params[i], 1e-6);
                params[i] = keep + h;
                let up = loss(&params, &mut idle);
                params[i] = keep - h;
                let down = loss(&params, &mut idle);
                params[i] = keep;
                let numeric = (up - down) / (2.0 * h);
                assert!((numeric - grads[i]).abs() < 1e-7, "phase {phase}, {i}: {numeric} {}", grads[i]);
            }
        }
    }
}

/// Phases of one batch share what has not moved; it must not show.
#[test]
fn phases_of_ganite_say_the_same_one_after_another_as_each_on_its_own() {
    use paretau_neural::model::Ganite;
    use paretau_neural::model::ganite::{DISCRIMINATOR, GENERATOR, INFERENCE, SECOND_DISCRIMINATOR};
    let sample = sample::<f64>(40, 4, false);
    let batch = batch(&sample);
    let shape = RepSpec { encoder: vec![5], representation: 4, dropout: 0.2, ..spec(1) };
    let mut model = Ganite::new(shape, (1.3, 0.8), &sample, 40);
    let mut params: Vec<f64> = model.layout().initial(paretau_core::Seed(4));
    for phases in [[DISCRIMINATOR, DISCRIMINATOR, GENERATOR], [SECOND_DISCRIMINATOR, INFERENCE, SECOND_DISCRIMINATOR]] {
        model.begin(&sample, &batch).unwrap();
        let mut results = vec![];
        let start = params.clone();
        for phase in phases {
            let mut grads = vec![0.0; params.len()];
            let loss = model.loss(phase, &sample, (&params, &mut grads), Parallelism::None).unwrap();
            let moves = model.moves(phase);
            let steps = moves.iter().flat_map(|m| m.range.clone());
            steps.for_each(|i| params[i] -= 0.1 * grads[i]);
            results.push((loss, params.clone()));
        }
        let mut params = start;
        for (phase, (loss, after)) in phases.into_iter().zip(results) {
            let mut grads = vec![0.0; params.len()];
            model.begin(&sample, &batch).unwrap();
            assert_eq!(model.loss(phase, &sample, (&params, &mut grads), Parallelism::None).unwrap(), loss);
            let moves = model.moves(phase);
            let steps = moves.iter().flat_map(|m| m.range.clone());
            steps.for_each(|i| params[i] -= 0.1 * grads[i]);
            assert_eq!(params, after);
        }
    }
}
