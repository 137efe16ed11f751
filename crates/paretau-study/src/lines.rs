//! Append-only files of lines that several processes may share. Every look and every write happens under the file's
//! advisory lock, so that a line is whole or, after a crash, the torn last one, which the next writer cuts off.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use paretau_core::{Error, Result};

/// Such a file, open for appending.
#[derive(Debug)]
pub(crate) struct LinesFile {
    path: PathBuf,
    file: File,
}

/// The lock of a [`LinesFile`], held until it is dropped.
pub(crate) struct Locked<'a>(&'a LinesFile);

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        let _ = self.0.file.unlock();
    }
}

impl LinesFile {
    /// Opens (or makes) the file. Nothing in it is changed.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .map_err(|source| Error::Io { path: path.to_path_buf(), source })?;
        Ok(Self { path: path.to_path_buf(), file })
    }

    fn io(&self, source: std::io::Error) -> Error {
        Error::Io { path: self.path.clone(), source }
    }

    /// Waits until no other process looks or writes.
    pub(crate) fn lock(&self) -> Result<Locked<'_>> {
        match self.file.lock() {
            // Some network folders know no locks; appended whole lines are the best that can be had there.
            Err(e) if e.kind() != std::io::ErrorKind::Unsupported => Err(self.io(e)),
            _ => Ok(Locked(self)),
        }
    }

    /// The lock for as long as the file is open, or `None` when another process has it.
    pub(crate) fn try_own(&self) -> Result<bool> {
        match self.file.try_lock() {
            Ok(()) => Ok(true),
            Err(std::fs::TryLockError::WouldBlock) => Ok(false),
            Err(std::fs::TryLockError::Error(e)) if e.kind() == std::io::ErrorKind::Unsupported => Ok(true),
            Err(std::fs::TryLockError::Error(e)) => Err(self.io(e)),
        }
    }

    /// All bytes; to be called under the lock.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![];
        let mut file = &self.file;
        file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut bytes)).map_err(|e| self.io(e))?;
        Ok(bytes)
    }

    /// Appends a line and writes it through to the disk; to be called under the lock. What a killed writer left of its
    /// last line is cut off first.
    pub(crate) fn append(&self, value: &impl serde::Serialize) -> Result<()> {
        let mut line = serde_json::to_vec(value).map_err(|e| Error::internal("a line of records", e))?;
        line.push(b'\n');
        let length = self.file.metadata().map_err(|e| self.io(e))?.len();
        if length > 0 && !self.ends_with_newline(length)? {
            let whole = self.bytes()?.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at as u64 + 1);
            self.file.set_len(whole).map_err(|e| self.io(e))?;
        }
        let before = self.file.metadata().map_err(|e| self.io(e))?.len();
        let written = (&self.file).write_all(&line).and_then(|()| self.file.sync_data());
        if written.is_err() {
            // A full disk may have taken half of the line.
            let _ = self.file.set_len(before);
        }
        written.map_err(|e| self.io(e))
    }

    fn ends_with_newline(&self, length: u64) -> Result<bool> {
        let mut last = [0];
        let mut file = &self.file;
        file.seek(SeekFrom::Start(length - 1)).and_then(|_| file.read_exact(&mut last)).map_err(|e| self.io(e))?;
        Ok(last == *b"\n")
    }
}

/// The whole lines, numbered from 1, and what is left of a torn one behind them.
pub(crate) fn split(bytes: &[u8]) -> (impl Iterator<Item = (u64, &[u8])>, &[u8]) {
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let lines = bytes[..whole.saturating_sub(1)].split(|&byte| byte == b'\n');
    ((1..).zip(lines).filter(move |_| whole > 0), &bytes[whole..])
}
