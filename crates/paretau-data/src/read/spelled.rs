//! Workbooks and JSON, whose values are spelled out as delimited text in memory, so that one reader finds out kinds,
//! counts rows and names cells for all of them; and formats that are refused with advice.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use calamine::{Data, Reader as _};
use paretau_core::{Error, Result};
use serde_json::{Map, Value};

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
        "json" | "ndjson" | "jsonl" => json(path, options.max_memory).map(|input| Some((input, None))),
        "xlsx" | "xlsm" | "xlsb" | "xls" | "ods" => {
            // A damaged workbook may bring its decoder down.
            shielded(path, || workbook(path, options.sheet.as_deref(), options.max_memory)).map(Some)
        }
        "dta" => {
            refuse("is a Stata file; in Stata, `export delimited using data.csv`, or save it as CSV with R or pandas")
        }
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
    let mut head = [0; 2];
    let is_archive = super::source::open(path)?.read_exact(&mut head).is_ok() && head == *b"PK";
    if is_archive {
        let mut archive = Archive::open(path)?;
        let mut unpacked = 0_u64;
        for index in 0..archive.len() {
            unpacked = unpacked.saturating_add(archive.member(index, |_, size, _| Ok(size))?);
        }
        budget.check("its sheets", unpacked)?;
    }
    let unread = |e: calamine::Error| {
        let message =
            format!("cannot be read as a workbook ({e}); open it and save it again, or save the sheet as CSV");
        file_error(path, None, None, message)
    };
    let mut book = calamine::open_workbook_auto(path).map_err(unread)?;
    let names = book.sheet_names();
    let found = match sheet {
        Some(wanted) => names.iter().find(|name| name.trim().eq_ignore_ascii_case(wanted.trim())),
        None => names.first(),
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
    let range = book.worksheet_range(name).map_err(unread)?;
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
    let note = (sheet.is_none() && names.len() > 1)
        .then(|| format!("the first of {} sheets is read, `{name}`; --sheet names another", names.len()));
    Ok((out.input(path), note))
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
            if clock == "00:00:00" { date } else { format!("{date}T{clock}") }
        }
        Data::DateTime(time) => number_text(time.as_f64()),
        other => other.to_string(),
    }
}

/// An array of objects, or one object on each line.
fn json(path: &Path, max_memory: u64) -> Result<Input> {
    let size = super::source::open(path)?.metadata().map_or(0, |about| about.len());
    // Its values as a tree take several times as much as its text.
    Budget::new(path, max_memory).check("its values", size.saturating_mul(8))?;
    let mut text = String::new();
    // Devices and pipes tell no size; a byte more than the limit shows that there is too much.
    let read =
        File::open(path).and_then(|file| file.take((max_memory / 8).saturating_add(1)).read_to_string(&mut text));
    read.map_err(|source| Error::Io { path: path.to_owned(), source })?;
    Budget::new(path, max_memory).check("its values", (text.len() as u64).saturating_mul(8))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let rows: Vec<Map<String, Value>> = if text.trim_start().starts_with('[') {
        serde_json::from_str(text).map_err(|e| {
            file_error(path, None, None, format!("(line {}) is not a JSON array of objects: {e}", e.line()))
        })?
    } else {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        lines
            .enumerate()
            .map(|(row, (k, line))| {
                serde_json::from_str(line).map_err(|e| {
                    let message = format!(
                        "(line {}) is not a JSON object ({e}); write one object per line, or an array of objects",
                        k + 1
                    );
                    file_error(path, None, Some(row as u64 + 1), message)
                })
            })
            .collect::<Result<_>>()?
    };
    let mut names: Vec<&str> = vec![];
    let mut places: HashMap<&str, usize> = HashMap::new();
    for name in rows.iter().flat_map(Map::keys) {
        places.entry(name).or_insert_with(|| {
            names.push(name);
            names.len() - 1
        });
    }
    if names.is_empty() {
        return Err(file_error(path, None, None, "holds no objects; each row must be an object of names and values"));
    }
    let mut out = Spelled::new(&names);
    let mut cells = vec![String::new(); names.len()];
    for (i, row) in rows.iter().enumerate() {
        cells.iter_mut().for_each(String::clear);
        for (name, value) in row {
            cells[places[name.as_str()]] = match value {
                Value::Null => String::new(),
                Value::Bool(value) => value.to_string(),
                Value::Number(number) => number.as_f64().map_or_else(|| number.to_string(), number_text),
                Value::String(text) => text.clone(),
                Value::Array(_) | Value::Object(_) => {
                    let message = "holds a list or an object; give each value a name of its own";
                    return Err(file_error(path, Some(name), Some(i as u64 + 1), message));
                }
            };
        }
        out.row(&cells);
    }
    Ok(out.input(path))
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
