//! How far a reader is through its file, so that a person can see what is left.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How far a reader is, counted in what its format can count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// Bytes of the file as it lies on the disk, compressed ones included.
    Bytes {
        /// Read so far.
        done: u64,
        /// Size of the file.
        total: u64,
    },
    /// Rows.
    Rows {
        /// Read so far.
        done: u64,
        /// Rows of the file, when it tells.
        total: Option<u64>,
    },
}

/// Counts the bytes that are read from a file.
#[derive(Debug, Clone)]
pub(crate) struct ByteCount {
    done: Arc<AtomicU64>,
    total: u64,
}

impl ByteCount {
    /// The file with a count of what is read from it; no count for pipes and devices, whose size is unknown.
    pub(crate) fn of(file: File) -> (Counted, Option<Self>) {
        let total = file.metadata().ok().filter(std::fs::Metadata::is_file).map(|m| m.len());
        let done = Arc::new(AtomicU64::new(0));
        let count = total.map(|total| Self { done: Arc::clone(&done), total });
        (Counted { file, done }, count)
    }

    /// The position now.
    pub(crate) fn position(&self) -> Position {
        Position::Bytes { done: self.done.load(Ordering::Relaxed).min(self.total), total: self.total }
    }
}

/// A file whose reads are counted.
#[derive(Debug)]
pub(crate) struct Counted {
    file: File,
    done: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(out)?;
        self.done.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

impl Seek for Counted {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = self.file.seek(to)?;
        self.done.store(at, Ordering::Relaxed);
        Ok(at)
    }
}
