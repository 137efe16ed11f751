//! The eigendecomposition of a symmetric matrix, which a request to stop need not wait for.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use faer::{Mat, Side};
use paretau_core::Result;

use crate::logistic::Watch;

/// Matrices of fewer rows are decomposed within a moment.
const LARGE: usize = 256;
/// How often is asked while a large one is worked on.
const POLL: Duration = Duration::from_millis(20);

/// Eigenvalues, rising, and eigenvectors, as columns.
pub(crate) struct Eigen {
    pub(crate) values: Vec<f64>,
    pub(crate) vectors: Mat<f64>,
}

/// Decomposes a symmetric matrix, of which the lower triangle is read; `None` where that does not converge.
///
/// The library cannot be stopped, so a large matrix is worked on by a thread of its own; when `watch` wants an end, that thread is
/// left to itself, and what it finds is dropped.
pub(crate) fn symmetric_eigen(matrix: Mat<f64>, watch: Watch<'_>) -> Result<Option<Eigen>> {
    if matrix.nrows() < LARGE {
        return Ok(decompose(&matrix));
    }
    watch()?;
    let matrix = Arc::new(matrix);
    let shared = Arc::clone(&matrix);
    let (sender, receiver) = channel();
    // Nobody listens any more where the fit has been stopped.
    let worker = std::thread::Builder::new().name("eigen".into()).spawn(move || drop(sender.send(decompose(&shared))));
    // A system that has no thread left still has this one.
    let Ok(worker) = worker else { return Ok(decompose(&matrix)) };
    loop {
        match receiver.recv_timeout(POLL) {
            Ok(found) => return Ok(found),
            Err(RecvTimeoutError::Timeout) => watch()?,
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => return Ok(None),
            },
        }
    }
}

fn decompose(matrix: &Mat<f64>) -> Option<Eigen> {
    let eigen = matrix.self_adjoint_eigen(Side::Lower).ok()?;
    Some(Eigen { values: (0..matrix.nrows()).map(|k| eigen.S()[k]).collect(), vectors: eigen.U().to_owned() })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use paretau_core::{Error, Seed};

    use super::*;

    fn symmetric(n: usize) -> Mat<f64> {
        let mut rng = Seed(1).rng();
        let x = Mat::from_fn(n, n, |_, _| rng.normal());
        &x + x.transpose()
    }

    #[test]
    fn a_large_matrix_gives_what_the_library_gives() {
        let matrix = symmetric(LARGE);
        let direct = decompose(&matrix).unwrap();
        let found = symmetric_eigen(matrix, &|| Ok(())).unwrap().unwrap();
        assert_eq!(found.values, direct.values);
        assert_eq!(found.vectors, direct.vectors);
    }

    #[test]
    fn a_request_to_stop_does_not_wait_for_a_decomposition() {
        let asked = AtomicUsize::new(0);
        let watch = || if asked.fetch_add(1, Ordering::Relaxed) == 1 { Err(Error::Interrupted) } else { Ok(()) };
        // Large enough to be at work when it is asked again.
        let found = symmetric_eigen(symmetric(700), &watch);
        assert!(matches!(found, Err(Error::Interrupted)));
        assert_eq!(asked.load(Ordering::Relaxed), 2);
    }
}
