//! Cutting a delimited text into pieces that end where a record ends, so that they can be parsed side by side.
//!
//! Pieces depend on the text alone, never on threads or on how the bytes arrive.

use std::io::{self, Read};

use memchr::{memchr, memrchr2};

/// A record longer than this is an unclosed quote or not a table; it also bounds the memory that one can take.
const MAX_RECORD: usize = 64 << 20;

/// Why there are no more pieces, besides the end of the text.
#[derive(Debug)]
pub(super) enum CutError {
    /// The next record never ends.
    TooLong,
    Io(io::Error),
}

/// Reads a text and cuts it behind records.
pub(super) struct Cutter {
    input: Box<dyn Read + Send>,
    delimiter: u8,
    /// Bytes that a piece has unless its one record is longer.
    size: usize,
    /// What has been read and belongs to no piece yet. It starts where a record starts.
    buffer: Vec<u8>,
    /// Bytes of the buffer that have been looked at, whether they end inside a quoted cell, and the last end of a
    /// record among them.
    scanned: usize,
    quoted: bool,
    end: Option<usize>,
    /// The input has no more bytes, because it ended or failed.
    ended: bool,
    failed: Option<CutError>,
}

impl Cutter {
    pub(super) fn new(input: Box<dyn Read + Send>, delimiter: u8, size: usize) -> Self {
        Self {
            input,
            delimiter,
            size: size.max(1),
            buffer: vec![],
            scanned: 0,
            quoted: false,
            end: None,
            ended: false,
            failed: None,
        }
    }

    /// Makes the pieces from now on at least this large.
    pub(super) fn enlarge(&mut self, size: usize) {
        self.size = self.size.max(size);
    }

    /// The next records, of which the last one may lack its end only where the text ends.
    pub(super) fn next_piece(&mut self) -> Result<Option<Vec<u8>>, CutError> {
        let mut wanted = self.size;
        loop {
            self.fill(wanted);
            if self.ended && self.failed.is_none() {
                let piece = std::mem::take(&mut self.buffer);
                return Ok((!piece.is_empty()).then_some(piece));
            }
            self.scan();
            if let Some(end) = self.end.take() {
                let mut rest = Vec::with_capacity(self.size + (self.buffer.len() - end));
                rest.extend_from_slice(&self.buffer[end..]);
                self.buffer.truncate(end);
                self.scanned -= end;
                return Ok(Some(std::mem::replace(&mut self.buffer, rest)));
            }
            if let Some(error) = self.failed.take() {
                // Nothing may come after an error, not even the half record before it.
                self.buffer.clear();
                return Err(error);
            }
            if self.buffer.len() > MAX_RECORD {
                self.ended = true;
                self.failed = Some(CutError::TooLong);
            }
            // A long record is read in growing steps, each of which is looked at once.
            wanted = self.buffer.len() * 2;
        }
    }

    /// Reads until the buffer holds `wanted` bytes or the input has no more.
    fn fill(&mut self, wanted: usize) {
        let missing = wanted.saturating_sub(self.buffer.len());
        if self.ended || missing == 0 {
            return;
        }
        // Memory is touched as far as there is text for it: small files, of which there may be many, cost little.
        self.buffer.reserve(missing);
        match self.input.by_ref().take(missing as u64).read_to_end(&mut self.buffer) {
            Ok(n) => self.ended = n < missing,
            Err(e) => {
                self.ended = true;
                self.failed = Some(CutError::Io(e));
            }
        }
    }

    /// Looks at what has been read since the last look: where is the last end of a record?
    fn scan(&mut self) {
        let text = &self.buffer;
        let mut at = self.scanned;
        while at < text.len() {
            if self.quoted {
                match memchr(b'"', &text[at..]).map(|found| at + found) {
                    None => at = text.len(),
                    // Whether this mark closes the cell depends on the byte after it, which is not here yet.
                    Some(mark) if mark + 1 == text.len() => {
                        at = mark;
                        break;
                    }
                    Some(mark) if text[mark + 1] == b'"' => at = mark + 2,
                    Some(mark) => {
                        self.quoted = false;
                        at = mark + 1;
                    }
                }
                continue;
            }
            let mark = memchr(b'"', &text[at..]).map(|found| at + found);
            let stop = mark.unwrap_or(text.len());
            if let Some(end) = last_end(text, at, stop) {
                self.end = Some(end);
            }
            // A mark inside a cell that does not start with one is an ordinary character.
            self.quoted = mark.is_some_and(|mark| {
                mark == 0 || matches!(text[mark - 1], b'\n' | b'\r') || text[mark - 1] == self.delimiter
            });
            at = stop + usize::from(mark.is_some());
        }
        // The last byte may be the first half of a line end: it is looked at again with its other half.
        if !self.quoted && at == text.len() && text.last() == Some(&b'\r') {
            at -= 1;
        }
        self.scanned = at;
    }
}

/// The place behind the last line end in `from..to`, which holds no quoted cell.
fn last_end(text: &[u8], from: usize, mut to: usize) -> Option<usize> {
    loop {
        let found = from + memrchr2(b'\n', b'\r', &text[from..to])?;
        // A carriage return at the very end may have its line feed still to come.
        if text[found] == b'\n' || found + 1 < text.len() {
            return Some(found + 1);
        }
        to = found;
    }
}

/// The place of the first byte from `at` on that ends a cell without quotation marks.
#[inline]
pub(super) fn cell_end(text: &[u8], at: usize, delimiter: u8) -> usize {
    // Most cells are short: finding their end byte by byte costs less than setting up a vector search.
    const NEAR: usize = 8;
    let rest = &text[at..];
    for (i, &byte) in rest.iter().take(NEAR).enumerate() {
        if byte == delimiter || byte == b'\n' || byte == b'\r' {
            return at + i;
        }
    }
    let far = rest.get(NEAR..).unwrap_or_default();
    at + memchr::memchr3(delimiter, b'\n', b'\r', far).map_or(rest.len(), |found| NEAR + found)
}

/// The number of line feeds.
pub(super) fn count_lines(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}
