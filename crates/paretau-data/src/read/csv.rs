//! Delimited text: whole tables with inferred kinds, and batches in constant memory.

use std::collections::BTreeMap;
use std::io::{self, Read};

use csv::{ByteRecord, ErrorKind};
use paretau_core::{Error, Result};

use super::builder::{BadCell, Builder, Finished};
use super::cell::{Cell, classify, trim};
use super::header::{Header, check_fields};
use super::position::{ByteCount, Position};
use super::source::{Format, Input, Opened, damaged_gzip};
use super::{ReadOptions, Watch};
use crate::table::{Kind, Source, Table, TableColumn, file_error};

/// A record longer than this is an unclosed quote or not a table; it also bounds the memory that one can take.
const MAX_RECORD: usize = 64 << 20;
const BUFFER: usize = 1 << 17;
/// Rows after which it is told how far the reading is.
const WATCHED_ROWS: usize = 1 << 14;

/// Reads a whole table; kinds follow from all cells of a column, whatever their order.
pub(crate) fn read(input: &Input, format: Format, options: &ReadOptions, watch: &mut Watch<'_>) -> Result<Table> {
    let mut stream = CsvStream::open(input, format, options)?;
    let mut builders = stream.builders(|kind| kind);
    while stream.fill(&mut builders, WATCHED_ROWS)? > 0 {
        watch(stream.position())?;
    }
    if stream.rows == 0 {
        return Err(file_error(input.path(), None, None, "has a header but no rows of data"));
    }
    let names = stream.names();
    let mut columns: Vec<Option<TableColumn>> = Vec::with_capacity(builders.len());
    for (builder, name) in builders.iter_mut().zip(&names) {
        match builder.finish(name) {
            Finished::Column(column) => columns.push(Some(column)),
            Finished::ReadAgain => columns.push(None),
            Finished::Infinite { row, line, cell } => {
                return Err(stream.cell_error(name, row, line, &BadCell::Infinite.message(cell.as_bytes())));
            }
        }
    }
    drop(builders);
    if columns.iter().any(Option::is_none) {
        let mut again = CsvStream::open(input, format, options)?;
        again.keep(|j| columns[j].is_none());
        let mut builders = again.builders(|_| Some(Kind::Text));
        while again.fill(&mut builders, WATCHED_ROWS)? > 0 {
            watch(again.position())?;
        }
        if again.rows != stream.rows {
            return Err(file_error(input.path(), None, None, "changed while it was read; read it again"));
        }
        let texts = builders.iter_mut().zip(again.names()).map(|(builder, name)| builder.finish(&name));
        for (slot, text) in columns.iter_mut().filter(|slot| slot.is_none()).zip(texts) {
            if let Finished::Column(column) = text {
                *slot = Some(column);
            }
        }
    }
    let mut table = Table::new(columns.into_iter().flatten().collect())?;
    stream.describe(&mut table, 0);
    Ok(table)
}

/// A delimited text under way.
pub(crate) struct CsvStream {
    path: std::path::PathBuf,
    gzip: bool,
    count: Option<ByteCount>,
    reader: csv::Reader<Guard>,
    record: ByteRecord,
    header: Header,
    /// Columns to read: place in the record, and declared kind.
    wanted: Vec<(usize, Option<Kind>)>,
    /// A record read already, when there is no header.
    pending: bool,
    /// Data rows so far.
    pub(crate) rows: usize,
    first_line: u64,
    one_line_each: bool,
    /// Whether the last record went over several lines, and the line on which it began.
    spans_lines: bool,
    last_line: u64,
}

impl CsvStream {
    /// Opens the text and reads its header.
    pub(crate) fn open(input: &Input, format: Format, options: &ReadOptions) -> Result<Self> {
        let path = input.path();
        let Opened { mut text, gzip, count } = input.open_text()?;
        let mut head = vec![0_u8; BUFFER];
        let mut filled = 0;
        while filled < head.len() {
            match text.read(&mut head[filled..]) {
                Ok(0) => break,
                Ok(k) => filled += k,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if gzip => return Err(damaged_gzip(path, &e)),
                Err(source) => return Err(Error::Io { path: path.to_owned(), source }),
            }
        }
        head.truncate(filled);
        let (delimiter, note) = delimiter(&head, format, options);
        let text = Guard { inner: Box::new(io::Cursor::new(head).chain(text)), left: MAX_RECORD, quotes: 0 };
        let reader =
            csv::ReaderBuilder::new().has_headers(false).delimiter(delimiter).buffer_capacity(BUFFER).from_reader(text);
        let mut stream = Self {
            path: path.to_owned(),
            gzip,
            count,
            reader,
            record: ByteRecord::new(),
            header: Header::default(),
            wanted: vec![],
            pending: false,
            rows: 0,
            first_line: 1,
            one_line_each: true,
            spans_lines: false,
            last_line: 0,
        };
        if !stream.next_record()? {
            return Err(file_error(path, None, None, "is empty; name the file that holds the data"));
        }
        stream.header = if options.header {
            let header = Header::from_cells(path, stream.record.iter())?;
            if stream.record.len() > 1 && stream.record.iter().all(|c| matches!(classify(trim(c)), Cell::Number(_))) {
                return Err(file_error(
                    path,
                    None,
                    None,
                    "the first line holds numbers where column names should stand; if it is data, use --no-header",
                ));
            }
            header
        } else {
            stream.pending = true;
            Header::numbered(stream.record.len())
        };
        stream.header.notes.extend(note);
        check_fields(path, options, &stream.header.names, &BTreeMap::new())?;
        let kind_of = |name: &str| options.declared(name);
        stream.wanted = (stream.header.names.iter().enumerate())
            .map(|(j, name)| (j, kind_of(name)))
            .filter(|(_, kind)| kind.is_some() || !options.only_fields)
            .collect();
        Ok(stream)
    }

    /// How far it is through its file.
    pub(crate) fn position(&self) -> Position {
        let rows = Position::Rows { done: self.rows as u64, total: None };
        self.count.as_ref().map_or(rows, ByteCount::position)
    }

    /// Names of the columns that are not read.
    pub(crate) fn left_out(&self) -> Vec<String> {
        let read: Vec<usize> = self.wanted.iter().map(|&(j, _)| j).collect();
        let left = self.header.names.iter().enumerate().filter(|(j, _)| read.binary_search(j).is_err());
        left.map(|(_, name)| name.clone()).collect()
    }

    /// Names of the columns that are read.
    pub(crate) fn names(&self) -> Vec<String> {
        self.wanted.iter().map(|&(j, _)| self.header.names[j].clone()).collect()
    }

    /// Reads only the wanted columns that `keep` chooses by their place among them.
    fn keep(&mut self, keep: impl Fn(usize) -> bool) {
        self.wanted = self.wanted.iter().enumerate().filter(|(j, _)| keep(*j)).map(|(_, w)| *w).collect();
    }

    /// A builder for each column; `kind` turns what was declared into what is wanted.
    pub(crate) fn builders(&self, kind: impl Fn(Option<Kind>) -> Option<Kind>) -> Vec<Builder> {
        self.wanted.iter().map(|&(_, declared)| Builder::new(kind(declared))).collect()
    }

    /// Adds up to `max` rows to the builders; returns how many.
    pub(crate) fn fill(&mut self, builders: &mut [Builder], max: usize) -> Result<usize> {
        let mut added = 0;
        while added < max {
            if self.pending {
                self.pending = false;
            } else if !self.next_record()? {
                break;
            }
            let line = self.record.position().map_or(0, csv::Position::line);
            if self.rows == 0 {
                self.first_line = line;
            }
            self.one_line_each &= line == self.first_line + self.rows as u64;
            for (builder, &(j, _)) in builders.iter_mut().zip(&self.wanted) {
                let cell = self.record.get(j).unwrap_or_default();
                if let Err(bad) = builder.push(cell, line) {
                    return Err(self.cell_error(&self.header.names[j], self.rows, line, &bad.message(trim(cell))));
                }
            }
            self.rows += 1;
            added += 1;
        }
        Ok(added)
    }

    /// Gives a table of the rows from `rows_before` on its source and notes.
    pub(crate) fn describe(&self, table: &mut Table, rows_before: usize) {
        table.source = Source {
            path: Some(self.path.clone()),
            rows_before,
            first_line: self.one_line_each.then_some(self.first_line),
            picked: None,
        };
        table.notes.clone_from(&self.header.notes);
        table.repeated.clone_from(&self.header.repeated);
    }

    fn cell_error(&self, name: &str, row: usize, line: u64, message: &str) -> Error {
        file_error(&self.path, Some(name), Some(row as u64 + 1), format!("(line {line}) {message}"))
    }

    fn next_record(&mut self) -> Result<bool> {
        self.reader.get_mut().left = MAX_RECORD;
        match self.reader.read_byte_record(&mut self.record) {
            Ok(true) => {
                let start = self.record.position().map_or(0, csv::Position::line);
                self.spans_lines = self.reader.position().line() > start + 1;
                self.last_line = start;
                Ok(true)
            }
            // An unclosed quotation mark makes one cell of the rest of the file: rows must not vanish silently.
            Ok(false) if self.spans_lines && self.reader.get_ref().quotes % 2 == 1 => Err(file_error(
                &self.path,
                None,
                Some(self.rows as u64),
                format!("(line {}) a quotation mark is never closed; close it or remove it", self.last_line),
            )),
            Ok(false) => Ok(false),
            Err(error) => Err(self.record_error(&error)),
        }
    }

    fn record_error(&self, error: &csv::Error) -> Error {
        // Nothing but the header line itself is read before there are names.
        let here = (!self.header.names.is_empty()).then_some(self.rows as u64 + 1);
        match error.kind() {
            ErrorKind::UnequalLengths { pos, expected_len, len } => {
                let line = pos.as_ref().map_or(0, csv::Position::line);
                file_error(
                    &self.path,
                    None,
                    here,
                    format!(
                        "(line {line}) has {len} cells, but the first line has {expected_len}; look for a stray \
                         delimiter, an unclosed quotation mark or a line cut short"
                    ),
                )
            }
            ErrorKind::Io(e) if e.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<TooLong>) => {
                file_error(&self.path, None, here, BadCell::TooLong.message(b""))
            }
            ErrorKind::Io(e) if self.gzip => damaged_gzip(&self.path, e),
            _ => file_error(&self.path, None, here, format!("cannot be read: {error}")),
        }
    }
}

/// The delimiter: as told, else a tab for `.tsv`, else the commonest of the usual ones in the first line.
fn delimiter(head: &[u8], format: Format, options: &ReadOptions) -> (u8, Option<String>) {
    if let Some(told) = options.delimiter {
        return (told, None);
    }
    let line = head.split(|&b| b == b'\n').next().unwrap_or_default();
    let count = |delimiter: u8| {
        let mut quoted = false;
        line.iter()
            .filter(|&&b| {
                quoted ^= b == b'"';
                b == delimiter && !quoted
            })
            .count()
    };
    let usual = if format == Format::Tsv { b'\t' } else { b',' };
    if count(usual) > 0 {
        return (usual, None);
    }
    match [b',', b';', b'\t', b'|'].into_iter().filter(|&d| count(d) > 0).max_by_key(|&d| count(d)) {
        Some(other) => {
            let name = if other == b'\t' { "tabs".to_owned() } else { format!("`{}`", other as char) };
            (other, Some(format!("columns are separated by {name}")))
        }
        None => (usual, None),
    }
}

/// Stops a record that never ends before it fills the memory.
struct Guard {
    inner: Box<dyn Read + Send>,
    left: usize,
    /// Quotation marks so far; an even number when all are closed.
    quotes: u64,
}

#[derive(Debug)]
struct TooLong;

impl std::fmt::Display for TooLong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a record is too long")
    }
}

impl std::error::Error for TooLong {}

impl Read for Guard {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(out)?;
        // Sums of at most 255 bytes fit a byte, which lets the compiler count many at a time.
        let count = |part: &[u8]| u64::from(part.iter().map(|&b| u8::from(b == b'"')).sum::<u8>());
        self.quotes += out[..n].chunks(255).map(count).sum::<u64>();
        self.left = self.left.checked_sub(n).ok_or_else(|| io::Error::other(TooLong))?;
        Ok(n)
    }
}
