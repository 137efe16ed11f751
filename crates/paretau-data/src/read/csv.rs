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
use super::{ReadOptions, Watch};
use crate::table::{Kind, Source, Table, TableColumn, file_error};

/// Bytes that are looked at to find the delimiter.
const HEAD: usize = 1 << 17;
/// Bytes of a piece: small beside the caches' and the memory's size, large beside the cost of handing it out.
pub(super) const PIECE: usize = 1 << 19;
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
    let mut builders: Vec<Builder> = stream.wanted.iter().map(|&(_, kind)| Builder::new(kind)).collect();
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
    if columns.iter().any(Option::is_none) {
        let mut again = CsvStream::open(input, format, options, piece)?;
        again.keep(|j| columns[j].is_none());
        let mut builders: Vec<Builder> = again.wanted.iter().map(|_| Builder::new(Some(Kind::Text))).collect();
        while again.grow(&mut builders)? {
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
    stream.describe(&mut table, 0, stream.first_line());
    Ok(table)
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
        let (delimiter, note) = delimiter(&head, format, options);
        let mut stream = Self {
            path: path.to_owned(),
            gzip,
            count,
            header: Header::default(),
            wanted: vec![],
            layout: Layout { delimiter, ..Layout::default() },
            cutter: Cutter::new(Box::new(io::Cursor::new(head).chain(text)), delimiter, piece),
            ahead: vec![],
            stopped: None,
            failed: None,
            unclosed: None,
            rows: 0,
            lines: 0,
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
        stream.header.notes.extend(note);
        check_fields(path, options, &stream.header.names, &BTreeMap::new())?;
        let kind_of = |name: &str| options.declared(name);
        stream.wanted = (stream.header.names.iter().enumerate())
            .map(|(j, name)| (j, kind_of(name)))
            .filter(|(_, kind)| kind.is_some() || !options.only_fields)
            .collect();
        stream.layout.n_cells = cells.len();
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
                    let mut alone = Layout { columns: vec![None; layout.columns.len()], ..*layout };
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
            self.stopped = stopped;
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
        table.source = Source { path: Some(self.path.clone()), rows_before, first_line, picked: None };
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
            Why::Cells(n) => file_error(
                &self.path,
                None,
                Some(row as u64 + 1),
                format!(
                    "(line {line}) has {n} cells, but the first line has {}; look for a stray delimiter, an unclosed \
                     quotation mark or a line cut short",
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::table::Field;

    fn input(text: &[u8]) -> Input {
        Input::Memory("f.csv".into(), Arc::from(text))
    }

    /// The whole table or the error, read in pieces of that many bytes.
    fn whole(text: &[u8], options: &ReadOptions, piece: usize) -> Result<Table, String> {
        read_in_pieces(&input(text), Format::Csv, options, piece, &mut |_| Ok(())).map_err(|e| e.to_string())
    }

    /// The rows that come in batches of up to `rows` rows, and the error after them if there is one.
    fn batches(text: &[u8], options: &ReadOptions, piece: usize, rows: usize) -> (Vec<Vec<Option<String>>>, String) {
        let mut cells = vec![];
        let mut stream = match CsvStream::open(&input(text), Format::Csv, options, piece) {
            Ok(stream) => stream,
            Err(error) => return (cells, error.to_string()),
        };
        loop {
            match stream.tables(rows) {
                Ok(Some(tables)) => {
                    for table in tables {
                        assert!(table.n_rows() <= rows && table.source.rows_before == cells.len());
                        let row = |i: usize| table.columns().iter().map(|c| c.cell(i)).collect::<Vec<_>>();
                        cells.extend((0..table.n_rows()).map(row));
                    }
                }
                Ok(None) => return (cells, String::new()),
                Err(error) => return (cells, error.to_string()),
            }
        }
    }

    /// What can be told of a table or of its error; a missing number, which is not equal to itself, included.
    fn told(table: &Result<Table, String>) -> String {
        match table {
            Ok(table) => format!("{table:?}"),
            Err(error) => error.clone(),
        }
    }

    fn is_the_same_in_any_pieces(text: &[u8], options: &ReadOptions) -> String {
        let want = told(&whole(text, options, PIECE));
        let rows = batches(text, options, PIECE, 3);
        for piece in [1, 2, 3, 5, 7, 11, 16, 64] {
            let shown = String::from_utf8_lossy(text);
            assert_eq!(told(&whole(text, options, piece)), want, "pieces of {piece} bytes of {shown:?}");
            let pieces = batches(text, options, piece, 3);
            assert_eq!(pieces.1, rows.1, "batches from pieces of {piece} bytes of {shown:?}");
            if rows.1.is_empty() {
                assert_eq!(pieces.0, rows.0, "batches from pieces of {piece} bytes of {shown:?}");
            }
        }
        want
    }

    #[test]
    fn pieces_do_not_change_tables_or_errors() {
        let number = ReadOptions::default().with_field(Field::new("b", Kind::Number));
        let headless = ReadOptions { header: false, ..ReadOptions::default() };
        let plain = ReadOptions::default();
        for (text, options, word) in [
            ("a,b\n1,\"x\ny\"\n2,\"\"\"\n\"\"\"\n3,\"\r\n\"\n", &plain, "\"\\\"\\n\\\"\""),
            ("a,b\r\n1,2\r\n3,4\r\n5,6\r\n", &plain, "[1.0, 3.0, 5.0]"),
            ("a,b\r1,2\r3,4\r5,6", &plain, "[2.0, 4.0, 6.0]"),
            ("a,b\n1,2\n3,4", &plain, "[2.0, 4.0]"),
            ("a,b\n1,2\n3,", &plain, "[2.0, NaN]"),
            ("a,b\n1,2\n3,4\n5,6\n7\n8,9\n", &plain, "row 4: (line 5) has 1 cells, but the first line has 2"),
            ("a,b\r\n1,2\r\n3,4\r\n5,6\r\n7,8,9\r\n", &plain, "row 4: (line 5) has 3 cells"),
            ("a,b\n1,2\n\n\n3,4\n5,x\n", &number, "column `b`, row 3: (line 6) holds `x`"),
            ("a,b\n1,2\n\n\n3,4\n5\n", &number, "row 3: (line 6) has 1 cells"),
            ("a,b\n1,2\n3,x,4\n", &number, "row 2: (line 3) has 3 cells"),
            ("a,b\n1,2\n3,inf\n5,6\n", &number, "column `b`, row 2: (line 3) holds `inf`"),
            ("a,b\n1,2\n3,inf\n-inf,6\n", &plain, "column `a`, row 3: (line 4) holds `-inf`"),
            ("a,b\n1,2\n3,inf\n5,x\n", &plain, "\"inf\""),
            ("a,b\n1,007\n3,4\n5,6\n7,x\n9,8\n", &plain, "\"007\""),
            ("a,b\nx,1\ny,2\n7,3\n8,4\nz,5\n", &plain, "\"7\""),
            ("a,b\n,1\n-nan,2\nx,3\n+NaN,4\n7,5\n", &plain, "[4294967295, 4294967295, 0, 4294967295, 1]"),
            ("a,b\ntrue,1\nFALSE,2\n1,3\n", &plain, "\"FALSE\""),
            ("a,b\n2024-05-31,1\n,2\n2024-06-01,3\n", &plain, "is_date: true"),
            ("\u{feff}a,b\n1,2\n3,4\n", &plain, "name: \"a\""),
            ("1,2\n3,4\n5,6\n", &headless, "[1.0, 3.0, 5.0]"),
            ("a,b\n1,2\n3,\"4\n5,6\n", &plain, "row 2: (line 3) a quotation mark is never closed"),
            ("a,b\n1,5\" pipe\n3,\"4\"\" \nx\"y\n", &plain, "5\\\" pipe"),
            ("\n\n\r\n\n\n\na,b\n\n1,2\n", &plain, "first_line: Some(9)"),
            ("a,b\n1,2\n\n3,4\n", &plain, "first_line: None"),
            ("a,b\n\n\n\n\n\n\n\n\n", &plain, "has a header but no rows of data"),
            ("\n\n\n\n\n\n\n\n\n\n\n", &plain, "is empty"),
            ("a;b\n1;2\n3;4\n", &plain, "separated by `;`"),
            ("a,b\n1,\"x\r\ny\"\n", &number, "column `b`, row 1: (line 2) holds `x\\r\\ny`"),
            ("a,\"b\nc\"\n1,-inf\n", &plain, "column `b\\nc`, row 1: (line 3) holds `-inf`"),
        ] {
            let found = is_the_same_in_any_pieces(text.as_bytes(), options);
            assert!(found.contains(word), "{text:?} gives {found}, not {word}");
        }
        let latin: &[u8] = b"a,b\n1,x\n2,y\n3,caf\xe9\n4,z\n";
        assert!(is_the_same_in_any_pieces(latin, &plain).contains("row 3: (line 4) holds bytes that are not UTF-8"));
    }

    #[test]
    fn a_failing_input_delivers_what_came_before() {
        struct Failing(&'static [u8]);
        impl Read for Failing {
            fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
                if self.0.is_empty() {
                    return Err(io::Error::other("the disk is gone"));
                }
                let n = out.len().min(self.0.len()).min(3);
                out[..n].copy_from_slice(&self.0[..n]);
                self.0 = &self.0[n..];
                Ok(n)
            }
        }
        for piece in [1, 4, 9, 100] {
            let mut cutter = Cutter::new(Box::new(Failing(b"1,2\n3,\"4\n\"\n5,6\n7")), b',', piece);
            let mut text = vec![];
            let error = loop {
                match cutter.next_piece() {
                    Ok(Some(piece)) => text.extend(piece),
                    Ok(None) => panic!("the error is lost"),
                    Err(error) => break error,
                }
            };
            assert_eq!(text, b"1,2\n3,\"4\n\"\n5,6\n", "{piece}");
            assert!(matches!(error, CutError::Io(_)));
            assert!(matches!(cutter.next_piece(), Ok(None)));
        }
    }

    /// Texts of the characters that matter, so that quotation marks, line ends and pieces meet in all ways.
    fn nasty() -> impl Strategy<Value = Vec<u8>> {
        let part = prop_oneof![
            4 => Just(&b","[..]),
            2 => Just(&b"\n"[..]),
            2 => Just(&b"\r\n"[..]),
            1 => Just(&b"\r"[..]),
            3 => Just(&b"\""[..]),
            1 => Just(&b"\"\""[..]),
            3 => Just(&b"12.5"[..]),
            1 => Just(&b"-7e3"[..]),
            1 => Just(&b"nan"[..]),
            2 => Just(&b"x"[..]),
            1 => Just(&b" "[..]),
            1 => Just(&b"\xff"[..]),
        ];
        prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
    }

    /// Rows of two cells, most of them sound.
    fn table_like() -> impl Strategy<Value = Vec<u8>> {
        let cell = prop_oneof![
            6 => Just("1.5"),
            2 => Just("007"),
            2 => Just(""),
            1 => Just("-nan"),
            1 => Just("inf"),
            1 => Just("true"),
            1 => Just("2024-05-31"),
            2 => Just("town"),
            2 => Just("\"a\r\n\"\"b\""),
            1 => Just("5\""),
        ];
        let end = prop_oneof![6 => Just("\n"), 2 => Just("\r\n"), 1 => Just("\n\n"), 1 => Just(",9\n")];
        let row = (cell.clone(), cell, end).prop_map(|(a, b, end)| format!("{a},{b}{end}"));
        prop::collection::vec(row, 0..25).prop_map(|rows| format!("a,b\n{}", rows.concat()).into_bytes())
    }

    proptest! {
        #[test]
        fn cells_are_those_of_the_csv_crate(text in nasty(), piece in 1_usize..12) {
            let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(&text[..]);
            let want: Vec<Vec<Vec<u8>>> = reader
                .byte_records()
                .map(|record| record.unwrap().iter().map(<[u8]>::to_vec).collect())
                .collect();
            let mut cutter = Cutter::new(Box::new(io::Cursor::new(text.clone())), b',', piece);
            let mut found = vec![];
            let mut all = vec![];
            while let Some(piece) = cutter.next_piece().unwrap() {
                let mut rest = &piece[..];
                while let Some(first) = records::first(rest, b',') {
                    found.push(first.cells);
                    rest = &rest[first.length..];
                }
                all.extend(piece);
            }
            prop_assert_eq!(all, text);
            prop_assert_eq!(found, want);
        }

        #[test]
        fn any_text_is_the_same_in_any_pieces(text in nasty()) {
            is_the_same_in_any_pieces(&text, &ReadOptions { header: false, ..ReadOptions::default() });
        }

        #[test]
        fn any_table_is_the_same_in_any_pieces(text in table_like(), declared in 0..3) {
            let mut options = ReadOptions::default();
            match declared {
                0 => options.fields.push(Field::new("b", Kind::Number)),
                1 => options.fields.push(Field::new("a", Kind::Text)),
                _ => {}
            }
            is_the_same_in_any_pieces(&text, &options);
        }
    }
}
