use proptest::prelude::*;

use super::*;
use crate::testing::{check_gradient, pool, single, uniform};

/// All pairs, in the obvious way.
fn naive(mmd: &RbfMmd<'_>, a: &[f64], b: &[f64], k: usize, sigma: f64) -> f64 {
    let kernel = |x: &[f64], y: &[f64]| {
        let d2: f64 = x.iter().zip(y).map(|(x, y)| (x - y) * (x - y)).sum();
        let one = |f: &f64| (-d2 / (2.0 * (f * sigma) * (f * sigma))).exp();
        mmd.factors.iter().map(one).sum::<f64>() / mmd.factors.len() as f64
    };
    let rows = |x: &[f64]| x.chunks(k).map(<[f64]>::to_vec).collect::<Vec<_>>();
    let (a, b) = (rows(a), rows(b));
    let within = |x: &[Vec<f64>]| {
        let n = x.len() as f64;
        let mut sum = 0.0;
        for (i, x1) in x.iter().enumerate() {
            for (j, x2) in x.iter().enumerate() {
                if i != j || mmd.estimator == Estimator::Biased {
                    sum += kernel(x1, x2);
                }
            }
        }
        match mmd.estimator {
            Estimator::Biased => sum / (n * n),
            Estimator::Unbiased => sum / (n * (n - 1.0)),
        }
    };
    let across: f64 = a.iter().flat_map(|x| b.iter().map(|y| kernel(x, y))).sum();
    within(&a) + within(&b) - 2.0 * across / (a.len() * b.len()) as f64
}

fn eval<T: Real>(mmd: &RbfMmd<'_>, a: &[T], b: &[T], k: usize) -> (MmdValue, Vec<T>) {
    let mut grad = vec![T::ZERO; a.len() + b.len()];
    let (ga, gb) = grad.split_at_mut(a.len());
    let arms = Arms::new(a, b, k).unwrap();
    let out = ArmsGrad { a: ga, b: gb };
    let mut workspace = MmdWorkspace::new();
    let found = mmd.eval(&arms, Some(out), &mut workspace, Parallelism::Rayon);
    (found.unwrap(), grad)
}

fn settings(five: bool, unbiased: bool, sigma: f64) -> RbfMmd<'static> {
    RbfMmd {
        bandwidth: Bandwidth::Fixed(sigma),
        factors: if five { FIVE_SCALES } else { &[1.3] },
        estimator: if unbiased { Estimator::Unbiased } else { Estimator::Biased },
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn agrees_with_all_pairs_and_with_differences(
        n0 in 2_usize..90, n1 in 2_usize..90, k in 1_usize..14, five: bool, unbiased: bool,
        sigma in 0.3..3.0_f64, seed: u64,
    ) {
        let mmd = settings(five, unbiased, sigma);
        let x = uniform((n0 + n1) * k, seed);
        let (a, b) = x.split_at(n0 * k);
        let (found, grad) = eval(&mmd, a, b, k);
        let want = naive(&mmd, a, b, k, sigma);
        prop_assert!((found.value - want).abs() <= 1e-11, "{} {}", found.value, want);
        let error = check_gradient(&x, &grad, 1e-3 * sigma, 6, |x| {
            naive(&mmd, &x[..n0 * k], &x[n0 * k..], k, sigma)
        });
        prop_assert!(error <= 1e-5, "gradient off by {}", error);

        let (a32, b32) = (single(a), single(b));
        let (found32, grad32) = eval(&mmd, &a32, &b32, k);
        prop_assert!((found32.value - want).abs() <= 2e-6, "{} {}", found32.value, want);
        let scale = grad.iter().fold(1e-3_f64, |m, g| m.max(g.abs()));
        for (g32, g) in grad32.iter().zip(&grad) {
            prop_assert!((f64::from(*g32) - g).abs() <= 2e-4 * scale, "{} {}", g32, g);
        }
    }

    #[test]
    fn any_bits_give_a_finite_answer_or_an_error(
        bits in proptest::collection::vec(any::<u32>(), 1..60), k in 0_usize..12, cut in 0_usize..60,
        sigma: f64, median: bool, unbiased: bool,
    ) {
        let x: Vec<f32> = bits.iter().map(|&b| f32::from_bits(b)).collect();
        let cut = (cut % (x.len() + 1)) / k.max(1) * k.max(1);
        let (a, b) = x.split_at(cut.min(x.len()));
        let mmd = RbfMmd {
            bandwidth: if median { Bandwidth::Median } else { Bandwidth::Fixed(sigma) },
            ..settings(false, unbiased, 1.0)
        };
        if let Ok(arms) = Arms::new(a, b, k) {
            let (mut ga, mut gb) = (vec![0.0; a.len()], vec![0.0; b.len()]);
            let grad = ArmsGrad { a: &mut ga, b: &mut gb };
            if let Ok(found) = mmd.eval(&arms, Some(grad), &mut MmdWorkspace::new(), Parallelism::None) {
                prop_assert!(found.value.is_finite() && found.bandwidth > 0.0);
                prop_assert!(ga.iter().chain(&gb).all(|g| g.is_finite()));
            }
        }
    }
}

#[test]
fn threads_and_old_memory_do_not_change_a_bit() {
    for (n0, n1, k) in [(700, 450, 3), (700, 450, 24), (130, 20, 1), (3, 4, 9)] {
        let x = single(&uniform((n0 + n1) * k, 5));
        let (a, b) = x.split_at(n0 * k);
        let arms = Arms::new(a, b, k).unwrap();
        let mut workspace = MmdWorkspace::new();
        let mut run = |parallelism, threads| {
            let mut grad = vec![0.0; x.len()];
            let (ga, gb) = grad.split_at_mut(n0 * k);
            let out = ArmsGrad { a: ga, b: gb };
            let found = pool(threads).install(|| RbfMmd::default().eval(&arms, Some(out), &mut workspace, parallelism));
            (found.unwrap(), grad)
        };
        let serial = run(Parallelism::None, 1);
        for threads in [1, 2, 3] {
            assert!(run(Parallelism::Rayon, threads) == serial, "{n0} {n1} {k}");
        }
    }
}

#[test]
fn the_value_alone_is_the_same_value() {
    for k in [3, 20] {
        let x = uniform(150 * k, 6);
        let (a, b) = x.split_at(60 * k);
        let (both, _) = eval(&RbfMmd::default(), a, b, k);
        let arms = Arms::new(a, b, k).unwrap();
        let mut workspace = MmdWorkspace::new();
        let alone = RbfMmd::default().eval(&arms, None, &mut workspace, Parallelism::Rayon);
        assert_eq!(alone.unwrap(), both);
    }
}

#[test]
fn equal_samples_have_none_and_far_ones_have_two() {
    let x = uniform(40 * 3, 7);
    let (same, grad) = eval(&RbfMmd::default(), &x, &x, 3);
    assert!(same.value.abs() < 1e-12);
    assert!(grad.iter().all(|g| g.abs() < 1e-12));
    let far = vec![1e6; 3];
    let one = settings(false, false, 1.0);
    let (two, _) = eval(&one, &[0.0; 3], &far, 3);
    assert!((two.value - 2.0).abs() < 1e-12);
}

#[test]
fn the_median_heuristic_is_the_median_and_never_zero() {
    let mut scratch = Vec::new();
    let (a, b) = ([0.0, 1.0], [3.0]);
    // The distances are 1, 2, 3.
    let arms = Arms::new(&a, &b, 1).unwrap();
    assert_eq!(median_distance(&arms, &mut scratch), 2.0);
    let constant = [5.0_f32; 12];
    let arms = Arms::new(&constant, &constant, 3).unwrap();
    assert_eq!(median_distance(&arms, &mut scratch), 1.0);
    let mostly = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 4.0];
    let arms = Arms::new(&mostly, &constant[..1], 1);
    assert!(arms.is_err() || median_distance(&arms.unwrap(), &mut scratch) > 0.0);
    // A far outlier moves a mean, not the median.
    let x = uniform(3000, 8);
    let arms = Arms::new(&x[..1000], &x[1000..], 1).unwrap();
    let clean = median_distance(&arms, &mut scratch);
    let mut dirty = x.clone();
    dirty[0] = 1e9;
    let arms = Arms::new(&dirty[..1000], &dirty[1000..], 1).unwrap();
    assert!((median_distance(&arms, &mut scratch) / clean - 1.0).abs() < 0.05);
}

#[test]
fn constant_points_give_zero() {
    let (value, grad) = eval(&RbfMmd::default(), &[2.0_f32; 30], &[2.0; 12], 6);
    assert!(value.value.abs() < 1e-9);
    assert!(grad.iter().all(|&g| g == 0.0));
}

#[test]
fn degenerate_input_is_named() {
    use KernelError as E;
    let x = [1.0, 2.0, 3.0, 4.0];
    let bad = |a: &[f64], b: &[f64], k| Arms::new(a, b, k).unwrap_err();
    assert!(matches!(bad(&[], &x, 2), E::Empty { what: "arm a" }));
    assert!(matches!(bad(&x, &[], 2), E::Empty { what: "arm b" }));
    assert!(matches!(bad(&x, &x, 0), E::Empty { what: "columns" }));
    assert!(matches!(bad(&x, &x, 3), E::Length { found: 4, .. }));
    assert!(matches!(bad(&x, &x, 9), E::Length { found: 4, .. }));
    let nan = [1.0, f64::NAN];
    assert!(matches!(bad(&x, &nan, 2), E::NonFinite { index: 1, .. }));
    let inf = [f64::INFINITY, 1.0];
    assert!(matches!(bad(&inf, &x, 2), E::NonFinite { index: 0, .. }));

    let arms = Arms::new(&x, &x, 2).unwrap();
    let mut workspace = MmdWorkspace::new();
    let mut run = |mmd: RbfMmd<'_>, arms: &Arms<'_, f64>, n: usize| {
        let (mut a, mut b) = (vec![0.0; n], vec![0.0; arms.b().len()]);
        let grad = ArmsGrad { a: &mut a, b: &mut b };
        mmd.eval(arms, Some(grad), &mut workspace, Parallelism::None).unwrap_err()
    };
    for sigma in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = run(settings(false, false, sigma), &arms, 4);
        assert!(matches!(error, E::Parameter { name: "bandwidth", .. }));
    }
    let none = RbfMmd { factors: &[], ..RbfMmd::default() };
    assert!(matches!(run(none, &arms, 4), E::Empty { what: "factors" }));
    let zero = RbfMmd { factors: &[0.0], ..RbfMmd::default() };
    assert!(matches!(run(zero, &arms, 4), E::Parameter { .. }));
    assert!(matches!(run(RbfMmd::default(), &arms, 5), E::Length { .. }));
    let one_row = Arms::new(&x[..2], &x, 2).unwrap();
    let error = run(settings(false, true, 1.0), &one_row, 2);
    assert!(matches!(error, E::Parameter { name: "rows of an arm", .. }));
    let error = run(settings(false, false, 1e-20), &arms, 4);
    assert!(matches!(error, E::Parameter { .. }));
}

#[test]
fn many_tiles_agree_with_all_pairs() {
    for (n0, n1, k) in [(700, 1450, 3), (1300, 350, 11), (2100, 10, 2)] {
        let mmd = settings(false, false, 0.8);
        let x = uniform((n0 + n1) * k, 9);
        let (a, b) = x.split_at(n0 * k);
        let (found, grad) = eval(&mmd, a, b, k);
        let want = naive(&mmd, a, b, k, 0.8);
        assert!((found.value - want).abs() < 1e-12, "{n0} {n1} {k}");
        let error = check_gradient(&x, &grad, 1e-3, 3, |x| naive(&mmd, &x[..n0 * k], &x[n0 * k..], k, 0.8));
        assert!(error < 1e-5, "{n0} {n1} {k}: {error}");
    }
}
