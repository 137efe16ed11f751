use proptest::prelude::*;

use super::*;
use crate::product::{MatMut, MatRef, matmul};
use crate::testing::{pool, single, uniform};

/// A random sparse matrix and the same one dense.
struct Sample {
    indptr: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
    dense: Vec<f64>,
    d: usize,
}

fn sample(n: usize, d: usize, share: f64, seed: u64) -> Sample {
    let keep = uniform(n * d, seed ^ 7);
    let numbers = uniform(n * d, seed);
    let mut s = Sample { indptr: vec![0], indices: vec![], values: vec![], dense: vec![0.0; n * d], d };
    for i in 0..n {
        for j in 0..d {
            if keep[i * d + j].abs() < share {
                s.indices.push(j as u32);
                s.values.push(numbers[i * d + j]);
                s.dense[i * d + j] = numbers[i * d + j];
            }
        }
        s.indptr.push(s.indices.len());
    }
    s
}

impl Sample {
    fn view(&self) -> CsrView<'_, f64> {
        CsrView::new(&self.indptr, &self.indices, &self.values, self.d).unwrap()
    }

    /// Chosen rows, standardised, dense.
    fn standardised(&self, rows: &[usize], mean: &[f64], inv_sd: &[f64]) -> Vec<f64> {
        let cell = |i: usize, j: usize| (self.dense[i * self.d + j] - mean[j]) * inv_sd[j];
        let row = |&i: &usize| (0..self.d).map(move |j| cell(i, j));
        rows.iter().flat_map(row).collect()
    }
}

fn dense_product(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Vec<f64> {
    let mut c = vec![0.0; a.rows() * b.cols()];
    let view = MatMut::row_major(&mut c, a.rows(), b.cols()).unwrap();
    matmul(view, a, b, (1.0, 0.0), Parallelism::None).unwrap();
    c
}

fn close(x: &[f64], y: &[f64], tolerance: f64) -> bool {
    x.len() == y.len() && x.iter().zip(y).all(|(x, y)| (x - y).abs() <= tolerance)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn both_products_agree_with_dense_ones(
        n in 1_usize..50, d in 1_usize..40, p in 1_usize..130, share in 0.0..0.6_f64,
        standard: bool, subset: bool, seed: u64,
    ) {
        let s = sample(n, d, share, seed);
        let (mean, inv_sd) = if standard {
            (uniform(d, seed ^ 3), uniform(d, seed ^ 4))
        } else {
            (vec![0.0; d], vec![1.0; d])
        };
        let standardise = Standardise::new(&mean, &inv_sd).unwrap();
        let standardise = standard.then_some(&standardise);
        let chosen: Vec<usize> = if subset { (0..n).rev().step_by(2).chain([0]).collect() } else { (0..n).collect() };
        let rows = subset.then_some(&chosen[..]);
        let r = chosen.len();
        let x = s.standardised(&chosen, &mean, &inv_sd);
        let x = MatRef::row_major(&x, r, d).unwrap();
        let (w, g) = (uniform(d * p, seed ^ 5), uniform(r * p, seed ^ 6));
        let mut workspace = CsrWorkspace::new();

        let mut out = vec![f64::NAN; r * p];
        csr_matmul(&mut out, (&s.view(), rows), (&w, p), standardise, &mut workspace, Parallelism::Rayon).unwrap();
        prop_assert!(close(&out, &dense_product(x, MatRef::row_major(&w, d, p).unwrap()), 1e-12));

        let mut transposed = CsrTransposed::new();
        transposed.load(&s.view(), rows).unwrap();
        prop_assert_eq!((transposed.rows(), transposed.cols()), (r, d));
        let mut out = vec![f64::NAN; d * p];
        transposed.matmul(&mut out, (&g, p), standardise, &mut workspace, Parallelism::Rayon).unwrap();
        prop_assert!(close(&out, &dense_product(x.t(), MatRef::row_major(&g, r, p).unwrap()), 1e-12));
    }

    #[test]
    fn any_bits_give_a_view_or_an_error(
        indptr in proptest::collection::vec(0_u32..12, 0..6),
        indices in proptest::collection::vec(any::<u32>().prop_map(|x| x >> (x % 32)), 0..12),
        bits in proptest::collection::vec(any::<u32>(), 0..12),
        cols in 0_usize..9, rows in proptest::collection::vec(0_usize..6, 0..5), p in 0_usize..3,
    ) {
        let values: Vec<f32> = bits.iter().map(|&b| f32::from_bits(b)).collect();
        if let Ok(view) = CsrView::new(&indptr, &indices, &values, cols) {
            let mut workspace = CsrWorkspace::new();
            let w = vec![1.0_f32; cols * p];
            let mut out = vec![0.0; rows.len() * p];
            let fits = rows.iter().all(|&i| i < view.rows());
            let found = csr_matmul(&mut out, (&view, Some(&rows)), (&w, p), None, &mut workspace, Parallelism::None);
            prop_assert_eq!(found.is_ok(), fits);
            let mut transposed = CsrTransposed::new();
            prop_assert_eq!(transposed.load(&view, Some(&rows)).is_ok(), fits);
        }
    }
}

#[test]
fn threads_do_not_change_a_bit_and_single_precision_is_close() {
    let (n, d, p) = (150, 400, 75);
    let s = sample(n, d, 0.05, 1);
    let values = single(&s.values);
    let view = CsrView::new(&s.indptr, &s.indices, &values, d).unwrap();
    let (mean, inv_sd) = (uniform(d, 2), uniform(d, 3));
    let (mean32, inv32) = (single(&mean), single(&inv_sd));
    let standardise = Standardise::new(&mean32, &inv32).unwrap();
    let (w, g) = (uniform(d * p, 4), uniform(n * p, 5));
    let (w32, g32) = (single(&w), single(&g));
    let run = |parallelism, threads| {
        pool(threads).install(|| {
            let mut workspace = CsrWorkspace::new();
            let mut out = vec![0.0_f32; n * p];
            let x = (&view, None);
            let standardise = Some(&standardise);
            csr_matmul(&mut out, x, (&w32, p), standardise, &mut workspace, parallelism).unwrap();
            let mut transposed = CsrTransposed::new();
            transposed.load(&view, None).unwrap();
            let mut grad = vec![0.0_f32; d * p];
            let g = (&g32[..], p);
            transposed.matmul(&mut grad, g, standardise, &mut workspace, parallelism).unwrap();
            (out, grad)
        })
    };
    let serial = run(Parallelism::None, 1);
    for threads in [1, 2, 3] {
        assert!(run(Parallelism::Rayon, threads) == serial);
    }
    let all: Vec<usize> = (0..n).collect();
    let x = s.standardised(&all, &mean, &inv_sd);
    let x = MatRef::row_major(&x, n, d).unwrap();
    let wide = |x: &[f32]| x.iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
    let want = dense_product(x, MatRef::row_major(&w, d, p).unwrap());
    assert!(close(&wide(&serial.0), &want, 1e-4));
    let want = dense_product(x.t(), MatRef::row_major(&g, n, p).unwrap());
    assert!(close(&wide(&serial.1), &want, 1e-4));
}

#[test]
fn degenerate_input_is_named() {
    use KernelError as E;
    let bad = |indptr: &[usize], indices: &[u32], values: &[f64], cols| {
        CsrView::new(indptr, indices, values, cols).unwrap_err()
    };
    assert!(matches!(bad(&[], &[], &[], 2), E::Empty { .. }));
    assert!(matches!(bad(&[1, 1], &[0], &[1.0], 2), E::Parameter { .. }));
    assert!(matches!(bad(&[0, 2], &[0], &[1.0], 2), E::Length { .. }));
    assert!(matches!(bad(&[0, 1], &[0], &[], 2), E::Length { .. }));
    assert!(matches!(bad(&[0, 1], &[2], &[1.0], 2), E::Parameter { .. }));
    assert!(matches!(bad(&[0, 2], &[1, 1], &[1.0, 1.0], 2), E::Parameter { .. }));
    assert!(matches!(bad(&[0, 2, 1, 2], &[0, 1], &[1.0; 2], 2), E::Parameter { .. }));
    assert!(matches!(bad(&[0, 3, 2], &[0, 1], &[1.0; 2], 2), E::Parameter { .. }));
    let nan = bad(&[0, 1], &[0], &[f64::NAN], 2);
    assert!(matches!(nan, E::NonFinite { index: 0, .. }));

    let s = sample(3, 2, 0.5, 1);
    let mut workspace = CsrWorkspace::new();
    let mut out = [0.0; 3];
    let mut run = |rows: Option<&[usize]>, w: &[f64]| {
        let x = (&s.view(), rows);
        csr_matmul(&mut out, x, (w, 1), None, &mut workspace, Parallelism::None)
    };
    assert!(run(None, &[1.0, 1.0]).is_ok());
    assert!(matches!(run(None, &[1.0]), Err(E::Length { what: "w", .. })));
    assert!(matches!(run(Some(&[0, 3, 1]), &[1.0; 2]), Err(E::Parameter { .. })));
    assert!(matches!(run(Some(&[0]), &[1.0; 2]), Err(E::Length { what: "out", .. })));
    assert!(Standardise::new(&[1.0], &[1.0, 2.0]).is_err());
    assert!(Standardise::new(&[1.0], &[f64::INFINITY]).is_err());
}
