//! Rows on the disk, in chunks that belong to one of several blocks: one file without a name, which the system removes when the
//! process ends, however that happens.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use paretau_core::{Error, Result};

/// Chunks of bytes on the disk, each of one of several blocks.
#[derive(Debug)]
pub struct ScratchFile {
    file: File,
    folder: PathBuf,
    /// Where the chunks of each block are: offset and bytes.
    chunks: Vec<Vec<(u64, usize)>>,
    written: u64,
}

impl ScratchFile {
    /// An empty file without a name in a folder.
    pub fn new(folder: &Path, n_blocks: usize) -> Result<Self> {
        let file = tempfile::tempfile_in(folder).map_err(|source| failed(folder, 0, source))?;
        Ok(Self { file, folder: folder.to_owned(), chunks: vec![vec![]; n_blocks], written: 0 })
    }

    /// Adds a chunk to a block.
    pub fn add(&mut self, block: usize, bytes: &[u8]) -> Result<()> {
        let written = self.file.seek(SeekFrom::Start(self.written)).and_then(|_| self.file.write_all(bytes));
        written.map_err(|source| failed(&self.folder, self.written, source))?;
        self.chunks[block].push((self.written, bytes.len()));
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Bytes that were written.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Hands over the chunks of a block, in the order in which they came.
    pub fn read(&mut self, block: usize, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut bytes = vec![];
        for &(offset, length) in self.chunks.get(block).into_iter().flatten() {
            bytes.resize(length, 0);
            let read = self.file.seek(SeekFrom::Start(offset)).and_then(|_| self.file.read_exact(&mut bytes));
            read.map_err(|source| failed(&self.folder, self.written, source))?;
            take(&bytes)?;
        }
        Ok(())
    }
}

fn failed(folder: &Path, written: u64, source: io::Error) -> Error {
    match source.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => Error::File {
            path: folder.to_owned(),
            column: None,
            row: None,
            message: format!(
                "has no room for the blocks of rows ({} MB were written); free some, or name a folder on a larger disk with \
                 --scratch",
                written >> 20
            ),
        },
        _ => Error::Io { path: folder.to_owned(), source },
    }
}
