//! Lines of a text file, with their numbers and a limit on their length.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use paretau_core::{Error, Result};

use super::source::{Input, Opened, damaged_gzip, read_failed};
use crate::table::file_error;

/// A line longer than this is not a row of anything.
const MAX_LINE: u64 = 64 << 20;

/// A text read line by line.
pub(super) struct Lines {
    reader: BufReader<Box<dyn Read + Send>>,
    path: PathBuf,
    gzip: bool,
    line: Vec<u8>,
    /// 1-based number of the line last read.
    pub(super) number: u64,
}

impl Lines {
    /// Opens a text of which up to `max_bytes` may be kept in memory.
    pub(super) fn open(path: &Path, max_bytes: u64) -> Result<Self> {
        let Opened { text, gzip, .. } = Input::Whole(path.to_owned(), max_bytes).open_text()?;
        let reader = BufReader::with_capacity(1 << 16, text);
        Ok(Self { reader, path: path.to_owned(), gzip, line: vec![], number: 0 })
    }

    /// Moves to the next line that is not blank; false at the end.
    pub(super) fn advance(&mut self) -> Result<bool> {
        loop {
            self.line.clear();
            let read = (&mut self.reader).take(MAX_LINE).read_until(b'\n', &mut self.line);
            let n = read.map_err(|source| {
                if self.gzip { damaged_gzip(&self.path, &source) } else { read_failed(&self.path, source) }
            })?;
            if n == 0 {
                return Ok(false);
            }
            self.number += 1;
            if n as u64 == MAX_LINE {
                return Err(self.error(None, "is longer than 64 MiB; is this a text file?"));
            }
            if !self.line.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }

    /// The current line as text.
    pub(super) fn text(&self) -> Result<&str> {
        std::str::from_utf8(self.line.trim_ascii())
            .map_err(|_| self.error(None, "is not UTF-8 text; save the file again as UTF-8"))
    }

    /// An error on the current line; `row` is the 1-based data row.
    pub(super) fn error(&self, row: Option<u64>, message: &str) -> Error {
        file_error(&self.path, None, row, format!("(line {}) {message}", self.number))
    }
}
