//! How a kernel may use threads. The work is always cut by shape alone, never by the number of threads,
//! so that every choice here gives the same bits.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

/// Whether a kernel runs on the calling thread or on the current rayon pool.
///
/// The number of threads is that of the pool: run inside `ThreadPool::install` to choose it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Parallelism {
    /// The calling thread only.
    None,
    /// The current rayon pool.
    #[default]
    Rayon,
}

impl Parallelism {
    /// Calls `f` for each of `0..n_tasks`, in any order.
    pub fn run(self, n_tasks: usize, f: impl Fn(usize) + Send + Sync) {
        if self.is_serial(n_tasks) {
            (0..n_tasks).for_each(f);
        } else {
            (0..n_tasks).into_par_iter().with_max_len(1).for_each(f);
        }
    }

    /// Calls `f` with each item of `items` and its index, in any order.
    pub fn for_each_mut<I: Send>(self, items: &mut [I], f: impl Fn(usize, &mut I) + Send + Sync) {
        if self.is_serial(items.len()) {
            items.iter_mut().enumerate().for_each(|(i, x)| f(i, x));
        } else {
            let indexed = items.par_iter_mut().enumerate().with_max_len(1);
            indexed.for_each(|(i, x)| f(i, x));
        }
    }

    /// Cuts `data` into pieces of `size` elements (the last may be shorter) and calls `f` with the index of each.
    ///
    /// A `size` of zero counts as one.
    pub fn for_each_chunk<I: Send>(self, data: &mut [I], size: usize, f: impl Fn(usize, &mut [I]) + Send + Sync) {
        let size = size.max(1);
        if self.is_serial(data.len().div_ceil(size)) {
            data.chunks_mut(size).enumerate().for_each(|(i, x)| f(i, x));
        } else {
            let indexed = data.par_chunks_mut(size).enumerate().with_max_len(1);
            indexed.for_each(|(i, x)| f(i, x));
        }
    }

    /// True when handing out `n_tasks` tasks would gain nothing.
    pub(crate) fn is_serial(self, n_tasks: usize) -> bool {
        self == Parallelism::None || n_tasks < 2 || rayon::current_num_threads() < 2
    }
}

/// Scratch memory for tasks: as many pieces as tasks ever ran at once, handed out last in, first out, so that a piece is
/// likely still in cache.
#[derive(Debug, Default)]
pub(crate) struct ScratchPool<S>(Mutex<Vec<S>>);

impl<S: Default> ScratchPool<S> {
    /// Runs `f` with a piece that no other task holds. What an earlier task left in it is still there.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut S) -> R) -> R {
        // A poisoned lock only means that another task panicked; the scratch holds no state.
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut scratch = lock().pop().unwrap_or_default();
        let result = f(&mut scratch);
        lock().push(scratch);
        result
    }
}
