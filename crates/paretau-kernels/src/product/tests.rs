use proptest::prelude::*;

use super::*;
use crate::testing::{pool, uniform};

fn naive(a: &MatRef<'_, f64>, b: &MatRef<'_, f64>) -> Vec<f64> {
    let at = |m: &MatRef<'_, f64>, i, j| m.data[i * m.row_stride + j * m.col_stride];
    let mut c = Vec::new();
    for i in 0..a.rows {
        for j in 0..b.cols {
            c.push((0..a.cols).map(|l| at(a, i, l) * at(b, l, j)).sum());
        }
    }
    c
}

proptest! {
    #[test]
    fn agrees_with_three_loops(
        m in 0_usize..40, n in 0_usize..40, k in 0_usize..40,
        ta: bool, tb: bool, tc: bool, alpha in -2.0..2.0_f64, keep: bool, seed: u64,
    ) {
        let (da, db, c0) = (uniform(m * k, seed), uniform(k * n, seed ^ 1), uniform(m * n, seed ^ 2));
        let a = if ta { MatRef::row_major(&da, k, m).unwrap().t() } else { MatRef::row_major(&da, m, k).unwrap() };
        let b = if tb { MatRef::row_major(&db, n, k).unwrap().t() } else { MatRef::row_major(&db, k, n).unwrap() };
        let beta = if keep { 0.7 } else { 0.0 };
        let mut c = c0.clone();
        let view = if tc {
            MatMut::row_major(&mut c, n, m).unwrap().t()
        } else {
            MatMut::row_major(&mut c, m, n).unwrap()
        };
        matmul(view, a, b, (alpha, beta), Parallelism::Rayon).unwrap();
        let ab = naive(&a, &b);
        for i in 0..m {
            for j in 0..n {
                let at = if tc { j * m + i } else { i * n + j };
                let want = alpha * ab[i * n + j] + beta * c0[at];
                prop_assert!((c[at] - want).abs() <= 1e-12, "{} {}", c[at], want);
            }
        }
    }

    #[test]
    fn any_shape_gives_an_answer_or_an_error(
        rows: usize, cols: usize, rs: usize, cs: usize, len in 0_usize..50,
    ) {
        let mut data = vec![1.0_f32; len];
        for (rows, cols, rs, cs) in [(rows, cols, rs, cs), (rows % 8, cols % 8, rs % 9, cs % 9)] {
            let _ = MatRef::row_major(&data, rows, cols).is_ok();
            let _ = MatRef::strided(&data, (rows, cols), (rs, cs)).is_ok();
            let copy = data.clone();
            if let (Ok(a), Ok(c)) = (
                MatRef::strided(&copy, (rows, cols), (rs, cs)),
                MatMut::strided(&mut data, (rows, rows), (rs, cs)),
            ) {
                prop_assert!(matmul(c, a, a.t(), (1.0, 0.0), Parallelism::None).is_ok());
            }
        }
    }
}

fn same_bits<T: Real>(m: usize, n: usize, k: usize) {
    let cast = |v: Vec<f64>| v.into_iter().map(T::from_f64).collect::<Vec<_>>();
    let (a, b) = (cast(uniform(m * k, 3)), cast(uniform(k * n, 4)));
    for (ta, tb) in [(false, false), (true, false), (false, true)] {
        let run = |parallelism| {
            let mut c = vec![T::ZERO; m * n];
            let a = if ta { MatRef::row_major(&a, k, m).unwrap().t() } else { MatRef::row_major(&a, m, k).unwrap() };
            let b = if tb { MatRef::row_major(&b, n, k).unwrap().t() } else { MatRef::row_major(&b, k, n).unwrap() };
            let view = MatMut::row_major(&mut c, m, n).unwrap();
            matmul(view, a, b, (T::ONE, T::ZERO), parallelism).unwrap();
            c
        };
        let serial = run(Parallelism::None);
        for threads in [1, 2, 3] {
            let found = pool(threads).install(|| run(Parallelism::Rayon));
            assert!(serial == found, "{m}x{n}x{k}, {threads} threads");
        }
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    for (m, n, k) in [
        (100, 100, 5000),
        (1000, 300, 177),
        (177, 300, 1000),
        (3, 100, 5000),
        (5000, 3, 15),
        (64, 64, 20_000),
        (1, 700, 900),
        (700, 1, 900),
        (300, 900, 1),
    ] {
        same_bits::<f32>(m, n, k);
        same_bits::<f64>(m, n, k);
    }
}

#[test]
fn alignment_does_not_change_a_bit() {
    for (m, n, k) in [(65, 47, 33), (1, 70, 9), (70, 1, 9), (31, 33, 2), (10, 10, 100)] {
        let values: Vec<f32> = uniform(m * k + k * n, 8).iter().map(|&x| x as f32).collect();
        let run = |shift: usize| {
            let mut data = vec![0.0_f32; shift];
            data.extend_from_slice(&values);
            let (a, b) = data[shift..].split_at(m * k);
            let mut c = vec![0.0; m * n + shift];
            matmul(
                MatMut::row_major(&mut c[shift..], m, n).unwrap(),
                MatRef::row_major(a, m, k).unwrap(),
                MatRef::row_major(b, k, n).unwrap(),
                (1.0, 0.0),
                Parallelism::None,
            )
            .unwrap();
            c.split_off(shift)
        };
        let first = run(0);
        for shift in 1..9 {
            assert!(first == run(shift), "{m}x{n}x{k} shift {shift}");
        }
    }
}

#[test]
fn a_stale_output_is_ignored_when_beta_is_zero() {
    let mut c = [f64::NAN; 4];
    let a = MatRef::row_major(&[1.0, 0.0, 0.0, 1.0], 2, 2).unwrap();
    let view = MatMut::row_major(&mut c, 2, 2).unwrap();
    matmul(view, a, a, (1.0, 0.0), Parallelism::None).unwrap();
    assert_eq!(c, [1.0, 0.0, 0.0, 1.0]);
}

#[test]
fn wrong_shapes_are_named() {
    let data = [0.0_f64; 6];
    let mut out = [0.0; 4];
    let a = MatRef::row_major(&data, 2, 3).unwrap();
    let c = MatMut::row_major(&mut out, 2, 2).unwrap();
    let error = matmul(c, a, a, (1.0, 0.0), Parallelism::None).unwrap_err();
    assert_eq!(error.to_string(), "rows of b has length 2, expected 3");
    assert!(MatMut::strided(&mut out, (2, 2), (0, 1)).is_err());
    assert!(MatMut::strided(&mut out, (2, 2), (1, 1)).is_err());
}
