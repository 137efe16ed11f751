use proptest::prelude::*;

use super::*;
use crate::testing::{check_gradient, pool, single, uniform};

fn eval<T: Real>(s: &Sinkhorn, x: &[T], n0: usize, k: usize) -> (SinkhornValue, Vec<T>) {
    let (a, b) = x.split_at(n0 * k);
    let arms = Arms::new(a, b, k).unwrap();
    let mut grad = vec![T::ZERO; x.len()];
    let (ga, gb) = grad.split_at_mut(n0 * k);
    let out = ArmsGrad { a: ga, b: gb };
    let mut workspace = SinkhornWorkspace::new();
    let found = s.eval(&arms, Some(out), &mut workspace, Parallelism::Rayon);
    (found.unwrap(), grad)
}

fn exact(cost: Cost, epsilon: f64) -> Sinkhorn {
    Sinkhorn { cost, strength: Strength::Absolute(epsilon), tolerance: 1e-12, max_iterations: 20_000 }
}

/// The same turns on a stored matrix, and the primal objective of the coupling they end in.
fn naive(s: &Sinkhorn, x: &[f64], n0: usize, k: usize, epsilon: f64) -> f64 {
    let (a, b) = x.split_at(n0 * k);
    let (n0, n1) = (n0, b.len() / k);
    let mut c = vec![0.0; n0 * n1];
    for i in 0..n0 {
        for j in 0..n1 {
            let d2: f64 = (0..k).map(|m| (a[i * k + m] - b[j * k + m]).powi(2)).sum();
            c[i * n1 + j] = if s.cost == Cost::Euclidean { d2.sqrt() } else { d2 };
        }
    }
    let (mut u, mut v) = (vec![1.0; n0], vec![1.0; n1]);
    let kernel: Vec<f64> = c.iter().map(|c| (-c / epsilon).exp()).collect();
    for _ in 0..3000 {
        for i in 0..n0 {
            u[i] = 1.0 / (0..n1).map(|j| kernel[i * n1 + j] * v[j] / n1 as f64).sum::<f64>();
        }
        for j in 0..n1 {
            v[j] = 1.0 / (0..n0).map(|i| kernel[i * n1 + j] * u[i] / n0 as f64).sum::<f64>();
        }
    }
    let mut value = 0.0;
    for i in 0..n0 {
        for j in 0..n1 {
            let ratio = u[i] * kernel[i * n1 + j] * v[j];
            let p = ratio / (n0 * n1) as f64;
            if p > 0.0 {
                value += p * c[i * n1 + j] + epsilon * p * ratio.ln();
            }
        }
    }
    value
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn agrees_with_a_stored_matrix_and_with_differences(
        n0 in 1_usize..12, n1 in 1_usize..12, k in 1_usize..6, squared: bool, seed: u64,
    ) {
        let cost = if squared { Cost::SquaredEuclidean } else { Cost::Euclidean };
        let x = uniform((n0 + n1) * k, seed);
        // Weaker strengths converge too slowly to difference.
        let relative = Sinkhorn { cost, strength: Strength::OfMeanCost(0.4), ..Sinkhorn::default() };
        let epsilon = eval(&relative, &x, n0, k).0.epsilon;
        let s = exact(cost, epsilon);
        let (found, grad) = eval(&s, &x, n0, k);
        prop_assert!(found.marginal_error <= 1e-9, "{}", found.marginal_error);
        let want = naive(&s, &x, n0, k, epsilon);
        prop_assert!((found.value - want).abs() <= 1e-8, "{} {}", found.value, want);
        // Distances have a kink where points meet; stay clear of it.
        let close = x[..n0 * k].chunks(k).any(|a| x[n0 * k..].chunks(k).any(|b| {
            a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>() < 1e-4
        }));
        if squared || !close {
            let error = check_gradient(&x, &grad, 1e-4, 6, |x| eval(&s, x, n0, k).0.value);
            prop_assert!(error <= 1e-5, "gradient off by {}", error);
        }
        let (found32, grad32) = eval(&Sinkhorn { tolerance: 1e-5, max_iterations: 500, ..s }, &single(&x), n0, k);
        prop_assert!((found32.value - found.value).abs() <= 1e-4, "{} {}", found32.value, found.value);
        if !close {
            for (g32, g) in grad32.iter().zip(&grad) {
                prop_assert!((f64::from(*g32) - g).abs() <= 2e-3, "{} {}", g32, g);
            }
        }
    }

    #[test]
    fn any_bits_give_a_finite_answer_or_an_error(
        bits in proptest::collection::vec(any::<u32>(), 1..40), k in 0_usize..6, cut in 0_usize..40,
        strength: f64, absolute: bool, squared: bool,
    ) {
        let x: Vec<f32> = bits.iter().map(|&b| f32::from_bits(b)).collect();
        let cut = (cut % (x.len() + 1)) / k.max(1) * k.max(1);
        let (a, b) = x.split_at(cut.min(x.len()));
        let s = Sinkhorn {
            cost: if squared { Cost::SquaredEuclidean } else { Cost::Euclidean },
            strength: if absolute { Strength::Absolute(strength) } else { Strength::OfMeanCost(strength) },
            ..Sinkhorn::default()
        };
        if let Ok(arms) = Arms::new(a, b, k) {
            let (mut ga, mut gb) = (vec![0.0; a.len()], vec![0.0; b.len()]);
            let grad = ArmsGrad { a: &mut ga, b: &mut gb };
            if let Ok(found) = s.eval(&arms, Some(grad), &mut SinkhornWorkspace::new(), Parallelism::None) {
                prop_assert!(found.value.is_finite());
                prop_assert!(ga.iter().chain(&gb).all(|g| !g.is_nan()));
            }
        }
    }
}

#[test]
fn tends_to_the_sorted_matching_on_a_line() {
    for seed in 0..4 {
        let n = 7;
        let x = uniform(2 * n, seed);
        let sorted = |x: &[f64]| {
            let mut x = x.to_vec();
            x.sort_by(f64::total_cmp);
            x
        };
        let (a, b) = (sorted(&x[..n]), sorted(&x[n..]));
        for cost in [Cost::Euclidean, Cost::SquaredEuclidean] {
            let power = if cost == Cost::Euclidean { 1 } else { 2 };
            let gaps = a.iter().zip(&b).map(|(a, b)| (a - b).abs().powi(power));
            let want = gaps.sum::<f64>() / n as f64;
            let mut last = f64::INFINITY;
            for epsilon in [0.1, 0.03, 0.01, 0.003] {
                let s = Sinkhorn { tolerance: 1e-7, max_iterations: 100_000, ..exact(cost, epsilon) };
                let (found, _) = eval(&s, &x, n, 1);
                let above = found.value - want;
                assert!(above > -1e-6 && above <= epsilon * (n as f64).ln() + 1e-6, "{above}");
                assert!(found.value < last);
                last = found.value;
            }
            assert!((last - want).abs() < 0.01, "{last} {want}");
        }
    }
}

#[test]
fn swapping_the_samples_changes_nothing() {
    let (n0, n1, k) = (20, 33, 4);
    let x = uniform((n0 + n1) * k, 3);
    let mut swapped = x[n0 * k..].to_vec();
    swapped.extend_from_slice(&x[..n0 * k]);
    let s = Sinkhorn { tolerance: 1e-11, max_iterations: 10_000, ..Sinkhorn::default() };
    let (one, grad) = eval(&s, &x, n0, k);
    let (two, grad_swapped) = eval(&s, &swapped, n1, k);
    assert!((one.value - two.value).abs() < 1e-10);
    for (g, h) in grad[..n0 * k].iter().zip(&grad_swapped[n1 * k..]) {
        assert!((g - h).abs() < 1e-9);
    }
}

#[test]
fn threads_and_old_memory_do_not_change_a_bit() {
    for (n0, n1, k) in [(300, 411, 5), (70, 3, 1)] {
        let x = single(&uniform((n0 + n1) * k, 4));
        let (a, b) = x.split_at(n0 * k);
        let arms = Arms::new(a, b, k).unwrap();
        let mut workspace = SinkhornWorkspace::new();
        let mut run = |parallelism, threads| {
            let mut grad = vec![0.0; x.len()];
            let (ga, gb) = grad.split_at_mut(n0 * k);
            let out = ArmsGrad { a: ga, b: gb };
            let found =
                pool(threads).install(|| Sinkhorn::default().eval(&arms, Some(out), &mut workspace, parallelism));
            (found.unwrap(), grad)
        };
        let serial = run(Parallelism::None, 1);
        for threads in [1, 2, 3] {
            assert!(run(Parallelism::Rayon, threads) == serial);
        }
    }
}

#[test]
fn coinciding_points_cost_nothing() {
    let (found, grad) = eval(&Sinkhorn::default(), &[3.0_f32; 24], 5, 2);
    assert_eq!(found.value, 0.0);
    assert!(grad.iter().all(|&g| g == 0.0));
    // One coinciding pair among others has no gradient of its own, and no NaN.
    let (found, grad) = eval(&Sinkhorn::default(), &[0.3, 1.0, 0.3, 5.0], 2, 1);
    assert!(found.value.is_finite() && grad.iter().all(|g: &f64| g.is_finite()));
}

#[test]
fn degenerate_settings_are_named() {
    use KernelError as E;
    let x = [1.0, 2.0];
    let arms = Arms::new(&x, &x, 1).unwrap();
    let run = |s: Sinkhorn, n: usize| {
        let (mut a, mut b) = (vec![0.0; n], [0.0; 2]);
        let grad = ArmsGrad { a: &mut a, b: &mut b };
        s.eval(&arms, Some(grad), &mut SinkhornWorkspace::new(), Parallelism::None)
    };
    let base = Sinkhorn::default();
    assert!(run(base, 2).is_ok());
    assert!(matches!(run(base, 3), Err(E::Length { .. })));
    for strength in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        for strength in [Strength::Absolute(strength), Strength::OfMeanCost(strength)] {
            let s = Sinkhorn { strength, ..base };
            assert!(matches!(run(s, 2), Err(E::Parameter { name: "strength", .. })));
        }
    }
    let s = Sinkhorn { tolerance: f64::NAN, ..base };
    assert!(matches!(run(s, 2), Err(E::Parameter { .. })));
    let s = Sinkhorn { max_iterations: 0, ..base };
    assert!(matches!(run(s, 2), Err(E::Parameter { .. })));
}
