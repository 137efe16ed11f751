//! Stata files of Stata 13 and later: values as delimited text, dates as ISO dates, labelled codes as their labels.
//!
//! The crate that decodes them takes memory on the file's word, so that every length is held against the file beforehand.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use dta::stata::dta::dta_error::DtaError;
use dta::stata::dta::dta_reader::DtaReader;
use dta::stata::dta::long_string_table::LongStringTable;
use dta::stata::dta::record_reader::RecordReader;
use dta::stata::dta::value::Value;
use dta::stata::dta::value_label_table::ValueLabelTable;
use dta::stata::dta::variable::Variable;
use dta::stata::stata_byte::StataByte;
use dta::stata::stata_double::StataDouble;
use dta::stata::stata_float::StataFloat;
use dta::stata::stata_int::StataInt;
use dta::stata::stata_long::StataLong;
use paretau_core::Result;

use super::limit::{Budget, table_bytes};
use super::parquet::damaged;
use super::source::Input;
use super::spelled::{Spelled, number_text};
use crate::table::file_error;

/// Days from 1960-01-01, where Stata counts from, to 1970-01-01.
const EPOCH: f64 = 3653.0;
const DAY_MS: f64 = 86_400_000.0;
/// Fewest bytes that the description of a variable takes.
const VARIABLE: u64 = 64;
/// Places of the sections with lengths of their own in the file's map: characteristics, long strings, value labels.
const SECTIONS: [(usize, usize, &[u8]); 3] = [(8, 9, b"<ch>"), (10, 11, b"GSO"), (11, 12, b"<lbl>")];

/// The data of a Stata file as delimited text, with a note on labels if there are any.
pub(super) fn stata(path: &Path, max_memory: u64) -> Result<(Input, Option<String>)> {
    let (n_rows, n_columns) = check_claims(path, max_memory)?;
    Budget::new(path, max_memory).check("its data", table_bytes(n_rows, n_columns).saturating_mul(4))?;
    let unread = |error: DtaError| damaged(path, &error);
    let labels = Labels::of(path).map_err(unread)?;
    let mut records = open(path).map_err(unread)?;
    let variables = records.schema().variables().to_vec();
    if variables.is_empty() {
        return Err(file_error(path, None, None, "has no columns"));
    }
    let names: Vec<&str> = variables.iter().map(Variable::name).collect();
    let mut out = Spelled::new(&names);
    let mut cells = vec![String::new(); names.len()];
    while let Some(record) = records.read_record().map_err(unread)? {
        for ((cell, value), (variable, labelled)) in
            cells.iter_mut().zip(record.values()).zip(variables.iter().zip(&labels.labelled))
        {
            *cell = labels.text(value, variable, *labelled);
        }
        out.row(&cells);
    }
    let labelled: Vec<String> =
        names.iter().zip(&labels.labelled).filter(|(_, is)| **is).map(|(name, _)| format!("`{name}`")).collect();
    let note = (!labelled.is_empty())
        .then(|| format!("every value has a label in {}: the labels are read, as categories", labelled.join(", ")));
    Ok((out.input(path), note))
}

fn open(path: &Path) -> std::result::Result<RecordReader<BufReader<File>>, DtaError> {
    let mut characteristics = DtaReader::new().from_path(path)?.read_header()?.read_schema()?;
    characteristics.skip_to_end()?;
    characteristics.into_record_reader()
}

/// What stands behind the data: long strings, and labels of values.
struct Labels {
    strings: LongStringTable,
    sets: ValueLabelTable,
    /// Columns whose every value has a label, and which have more than two: codes of categories. Two values stay 0 and 1.
    labelled: Vec<bool>,
}

impl Labels {
    fn of(path: &Path) -> std::result::Result<Self, DtaError> {
        let mut records = open(path)?;
        let variables = records.schema().variables().to_vec();
        let mut values: Vec<Option<BTreeSet<i32>>> =
            variables.iter().map(|v| (!v.value_label_name().is_empty()).then(BTreeSet::new)).collect();
        while let Some(record) = records.read_record()? {
            for (slot, value) in values.iter_mut().zip(record.values()) {
                match (slot.as_mut(), number(value)) {
                    (Some(set), Some(value)) if value.fract() == 0.0 && value.abs() < f64::from(i32::MAX) => {
                        set.insert(value as i32);
                    }
                    (Some(_), Some(_)) => *slot = None,
                    _ => {}
                }
            }
        }
        let mut strings = LongStringTable::for_reading();
        let mut rest = records.into_long_string_reader()?;
        rest.read_remaining_into(&mut strings)?;
        let mut rest = rest.into_value_label_reader()?;
        let mut sets = ValueLabelTable::new();
        rest.read_remaining_into(&mut sets)?;
        let is_labelled = |(variable, values): (&Variable, Option<BTreeSet<i32>>)| {
            let all = |set: &BTreeSet<i32>| set.iter().all(|&value| sets.label_for(variable, value).is_some());
            values.is_some_and(|set| set.len() > 2 && all(&set))
        };
        let labelled = variables.iter().zip(values).map(is_labelled).collect();
        Ok(Self { strings, sets, labelled })
    }

    /// A cell as every reader knows it.
    fn text(&self, value: &Value<'_>, variable: &Variable, labelled: bool) -> String {
        match value {
            Value::String(text) => text.to_string(),
            Value::LongStringRef(place) => match self.strings.get(place) {
                Some(text) => String::from_utf8_lossy(text.data()).trim_end_matches('\0').to_owned(),
                None => String::new(),
            },
            value => match number(value) {
                None => String::new(),
                Some(value) if labelled => {
                    self.sets.label_for(variable, value as i32).map_or_else(|| number_text(value), str::to_owned)
                }
                Some(value) => date_text(value, variable.format()).unwrap_or_else(|| number_text(value)),
            },
        }
    }
}

fn number(value: &Value<'_>) -> Option<f64> {
    match value {
        Value::Byte(StataByte::Present(value)) => Some(f64::from(*value)),
        Value::Int(StataInt::Present(value)) => Some(f64::from(*value)),
        Value::Long(StataLong::Present(value)) => Some(f64::from(*value)),
        Value::Float(StataFloat::Present(value)) => Some(f64::from(*value)),
        Value::Double(StataDouble::Present(value)) => Some(*value),
        _ => None,
    }
}

/// A day or a time in a format that says so; counts of weeks, months, quarters, halves and years stay numbers.
fn date_text(value: f64, format: &str) -> Option<String> {
    let plain = format.trim_start_matches(['%', '-']);
    let days = match plain.get(..2) {
        Some("td" | "d") => value,
        Some("tc" | "tC") => value / DAY_MS,
        _ if plain.starts_with('d') => value,
        _ => return None,
    };
    // Years from 1 to 9999, which ISO dates have.
    (-719_162.0..2_932_897.0).contains(&(days - EPOCH)).then(|| crate::calendar::format_iso(days - EPOCH))
}

/// Holds the file's counts and lengths against what it can hold; rows and columns.
fn check_claims(path: &Path, max_memory: u64) -> Result<(usize, usize)> {
    let mut file = super::source::open(path)?;
    let size = file.metadata().map_or(0, |about| about.len());
    Budget::new(path, max_memory).check("its data", size)?;
    let io = |e: std::io::Error| damaged(path, &e);
    let mut start = vec![0; 2048.min(usize::try_from(size).unwrap_or(2048))];
    file.read_exact(&mut start).map_err(io)?;
    if !start.starts_with(b"<stata_dta>") {
        let message = "is no Stata file, or one of Stata 12 or older; in Stata, `use` and `save` it again; in pandas, \
                       `to_stata(…, version=118)`";
        return Err(file_error(path, None, None, message));
    }
    let header = DtaReader::new().from_path(path).and_then(dta::stata::dta::header_reader::HeaderReader::read_header);
    let schema = header.map_err(|error| damaged(path, &error))?;
    let header = schema.header();
    let (n_rows, n_columns) = (header.observation_count(), u64::from(header.variable_count()));
    let rows_fit = n_rows <= size && (n_columns > 0 || n_rows == 0);
    if !rows_fit || n_columns.saturating_mul(VARIABLE) > size {
        return Err(damaged(path, &format!("it claims {n_rows} rows and {n_columns} columns")));
    }
    let little = find(&start, b"<byteorder>LSF").is_some();
    let whole = |bytes: &[u8]| -> u64 {
        let shift = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        if little { bytes.iter().rev().fold(0, shift) } else { bytes.iter().fold(0, shift) }
    };
    let cut = || damaged(path, &"a section's length goes beyond the file");
    let map_at = find(&start, b"<map>").ok_or_else(cut)? + 5;
    let map: Vec<u64> = start.get(map_at..map_at + 14 * 8).ok_or_else(cut)?.chunks(8).map(whole).collect();
    let release = start.get(28..31).and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default();
    for (from, to, tag) in SECTIONS {
        let (mut at, end) = (map[from], map[to]);
        if end > size || at > end {
            return Err(cut());
        }
        // Behind the section's own tag.
        let before = match tag {
            b"<ch>" => "<characteristics>".len(),
            b"GSO" => "<strls>".len(),
            _ => "<value_labels>".len(),
        } as u64;
        at += before;
        let skip = match (tag, release) {
            (b"GSO", "117") => 3 + 4 + 4 + 1,
            (b"GSO", _) => 3 + 4 + 8 + 1,
            (tag, _) => tag.len(),
        };
        let mut head = vec![0; skip + 4];
        while at + head.len() as u64 <= end {
            file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(&mut head)).map_err(io)?;
            if !head.starts_with(tag) {
                break;
            }
            at = at.saturating_add(head.len() as u64).saturating_add(whole(&head[skip..]));
            if at > end {
                return Err(cut());
            }
            at += match tag {
                b"<ch>" => 5,
                b"GSO" => 0,
                // The name and three bytes of padding stand between the length and the table.
                _ => label_name(release) + 6,
            };
        }
    }
    let count = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    Ok((count(n_rows), count(n_columns)))
}

/// Bytes of a label set's name with the padding behind it.
fn label_name(release: &str) -> u64 {
    if release == "117" { 33 + 3 } else { 129 + 3 }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes, wanted)
}
