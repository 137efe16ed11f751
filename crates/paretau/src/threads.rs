//! One thread pool for a whole command: the number of threads changes the speed, never the result.

use paretau_core::{Error, Result};

/// Runs `work` in a pool of `threads` threads (all cores when `None`).
pub fn with_threads<T: Send>(threads: Option<usize>, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .build()
        .map_err(|e| Error::Numeric { what: "starting threads", message: e.to_string() })?
        .install(work)
}
