//! Workbooks, whose values (like those of JSON and of Stata files) are spelled out as delimited text in memory, so that one reader finds out kinds,
//! counts rows and names cells for all of them; and formats that are refused with advice.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use calamine::{Data, Reader as _};
use paretau_core::Result;

use super::ReadOptions;
use super::limit::{Budget, table_bytes};
use super::parquet::shielded;
use super::source::Input;
use super::zip::Archive;
use crate::table::file_error;

/// The file as delimited text with a note, if its ending names a format that is read this way; an error if it names one that
/// is not read at all.
pub(super) fn spelled(path: &Path, options: &ReadOptions) -> Result<Option<(Input, Option<String>)>> {
    let name = path.file_name().map(|n| n.to_string_lossy().to_lowercase()).unwrap_or_default();
    let ending = name.rsplit('.').next().unwrap_or_default();
    let refuse = |what: &str| Err(file_error(path, None, None, what));
    match ending {
        "json" | "ndjson" | "jsonl" => super::json::json(path, options.max_memory).map(|input| Some((input, None))),
        "xlsx" | "xlsm" | "xlsb" | "xls" | "ods" => {
            // A damaged workbook may bring its decoder down.
            shielded(path, || workbook(path, options.sheet.as_deref(), options.max_memory)).map(Some)
        }
        "dta" => shielded(path, || super::stata::stata(path, options.max_memory)).map(Some),
        "sav" | "zsav" | "por" => refuse("is an SPSS file; in SPSS, save it as CSV, or use R (haven) or pandas"),
        "sas7bdat" | "xpt" => refuse("is a SAS file; `proc export` it as CSV, or use R (haven) or pandas"),
        "rds" | "rda" | "rdata" => refuse("is an R file; in R, `write.csv(data, \"data.csv\", row.names = FALSE)`"),
        "db" | "sqlite" | "sqlite3" | "duckdb" => {
            refuse("is a database; export the table as CSV or Parquet, e.g. with `COPY table TO 'data.parquet'`")
        }
        "pkl" | "pickle" => refuse("is a pickle; in Python, write the frame with `to_parquet` or `to_csv`"),
        _ => Ok(None),
    }
}

/// A sheet of a workbook, the first unless another is named.
fn workbook(path: &Path, sheet: Option<&str>, max_memory: u64) -> Result<(Input, Option<String>)> {
    let budget = Budget::new(path, max_memory);
    let mut head = vec![];
    let read = super::source::open(path)?.take(512).read_to_end(&mut head);
    read.map_err(|source| paretau_core::Error::Io { path: path.to_owned(), source })?;
    let is_archive = head.starts_with(b"PK");
    // Programs that cannot write a workbook write a web page or text under its name.
    let start = String::from_utf8_lossy(&head).trim_start_matches(['\u{feff}', ' ', '\r', '\n', '\t']).to_lowercase();
    if start.starts_with('<') {
        let message = "is a web page (HTML or XML) under the name of a workbook; open it in a spreadsheet program and save it \
                       as .xlsx or CSV";
        return Err(file_error(path, None, None, message));
    }
    if !is_archive && !head.is_empty() && head.iter().all(|&b| b >= b' ' || matches!(b, b'\t' | b'\n' | b'\r')) {
        let message = "is plain text under the name of a workbook; if it is CSV, rename it to end in .csv";
        return Err(file_error(path, None, None, message));
    }
    if is_archive {
        let mut archive = Archive::open(path)?;
        let (mut unpacked, mut content) = (0_u64, None);
        for index in 0..archive.len() {
            let size = |name: &str, size: u64, _: &mut dyn std::io::Read| Ok((size, name == "content.xml"));
            let (size, is_content) = archive.member(index, size)?;
            unpacked = unpacked.saturating_add(size);
            content = content.or(is_content.then_some(index));
        }
        budget.check("its sheets", unpacked)?;
        if let Some(index) = content {
            check_merged_rows(path, &mut archive, index, unpacked)?;
        }
    }
    let unread = |e: calamine::Error| {
        let message =
            format!("cannot be read as a workbook ({e}); open it and save it again, or save the sheet as CSV");
        file_error(path, None, None, message)
    };
    let mut book = calamine::open_workbook_auto(path).map_err(unread)?;
    let names = book.sheet_names();
    let visible: Vec<String> = (book.sheets_metadata().iter())
        .filter(|sheet| sheet.visible == calamine::SheetVisible::Visible && sheet.typ == calamine::SheetType::WorkSheet)
        .map(|sheet| sheet.name.clone())
        .collect();
    let found = match sheet {
        Some(wanted) => names.iter().find(|name| name.trim().eq_ignore_ascii_case(wanted.trim())),
        // A hidden sheet holds lists for menus and the like.
        None => visible.first().or(names.first()),
    };
    let Some(name) = found else {
        let wanted = sheet.map_or_else(|| "has no sheet".to_owned(), |sheet| format!("has no sheet `{sheet}`"));
        return Err(file_error(path, None, None, format!("{wanted}; its sheets are {}", names.join(", "))));
    };
    if let calamine::Sheets::Xlsx(book) = &mut book {
        // One cell in a far corner makes a sheet as large as all cells before it.
        let unread = |e| unread(calamine::Error::Xlsx(e));
        let mut cells = book.worksheet_cells_reader(name).map_err(unread)?;
        let (mut rows, mut columns) = (0, 0);
        while let Some(cell) = cells.next_cell().map_err(unread)? {
            let (row, column) = cell.get_position();
            (rows, columns) = (rows.max(row as usize + 1), columns.max(column as usize + 1));
        }
        budget.check("its sheet", table_bytes(rows, columns).saturating_mul(4))?;
    }
    let mut range = book.worksheet_range(name).map_err(unread)?;
    if let Some((row, column)) = unreckoned(&range, &book.worksheet_formula(name).map_err(unread)?) {
        let message = format!(
            "its sheet `{name}` holds a formula without a value in cell {}{}; open it in a spreadsheet program and save it again, \
             so that formulas are worked out",
            letters_of(column),
            row + 1
        );
        return Err(file_error(path, None, None, message));
    }
    let merged = match &mut book {
        calamine::Sheets::Xlsx(book) => match book.merge_cells_by_sheet_name(name) {
            Ok(regions) => fill_merged(&mut range, &regions),
            Err(e) => return Err(unread(calamine::Error::Xlsx(e))),
        },
        _ => 0,
    };
    let mut out = Spelled(String::new());
    let mut cells = vec![];
    for row in range.rows().filter(|row| row.iter().any(|cell| *cell != Data::Empty)) {
        cells.clear();
        cells.extend(row.iter().map(cell_text));
        out.row(&cells);
    }
    if out.0.is_empty() {
        return Err(file_error(path, None, None, format!("its sheet `{name}` is empty; name another with --sheet")));
    }
    let hidden = if visible.len() < names.len() && visible.contains(name) { "visible " } else { "" };
    let n_sheets = if hidden.is_empty() { names.len() } else { visible.len() };
    let first = (sheet.is_none() && n_sheets > 1)
        .then(|| format!("the first of {n_sheets} {hidden}sheets is read, `{name}`; --sheet names another"));
    let merged = (merged > 0).then(|| {
        let (cells, go, their) = if merged == 1 { ("cell", "goes", "its") } else { ("cells", "go", "their") };
        format!("{merged} merged {cells} {go} over several rows, each of which has {their} value")
    });
    let notes: Vec<String> = first.into_iter().chain(merged).collect();
    Ok((out.input(path), (!notes.is_empty()).then(|| notes.join("; "))))
}

/// Refuses an OpenDocument sheet with cells that go over several rows: of these only the first has the value, and the reader does
/// not say which they are.
fn check_merged_rows(path: &Path, archive: &mut Archive, index: usize, size: u64) -> Result<()> {
    let text = archive.member(index, |_, _, bytes| {
        let mut text = vec![];
        bytes
            .take(size)
            .read_to_end(&mut text)
            .map_err(|source| paretau_core::Error::Io { path: path.to_owned(), source })?;
        Ok(text)
    })?;
    let attribute = b"table:number-rows-spanned=\"";
    let spans = memchr::memmem::find_iter(&text, attribute).any(|at| !text[at + attribute.len()..].starts_with(b"1\""));
    if spans {
        let message = "holds cells that are merged over several rows, of which only the first would get the value; unmerge them and \
                       fill the rows, or save it as .xlsx";
        return Err(file_error(path, None, None, message));
    }
    Ok(())
}

/// The first cell that has a formula and no value, as programs leave it that write workbooks and do not work them out.
fn unreckoned(range: &calamine::Range<Data>, formulas: &calamine::Range<String>) -> Option<(u32, u32)> {
    let start = formulas.start()?;
    formulas
        .used_cells()
        .filter(|(_, _, formula)| !formula.is_empty())
        .map(|(row, column, _)| (start.0 + row as u32, start.1 + column as u32))
        .find(|&place| range.get_value(place).is_none_or(|value| *value == Data::Empty))
}

/// A column as spreadsheets count: A, B, …, Z, AA.
fn letters_of(column: u32) -> String {
    let letter = char::from(b'A' + (column % 26) as u8);
    if column < 26 { letter.to_string() } else { format!("{}{letter}", letters_of(column / 26 - 1)) }
}

/// Gives every row of a merged cell its value, of which a workbook keeps one; how many were filled.
fn fill_merged(range: &mut calamine::Range<Data>, regions: &[calamine::Dimensions]) -> usize {
    let (Some(start), Some(end)) = (range.start(), range.end()) else { return 0 };
    // Regions that overlap are damage; they must not cost more than the sheet has cells.
    let mut left = range.get_size().0.saturating_mul(range.get_size().1);
    let mut filled = 0;
    for region in regions {
        let (top, column) = region.start;
        let value = match range.get_value(region.start) {
            Some(value) if *value != Data::Empty && top >= start.0 && column >= start.1 => value.clone(),
            _ => continue,
        };
        let rows: Vec<u32> = (top.saturating_add(1)..=region.end.0.min(end.0)).take(left).collect();
        left -= rows.len();
        filled += usize::from(!rows.is_empty());
        for row in rows {
            if range.get_value((row, column)) == Some(&Data::Empty) {
                range.set_value((row, column), value.clone());
            }
        }
    }
    filled
}

/// A workbook's cell: amounts, dates and truths as every reader knows them, texts and errors as they stand.
fn cell_text(cell: &Data) -> String {
    match cell {
        Data::Empty => String::new(),
        Data::Int(value) => value.to_string(),
        Data::Float(value) => number_text(*value),
        Data::Bool(value) => value.to_string(),
        Data::DateTime(time) if time.is_datetime() => {
            let (year, month, day, hour, minute, second, _) = time.to_ymd_hms_milli();
            let date = format!("{year:04}-{month:02}-{day:02}");
            let clock = format!("{hour:02}:{minute:02}:{second:02}");
            // A time of day without a date.
            if (0.0..1.0).contains(&time.as_f64()) {
                return clock;
            }
            if clock == "00:00:00" { date } else { format!("{date}T{clock}") }
        }
        Data::DateTime(time) => number_text(time.as_f64()),
        other => other.to_string(),
    }
}

/// A number so that its point cannot be taken for a separator of thousands.
pub(super) fn number_text(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 { format!("{value}") } else { format!("{value:e}") }
}

/// Delimited text under way.
pub(super) struct Spelled(String);

impl Spelled {
    pub(super) fn new<S: AsRef<str>>(names: &[S]) -> Self {
        let mut text = Self(String::new());
        text.row(names);
        text
    }

    pub(super) fn row<S: AsRef<str>>(&mut self, cells: &[S]) {
        for (j, cell) in cells.iter().enumerate() {
            if j > 0 {
                self.0.push('\t');
            }
            // A lone empty cell would be a blank line, which is no row.
            let cell = cell.as_ref();
            if cell.contains(['\t', '\n', '\r', '"']) || (cell.is_empty() && cells.len() == 1) {
                self.0.push('"');
                self.0.push_str(&cell.replace('"', "\"\""));
                self.0.push('"');
            } else {
                self.0.push_str(cell);
            }
        }
        self.0.push('\n');
    }

    pub(super) fn input(self, path: &Path) -> Input {
        Input::Memory(PathBuf::from(path), self.0.into_bytes().into())
    }
}
