//! The records of one piece of delimited text, parsed straight into columns.
//!
//! Cells are separated by one byte and records by `\n`, `\r\n` or `\r`; blank lines are no records. A cell that starts with
//! a quotation mark ends with one, and doubled marks inside stand for one; marks elsewhere are ordinary characters.

use std::ops::Range;
use std::sync::Arc;

use memchr::memchr;

use super::builder::{BadCell, Builder};
use super::cell::{number_at, trim};
use super::pieces::{cell_end, count_lines};
use crate::table::Kind;

/// What all pieces of a text have in common.
#[derive(Debug, Clone, Default)]
pub(super) struct Layout {
    pub(super) delimiter: u8,
    /// Cells of every record.
    pub(super) n_cells: usize,
    /// For each cell of a record, which of the wanted columns it belongs to.
    pub(super) columns: Vec<Option<usize>>,
    /// Marks that mean a missing cell, besides the usual ones.
    pub(super) na: Arc<[String]>,
}

/// What was found in a piece, or in a part of it. Rows and lines are counted from the piece's start.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) columns: Vec<Builder>,
    pub(super) rows: usize,
    /// Line of the first row.
    first_line: u64,
    /// Whether each row is one line and follows the row before.
    one_line_each: bool,
}

impl Part {
    fn new(kinds: &[Option<Kind>], na: &Arc<[String]>) -> Self {
        let columns = kinds.iter().map(|&kind| Builder::with_marks(kind, na.clone())).collect();
        Self { columns, rows: 0, first_line: 0, one_line_each: true }
    }

    /// Line of the first row, and whether each row is one line, for a piece before which `lines` lines were.
    pub(super) fn lines(&self, lines: u64) -> (u64, bool) {
        (self.first_line + lines, self.one_line_each)
    }
}

/// A record that cannot be taken.
#[derive(Debug)]
pub(super) struct Refused {
    /// 0-based row and line in the piece.
    pub(super) row: usize,
    pub(super) line: u64,
    pub(super) why: Why,
}

#[derive(Debug)]
pub(super) enum Why {
    /// Another number of cells than the first record has.
    Cells(usize),
    /// Place of a cell in its record, and what is wrong with it.
    Cell(usize, String),
}

/// A parsed piece.
#[derive(Debug)]
pub(super) struct Parsed {
    /// Its rows, in parts of at most as many as were asked for.
    pub(super) parts: Vec<Part>,
    /// Lines that end in it.
    pub(super) lines: u64,
    /// The first record that is wrong; the rows after it were not read.
    pub(super) refused: Option<Refused>,
    /// Line of a last record that goes over several lines and whose quotation mark is never closed.
    pub(super) unclosed: Option<u64>,
}

/// A place in a piece.
struct Cursor<'a> {
    text: &'a [u8],
    delimiter: u8,
    at: usize,
    /// Lines that ended before it.
    line: u64,
    /// The text ended inside a quoted cell.
    unclosed: bool,
    /// Room for a cell that is not written as it reads.
    spelled: Vec<u8>,
}

/// A cell's bytes.
enum Cell {
    /// As they stand in the text.
    There(Range<usize>),
    /// In the cursor's own room.
    Spelled,
}

impl<'a> Cursor<'a> {
    fn new(text: &'a [u8], delimiter: u8) -> Self {
        Self { text, delimiter, at: 0, line: 0, unclosed: false, spelled: vec![] }
    }

    /// Moves to the start of the next record; false where there is none.
    #[inline]
    fn next_record(&mut self) -> bool {
        while self.at < self.text.len() {
            if !self.skip_line_end() {
                return true;
            }
        }
        false
    }

    #[inline]
    fn skip_line_end(&mut self) -> bool {
        let step = match self.text.get(self.at) {
            Some(b'\n') => 1,
            Some(b'\r') => 1 + usize::from(self.text.get(self.at + 1) == Some(&b'\n')),
            _ => return false,
        };
        self.at += step;
        self.line += 1;
        true
    }

    /// Moves past what stands behind a cell; false if that ends the record.
    #[inline]
    fn next_cell(&mut self) -> bool {
        if self.text.get(self.at) == Some(&self.delimiter) {
            self.at += 1;
            return true;
        }
        self.skip_line_end();
        false
    }

    /// The number at the cursor, if it fills its cell.
    #[inline]
    fn number(&mut self) -> Option<f64> {
        let (value, length) = number_at(&self.text[self.at..])?;
        match self.text.get(self.at + length) {
            Some(&b) if b != self.delimiter && b != b'\n' && b != b'\r' => None,
            _ => {
                self.at += length;
                Some(value)
            }
        }
    }

    /// The cell at the cursor, which moves to its end.
    #[inline]
    fn cell(&mut self) -> Cell {
        if self.text.get(self.at) == Some(&b'"') {
            return self.quoted_cell();
        }
        let start = self.at;
        self.at = cell_end(self.text, start, self.delimiter);
        Cell::There(start..self.at)
    }

    fn quoted_cell(&mut self) -> Cell {
        let start = self.at + 1;
        self.spelled.clear();
        let mut from = start;
        loop {
            let Some(mark) = memchr(b'"', &self.text[from..]).map(|found| from + found) else {
                self.unclosed = true;
                self.at = self.text.len();
                break;
            };
            if self.text.get(mark + 1) == Some(&b'"') {
                self.spelled.extend_from_slice(&self.text[from..=mark]);
                from = mark + 2;
                continue;
            }
            self.at = cell_end(self.text, mark + 1, self.delimiter);
            if self.at > mark + 1 {
                // What follows the closing mark belongs to the cell.
                self.spelled.extend_from_slice(&self.text[from..mark]);
                self.spelled.extend_from_slice(&self.text[mark + 1..self.at]);
                self.line += count_lines(&self.text[start..mark]);
                return Cell::Spelled;
            }
            self.line += count_lines(&self.text[start..mark]);
            if from == start {
                return Cell::There(start..mark);
            }
            self.spelled.extend_from_slice(&self.text[from..mark]);
            return Cell::Spelled;
        }
        self.line += count_lines(&self.text[start..]);
        if from == start {
            return Cell::There(start..self.at);
        }
        self.spelled.extend_from_slice(&self.text[from..]);
        Cell::Spelled
    }

    fn bytes(&self, cell: Cell) -> &[u8] {
        match cell {
            Cell::There(range) => &self.text[range],
            Cell::Spelled => &self.spelled,
        }
    }
}

/// The cells of a text's first record, and the length and lines of the text up to the record's end.
pub(super) struct First {
    pub(super) cells: Vec<Vec<u8>>,
    pub(super) length: usize,
    pub(super) lines: u64,
    /// It goes over several lines and its quotation mark is never closed.
    pub(super) unclosed: bool,
}

/// The first record of a text.
pub(super) fn first(text: &[u8], delimiter: u8) -> Option<First> {
    let mut cursor = Cursor::new(text, delimiter);
    if !cursor.next_record() {
        return None;
    }
    let line = cursor.line;
    let mut cells = vec![];
    loop {
        let cell = cursor.cell();
        cells.push(cursor.bytes(cell).to_vec());
        let unclosed = cursor.unclosed && cursor.line > line;
        if !cursor.next_cell() {
            return Some(First { cells, length: cursor.at, lines: cursor.line, unclosed });
        }
    }
}

/// Line ends of a text without records.
pub(super) fn blank_lines(text: &[u8]) -> u64 {
    let mut cursor = Cursor::new(text, 0);
    cursor.next_record();
    cursor.line
}

/// Parses a piece into columns of the given kinds (`None`: to be found out), in parts of up to `part_rows` rows.
pub(super) fn parse(text: &[u8], layout: &Layout, kinds: &[Option<Kind>], part_rows: usize) -> Parsed {
    // Numbers are taken in one go unless a delimiter could be part of one.
    let plain = !matches!(layout.delimiter, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
    let mut cursor = Cursor::new(text, layout.delimiter);
    let mut parsed = Parsed { parts: vec![], lines: 0, refused: None, unclosed: None };
    let mut part = Part::new(kinds, &layout.na);
    let mut rows = 0;
    while cursor.next_record() {
        if part.rows == part_rows {
            parsed.parts.push(std::mem::replace(&mut part, Part::new(kinds, &layout.na)));
        }
        let line = cursor.line;
        if part.rows == 0 {
            part.first_line = line;
        }
        part.one_line_each &= line == part.first_line + part.rows as u64;
        let mut bad: Option<(usize, BadCell, Vec<u8>)> = None;
        let mut j = 0;
        loop {
            match layout.columns.get(j).copied().flatten() {
                Some(column) => {
                    let builder = &mut part.columns[column];
                    let number = if plain && builder.takes_numbers() { cursor.number() } else { None };
                    if let Some(value) = number {
                        builder.push_found(value);
                    } else {
                        let cell = cursor.cell();
                        let cell = cursor.bytes(cell);
                        if let Err(what) = builder.push(cell, line)
                            && bad.is_none()
                        {
                            bad = Some((j, what, trim(cell).to_vec()));
                        }
                    }
                }
                None => {
                    cursor.cell();
                }
            }
            j += 1;
            if !cursor.next_cell() {
                break;
            }
        }
        if cursor.unclosed && cursor.line > line {
            parsed.unclosed = Some(line);
        }
        let why = match bad {
            _ if j != layout.n_cells => Some(Why::Cells(j)),
            Some((place, what, cell)) => Some(Why::Cell(place, what.message(&cell))),
            None => None,
        };
        if let Some(why) = why {
            parsed.refused = Some(Refused { row: rows, line, why });
            break;
        }
        part.rows += 1;
        rows += 1;
    }
    if part.rows > 0 && parsed.refused.is_none() {
        parsed.parts.push(part);
    }
    parsed.lines = cursor.line;
    parsed
}
