//! What a file may make the program allocate. A length in a file is a claim: it is checked against what the file can
//! hold and against a limit before any memory is taken for it.

use std::path::Path;

use paretau_core::{Error, Result};

use crate::table::file_error;

/// The limit where the system does not tell how much memory there is.
const FALLBACK: u64 = 16 << 30;

/// Bytes that a feature column costs from the table to the fitted model, besides its cells: its name in several
/// places, its description and its encoding.
const COLUMN: u64 = 512;

/// Rows or columns that a sparse file may have whatever it holds, and for each stored value. What goes beyond is a
/// slip in a number: millions of columns without a single value.
const FREE: u64 = 100_000;
const PER_VALUE: u64 = 64;

/// The limit unless another is given: three quarters of the memory that the machine, or the container around the
/// process, has; 16 GiB where the system does not tell.
pub fn default_max_memory() -> u64 {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| mem_total(&text));
    let container = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|t| t.trim().parse().ok());
    match machine.into_iter().chain(container).min() {
        Some(bytes) => bytes / 4 * 3,
        None => FALLBACK,
    }
}

/// Bytes in the line `MemTotal:  24048272 kB`.
fn mem_total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// How much memory the contents of one file may take.
#[derive(Debug, Clone)]
pub(crate) struct Budget<'a> {
    path: &'a Path,
    limit: u64,
    taken: u64,
}

impl<'a> Budget<'a> {
    pub(crate) fn new(path: &'a Path, limit: u64) -> Self {
        Self { path, limit, taken: 0 }
    }

    /// Takes `bytes` for `what`, or refuses.
    pub(crate) fn take(&mut self, what: &str, bytes: u64) -> Result<()> {
        self.taken = self.taken.saturating_add(bytes);
        self.check(what, self.taken)
    }

    /// Refuses `bytes` beyond the limit without counting them.
    pub(crate) fn check(&self, what: &str, bytes: u64) -> Result<()> {
        if bytes <= self.limit { Ok(()) } else { Err(too_large(self.path, what, bytes, self.limit)) }
    }

    /// Refuses a sparse matrix whose claimed shape goes beyond what its stored values can fill; `widest` is the 1-based
    /// row that makes it so wide, where one does.
    pub(crate) fn check_sparse(&mut self, n_rows: u64, n_cols: u64, stored: u64, widest: Option<u64>) -> Result<()> {
        let plausible = stored.saturating_mul(PER_VALUE).saturating_add(FREE);
        for (count, what, row, remedy) in [
            (n_cols, "columns", widest, "number the features from 1 without large gaps"),
            (n_rows, "rows", None, "correct the number of rows"),
        ] {
            if count > plausible {
                let message = format!("claims {count} {what}, but holds only {stored} values; {remedy}");
                return Err(file_error(self.path, None, row, message));
            }
        }
        let bytes = n_cols.saturating_mul(COLUMN).saturating_add(n_rows.saturating_mul(8));
        self.take("its sparse matrix", bytes.saturating_add(stored.saturating_mul(12)))
    }
}

/// Bytes of the cells of a table.
pub(crate) fn table_bytes(rows: usize, columns: usize) -> u64 {
    (rows as u64).saturating_mul(columns as u64).saturating_mul(8)
}

/// The error for contents beyond the limit.
pub(crate) fn too_large(path: &Path, what: &str, bytes: u64, limit: u64) -> Error {
    let message = format!(
        "{what} would take {}, more than the limit of {}; read fewer columns or rows, or raise --max-memory \
         (max_memory in code); `paretau fit` takes Parquet, Arrow and delimited text of any size with --block-rows 1000000",
        size(bytes),
        size(limit)
    );
    file_error(path, None, None, message)
}

/// A number of bytes as a person reads it.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let (mut value, mut unit) = (bytes as f64, 0);
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} bytes") } else { format!("{value:.1} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_totals() {
        assert_eq!(size(17), "17 bytes");
        assert_eq!(size(3 << 29), "1.5 GiB");
        assert_eq!(size(u64::MAX), "16.0 EiB");
        assert_eq!(mem_total("MemFree: 3 kB\nMemTotal:       24048272 kB\n"), Some(24_048_272 * 1024));
        assert_eq!(mem_total("nothing"), None);
        assert!(default_max_memory() > 0);
    }

    #[test]
    fn a_budget_adds_up_and_never_overflows() {
        let mut budget = Budget::new("f".as_ref(), 100);
        assert!(budget.take("a", 60).is_ok());
        assert!(budget.take("b", 60).is_err());
        assert!(budget.take("c", u64::MAX).is_err());
        assert!(Budget::new("f".as_ref(), u64::MAX).check_sparse(u64::MAX, 1, 1, None).is_err());
    }
}
