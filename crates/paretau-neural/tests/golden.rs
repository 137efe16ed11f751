//! Parameters after 20 steps against the same nets written in PyTorch (`testdata/golden/make_neural.py`).
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

mod common;

use std::path::Path;
use std::process::Command;

use paretau_core::{OutcomeKind, Seed};
use paretau_kernels::parallel::Parallelism;
use paretau_kernels::real::Real;
use paretau_kernels::soft_pareto_options::SoftParetoOptions;
use paretau_kernels::weights::Weighting;
use paretau_neural::data::{Pieces, Sample, Table};
use paretau_neural::engine::{Activation, Adam, AdamRates, Norm};
use paretau_neural::loss::{Balance, OutcomeLoss, Penalty};
use paretau_neural::model::repnet::{OUTCOME, PROPENSITY};
use paretau_neural::model::{Model, Objective, RepNet};
use serde_json::Value;

fn numbers<T: Real>(value: &Value) -> Vec<T> {
    value.as_array().unwrap().iter().map(|v| T::from_f64(v.as_f64().unwrap())).collect()
}

fn sample<T: Real>(case: &Value, d: usize) -> Sample<T> {
    let y: Vec<T> = numbers(&case["y"]);
    let n0 = case["n0"].as_u64().unwrap() as usize;
    let n = y.len();
    let binary = case["binary"].as_bool().unwrap();
    Sample {
        table: Table::Dense { d, values: numbers(&case["x"]), pieces: Pieces::default() },
        t: (0..n).map(|i| u8::from(i >= n0)).collect(),
        weight: vec![T::ONE; n],
        known_logit: None,
        fixed: None,
        outcome: if binary { OutcomeKind::Binary } else { OutcomeKind::Continuous },
        treated: (n - n0) as f64 / n as f64,
        y,
    }
}

/// Largest gap between our parameters and theirs after all steps, relative to their size.
fn gap<T: Real>(file: &Value, case: &Value) -> f64 {
    let d = file["d"].as_u64().unwrap() as usize;
    let sample = sample::<T>(case, d);
    let groups = case["groups"].as_u64().unwrap() as usize;
    let number = |key: &str| case[key].as_f64().unwrap();
    let (lo, hi) = (0.3, 0.7);
    let weighting = match case["weighting"].as_str().unwrap() {
        "ipw" => Weighting::Raw,
        "norm" => Weighting::Norm,
        "trunc" => Weighting::Truncated { lo, hi },
        "ignore" => Weighting::Ignored { lo, hi },
        "pareto" => Weighting::SoftPareto(SoftParetoOptions::default()),
        "pareto-norm" => Weighting::SoftParetoNorm(SoftParetoOptions::default()),
        _ => Weighting::Uniform,
    };
    let binary = case["binary"].as_bool().unwrap();
    let objective = Objective {
        loss: if binary { OutcomeLoss::Logistic } else { OutcomeLoss::Squared },
        penalty: Penalty {
            balance: if number("balance") > 0.0 { Balance::Rbf } else { Balance::None },
            strength: number("balance"),
            width: None,
        },
        joint: number("joint"),
        targeted: number("targeted"),
        ..common::objective(weighting)
    };
    let mut spec = common::spec(groups);
    if groups == 1 {
        spec.representation_activation = Activation::Elu;
        spec.propensity = (objective.joint > 0.0).then(|| (vec![], 0..1));
    }
    if case.get("batch_norm").is_some() {
        spec.norm = Norm::Batch;
        if case["elu_representation"] == true {
            spec.representation_activation = Activation::Elu;
        }
    }
    let batch = common::batch(&sample);
    let mut model = RepNet::<T>::new(spec, objective.clone(), &sample, sample.t.len()).unwrap();
    let mut params: Vec<T> = numbers(&case["start"]);
    assert_eq!(params.len(), model.layout().initial::<T>(Seed(0)).len());
    let mut grads = vec![T::ZERO; params.len()];
    let mut adam = Adam::new(params.len());
    let rates =
        AdamRates { rate: file["rate"].as_f64().unwrap(), l2: file["l2"].as_f64().unwrap(), scale: 1.0, sgd: false };
    let phases: &[usize] = if groups == 3 { &[PROPENSITY, OUTCOME] } else { &[OUTCOME] };
    for step in 1..=file["steps"].as_u64().unwrap() {
        model.begin(&sample, &batch).unwrap();
        for &phase in phases {
            let loss = model.loss(phase, &sample, (&params, &mut grads), Parallelism::None).unwrap();
            if phase == OUTCOME {
                let theirs = case["losses"][step as usize - 1].as_f64().unwrap();
                assert!((loss - theirs).abs() < 1e-4 * theirs.abs(), "loss at step {step}: {loss} {theirs}");
            }
            adam.step(&mut params, &grads, &model.moves(phase), (rates, step), Parallelism::None);
            model.absorb(phase, &mut params);
        }
    }
    let end: Vec<f64> = numbers(&case["end"]);
    let size = (end.iter().map(|v| v * v).sum::<f64>() / end.len() as f64).sqrt();
    end.iter().zip(&params).map(|(a, b)| (a - b.to_f64()).abs() / a.abs().max(size)).fold(0.0, f64::max)
}

fn check(file: &Value) {
    for case in file["cases"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let (double, single) = (gap::<f64>(file, case), gap::<f32>(file, case));
        assert!(double < 1e-7, "{name} in double precision: {double}");
        // The bias of a linear representation that only normalised heads and a distance read is taken out again: its gradient
        // is zero but for rounding, which Adam brings to the size of any other, and the heads' running means follow it.
        if name != "dpsw-norm-linear" {
            assert!(single < 1e-4, "{name} in single precision: {single}");
        }
    }
}

#[test]
fn twenty_steps_end_where_pytorch_ends() {
    check(&serde_json::from_str(include_str!("../../../testdata/golden/neural_steps.json")).unwrap());
}

/// Running means and variances are among the parameters that are compared.
#[test]
fn twenty_steps_with_batch_normalisation_end_where_pytorch_ends() {
    check(&serde_json::from_str(include_str!("../../../testdata/golden/neural_batch_norm.json")).unwrap());
}

/// The same against the PyTorch at hand: `PARETAU_TORCH_PYTHON` names an interpreter that has it, else `python3` is asked.
#[test]
fn twenty_steps_end_where_the_installed_pytorch_ends() {
    let python = std::env::var("PARETAU_TORCH_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let asked = Command::new(&python).args(["-c", "import torch"]).output();
    if !asked.is_ok_and(|out| out.status.success()) {
        println!("skipped: {python} has no PyTorch; PARETAU_TORCH_PYTHON may name an interpreter that has it");
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("live-golden");
    std::fs::create_dir_all(&folder).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden/make_neural.py");
    let made = Command::new(&python).arg(script).arg(&folder).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    for name in ["neural_steps.json", "neural_batch_norm.json"] {
        check(&serde_json::from_str(&std::fs::read_to_string(folder.join(name)).unwrap()).unwrap());
    }
}
