//! Random bits through every kernel: nothing panics, and what is returned as a success holds no NaN.
#![allow(clippy::unwrap_used)]

mod common;

use paretau_kernels::arm_mean::ArmMean;
use paretau_kernels::ess::{ess, ess_by_arm};
use paretau_kernels::gpd::Gpd;
use paretau_kernels::gpd_fit::{Moments, ZhangStephens, fit_pwm};
use paretau_kernels::isotonic::{Direction, Isotonic};
use paretau_kernels::pareto::{HardPareto, TailMap};
use paretau_kernels::psis::{Psis, TailRule, khat_threshold};
use paretau_kernels::soft_pareto::SoftPareto;
use paretau_kernels::soft_pareto_options::{Center, NegativeScale, SoftParetoOptions, Units};
use paretau_kernels::soft_rank::SoftRank;
use paretau_kernels::step::{smooth_step, smooth_step_vjp};
use paretau_kernels::weights::{Pooling, Weigher, Weighting};
use proptest::prelude::*;

/// Any bits, or numbers of every size, or few distinct ones: errors and deep paths alike.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        1 => any::<u64>().prop_map(f64::from_bits),
        1 => (-300.0_f64..300.0).prop_map(|e| 10_f64.powf(e)),
        2 => (-4.0_f64..4.0).prop_map(f64::exp),
        1 => (0_u8..4).prop_map(f64::from),
    ]
}

fn vector() -> impl Strategy<Value = Vec<f64>> {
    prop_oneof![
        prop::collection::vec(number(), 0..90),
        // All finite and positive, or few batches would pass the checks.
        prop::collection::vec((-300.0_f64..300.0).prop_map(|e| 10_f64.powf(e)), 0..90),
        prop::collection::vec((-4.0_f64..4.0).prop_map(f64::exp), 0..300),
        prop::collection::vec((1_u8..4).prop_map(f64::from), 0..90),
        prop::collection::vec(any::<u64>().prop_map(f64::from_bits), 0..90),
    ]
}

fn options() -> impl Strategy<Value = SoftParetoOptions> {
    (number(), number(), any::<[bool; 3]>()).prop_map(|(eps, kappa, [raw, paper, abs])| SoftParetoOptions {
        eps,
        kappa,
        units: if raw { Units::Raw } else { Units::ScaleFree },
        center: if paper { Center::Paper } else { Center::Half },
        negative_scale: if abs { NegativeScale::Abs } else { NegativeScale::FallBack },
    })
}

fn finite(x: &[f64]) -> bool {
    x.iter().all(|v| v.is_finite())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn ranking(x in vector(), g in vector(), eps in number(), kappa in number(), center in number()) {
        let mut out = vec![0.0; x.len()];
        let mut tape = SoftRank::default();
        if tape.forward(&x, eps, &mut out).is_ok() {
            prop_assert!(out.iter().all(|r| *r >= 1.0 && *r <= x.len() as f64));
            let mut g = g.clone();
            g.resize(x.len(), 1.0);
            if tape.vjp(&g, &mut out).is_ok() {
                prop_assert!(finite(&out));
            }
        }
        for direction in [Direction::NonDecreasing, Direction::NonIncreasing] {
            if Isotonic::default().fit(&x, None, direction, &mut out).is_ok() {
                prop_assert!(finite(&out));
            }
            if Isotonic::default().fit(&x, Some(&g), direction, &mut out).is_ok() {
                prop_assert!(finite(&out));
            }
        }
        if smooth_step(&x, kappa, center, &mut out).is_ok() {
            prop_assert!(finite(&out));
        }
        if smooth_step_vjp(&x, kappa, center, &g, &mut out).is_ok() {
            prop_assert!(finite(&out));
        }
    }

    #[test]
    fn distributions(mu in number(), sigma in number(), xi in number(), p in number(), mut x in vector(), r_eff in number()) {
        if let Ok(gpd) = Gpd::new(mu, sigma, xi) {
            for p in [p, p.abs().fract()] {
                if let Ok(q) = gpd.quantile(p) {
                    prop_assert!(q.is_finite());
                }
                if let Ok(d) = gpd.quantile_with_derivatives(p) {
                    prop_assert!(finite(&[d.value, d.d_arg, d.d_sigma, d.d_xi]));
                }
                if let Ok(d) = gpd.cdf_with_derivatives(p) {
                    prop_assert!(finite(&[d.value, d.d_arg, d.d_sigma, d.d_xi]));
                }
            }
        }
        let mut out = vec![0.0; x.len()];
        for rule in [TailRule::Loo, TailRule::ArvizStats] {
            if let Ok(k) = Psis::default().smooth(&x, r_eff, rule, &mut out) {
                prop_assert!(!k.is_nan());
                prop_assert!(finite(&out), "{:?} {:?}", x, out);
            }
        }
        prop_assert!(!khat_threshold(x.len()).is_nan());
        x.sort_unstable_by(f64::total_cmp);
        if let Ok(Ok(fit)) = fit_pwm(&x) {
            prop_assert!(finite(&[fit.sigma, fit.xi]));
        }
        if let Ok(m) = Moments::of_sorted(&x) {
            let _ = m.solve(true);
        }
        if let Ok(fit) = ZhangStephens::default().fit(&x) {
            prop_assert!(!fit.xi.is_nan() && !fit.sigma.is_nan());
        }
        let map = TailMap { mu, sigma, xi, tail: x };
        let _ = map.check();
        if let Ok(v) = map.smooth(p) {
            prop_assert!(v.is_finite());
        }
    }

    #[test]
    fn smoothing(w in vector(), g in vector(), t in prop::collection::vec(0_u8..3, 0..300), options in options()) {
        let n = w.len();
        let (mut out, mut d) = (vec![0.0; n], vec![0.0; n]);
        let mut g = g;
        g.resize(n, 0.5);
        let mut hard = HardPareto::default();
        if hard.forward(&w, &mut out).is_ok() {
            prop_assert!(out.iter().all(|v| v.is_finite() && *v > 0.0));
            if hard.vjp(&g, &mut d).is_ok() {
                prop_assert!(finite(&d));
            }
            let map = hard.tail_map();
            prop_assert!(map.check().is_ok());
        }
        if let Ok(mut soft) = SoftPareto::new(options)
            && soft.forward(&w, &mut out).is_ok()
        {
            prop_assert!(out.iter().all(|v| v.is_finite() && *v > 0.0));
            if soft.vjp(&g, &mut d).is_ok() {
                prop_assert!(finite(&d));
            }
            prop_assert!(soft.tail_map().check().is_ok());
        }
        let mut norm = ArmMean::default();
        if norm.forward(&w, &t, &mut out).is_ok() {
            prop_assert!(finite(&out));
        }
        if norm.vjp(&g, &mut d).is_ok() {
            prop_assert!(finite(&d));
        }
        if let Ok(e) = ess(&w) {
            prop_assert!(e.is_finite());
        }
        if let Ok(e) = ess_by_arm(&w, &t) {
            prop_assert!(finite(&e));
        }
    }

    #[test]
    fn weighting(
        logits in vector(), g in vector(), flips in any::<u64>(), arms in 2_u8..4, options in options(), share in number(),
        gamma in number(), lo in number(), hi in number(), choice in 0_usize..10, per_arm in any::<bool>(), tame in any::<bool>(),
    ) {
        let n = logits.len();
        let t: Vec<u8> = (0..n).map(|i| ((flips >> (i % 60)) as u8) % arms).collect();
        let (lo, hi) = if tame { (0.1, 0.9) } else { (lo, hi) };
        let (share, gamma) = if tame { (share.abs().fract().max(0.01), 0.7) } else { (share, gamma) };
        let options = if tame { SoftParetoOptions::default() } else { options };
        let scheme = [
            Weighting::Uniform,
            Weighting::InverseShare,
            Weighting::Raw,
            Weighting::Norm,
            Weighting::Truncated { lo, hi },
            Weighting::Ignored { lo, hi },
            Weighting::HardPareto,
            Weighting::Psis,
            Weighting::SoftPareto(options),
            Weighting::SoftParetoNorm(options),
        ][choice];
        let pooling = if per_arm { Pooling::PerArm } else { Pooling::Pooled };
        let Ok(mut weigher) = Weigher::new(scheme, pooling, gamma) else { return Ok(()) };
        let mut out = vec![0.0; n];
        if let Ok(report) = weigher.forward(&logits, &t, share, &mut out) {
            prop_assert!(out.iter().all(|v| v.is_finite() && *v >= 0.0));
            prop_assert!(report.max.is_finite() && report.ess.is_finite());
        }
        let mut g = g;
        g.resize(n, -1.0);
        if weigher.vjp(&g, &mut out).is_ok() {
            prop_assert!(finite(&out));
        }
    }
}
