//! The weighting schemes: values by hand, derivatives by central differences, degenerate batches.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Verdict, compare, dot, normals, rng};
use paretau_kernels::KernelError;
use paretau_kernels::arm_mean::ArmMean;
use paretau_kernels::fallback::{FallBack, TailFit};
use paretau_kernels::per_arm::PerArm;
use paretau_kernels::soft_pareto::SoftPareto;
use paretau_kernels::soft_pareto_options::SoftParetoOptions;
use paretau_kernels::weights::{MAX_EXPONENT, Pooling, Weigher, WeightReport, Weighting};
use rand::RngExt;

const SCHEMES: [Weighting; 10] = [
    Weighting::Uniform,
    Weighting::InverseShare,
    Weighting::Raw,
    Weighting::Norm,
    Weighting::Truncated { lo: 0.1, hi: 0.9 },
    Weighting::Ignored { lo: 0.1, hi: 0.9 },
    Weighting::HardPareto,
    Weighting::Psis,
    Weighting::SoftPareto(OPTIONS),
    Weighting::SoftParetoNorm(OPTIONS),
];

const OPTIONS: SoftParetoOptions = SoftParetoOptions {
    eps: 1.0,
    kappa: 1.0,
    units: paretau_kernels::soft_pareto_options::Units::ScaleFree,
    center: paretau_kernels::soft_pareto_options::Center::Half,
    negative_scale: paretau_kernels::soft_pareto_options::NegativeScale::FallBack,
};

fn weigh(scheme: Weighting, logits: &[f64], t: &[u8], share: f64) -> (Vec<f64>, WeightReport) {
    let mut out = vec![0.0; logits.len()];
    let report = Weigher::new(scheme, Pooling::Pooled, 1.0).unwrap().forward(logits, t, share, &mut out).unwrap();
    (out, report)
}

fn close(a: &[f64], b: &[f64]) {
    assert!(a.iter().zip(b).all(|(x, y)| (x - y).abs() <= 1e-12 * (1.0 + y.abs())), "{a:?} instead of {b:?}");
}

#[test]
fn balancing_weights_are_those_of_the_method() {
    // w = 1 + P(t)/P(1-t) (1/pi_t - 1).
    let pi: [f64; 4] = [0.2, 0.05, 0.8, 0.95];
    let logits = pi.map(|p| (p / (1.0 - p)).ln());
    let t = [1, 1, 0, 0];
    let odds: f64 = 0.3 / 0.7;
    let raw = [1.0 + odds * 4.0, 1.0 + odds * 19.0, 1.0 + 4.0 / odds, 1.0 + 19.0 / odds];
    close(&weigh(Weighting::Raw, &logits, &t, 0.3).0, &raw);
    let (m1, m0) = (f64::midpoint(raw[0], raw[1]), f64::midpoint(raw[2], raw[3]));
    close(&weigh(Weighting::Norm, &logits, &t, 0.3).0, &[raw[0] / m1, raw[1] / m1, raw[2] / m0, raw[3] / m0]);
    let truncated = [raw[0], 1.0 + odds * 9.0, raw[2], 1.0 + 9.0 / odds];
    close(&weigh(Weighting::Truncated { lo: 0.1, hi: 0.9 }, &logits, &t, 0.3).0, &truncated);
    let (ignored, report) = weigh(Weighting::Ignored { lo: 0.1, hi: 0.9 }, &logits, &t, 0.3);
    close(&ignored, &[raw[0], 0.0, raw[2], 0.0]);
    assert_eq!(report.ignored, 2);
    assert_eq!(weigh(Weighting::Uniform, &logits, &t, 0.3).0, [1.0; 4]);
    close(&weigh(Weighting::InverseShare, &logits, &t, 0.3).0, &[1.0 / 0.6, 1.0 / 0.6, 1.0 / 1.4, 1.0 / 1.4]);
}

#[test]
fn huge_logits_are_capped_and_counted() {
    let (w, report) = weigh(Weighting::Raw, &[-1e6, 0.0, 1e300], &[1, 0, 0], 0.5);
    close(&w, &[1.0 + MAX_EXPONENT.exp(), 2.0, 1.0 + MAX_EXPONENT.exp()]);
    assert_eq!(report.capped, 2);
    assert!(report.ess > 1.9 && report.ess < 2.1);
}

#[test]
fn reports_say_what_happened() {
    let (_, report) = weigh(Weighting::SoftParetoNorm(OPTIONS), &[0.1, 0.2, 0.3], &[0, 1, 1], 0.5);
    assert_eq!(report.fits[0], Some(TailFit::LeftAsIs(FallBack::TailTooShort { m: 0 })));
    let mut r = rng(2);
    let logits = normals(400, &mut r);
    let t: Vec<u8> = (0..400).map(|i| u8::from(i % 3 == 0)).collect();
    let (w, report) = weigh(Weighting::Psis, &logits, &t, 0.4);
    assert!(report.khat.unwrap().is_finite());
    assert_eq!(report.max, w.iter().copied().fold(0.0, f64::max));
    assert!(report.ess_by_arm[0] + report.ess_by_arm[1] >= report.ess - 1e-9);
}

#[test]
fn tempering_runs_from_equal_to_full_weights() {
    let mut r = rng(3);
    let logits = normals(200, &mut r);
    let t: Vec<u8> = (0..200).map(|i| u8::from(i % 2 == 0)).collect();
    for scheme in SCHEMES {
        let mut out = vec![0.0; 200];
        let mut flat = Weigher::new(scheme, Pooling::Pooled, 0.0).unwrap();
        flat.forward(&logits, &t, 0.5, &mut out).unwrap();
        assert!(out.iter().all(|w| (*w - 1.0).abs() < 1e-12 || *w == 0.0));
    }
    let mut half = vec![0.0; 200];
    Weigher::new(Weighting::Raw, Pooling::Pooled, 0.5).unwrap().forward(&logits, &t, 0.5, &mut half).unwrap();
    close(&half, &weigh(Weighting::Raw, &logits, &t, 0.5).0.iter().map(|w| w.sqrt()).collect::<Vec<_>>());
}

#[test]
fn every_derivative_matches_central_differences() {
    let mut agreed = [0; SCHEMES.len()];
    for seed in 0..60 {
        let mut r = rng(seed);
        let n = 60 + (r.random::<u32>() % 150) as usize;
        let logits: Vec<f64> = normals(n, &mut r).iter().map(|z| 1.5 * z).collect();
        let t: Vec<u8> = (0..n).map(|i| if i < 2 { i as u8 } else { u8::from(r.random::<f64>() < 0.4) }).collect();
        let (g, v) = (normals(n, &mut r), normals(n, &mut r));
        for (k, scheme) in SCHEMES.into_iter().enumerate() {
            let pooling = if seed % 2 == 0 { Pooling::Pooled } else { Pooling::PerArm };
            let gamma = if seed % 3 == 0 { 0.6 } else { 1.0 };
            let mut weigher = Weigher::new(scheme, pooling, gamma).unwrap();
            let (mut out, mut d) = (vec![0.0; n], vec![0.0; n]);
            weigher.forward(&logits, &t, 0.4, &mut out).unwrap();
            if scheme == Weighting::Psis {
                assert!(matches!(weigher.vjp(&g, &mut d), Err(KernelError::NotDifferentiable { .. })));
                continue;
            }
            weigher.vjp(&g, &mut d).unwrap();
            let loss = |x: &[f64]| {
                weigher.forward(x, &t, 0.4, &mut out).unwrap();
                dot(&out, &g)
            };
            match compare(loss, &logits, &d, &v) {
                Verdict::Agree => agreed[k] += 1,
                Verdict::Kink => {}
                bad @ Verdict::Disagree { .. } => {
                    panic!("{scheme:?} {pooling:?} seed {seed}: {bad:?}")
                }
            }
        }
    }
    for (scheme, count) in SCHEMES.iter().zip(agreed) {
        assert!(*scheme == Weighting::Psis || count >= 50, "{scheme:?}: only {count} of 60 conclusive");
    }
}

#[test]
fn normalisation_derivative_matches_central_differences() {
    for seed in 0..50 {
        let mut r = rng(seed);
        let n = 4 + (r.random::<u32>() % 40) as usize;
        let w: Vec<f64> = normals(n, &mut r).iter().map(|z| z.exp()).collect();
        let t: Vec<u8> = (0..n).map(|i| u8::from(i % 3 == 0)).collect();
        let (g, v) = (normals(n, &mut r), normals(n, &mut r));
        let mut norm = ArmMean::default();
        let (mut out, mut d) = (vec![0.0; n], vec![0.0; n]);
        norm.forward(&w, &t, &mut out).unwrap();
        norm.vjp(&g, &mut d).unwrap();
        let loss = |x: &[f64]| {
            norm.forward(x, &t, &mut out).unwrap();
            dot(&out, &g)
        };
        assert_eq!(compare(loss, &w, &d, &v), Verdict::Agree);
    }
}

#[test]
fn smoothing_per_arm_is_smoothing_of_each_arm_alone() {
    let mut r = rng(8);
    let w = common::balancing_weights(300, 1.5, &mut r);
    let t: Vec<u8> = (0..300).map(|i| u8::from(i % 3 == 0)).collect();
    let soft = SoftPareto::new(OPTIONS).unwrap();
    let mut both = PerArm::new([soft.clone(), soft.clone()]);
    let mut out = vec![0.0; 300];
    both.forward(&w, &t, &mut out).unwrap();
    for arm in 0..2 {
        let pick = |x: &[f64]| x.iter().zip(&t).filter(|(_, a)| **a == arm).map(|(v, _)| *v).collect::<Vec<_>>();
        let alone = pick(&w);
        let mut expected = vec![0.0; alone.len()];
        soft.clone().forward(&alone, &mut expected).unwrap();
        assert_eq!(pick(&out), expected);
    }
}

#[test]
fn bad_batches_are_refused_with_their_values() {
    let mut out = [0.0; 2];
    for scheme in SCHEMES {
        let mut weigher = Weigher::new(scheme, Pooling::Pooled, 1.0).unwrap();
        assert!(matches!(weigher.vjp(&[], &mut []), Err(KernelError::NoForward { .. })));
        assert_eq!(weigher.forward(&[], &[], 0.5, &mut []), Err(KernelError::Empty { what: "logits" }));
        let missing = weigher.forward(&[0.0, 1.0], &[1, 1], 0.5, &mut out);
        assert_eq!(missing, Err(KernelError::ArmMissing { arm: 0, n: 2 }));
        let missing = weigher.forward(&[0.0, 1.0], &[0, 0], 0.5, &mut out);
        assert_eq!(missing, Err(KernelError::ArmMissing { arm: 1, n: 2 }));
        let arm = weigher.forward(&[0.0, 1.0], &[0, 2], 0.5, &mut out);
        assert_eq!(arm, Err(KernelError::Arm { index: 1, value: 2 }));
        let nan = weigher.forward(&[0.0, f64::NAN], &[0, 1], 0.5, &mut out);
        assert!(matches!(nan, Err(KernelError::NonFinite { what: "logits", index: 1, .. })));
        let share = weigher.forward(&[0.0, 1.0], &[0, 1], 1.0, &mut out);
        assert!(matches!(share, Err(KernelError::Parameter { name: "share", .. })));
    }
    let bounds = Weighting::Truncated { lo: 0.9, hi: 0.1 };
    assert!(matches!(Weigher::new(bounds, Pooling::Pooled, 1.0), Err(KernelError::Parameter { name: "lo", .. })));
    assert!(matches!(
        Weigher::new(Weighting::Raw, Pooling::Pooled, -1.0),
        Err(KernelError::Parameter { name: "gamma", .. })
    ));
}
