//! Meta-learners: what they must recover, and the symmetries they must have.

#![allow(clippy::unwrap_used)]

mod common;

use common::{TOOLS, effects, fit, ridge, rmse, simulate};
use paretau_core::{Csr, Dense, Design, EstimatorEntry, Features, Params, Seed};
use paretau_learners::{DR_LEARNER, R_LEARNER, S_LEARNER, T_LEARNER, X_LEARNER};

static ALL: &[&dyn EstimatorEntry] = &[&S_LEARNER, &T_LEARNER, &X_LEARNER, &R_LEARNER, &DR_LEARNER];
/// Those that find a linear effect with a linear base; the S-learner needs a base with interactions.
static LINEAR: &[&dyn EstimatorEntry] = &[&T_LEARNER, &X_LEARNER, &R_LEARNER, &DR_LEARNER];

fn confounded(n: usize, seed: u64) -> (Design, Vec<f64>, Vec<f64>) {
    simulate(n, seed, |x| 0.8 * x[0], |x| 1.0 + x[0] + x[1], |x| 2.0 + 1.5 * x[2])
}

#[test]
fn linear_effects_are_recovered_under_confounding() {
    let (design, tau, _) = confounded(2000, 1);
    for entry in LINEAR {
        let got = effects(*entry, ridge(), &design);
        assert!(rmse(&got.tau, &tau) < 0.15, "{}: {}", entry.info().name, rmse(&got.tau, &tau));
        for i in 0..got.len() {
            assert!((got.mu1[i] - got.mu0[i] - got.tau[i]).abs() < 1e-9);
        }
    }
    // A linear S-learner can only say the average.
    let got = effects(&S_LEARNER, ridge(), &design).tau;
    assert!((got[0] - 2.0).abs() < 0.2 && got.iter().all(|t| (t - got[0]).abs() < 1e-9));
}

#[test]
fn a_flexible_base_finds_a_bent_effect() {
    let (design, tau, _) = simulate(900, 2, |x| 0.5 * x[0], |x| x[1], |x| if x[2] > 0.0 { 3.0 } else { 0.0 });
    for entry in ALL {
        let params = Params::none().with("base", "neighbours").with("base.k", 20);
        let model = fit(*entry, params, &design);
        let got = model.effects(design.x()).unwrap();
        // The mean effect for everyone scores 1.5.
        assert!(rmse(&got.tau, &tau) < 0.95, "{}: {}", entry.info().name, rmse(&got.tau, &tau));
        if entry.info().name != "s-learner" {
            let held = &model.held_out().unwrap()[0];
            assert!(held.is_finite() && held.len() == 900);
            assert!(rmse(&held.tau, &tau) < 1.1, "{}: {}", entry.info().name, rmse(&held.tau, &tau));
        }
    }
}

#[test]
fn swapping_arms_flips_the_sign() {
    let (design, _, _) = confounded(600, 3);
    let flipped: Vec<u8> = design.t().iter().map(|t| 1 - t).collect();
    let swapped = Design::new(design.x().clone(), flipped, design.y().to_vec()).unwrap();
    for entry in ALL {
        let (a, b) = (effects(*entry, ridge(), &design).tau, effects(*entry, ridge(), &swapped).tau);
        let back: Vec<f64> = b.iter().map(|v| -v).collect();
        // Folds are dealt anew; nothing else may differ.
        assert!(rmse(&a, &back) < 0.05, "{}: {}", entry.info().name, rmse(&a, &back));
    }
}

#[test]
fn moving_and_stretching_the_outcome_moves_and_stretches_the_answer() {
    let (design, _, _) = confounded(400, 4);
    let moved: Vec<f64> = design.y().iter().map(|y| 100.0 + 3.0 * y).collect();
    let other = Design::new(design.x().clone(), design.t().to_vec(), moved).unwrap();
    for entry in ALL {
        let (a, b) = (effects(*entry, ridge(), &design), effects(*entry, ridge(), &other));
        for i in 0..a.len() {
            assert!((3.0 * a.tau[i] - b.tau[i]).abs() < 1e-6, "{}", entry.info().name);
            assert!((100.0 + 3.0 * a.mu0[i] - b.mu0[i]).abs() < 1e-6, "{}", entry.info().name);
        }
    }
}

#[test]
fn unbalanced_arms_suit_the_x_learner() {
    // 5 % treated, a bent baseline, a simple effect: the T-learner pays for its poor treated model.
    let (mut x_error, mut t_error) = (0.0, 0.0);
    for seed in 0..3 {
        let (design, tau, _) = simulate(1000, 50 + seed, |_| -3.0, |x| 3.0 * x[0].sin() + x[1] * x[1], |_| 1.0);
        let params = || Params::none().with("base", "neighbours").with("effect_base", "ridge");
        x_error += rmse(&effects(&X_LEARNER, params(), &design).tau, &tau);
        t_error += rmse(&effects(&T_LEARNER, Params::none().with("base", "neighbours"), &design).tau, &tau);
    }
    assert!(x_error < 0.5 * t_error, "{x_error} against {t_error}");
}

/// Baseline that a line cannot follow.
fn bent(x: &[f64]) -> f64 {
    2.0 * x[0] * x[0]
}

#[test]
fn doubly_robust_means_one_right_model_is_enough() {
    let average = |design: &Design, params: Params| {
        let tau = effects(&DR_LEARNER, params, design).tau;
        tau.iter().sum::<f64>() / tau.len() as f64
    };
    let naive = |design: &Design| {
        let mean = |arm: u8| {
            let rows = design.rows_of_arm(arm);
            rows.iter().map(|&i| design.y()[i]).sum::<f64>() / rows.len() as f64
        };
        mean(1) - mean(0)
    };
    // Wrong outcome model (a line), known propensity.
    let (design, tau, e) = simulate(8000, 6, |x| (x[0] * x[0]).min(3.0) - 1.0, bent, |_| 1.0);
    let truth = tau.iter().sum::<f64>() / tau.len() as f64;
    assert!((naive(&design) - truth).abs() > 0.8);
    // The linear propensity model is wrong too, and then nothing helps ...
    assert!((average(&design, ridge()) - truth).abs() > 0.5);
    // ... until the right propensity is given.
    let right = design.clone().with_propensity(e).unwrap();
    for overlap in ["clip", "trim", "pareto"] {
        let got = average(&right, ridge().with("overlap", overlap));
        // Its standard error is about 0.1.
        assert!((got - truth).abs() < 0.3, "{overlap}: {got}");
    }
    // Right outcome model, wrong propensity (constant).
    let (design, _, _) = simulate(4000, 7, |x| x[0], |x| 2.0 * x[0], |_| 1.0);
    let n = design.n_rows();
    let wrong = design.with_propensity(vec![0.3; n]).unwrap();
    assert!((average(&wrong, ridge()) - 1.0).abs() < 0.1);
}

#[test]
fn row_weights_and_sparse_features_are_respected() {
    // Two populations with different effects; weight 0 switches the second off.
    let (design, _, _) = simulate(1200, 8, |_| 0.0, |x| x[0], |x| if x[2] > 0.0 { 4.0 } else { 1.0 });
    let w: Vec<f64> = (0..1200)
        .map(|i| {
            let mut row = [0.0; 3];
            design.x().copy_row(i, &mut row);
            f64::from(u8::from(row[2] <= 0.0))
        })
        .collect();
    let design = design.weighted(w.clone()).unwrap();
    for entry in ALL {
        let tau = effects(*entry, ridge(), &design).tau;
        let mean = tau.iter().zip(&w).map(|(t, w)| t * w).sum::<f64>() / w.iter().sum::<f64>();
        assert!((mean - 1.0).abs() < 0.2, "{}: {mean}", entry.info().name);
    }
    let Features::Dense(m) = design.x() else { unreachable!() };
    let indices = (0..1200).flat_map(|_| 0..3_u32).collect();
    let csr = Csr::new(1200, 3, (0..=1200).map(|i| 3 * i).collect(), indices, m.values().to_vec()).unwrap();
    let sparse = Design::new(Features::Sparse(csr), design.t().to_vec(), design.y().to_vec()).unwrap();
    let dense = Design::new(design.x().clone(), design.t().to_vec(), design.y().to_vec()).unwrap();
    for entry in ALL {
        let (a, b) = (effects(*entry, ridge(), &dense).tau, effects(*entry, ridge(), &sparse).tau);
        assert!(rmse(&a, &b) < 1e-4, "{}: {}", entry.info().name, rmse(&a, &b));
    }
}

#[test]
fn binary_outcomes_give_probabilities() {
    let mut rng = Seed(9).rng();
    let n = 1500;
    let x: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
    let t: Vec<u8> = (0..n).map(|_| u8::from(rng.bernoulli(0.5))).collect();
    let p = |x: f64, t: u8| common::sigmoid(x + f64::from(t));
    let y = (0..n).map(|i| f64::from(u8::from(rng.bernoulli(p(x[i], t[i]))))).collect();
    let tau: Vec<f64> = x.iter().map(|x| p(*x, 1) - p(*x, 0)).collect();
    let design = Design::new(Features::Dense(Dense::new(n, 1, x).unwrap()), t, y).unwrap();
    for entry in ALL {
        let got = effects(*entry, ridge(), &design);
        assert!(rmse(&got.tau, &tau) < 0.12, "{}: {}", entry.info().name, rmse(&got.tau, &tau));
        if ["s-learner", "t-learner"].contains(&entry.info().name) {
            assert!(got.mu0.iter().chain(&got.mu1).all(|m| *m > 0.0 && *m < 1.0));
        }
    }
}

#[test]
fn states_survive_and_threads_do_not_matter() {
    let (design, _, _) = confounded(150, 10);
    for entry in ALL {
        for base in ["ridge", "neighbours"] {
            let run = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| fit(*entry, Params::none().with("base", base), &design))
            };
            let (one, two) = (run(1), run(2));
            let at = one.effects(design.x()).unwrap();
            assert_eq!(at, two.effects(design.x()).unwrap(), "{}", entry.info().name);
            let back = entry.load(&one.state().unwrap(), &TOOLS).unwrap();
            assert_eq!(at, back.effects(design.x()).unwrap());
            assert_eq!((back.n_features(), back.diagnostics()), (3, one.diagnostics()));
            let alone = back.effects(&design.x().select(&[5])).unwrap();
            assert_eq!(alone.tau[0].to_bits(), at.tau[5].to_bits());
            assert!(back.effects(&design.x().select(&[])).unwrap().is_empty());
            let mut torn = one.state().unwrap();
            torn.tensors.pop_first();
            assert!(entry.load(&torn, &TOOLS).is_err());
        }
    }
}

#[test]
fn bad_parameters_and_bad_designs_are_refused_in_words() {
    for entry in ALL {
        let no_such = entry.build(&Params::none().with("base", "forrest"), &TOOLS).unwrap_err().to_string();
        assert!(no_such.contains("unknown base learner `forrest`"), "{no_such}");
        let fail = |params: Params| entry.build(&params, &TOOLS).unwrap_err().to_string();
        let name = entry.info().name;
        let old = fail(ridge().with("base_params", "penalty=1"));
        assert_eq!(
            old,
            format!(
                "`{name}` has no parameter `base_params`; use base.KEY=VALUE (in a file or in Python also base = \
                 {{ name, params }})"
            )
        );
        let unknown = fail(ridge().with("base.penalti", 1));
        assert_eq!(unknown, "`base.penalti`: `ridge` has no parameter `penalti`; did you mean `penalty`?");
        let foreign = fail(ridge().with("base.min_leaf", 5));
        assert_eq!(foreign, "`base.min_leaf`: `ridge` has no parameter `min_leaf`; known: penalty, folds");
        let bad = fail(ridge().with("base.penalty", "-1"));
        assert!(bad.contains("parameter `base.penalty` of `ridge` must be a number of at least 0"), "{bad}");
    }
    let x = Features::Dense(Dense::new(6, 1, (0..6).map(f64::from).collect()).unwrap());
    let three = Design::with_arms(x.clone(), vec![0, 1, 2, 0, 1, 2], vec![0.0; 6], 3).unwrap();
    let lonely = Design::new(x, vec![1, 0, 0, 0, 0, 0], vec![0.5, 1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
    let ctx = paretau_core::FitContext::silent(Seed(0));
    for entry in ALL {
        let estimator = entry.build(&ridge(), &TOOLS).unwrap();
        let refused = estimator.fit(&three, &ctx).unwrap_err().to_string();
        assert!(refused.contains("two arms") && refused.contains(entry.info().name), "{refused}");
        match estimator.fit(&lonely, &ctx) {
            Ok(model) => assert!(model.effects(lonely.x()).unwrap().is_finite()),
            Err(error) => assert!(error.to_string().contains("two rows of each arm"), "{error}"),
        }
    }
}

#[test]
fn groups_and_poor_overlap_are_handled_and_told() {
    let (design, tau, _) = simulate(1500, 11, |x| 3.0 * x[0] + 2.0 * x[1], |x| x[0], |x| 1.0 + x[2]);
    let groups: Vec<u32> = (0..1500).map(|i| i / 5).collect();
    let design = design.grouped(groups).unwrap();
    let model = fit(&DR_LEARNER, ridge(), &design);
    assert!(model.diagnostics().warnings.iter().any(|w| w.code == "poor-overlap"));
    let got = model.effects(design.x()).unwrap();
    assert!(rmse(&got.tau, &tau) < 0.6, "{}", rmse(&got.tau, &tau));
}
