//! Delimited text: whole tables with inferred kinds, and batches in constant memory.
//!
//! A text is cut into pieces behind records; a handful of pieces is parsed at a time, each by one thread, while the
//! next ones are read. What is found is put together in the order of the text, so that tables and errors are those of
//! a text that is read from front to back.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::PathBuf;

use paretau_core::{Error, Result};
use rayon::prelude::*;

use super::builder::{BadCell, Builder, Finished};
use super::cell::{Cell, classify, trim};
use super::header::{Header, check_fields};
use super::pieces::{CutError, Cutter};
use super::position::{ByteCount, Position};
use super::records::{self, First, Layout, Parsed, Part, Refused, Why};
use super::source::{Format, Input, Opened, damaged_gzip};
use super::top::{Title, codes, is_separated_by_blanks};
use super::{ReadOptions, Watch, understand};
use crate::table::{Kind, Source, Table, TableColumn, file_error};

/// Bytes that are looked at to find the delimiter.
const HEAD: usize = 1 << 17;
/// Bytes of a piece: small beside the caches' and the memory's size, large beside the cost of handing it out.
pub(super) const PIECE: usize = 1 << 19;
/// Bytes of text per column that a piece of a very wide table has, some eight rows of short numbers: what a batch costs per
/// column is shared by its rows. And the most bytes of such a piece.
const WIDE_PIECE_PER_COLUMN: usize = 64;
const MOST_PIECE: usize = 1 << 24;
/// Pieces for each thread that are parsed before they are put together, and the most of them.
const PIECES_A_THREAD: usize = 4;
const MOST_PIECES: usize = 32;

/// Reads a whole table; kinds follow from all cells of a column, whatever their order.
pub(crate) fn read(input: &Input, format: Format, options: &ReadOptions, watch: &mut Watch<'_>) -> Result<Table> {
    read_in_pieces(input, format, options, PIECE, watch)
}

fn read_in_pieces(
    input: &Input,
    format: Format,
    options: &ReadOptions,
    piece: usize,
    watch: &mut Watch<'_>,
) -> Result<Table> {
    let mut stream = CsvStream::open(input, format, options, piece)?;
    let mut builders: Vec<Builder> =
        stream.wanted.iter().map(|&(_, kind)| Builder::with_marks(kind, stream.layout.na.clone())).collect();
    while stream.grow(&mut builders)? {
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
    let as_text = |which: &[bool], watch: &mut Watch<'_>| {
        read_as_text(input, format, options, (piece, stream.rows), which, watch)
    };
    let mixed: Vec<bool> = columns.iter().map(Option::is_none).collect();
    if mixed.contains(&true) {
        let texts = as_text(&mixed, watch)?;
        columns.iter_mut().filter(|slot| slot.is_none()).zip(texts).for_each(|(slot, text)| *slot = Some(text));
    }
    let mut columns: Vec<TableColumn> = columns.into_iter().flatten().collect();
    let doubtful = understand::points_in_doubt(&columns, stream.layout.delimiter, options);
    if doubtful.contains(&true) {
        let texts = as_text(&doubtful, watch)?;
        let slots = columns.iter_mut().zip(&doubtful).filter(|(_, again)| **again);
        slots.zip(texts).for_each(|((slot, _), text)| *slot = text);
    }
    let mut found = understand::understand(&mut columns, Some(stream.layout.delimiter), options);
    for column in columns.iter().filter(|column| column.kind() == Kind::Number) {
        if let Some(cell) = stream.codes.get(&column.name) {
            found.notes.push(format!(
                "`{0}` is read as numbers, but cells such as `{cell}` begin with a zero, as codes do; --categorical {1} reads \
                 them as categories",
                column.name,
                understand::quoted(&column.name)
            ));
        }
    }
    let mut table = Table::new(columns)?;
    stream.describe(&mut table, 0, stream.first_line());
    super::describe(&mut table, found, options);
    Ok(table)
}

/// Reads the columns at the chosen places among the wanted ones once more, as text.
fn read_as_text(
    input: &Input,
    format: Format,
    options: &ReadOptions,
    (piece, rows): (usize, usize),
    which: &[bool],
    watch: &mut Watch<'_>,
) -> Result<Vec<TableColumn>> {
    let mut again = CsvStream::open(input, format, options, piece)?;
    again.keep(|j| which[j]);
    let mut builders: Vec<Builder> =
        again.wanted.iter().map(|_| Builder::with_marks(Some(Kind::Text), again.layout.na.clone())).collect();
    again.wanted.iter_mut().for_each(|(_, kind)| *kind = Some(Kind::Text));
    while again.grow(&mut builders)? {
        watch(again.position())?;
    }
    if again.rows != rows {
        return Err(file_error(input.path(), None, None, "changed while it was read; read it again"));
    }
    let texts = builders.iter_mut().zip(again.names()).filter_map(|(builder, name)| match builder.finish(&name) {
        Finished::Column(column) => Some(column),
        Finished::ReadAgain | Finished::Infinite { .. } => None,
    });
    Ok(texts.collect())
}

/// A delimited text under way.
pub(crate) struct CsvStream {
    path: PathBuf,
    gzip: bool,
    count: Option<ByteCount>,
    header: Header,
    /// Columns to read: place in the record, and declared kind.
    wanted: Vec<(usize, Option<Kind>)>,
    layout: Layout,
    cutter: Cutter,
    /// Pieces that have been read and not parsed.
    ahead: Vec<Vec<u8>>,
    /// Why no piece follows those, if not because the text ends.
    stopped: Option<CutError>,
    /// The error of a record before which there was still something to deliver.
    failed: Option<Error>,
    /// Line of a last record that is never closed.
    unclosed: Option<u64>,
    /// Data rows and line ends so far.
    pub(crate) rows: usize,
    lines: u64,
    /// Lines above the header.
    above: u64,
    /// Columns whose first cells begin with zeros, as codes do, with such a cell.
    codes: BTreeMap<String, String>,
    /// Line of the first row, and whether every row so far is one line of text.
    first_line: u64,
    one_line_each: bool,
}

/// A parsed piece in its place.
struct Placed {
    text: Vec<u8>,
    parts: Vec<PlacedPart>,
    /// Number of the line on which the piece starts.
    line: u64,
}

struct PlacedPart {
    columns: Vec<Builder>,
    rows_before: usize,
    first_line: Option<u64>,
}

impl CsvStream {
    /// Opens the text, to be cut into pieces of about that many bytes, and reads its header.
    pub(crate) fn open(input: &Input, format: Format, options: &ReadOptions, piece: usize) -> Result<Self> {
        let path = input.path();
        let Opened { mut text, gzip, count } = input.open_text()?;
        let mut head = vec![0_u8; HEAD];
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
        // Some programs write the byte-order mark twice.
        if head.starts_with(b"\xef\xbb\xbf") {
            head.drain(..3);
        }
        // Excel reads and writes a first line that names the delimiter.
        let named = named_delimiter(&head);
        if let Some((_, length)) = named {
            head.drain(..length);
        }
        let separates = |head: &[u8]| match (options.delimiter, named) {
            (None, Some((named, _))) => (named, None),
            _ => delimiter(head, format, options),
        };
        let title = if options.header { Title::above(&head, |head| separates(head).0) } else { None };
        let above = title.as_ref().map_or(0, |title| title.lines);
        head.drain(..title.as_ref().map_or(0, |title| title.length));
        let (delimiter, note) = separates(&head);
        let mut stream = Self {
            path: path.to_owned(),
            gzip,
            count,
            header: Header::default(),
            wanted: vec![],
            layout: Layout { delimiter, na: options.na.clone().into(), ..Layout::default() },
            cutter: Cutter::new(Box::new(io::Cursor::new(head).chain(text)), delimiter, piece),
            ahead: vec![],
            stopped: None,
            failed: None,
            unclosed: None,
            rows: 0,
            lines: u64::from(named.is_some()) + above,
            above,
            codes: BTreeMap::new(),
            first_line: 1,
            one_line_each: true,
        };
        let cells = stream.first_record(options.header)?;
        stream.header = if options.header {
            let header = Header::from_cells(path, cells.iter().map(Vec::as_slice))?;
            if cells.len() > 1 && cells.iter().all(|c| matches!(classify(trim(c)), Cell::Number(_))) {
                return Err(file_error(
                    path,
                    None,
                    None,
                    "the first line holds numbers where column names should stand; if it is data, use --no-header",
                ));
            }
            header
        } else {
            Header::numbered(cells.len())
        };
        stream.header.notes.extend(title.map(|title| title.in_words()));
        stream.header.notes.extend(note);
        if let ([name], [first, ..], true) = (&stream.header.names[..], &stream.ahead[..], options.header)
            && is_separated_by_blanks(name, first)
        {
            let message = "its columns seem to be separated by blanks, which are not read as such; save it with commas or tabs \
                           between the columns";
            return Err(file_error(path, None, None, message));
        }
        let codes = stream.ahead.first().map(|text| codes(text, delimiter, cells.len())).unwrap_or_default();
        stream.codes = codes.into_iter().map(|(j, cell)| (stream.header.names[j].clone(), cell)).collect();
        check_fields(path, options, &stream.header.names, &BTreeMap::new())?;
        understand::check_named(path, &stream.header.names, options)?;
        let kinds = options.declared();
        let kind_of = |name: &str| kinds.get(name).copied();
        stream.wanted = (stream.header.names.iter().enumerate())
            .map(|(j, name)| (j, kind_of(name)))
            .filter(|(_, kind)| kind.is_some() || !options.only_fields)
            .collect();
        stream.layout.n_cells = cells.len();
        if cells.len() * WIDE_PIECE_PER_COLUMN > PIECE {
            stream.cutter.enlarge((cells.len() * WIDE_PIECE_PER_COLUMN).min(MOST_PIECE));
        }
        stream.lay_out();
        Ok(stream)
    }

    /// The cells of the first record, which is left behind if it is the header.
    fn first_record(&mut self, is_header: bool) -> Result<Vec<Vec<u8>>> {
        loop {
            let mut piece = match self.cutter.next_piece() {
                Ok(Some(piece)) => piece,
                Ok(None) => {
                    return Err(file_error(&self.path, None, None, "is empty; name the file that holds the data"));
                }
                Err(error) => return Err(self.cut_error(error, None)),
            };
            let Some(First { cells, length, lines, unclosed }) = records::first(&piece, self.layout.delimiter) else {
                self.lines += records::blank_lines(&piece);
                continue;
            };
            if is_header {
                self.unclosed = unclosed.then_some(self.lines + 1);
                self.lines += lines;
                piece.drain(..length);
            }
            self.ahead.push(piece);
            return Ok(cells);
        }
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
    fn names(&self) -> Vec<String> {
        self.wanted.iter().map(|&(j, _)| self.header.names[j].clone()).collect()
    }

    /// Reads only the wanted columns that `keep` chooses by their place among them.
    fn keep(&mut self, keep: impl Fn(usize) -> bool) {
        self.wanted = self.wanted.iter().enumerate().filter(|(j, _)| keep(*j)).map(|(_, w)| *w).collect();
        self.lay_out();
    }

    fn lay_out(&mut self) {
        self.layout.columns = vec![None; self.header.names.len()];
        for (column, &(j, _)) in self.wanted.iter().enumerate() {
            self.layout.columns[j] = Some(column);
        }
    }

    /// The next tables of up to `max` rows each; `None` at the end.
    pub(crate) fn tables(&mut self, max: usize) -> Result<Option<Vec<Table>>> {
        let kinds: Vec<Option<Kind>> =
            self.wanted.iter().map(|&(_, declared)| Some(declared.unwrap_or(Kind::Text))).collect();
        let Some(pieces) = self.advance(&kinds, max)? else { return Ok(None) };
        let names = self.names();
        let tables = pieces.into_iter().flat_map(|piece| piece.parts).map(|mut part| {
            let columns = (part.columns.iter_mut().zip(&names))
                .filter_map(|(builder, name)| match builder.finish(name) {
                    Finished::Column(column) => Some(column),
                    Finished::ReadAgain | Finished::Infinite { .. } => None,
                })
                .collect();
            let mut table = Table::new(columns)?;
            self.describe(&mut table, part.rows_before, part.first_line);
            Ok(table)
        });
        tables.collect::<Result<Vec<_>>>().map(Some)
    }

    /// Adds the next rows to the columns; false at the end.
    fn grow(&mut self, builders: &mut [Builder]) -> Result<bool> {
        // A column in which there is text already is read as text, numbers included.
        let kinds: Vec<Option<Kind>> = (builders.iter().zip(&self.wanted))
            .map(|(builder, &(_, declared))| if builder.is_text() { Some(Kind::Text) } else { declared })
            .collect();
        let Some(mut pieces) = self.advance(&kinds, usize::MAX)? else { return Ok(false) };
        let mut grown: Vec<Vec<(usize, Builder)>> = builders.iter().map(|_| Vec::with_capacity(pieces.len())).collect();
        for (i, piece) in pieces.iter_mut().enumerate() {
            for part in piece.parts.drain(..) {
                grown.iter_mut().zip(part.columns).for_each(|(column, builder)| column.push((i, builder)));
            }
        }
        let (pieces, layout, wanted) = (&pieces, &self.layout, &self.wanted);
        builders.par_iter_mut().zip(grown).enumerate().for_each(|(j, (builder, parts))| {
            for (i, part) in parts {
                let piece = &pieces[i];
                if builder.is_text() && part.has_numbers() {
                    // Its piece began with numbers, which are texts behind the text before.
                    let mut alone = Layout { columns: vec![None; layout.columns.len()], ..layout.clone() };
                    alone.columns[wanted[j].0] = Some(0);
                    let again = records::parse(&piece.text, &alone, &[Some(Kind::Text)], usize::MAX);
                    let columns = again.parts.into_iter().flat_map(|part| part.columns);
                    columns.for_each(|column| builder.append(column, piece.line));
                } else {
                    builder.append(part, piece.line);
                }
            }
        });
        Ok(true)
    }

    /// Parses the pieces that have been read, and reads the next ones meanwhile; `None` at the end.
    fn advance(&mut self, kinds: &[Option<Kind>], part_rows: usize) -> Result<Option<Vec<Placed>>> {
        loop {
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            let pieces = std::mem::take(&mut self.ahead);
            if pieces.is_empty() {
                return self.at_end().map(|()| None);
            }
            let (cutter, layout) = (&mut self.cutter, &self.layout);
            let ((ahead, stopped), parsed) = rayon::join(
                || cut(cutter),
                || pieces.par_iter().map(|text| records::parse(text, layout, kinds, part_rows)).collect::<Vec<_>>(),
            );
            self.ahead = ahead;
            // The reason comes once, perhaps together with pieces that are still to be parsed: it must outlive them.
            self.stopped = self.stopped.take().or(stopped);
            let placed = self.place(pieces, parsed);
            if placed.iter().any(|piece| !piece.parts.is_empty()) {
                return Ok(Some(placed));
            }
        }
    }

    /// Gives the pieces their places in the text, up to the first wrong record.
    fn place(&mut self, pieces: Vec<Vec<u8>>, parsed: Vec<Parsed>) -> Vec<Placed> {
        let mut placed = Vec::with_capacity(pieces.len());
        for (text, Parsed { parts, lines, refused, unclosed }) in pieces.into_iter().zip(parsed) {
            let line = self.lines + 1;
            if let Some(refused) = refused {
                self.failed = Some(self.refusal(&refused));
                // Of this piece and of those behind it, nothing is delivered.
                self.ahead.clear();
                break;
            }
            self.unclosed = unclosed.map(|at| line + at);
            self.lines += lines;
            let parts = parts.into_iter().map(|part| self.place_part(part, line)).collect();
            placed.push(Placed { text, parts, line });
        }
        placed
    }

    fn place_part(&mut self, part: Part, line: u64) -> PlacedPart {
        let (first, one_line_each) = part.lines(line);
        if self.rows == 0 {
            self.first_line = first;
        }
        self.one_line_each &= one_line_each && first == self.first_line + self.rows as u64;
        let rows_before = self.rows;
        self.rows += part.rows;
        PlacedPart { columns: part.columns, rows_before, first_line: self.first_line() }
    }

    /// Line of the first row, when every row so far is one line of text.
    fn first_line(&self) -> Option<u64> {
        self.one_line_each.then_some(self.first_line)
    }

    /// Gives a table of the rows from `rows_before` on its source and notes.
    fn describe(&self, table: &mut Table, rows_before: usize, first_line: Option<u64>) {
        table.source = Source { path: Some(self.path.clone()), rows_before, first_line, picked: None, parts: vec![] };
        table.notes.clone_from(&self.header.notes);
        table.repeated.clone_from(&self.header.repeated);
    }

    /// Whether the text ended well.
    fn at_end(&mut self) -> Result<()> {
        if let Some(error) = self.stopped.take() {
            return Err(self.cut_error(error, Some(self.rows as u64 + 1)));
        }
        // An unclosed quotation mark makes one cell of the rest of the file: rows must not vanish silently.
        match self.unclosed {
            Some(line) => Err(file_error(
                &self.path,
                None,
                Some(self.rows as u64),
                format!("(line {line}) a quotation mark is never closed; close it or remove it"),
            )),
            None => Ok(()),
        }
    }

    fn cell_error(&self, name: &str, row: usize, line: u64, message: &str) -> Error {
        file_error(&self.path, Some(name), Some(row as u64 + 1), format!("(line {line}) {message}"))
    }

    fn refusal(&self, refused: &Refused) -> Error {
        let (row, line) = (self.rows + refused.row, self.lines + 1 + refused.line);
        match &refused.why {
            Why::Cell(place, message) => self.cell_error(&self.header.names[*place], row, line, message),
            &Why::Cells(n) => file_error(
                &self.path,
                None,
                Some(row as u64 + 1),
                format!(
                    "(line {line}) has {n} {}, but the {} line has {}; look for a stray delimiter, an unclosed \
                     quotation mark, a number with a comma or a line cut short",
                    if n == 1 { "cell" } else { "cells" },
                    if self.above > 0 { "header" } else { "first" },
                    self.layout.n_cells
                ),
            ),
        }
    }

    fn cut_error(&self, error: CutError, row: Option<u64>) -> Error {
        match error {
            CutError::TooLong => file_error(&self.path, None, row, BadCell::TooLong.message(b"")),
            CutError::Io(e) if self.gzip => damaged_gzip(&self.path, &e),
            CutError::Io(e) => file_error(&self.path, None, row, format!("cannot be read: {e}")),
        }
    }
}

/// Reads as many pieces as the threads at hand will parse at once, and tells why there are no more.
fn cut(cutter: &mut Cutter) -> (Vec<Vec<u8>>, Option<CutError>) {
    let n = (PIECES_A_THREAD * rayon::current_num_threads()).min(MOST_PIECES);
    let mut pieces = Vec::with_capacity(n);
    while pieces.len() < n {
        match cutter.next_piece() {
            Ok(Some(piece)) => pieces.push(piece),
            Ok(None) => break,
            Err(error) => return (pieces, Some(error)),
        }
    }
    (pieces, None)
}

/// The delimiter that a first line `sep=;` names, and the length of that line.
fn named_delimiter(head: &[u8]) -> Option<(u8, usize)> {
    let rest = head.get(..4).filter(|start| start.eq_ignore_ascii_case(b"sep=")).map(|_| &head[4..])?;
    match rest {
        [mark, b'\r', b'\n', ..] if mark.is_ascii() => Some((*mark, 7)),
        [mark, b'\n' | b'\r', ..] if mark.is_ascii() => Some((*mark, 6)),
        _ => None,
    }
}

/// The delimiter: as given, else a tab for `.tsv`, else the commonest of the usual ones in the first line.
pub(super) fn delimiter(head: &[u8], format: Format, options: &ReadOptions) -> (u8, Option<String>) {
    if let Some(given) = options.delimiter {
        return (given, None);
    }
    let line = head.split(|&b| b == b'\n' || b == b'\r').next().unwrap_or_default();
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
