//! JSON as delimited text in memory: rows as objects, one per line or in a list, and the shapes in which data frames are
//! written, column by column.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use paretau_core::{Error, Result};
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::limit::Budget;
use super::source::Input;
use super::spelled::{Spelled, number_text};
use crate::table::file_error;

type Row = Map<String, Value>;

/// What to do about JSON of another shape.
const REMEDY: &str = "each row must be an object of names and values, such as {\"t\": 1, \"y\": 2.5}; in pandas, \
                      `to_json(…, orient=\"records\")`";

/// An array of objects, one object on each line, or an object of columns.
pub(super) fn json(path: &Path, max_memory: u64) -> Result<Input> {
    let size = super::source::open(path)?.metadata().map_or(0, |about| about.len());
    // Its values as a tree take several times as much as its text.
    Budget::new(path, max_memory).check("its values", size.saturating_mul(8))?;
    let mut bytes = vec![];
    // Devices and pipes tell no size; a byte more than the limit shows that there is too much.
    let read = File::open(path).and_then(|file| file.take((max_memory / 8).saturating_add(1)).read_to_end(&mut bytes));
    read.map_err(|source| Error::Io { path: path.to_owned(), source })?;
    Budget::new(path, max_memory).check("its values", (bytes.len() as u64).saturating_mul(8))?;
    super::source::check_is_text(path, &bytes)?;
    let text = String::from_utf8(bytes).map_err(|e| {
        let line = e.as_bytes()[..e.utf8_error().valid_up_to()].iter().filter(|b| **b == b'\n').count() + 1;
        let message = format!("(line {line}) holds bytes that are not UTF-8 text; save the file again as UTF-8");
        file_error(path, None, None, message)
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let text = &*nan_as_null(text);
    let rows = if text.trim_start().starts_with('[') {
        let rows: Vec<UniqueNames> = serde_json::from_str(text).map_err(|e| {
            let message = format!("(line {}) is not a JSON array of objects ({e}); {REMEDY}", e.line());
            file_error(path, None, None, message)
        })?;
        rows.into_iter().map(|row| row.0).collect()
    } else {
        // Objects on several lines are no one object, which the second of them shows at once.
        match serde_json::from_str::<Row>(text).ok().map(|whole| of_columns(path, whole)).transpose()? {
            Some(rows) => rows,
            None => of_lines(path, text)?,
        }
    };
    spell(path, rows)
}

/// `NaN`, which JSON does not know and Python writes, as `null`; texts stay as they are.
fn nan_as_null(text: &str) -> Cow<'_, str> {
    if !text.contains("NaN") {
        return Cow::Borrowed(text);
    }
    let (mut out, mut copied) = (String::with_capacity(text.len() + 16), 0);
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = quoted,
            b'"' => quoted = !quoted,
            b'N' if !quoted && text[at..].starts_with("NaN") => {
                out += &text[copied..at];
                out += "null";
                copied = at + "NaN".len();
            }
            _ => {}
        }
    }
    out += &text[copied..];
    Cow::Owned(out)
}

/// A row whose names are all different; JSON itself would keep the last value of a name.
struct UniqueNames(Row);

impl<'de> Deserialize<'de> for UniqueNames {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Names;

        impl<'de> Visitor<'de> for Names {
            type Value = UniqueNames;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "an object of names and values")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut entries: M) -> Result<Self::Value, M::Error> {
                let mut row = Row::new();
                while let Some((name, value)) = entries.next_entry::<String, Value>()? {
                    if row.contains_key(&name) {
                        return Err(M::Error::custom(format!("the name `{name}` stands twice in one object")));
                    }
                    row.insert(name, value);
                }
                Ok(UniqueNames(row))
            }
        }

        from.deserialize_map(Names)
    }
}

fn of_lines(path: &Path, text: &str) -> Result<Vec<Row>> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .enumerate()
        .map(|(row, (k, line))| {
            serde_json::from_str(line).map(|row: UniqueNames| row.0).map_err(|e| {
                let message = format!(
                    "(line {}) is not a JSON object ({e}); write one object per line, or an array of objects",
                    k + 1
                );
                file_error(path, None, Some(row as u64 + 1), message)
            })
        })
        .collect()
}

/// The rows of one object: a list of objects under some name, columns as lists or by the rows' names, rows by their names,
/// names and rows apart, or else a single row.
fn of_columns(path: &Path, mut whole: Row) -> Result<Vec<Row>> {
    let is_scalar = |value: &Value| !value.is_array() && !value.is_object();
    let is_records = |value: &Value| value.as_array().is_some_and(|a| !a.is_empty() && a.iter().all(Value::is_object));
    let refuse = |message: String| Err(file_error(path, None, None, message));
    let lists: Vec<String> =
        whole.iter().filter(|(_, value)| is_records(value)).map(|(name, _)| name.clone()).collect();
    if let [name] = &lists[..] {
        let Some(Value::Array(rows)) = whole.remove(name) else { return Ok(vec![]) };
        return Ok(rows
            .into_iter()
            .filter_map(|row| if let Value::Object(row) = row { Some(row) } else { None })
            .collect());
    }
    if !lists.is_empty() {
        return refuse(format!(
            "holds several lists of rows ({}); write each into a file of its own",
            lists.join(", ")
        ));
    }
    if let (Some(Value::Array(names)), Some(Value::Array(rows))) = (whole.get("columns"), whole.get("data"))
        && !rows.is_empty()
        && rows.iter().all(|row| row.as_array().is_some_and(|row| row.len() == names.len()))
    {
        let name = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let names: Vec<String> = names.iter().map(name).collect();
        let row = |row: &Value| names.iter().cloned().zip(row.as_array().into_iter().flatten().cloned()).collect();
        return Ok(rows.iter().map(row).collect());
    }
    let is_list = |value: &Value| value.as_array().is_some_and(|list| list.iter().all(is_scalar));
    if whole.values().all(is_list) && !whole.is_empty() {
        let lengths: Vec<(&String, usize)> =
            whole.iter().map(|(name, list)| (name, list.as_array().map_or(0, Vec::len))).collect();
        let (first, n) = lengths[0];
        if let Some((name, other)) = lengths.iter().find(|(_, other)| *other != n) {
            return refuse(format!("column `{first}` has {n} values, but `{name}` has {other}; {REMEDY}"));
        }
        let row = |i: usize| whole.iter().map(|(name, list)| (name.clone(), list[i].clone())).collect();
        return Ok((0..n).map(row).collect());
    }
    if !whole.is_empty() && whole.values().all(|value| value.as_object().is_some_and(|o| o.values().all(is_scalar))) {
        return of_named_rows(path, whole);
    }
    Ok(vec![whole])
}

/// Objects in an object, as data frames are written: rows by number in columns, or columns in rows by number.
fn of_named_rows(path: &Path, whole: Row) -> Result<Vec<Row>> {
    let is_number = |name: &String| name.parse::<i64>().is_ok();
    let inner = |value: Value| if let Value::Object(value) = value { value } else { Map::new() };
    let rows_outside = whole.keys().all(is_number);
    let rows_inside = whole.values().filter_map(Value::as_object).all(|column| column.keys().all(is_number));
    let number = |name: &str| name.parse::<i64>().unwrap_or_default();
    match (rows_outside, rows_inside) {
        (true, false) => {
            let mut rows: Vec<(i64, Row)> = whole.into_iter().map(|(name, row)| (number(&name), inner(row))).collect();
            rows.sort_by_key(|(number, _)| *number);
            Ok(rows.into_iter().map(|(_, row)| row).collect())
        }
        (false, true) => {
            let mut rows: std::collections::BTreeMap<i64, Row> = std::collections::BTreeMap::new();
            for (name, column) in whole {
                for (row, value) in inner(column) {
                    rows.entry(number(&row)).or_default().insert(name.clone(), value);
                }
            }
            Ok(rows.into_values().collect())
        }
        _ => Err(file_error(path, None, None, format!("holds objects in an object, of rows or of columns; {REMEDY}"))),
    }
}

/// Rows as delimited text; objects in a row become columns named `outer.inner`.
fn spell(path: &Path, rows: Vec<Row>) -> Result<Input> {
    let rows = rows.into_iter().enumerate().map(|(i, row)| flat(path, row, i)).collect::<Result<Vec<Row>>>()?;
    let mut names: Vec<&str> = vec![];
    let mut places: HashMap<&str, usize> = HashMap::new();
    for name in rows.iter().flat_map(Map::keys) {
        places.entry(name).or_insert_with(|| {
            names.push(name);
            names.len() - 1
        });
    }
    if names.is_empty() {
        return Err(file_error(path, None, None, format!("holds no objects; {REMEDY}")));
    }
    let mut out = Spelled::new(&names);
    let mut cells = vec![String::new(); names.len()];
    for row in &rows {
        cells.iter_mut().for_each(String::clear);
        for (name, value) in row {
            cells[places[name.as_str()]] = match value {
                Value::Bool(value) => value.to_string(),
                Value::Number(number) => number.as_f64().map_or_else(|| number.to_string(), number_text),
                Value::String(text) => text.clone(),
                _ => String::new(),
            };
        }
        out.row(&cells);
    }
    Ok(out.input(path))
}

fn flat(path: &Path, row: Row, i: usize) -> Result<Row> {
    if row.values().all(|value| !value.is_object() && !value.is_array()) {
        return Ok(row);
    }
    let mut out = Map::new();
    let mut open: Vec<(String, Value)> = row.into_iter().collect();
    while let Some((name, value)) = open.pop() {
        match value {
            Value::Object(inner) => {
                open.extend(inner.into_iter().map(|(part, value)| (format!("{name}.{part}"), value)));
            }
            Value::Array(_) => {
                let message = "holds a list; give each value a name of its own";
                return Err(file_error(path, Some(&name), Some(i as u64 + 1), message));
            }
            value if out.contains_key(&name) => {
                let message = format!("stands twice, once as `{value}`; give each value a name of its own");
                return Err(file_error(path, Some(&name), Some(i as u64 + 1), message));
            }
            value => {
                out.insert(name, value);
            }
        }
    }
    Ok(out)
}
