//! One thread pool for a whole command: the number of threads changes the speed, never the result.

use paretau_core::{Error, Result};

/// Threads per core beyond which they only wait for each other, whatever number is asked for.
const MOST_PER_CORE: usize = 16;

/// A number in proportion to the machine. Without one, rayon chooses, unless `RAYON_NUM_THREADS` is out of all proportion.
fn bounded(threads: Option<usize>) -> usize {
    let most = MOST_PER_CORE * std::thread::available_parallelism().map_or(1, usize::from);
    let named = || std::env::var("RAYON_NUM_THREADS").ok().and_then(|text| text.parse::<usize>().ok());
    match threads {
        Some(threads) => threads.min(most),
        None => named().filter(|&n| n > most).map_or(0, |_| most),
    }
}

/// Runs `work` in a pool of `threads` threads (all cores when `None`).
pub fn with_threads<T: Send>(threads: Option<usize>, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(bounded(threads))
        .build()
        .map_err(|e| Error::Numeric { what: "starting threads", message: e.to_string() })?
        .install(work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_of_threads_is_out_of_proportion() {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        assert_eq!(bounded(Some(1)), 1);
        assert_eq!(bounded(Some(5000)), (MOST_PER_CORE * cores).min(5000));
        let found = with_threads(Some(60_000), || Ok(rayon::current_num_threads()));
        assert_eq!(found.ok(), Some(MOST_PER_CORE * cores));
    }
}
