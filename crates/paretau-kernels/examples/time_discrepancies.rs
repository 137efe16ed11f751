//! Times the discrepancies and the sparse products at the shapes that training meets, and counts allocated bytes.
//!
//! `cargo run --release -p paretau-kernels --example time_discrepancies [threads] [part of a name]`
#![allow(unsafe_code, clippy::print_stdout, clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use paretau_kernels::arms::{Arms, ArmsGrad};
use paretau_kernels::discrepancy::{DiscrepancyWorkspace, linear_discrepancy, linear_mmd2};
use paretau_kernels::mmd::{Bandwidth, FIVE_SCALES, MmdWorkspace, RbfMmd};
use paretau_kernels::parallel::Parallelism;
use paretau_kernels::sinkhorn::{Sinkhorn, SinkhornWorkspace};
use paretau_kernels::sparse::{CsrTransposed, CsrView, CsrWorkspace, Standardise, csr_matmul};

/// Counts live and peak bytes, and calls.
struct Counting;
static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static CALLS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        CALLS.fetch_add(1, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Median and fastest time of `reps` calls after a first one, peak bytes above the start, allocations per later call.
fn time(name: &str, reps: usize, mut f: impl FnMut()) {
    if std::env::args().nth(2).is_some_and(|part| !name.contains(&part)) {
        return;
    }
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    f();
    let calls = CALLS.load(Ordering::Relaxed);
    let mut times: Vec<f64> = Vec::with_capacity(reps);
    for _ in 0..reps {
        let start = Instant::now();
        f();
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    let calls = (CALLS.load(Ordering::Relaxed) - calls) / reps;
    times.sort_by(f64::total_cmp);
    let peak = (PEAK.load(Ordering::Relaxed) - before) as f64 / 1e6;
    println!("{name:<58} {:>9.3} {:>9.3} {peak:>8.2} {calls:>6}", times[reps / 2], times[0]);
}

/// Normal-ish numbers from a counter (sum of four uniforms): enough for timing.
fn points(n: usize, k: usize, shift: f32, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut uniform = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1 << 24) as f32
    };
    (0..n * k).map(|_| 1.732 * (uniform() + uniform() + uniform() + uniform() - 2.0) + shift).collect()
}

fn mmd(n: usize, k: usize, mmd: &RbfMmd<'_>, label: &str) {
    let (a, b) = (points(n / 2, k, 0.0, 1), points(n - n / 2, k, 0.3, 2));
    let arms = Arms::new(&a, &b, k).unwrap();
    let (mut ga, mut gb) = (vec![0.0; a.len()], vec![0.0; b.len()]);
    let mut workspace = MmdWorkspace::new();
    let name = format!("rbf mmd², {label}, n={n} k={k}, value + gradient");
    time(&name, 21, || {
        let grad = ArmsGrad { a: &mut ga, b: &mut gb };
        mmd.eval(&arms, Some(grad), &mut workspace, Parallelism::Rayon).unwrap();
    });
}

fn others(n: usize, k: usize) {
    let (a, b) = (points(n / 2, k, 0.0, 1), points(n - n / 2, k, 0.3, 2));
    let arms = Arms::new(&a, &b, k).unwrap();
    let (mut ga, mut gb) = (vec![0.0; a.len()], vec![0.0; b.len()]);
    let mut workspace = DiscrepancyWorkspace::new();
    time(&format!("linear mmd², n={n} k={k}, value + gradient"), 21, || {
        let grad = ArmsGrad { a: &mut ga, b: &mut gb };
        linear_mmd2(&arms, Some(grad), &mut workspace).unwrap();
    });
    time(&format!("linear discrepancy, n={n} k={k}, value + gradient"), 21, || {
        let grad = ArmsGrad { a: &mut ga, b: &mut gb };
        linear_discrepancy(&arms, Some(grad), &mut workspace, Parallelism::Rayon).unwrap();
    });
    let mut workspace = SinkhornWorkspace::new();
    let mut iterations = 0;
    time(&format!("sinkhorn, n={n} k={k}, value + gradient"), 5, || {
        let grad = ArmsGrad { a: &mut ga, b: &mut gb };
        let found = Sinkhorn::default().eval(&arms, Some(grad), &mut workspace, Parallelism::Rayon).unwrap();
        iterations = found.iterations;
    });
    println!("{:>58} {iterations} iterations", "");
}

fn sparse(n: usize, d: usize, p: usize) {
    let chance = points(n * d, 1, 0.0, 3);
    let (mut indptr, mut indices) = (vec![0_u32], Vec::new());
    for row in chance.chunks(d) {
        // About 3 % of normal numbers lie above 1.88.
        let stored = (0..d).filter(|&j| row[j] > 1.88);
        indices.extend(stored.map(|j| j as u32));
        indptr.push(indices.len() as u32);
    }
    let values = vec![2.0_f32; indices.len()];
    let x = CsrView::new(&indptr, &indices, &values, d).unwrap();
    let share = x.nnz() as f64 / (n * d) as f64;
    let (mean, inv_sd) = (vec![0.06_f32; d], vec![2.9_f32; d]);
    let standardise = Standardise::new(&mean, &inv_sd).unwrap();
    let (w, g) = (points(d, p, 0.0, 4), points(n, p, 0.0, 5));
    let (mut out, mut grad) = (vec![0.0; n * p], vec![0.0; d * p]);
    let mut workspace = CsrWorkspace::new();
    let rows: Vec<usize> = (0..n).rev().collect();
    let shape = format!("{n}x{d} ({:.1} %) times {p} columns", 100.0 * share);
    time(&format!("csr product, {shape}"), 21, || {
        csr_matmul(&mut out, (&x, Some(&rows)), (&w, p), Some(&standardise), &mut workspace, Parallelism::Rayon)
            .unwrap();
    });
    let mut transposed = CsrTransposed::new();
    time(&format!("csr transpose, {shape}"), 21, || {
        transposed.load(&x, Some(&rows)).unwrap();
    });
    time(&format!("csr transposed product, {shape}"), 21, || {
        transposed.matmul(&mut grad, (&g, p), Some(&standardise), &mut workspace, Parallelism::Rayon).unwrap();
    });
}

fn main() {
    let threads = std::env::args().nth(1).map_or(2, |x| x.parse().unwrap());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    println!("{threads} threads, f32 {:>59} {:>9} {:>8} {:>6}", "median ms", "best ms", "peak MB", "allocs");
    pool.install(|| {
        for (n, k) in [(5000, 100), (5000, 32), (5000, 16), (5000, 8), (5000, 3), (1000, 100), (1000, 3)] {
            mmd(n, k, &RbfMmd::default(), "median");
        }
        let fixed = RbfMmd { bandwidth: Bandwidth::Fixed(1.0), ..RbfMmd::default() };
        mmd(5000, 3, &fixed, "fixed");
        let five = RbfMmd { factors: FIVE_SCALES, ..RbfMmd::default() };
        mmd(5000, 100, &five, "5 scales");
        mmd(5000, 3, &five, "5 scales");
        others(1000, 100);
        others(5000, 100);
        others(5000, 3);
        sparse(1000, 3477, 300);
    });
}
