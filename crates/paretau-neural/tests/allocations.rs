//! A training step in full swing allocates nothing of its own. (The `gemm` crate takes packing memory inside each product and
//! gives it back; those allocations are told apart by their stack and left out.)
#![allow(clippy::unwrap_used, missing_docs, unsafe_code)]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use paretau_core::{Csr, Design, Features, Seed};
use paretau_kernels::parallel::Parallelism;
use paretau_kernels::soft_pareto_options::SoftParetoOptions;
use paretau_kernels::weights::Weighting;
use paretau_neural::data::{Batch, Batches, Sample};
use paretau_neural::engine::{Adam, AdamRates, Norm, adam};
use paretau_neural::model::{Model, RepNet, RepSpec};

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
    /// Whether allocations of this thread are looked at; also keeps the look itself from being looked at.
    static WATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Counts an allocation unless it happens inside a matrix product.
fn notice() {
    if !WATCHING.with(|w| w.replace(false)) {
        return;
    }
    let stack = std::backtrace::Backtrace::force_capture().to_string();
    if !stack.contains("gemm_f32::") {
        COUNT.with(|c| c.set(c.get() + 1));
    }
    drop(stack);
    WATCHING.with(|w| w.set(true));
}

/// The system's allocator, watched.
struct Counting;

// SAFETY: every call is handed to the system's allocator unchanged; counting touches no allocated memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        notice();
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(ptr, layout) }
    }
    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        notice();
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(ptr, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations_of_an_epoch(design: &Design, norm: Norm) -> u64 {
    let n = design.n_rows();
    let rows: Vec<usize> = (0..n).collect();
    let (sample, _, _) = Sample::<f32>::new(design, &rows).unwrap();
    let spec = RepSpec { d: design.x().n_cols(), dropout: 0.1, norm, ..common::spec(3) };
    let objective = common::objective(Weighting::SoftParetoNorm(SoftParetoOptions::default()));
    let mut batches = Batches::new(&sample.t, &rows, 100, Seed(1));
    let mut model = RepNet::new(spec, objective, &sample, batches.largest()).unwrap();
    let mut params: Vec<f32> = model.layout().initial(Seed(2));
    let mut grads = vec![0.0; params.len()];
    let mut optimiser = Adam::new(params.len());
    let moves = [model.moves(0), model.moves(1)];
    let mut batch = Batch::default();
    let mut counted = 0;
    for epoch in 0..4 {
        batches.shuffle(epoch);
        let before = COUNT.with(Cell::get);
        // Buffers find their size in the first epochs.
        WATCHING.with(|w| w.set(epoch == 3));
        for index in 0..batches.count() {
            batches.take(index, epoch * 100 + index as u64, &mut batch);
            model.begin(&sample, &batch).unwrap();
            for phase in 0..2 {
                model.loss(phase, &sample, (&params, &mut grads), Parallelism::None).unwrap();
                let scale = (1.0 / adam::norm(&grads, &moves[phase], Parallelism::None)).min(1.0);
                let rates = AdamRates { rate: 1e-3, l2: 0.01, scale, sgd: false };
                optimiser.step(&mut params, &grads, &moves[phase], (rates, epoch + 1), Parallelism::None);
                model.absorb(phase, &mut params);
            }
        }
        WATCHING.with(|w| w.set(false));
        counted = COUNT.with(Cell::get) - before;
    }
    counted
}

#[test]
fn steady_steps_allocate_nothing() {
    let dense = common::design(450, 4, false);
    let (n, d) = (450, 40);
    let mut rng = Seed(3).rng();
    let (mut indptr, mut indices, mut values) = (vec![0], vec![], vec![]);
    for _ in 0..n {
        for j in 0..d {
            if rng.bernoulli(0.1) {
                indices.push(j);
                values.push(1.0 + rng.uniform());
            }
        }
        indptr.push(indices.len());
    }
    let x = Features::Sparse(Csr::new(n, d as usize, indptr, indices, values).unwrap());
    let sparse = Design::new(x, dense.t().to_vec(), dense.y().to_vec()).unwrap();
    for norm in [Norm::None, Norm::Layer, Norm::Batch] {
        assert_eq!(allocations_of_an_epoch(&dense, norm), 0, "dense features, {norm:?}");
        assert_eq!(allocations_of_an_epoch(&sparse, norm), 0, "sparse features, {norm:?}");
    }
}
