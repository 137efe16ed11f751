//! Soft Pareto smoothing: derivatives, its hard limit, what must not change it, and how rarely it gives up.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Verdict, balancing_weights, compare, dot, normals, rng};
use paretau_kernels::fallback::TailFit;
use paretau_kernels::pareto::HardPareto;
use paretau_kernels::soft_pareto::SoftPareto;
use paretau_kernels::soft_pareto_options::{Center, NegativeScale, SoftParetoOptions, Units};
use proptest::prelude::*;
use rand::RngExt;

fn soft(w: &[f64], options: SoftParetoOptions) -> (Vec<f64>, TailFit) {
    let mut out = vec![0.0; w.len()];
    let fit = SoftPareto::new(options).unwrap().forward(w, &mut out).unwrap();
    (out, fit)
}

fn hard(w: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; w.len()];
    HardPareto::default().forward(w, &mut out).unwrap();
    out
}

fn gap(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| ((x - y) / y).abs()).fold(0.0, f64::max)
}

/// Checks the derivative along a random direction; `Kink` and left batches are the caller's to count.
fn verdict(n: usize, sd: f64, options: SoftParetoOptions, seed: u64) -> Option<Verdict> {
    let mut stream = rng(seed);
    let w = balancing_weights(n, sd, &mut stream);
    let (g, v) = (normals(n, &mut stream), normals(n, &mut stream));
    let v: Vec<f64> = v.iter().zip(&w).map(|(a, b)| 0.1 * a * b).collect();
    let mut tape = SoftPareto::new(options).unwrap();
    let (mut out, mut d) = (vec![0.0; n], vec![0.0; n]);
    if !tape.forward(&w, &mut out).unwrap().is_smoothed() {
        tape.vjp(&g, &mut d).unwrap();
        assert_eq!(d, g, "a batch left as it is passes gradients through");
        return None;
    }
    tape.vjp(&g, &mut d).unwrap();
    Some(compare(|x| dot(&soft(x, options).0, &g), &w, &d, &v))
}

fn check_derivatives(options: impl Fn(u64) -> SoftParetoOptions) {
    let (mut agreed, mut kinks, mut left) = (0, 0, 0);
    for seed in 0..300 {
        let mut r = rng(seed);
        let (n, sd) = (25 + (r.random::<u32>() % 250) as usize, 0.5 + 2.0 * r.random::<f64>());
        match verdict(n, sd, options(seed), seed) {
            Some(Verdict::Agree) => agreed += 1,
            Some(Verdict::Kink) => kinks += 1,
            None => left += 1,
            Some(bad) => panic!("seed {seed} n {n} sd {sd} {:?}: {bad:?}", options(seed)),
        }
    }
    assert!(agreed >= 150 && kinks <= 30, "{agreed} agree, {kinks} at kinks, {left} left");
}

#[test]
fn derivative_is_right_in_scale_free_units() {
    check_derivatives(|seed| {
        let mut r = rng(seed + 1000);
        SoftParetoOptions {
            eps: 10_f64.powf(-1.0 + 1.5 * r.random::<f64>()),
            kappa: 10_f64.powf(-0.4 + 0.8 * r.random::<f64>()),
            ..SoftParetoOptions::default()
        }
    });
}

#[test]
fn derivative_is_right_in_raw_units() {
    check_derivatives(|seed| {
        let mut r = rng(seed + 2000);
        SoftParetoOptions {
            eps: 10_f64.powf(-4.0 + 2.0 * r.random::<f64>()),
            kappa: 10_f64.powf(-1.0 + 1.5 * r.random::<f64>()),
            units: Units::Raw,
            ..SoftParetoOptions::default()
        }
    });
}

#[test]
fn derivative_is_right_in_the_setting_of_the_paper() {
    // Small kappa makes the scale negative on many batches, so that its absolute value is tested too.
    check_derivatives(|seed| {
        let mut r = rng(seed + 3000);
        SoftParetoOptions::paper(
            10_f64.powf(-3.0 + 2.0 * r.random::<f64>()),
            10_f64.powf(-2.5 + 2.0 * r.random::<f64>()),
        )
    });
}

#[test]
fn converges_to_hard_smoothing_except_with_the_centre_of_the_paper() {
    let mut r = rng(3);
    for n in [30, 100, 400] {
        let w = balancing_weights(n, 1.5, &mut r);
        let expected = hard(&w);
        for units in [Units::Raw, Units::ScaleFree] {
            let at = |sharpness: f64, center| {
                let options =
                    SoftParetoOptions { eps: 1e-2 / sharpness, kappa: sharpness, units, center, ..Default::default() };
                gap(&soft(&w, options).0, &expected)
            };
            let gaps = [1e1, 1e2, 1e3, 1e6].map(|k| at(k, Center::Half));
            assert!(gaps[3] < 1e-12, "{gaps:?}");
            assert!(gaps[2] <= gaps[0] + 1e-12, "{gaps:?}");
            assert!(at(1e6, Center::Paper) > 1e-3);
        }
    }
}

#[test]
fn smoothed_weights_are_positive_and_follow_hard_smoothing_by_default() {
    let mut r = rng(4);
    for n in [64, 500, 2000] {
        let w = balancing_weights(n, 2.0, &mut r);
        let (out, fit) = soft(&w, SoftParetoOptions::default());
        let TailFit::Smoothed { m, soft_m, .. } = fit else { panic!("{fit:?}") };
        assert!((soft_m / m as f64 - 1.0).abs() < 0.05, "{soft_m} of {m}");
        assert!(gap(&out, &hard(&w)) < 0.5);
    }
}

#[test]
fn scale_and_row_order_do_not_matter_in_scale_free_units() {
    let w = balancing_weights(300, 1.0, &mut rng(9));
    let (out, _) = soft(&w, SoftParetoOptions::default());
    let scaled: Vec<f64> = w.iter().map(|v| 1e6 * v).collect();
    let (big, _) = soft(&scaled, SoftParetoOptions::default());
    assert!(big.iter().zip(&out).all(|(a, b)| (a / 1e6 - b).abs() < 1e-8 * b));
    let reversed: Vec<f64> = w.iter().rev().copied().collect();
    let (back, _) = soft(&reversed, SoftParetoOptions::default());
    assert!(back.iter().rev().zip(&out).all(|(a, b)| (a - b).abs() < 1e-9 * b));
}

#[test]
fn defaults_hardly_ever_fall_back() {
    let mut r = rng(20);
    for n in [25, 64, 128, 256, 1000, 5000] {
        for sd in [0.5, 1.0, 2.0, 3.0, 4.0] {
            let mut tape = SoftPareto::new(SoftParetoOptions::default()).unwrap();
            let mut out = vec![0.0; n];
            for _ in 0..(200_000 / n).clamp(40, 500) {
                let w = balancing_weights(n, sd, &mut r);
                tape.forward(&w, &mut out).unwrap();
            }
            assert!(tape.tally().rate() < 0.02, "n {n} sd {sd}: {:?}", tape.tally());
        }
    }
}

#[test]
fn the_setting_of_the_paper_falls_back_often_without_the_absolute_value() {
    let mut options = SoftParetoOptions::paper(0.1, 0.01);
    options.negative_scale = NegativeScale::FallBack;
    let mut tape = SoftPareto::new(options).unwrap();
    let mut r = rng(21);
    let mut out = vec![0.0; 1000];
    for _ in 0..50 {
        tape.forward(&balancing_weights(1000, 1.0, &mut r), &mut out).unwrap();
    }
    assert!(tape.tally().rate() > 0.5, "{:?}", tape.tally());
}

#[test]
fn the_tail_map_is_monotone_and_leaves_the_rest() {
    let w = balancing_weights(500, 2.0, &mut rng(30));
    let mut tape = SoftPareto::new(SoftParetoOptions::default()).unwrap();
    let mut out = vec![0.0; 500];
    tape.forward(&w, &mut out).unwrap();
    let map = tape.tail_map();
    map.check().unwrap();
    let mut sorted = w.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let smoothed: Vec<f64> = sorted.iter().map(|v| map.smooth(*v).unwrap()).collect();
    assert!(smoothed.is_sorted());
    assert!(sorted.iter().zip(&smoothed).all(|(a, b)| *a > map.mu || a == b));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn results_are_finite_and_positive(
        seed in any::<u64>(), n in 1_usize..300, sd in 0.0_f64..30.0, log_eps in -4.0_f64..4.0, log_kappa in -4.0_f64..4.0,
        raw in any::<bool>(), paper in any::<bool>(), abs in any::<bool>(),
    ) {
        let w = balancing_weights(n, sd, &mut rng(seed));
        let options = SoftParetoOptions {
            eps: 10_f64.powf(log_eps),
            kappa: 10_f64.powf(log_kappa),
            units: if raw { Units::Raw } else { Units::ScaleFree },
            center: if paper { Center::Paper } else { Center::Half },
            negative_scale: if abs { NegativeScale::Abs } else { NegativeScale::FallBack },
        };
        let mut tape = SoftPareto::new(options).unwrap();
        let mut out = vec![0.0; n];
        let fit = tape.forward(&w, &mut out).unwrap();
        prop_assert!(out.iter().all(|v| v.is_finite() && *v > 0.0));
        if !fit.is_smoothed() {
            prop_assert_eq!(&out, &w);
        }
    }
}
