//! Soft ranks against an independent projection onto the permutahedron, and the identities they must keep.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Verdict, compare, dot, normals, rng};
use paretau_kernels::isotonic::{Direction, Isotonic};
use paretau_kernels::soft_rank::SoftRank;
use proptest::prelude::*;

fn rank(w: &[f64], eps: f64) -> Vec<f64> {
    let mut out = vec![0.0; w.len()];
    SoftRank::default().forward(w, eps, &mut out).unwrap();
    out
}

/// Projects onto the permutahedron of (1..n) by Dykstra's alternating projections onto its 2^n - 2 half-spaces
/// `Σ_S x >= |S|(|S|+1)/2` and the plane `Σ x = n(n+1)/2`: knows nothing of sorting or pooling.
fn project(z: &[f64]) -> Vec<f64> {
    let n = z.len();
    let full = (1_usize << n) - 1;
    let mut x = z.to_vec();
    let mut corrections = vec![0.0; full];
    for _ in 0..20_000 {
        let mut moved = 0.0_f64;
        for set in 1..full {
            let size = f64::from(set.count_ones());
            let sum: f64 = (0..n).filter(|i| set >> i & 1 == 1).map(|i| x[i]).sum();
            // The correction along the half-space's normal, as a multiple of it.
            let before = corrections[set];
            let shortfall = (size * (size + 1.0) / 2.0 - sum) / size;
            let after = (before + shortfall).max(0.0);
            for i in (0..n).filter(|i| set >> i & 1 == 1) {
                x[i] += after - before;
            }
            corrections[set] = after;
            moved = moved.max((after - before).abs());
        }
        let excess = (x.iter().sum::<f64>() - (n * (n + 1)) as f64 / 2.0) / n as f64;
        for v in &mut x {
            *v -= excess;
        }
        if moved.max(excess.abs()) < 1e-13 {
            break;
        }
    }
    x
}

#[test]
fn equals_the_projection_onto_the_permutahedron() {
    let mut r = rng(11);
    for n in 1..=6 {
        for eps in [0.05, 0.3, 1.0, 4.0] {
            for _ in 0..5 {
                let w = normals(n, &mut r);
                let z: Vec<f64> = w.iter().map(|v| v / eps).collect();
                for (a, b) in rank(&w, eps).iter().zip(project(&z)) {
                    assert!((a - b).abs() < 1e-6, "n {n} eps {eps}: {a} instead of {b}");
                }
            }
        }
    }
}

#[test]
fn figure_2_follows_the_projection() {
    for eps in [0.1, 0.5, 1.0, 2.0, 10.0] {
        for step in 0..26 {
            let w = [f64::from(step) * 0.2 - 0.5, 1.0, 2.0, 3.0];
            let expected = project(&w.map(|v| v / eps));
            assert!((rank(&w, eps)[0] - expected[0]).abs() < 1e-6, "eps {eps} w {w:?}");
        }
    }
}

#[test]
fn equals_the_textbook_route_through_isotonic_regression() {
    let mut r = rng(5);
    for n in [10, 300, 3000] {
        for eps in [1e-3, 0.02, 0.5] {
            let w = normals(n, &mut r);
            let mut order: Vec<usize> = (0..n).collect();
            order.sort_by(|&i, &j| w[j].total_cmp(&w[i]));
            let s: Vec<f64> = order.iter().map(|&i| w[i] / eps).collect();
            let target: Vec<f64> = s.iter().enumerate().map(|(k, v)| v - (n - k) as f64).collect();
            let mut v = vec![0.0; n];
            Isotonic::default().fit(&target, None, Direction::NonIncreasing, &mut v).unwrap();
            let got = rank(&w, eps);
            for k in 0..n {
                assert!((got[order[k]] - (s[k] - v[k])).abs() < 1e-7);
            }
        }
    }
}

#[test]
fn sorted_reversed_and_equal_input() {
    for n in [1, 2, 7, 400] {
        let up: Vec<f64> = (0..n).map(|i| i as f64).collect();
        let down: Vec<f64> = up.iter().rev().copied().collect();
        let hard = rank(&up, 0.5);
        assert!(hard.iter().enumerate().all(|(i, r)| *r == (i + 1) as f64));
        assert_eq!(rank(&down, 0.5), hard.iter().rev().copied().collect::<Vec<_>>());
        assert!(rank(&vec![3.25; n], 1e-3).iter().all(|r| *r == (n + 1) as f64 / 2.0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn identities_hold(seed in any::<u64>(), n in 1_usize..400, log_eps in -6.0_f64..3.0, ties in any::<bool>()) {
        let mut w = normals(n, &mut rng(seed));
        if ties {
            for v in &mut w {
                *v = (2.0 * *v).round();
            }
        }
        let eps = 10_f64.powf(log_eps);
        let r = rank(&w, eps);
        let nf = n as f64;
        prop_assert!((r.iter().sum::<f64>() - nf * (nf + 1.0) / 2.0).abs() < 1e-7 * nf * nf);
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&i, &j| w[i].total_cmp(&w[j]));
        for k in order.windows(2) {
            prop_assert!(r[k[0]] <= r[k[1]]);
            if w[k[0]] == w[k[1]] {
                prop_assert_eq!(r[k[0]], r[k[1]]);
            }
        }
        // Shifting all weights changes nothing but rounding.
        let moved: Vec<f64> = w.iter().map(|v| v + 3.0).collect();
        for (a, b) in rank(&moved, eps).iter().zip(&r) {
            prop_assert!((a - b).abs() < 1e-14 * nf / eps + 1e-9);
        }
    }

    #[test]
    fn limits_in_eps(seed in any::<u64>(), n in 1_usize..60) {
        let w = normals(n, &mut rng(seed));
        for (i, r) in rank(&w, 1e-12).iter().enumerate() {
            let hard = w.iter().filter(|v| **v <= w[i]).count() as f64;
            prop_assert!((r - hard).abs() < 1e-6);
        }
        for r in rank(&w, 1e12) {
            prop_assert!((r - f64::midpoint(n as f64, 1.0)).abs() < 1e-9);
        }
    }

    #[test]
    fn derivative_matches_central_differences(seed in any::<u64>(), n in 1_usize..80, log_eps in -3.0_f64..1.0) {
        let mut stream = rng(seed);
        let (w, g, v) = (normals(n, &mut stream), normals(n, &mut stream), normals(n, &mut stream));
        let eps = 10_f64.powf(log_eps);
        let mut tape = SoftRank::default();
        let mut out = vec![0.0; n];
        tape.forward(&w, eps, &mut out).unwrap();
        let mut d = vec![0.0; n];
        tape.vjp(&g, &mut d).unwrap();
        let verdict = compare(|x| dot(&rank(x, eps), &g), &w, &d, &v);
        prop_assume!(verdict != Verdict::Kink);
        prop_assert_eq!(verdict, Verdict::Agree);
    }
}
