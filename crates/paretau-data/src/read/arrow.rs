//! Arrow record batches to table columns: numbers, booleans, text, dictionaries, dates and decimals.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal128Type, Float16Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Schema, TimeUnit};
use paretau_core::Result;

use super::ReadOptions;
use super::builder::{BadCell, Builder, Finished};
use super::header::{Header, check_fields};
use crate::table::{Kind, Source, Table, TableColumn, file_error};

/// Which columns of an Arrow schema are read, and how.
pub(crate) struct Plan {
    path: std::path::PathBuf,
    header: Header,
    /// Place in the file's schema, unique name, and kind of the table's column.
    columns: Vec<(usize, String, Kind)>,
    unread: BTreeMap<String, String>,
}

impl Plan {
    /// Decides for every column of the schema; types that are no cells (lists, structs) are left out and noted.
    pub(crate) fn new(path: &Path, schema: &Schema, options: &ReadOptions) -> Result<Self> {
        let header = Header::from_names(schema.fields().iter().map(|f| f.name().clone()).collect());
        let mut columns = vec![];
        let mut unread = BTreeMap::new();
        let kinds = options.declared();
        for (j, field) in schema.fields().iter().enumerate() {
            let name = header.names[j].clone();
            let declared = kinds.get(name.as_str()).copied();
            if declared.is_none() && options.only_fields {
                continue;
            }
            if let Some(kind) = natural_kind(field.data_type()) {
                columns.push((j, name, declared.unwrap_or(kind)));
            } else {
                let reason = format!("has type {}, of which no cell can be made", field.data_type());
                unread.insert(name, reason);
            }
        }
        check_fields(path, options, &header.names, &unread)?;
        Ok(Self { path: path.to_owned(), header, columns, unread })
    }

    /// Places of the wanted columns in the file's schema, ascending.
    pub(crate) fn places(&self) -> Vec<usize> {
        self.columns.iter().map(|(j, _, _)| *j).collect()
    }

    /// Names of the columns that are not read.
    pub(crate) fn left_out(&self) -> Vec<String> {
        let read: HashSet<&String> = self.columns.iter().map(|(_, name, _)| name).collect();
        self.header.names.iter().filter(|name| !read.contains(name)).cloned().collect()
    }

    /// Empty columns with room for `n` rows.
    pub(crate) fn start(&self, n: usize) -> Vec<Growing> {
        self.columns
            .iter()
            .map(|&(_, _, kind)| match kind {
                Kind::Text => Growing::Cells(Builder::new(Some(Kind::Text))),
                _ => Growing::Numbers { values: Vec::with_capacity(n), is_date: kind == Kind::Date },
            })
            .collect()
    }

    /// Adds projected columns whose first row is data row `row` (0-based) of the file.
    pub(crate) fn add<'a>(
        &self,
        growing: &mut [Growing],
        arrays: impl IntoIterator<Item = &'a ArrayRef>,
        row: usize,
    ) -> Result<()> {
        for (((_, name, kind), column), array) in self.columns.iter().zip(growing).zip(arrays) {
            column
                .add(array, *kind)
                .map_err(|(i, message)| file_error(&self.path, Some(name), Some((row + i + 1) as u64), message))?;
        }
        Ok(())
    }

    /// Projected columns as a table that starts at data row `rows_before` (0-based).
    pub(crate) fn table<'a>(
        &self,
        arrays: impl IntoIterator<Item = &'a ArrayRef>,
        n_rows: usize,
        rows_before: usize,
    ) -> Result<Table> {
        let mut growing = self.start(n_rows);
        self.add(&mut growing, arrays, rows_before)?;
        self.finish(growing, rows_before)
    }

    /// The grown columns as a table that starts at data row `rows_before` (0-based).
    pub(crate) fn finish(&self, growing: Vec<Growing>, rows_before: usize) -> Result<Table> {
        let columns = growing.into_iter().zip(&self.columns).filter_map(|(g, (_, name, _))| g.finish(name)).collect();
        let mut table = Table::new(columns)?;
        table.source =
            Source { path: Some(self.path.clone()), rows_before, first_line: None, picked: None, parts: vec![] };
        table.notes.clone_from(&self.header.notes);
        if !self.unread.is_empty() {
            let names: Vec<&str> = self.unread.keys().map(String::as_str).collect();
            table.notes.push(format!("columns of nested or unknown type were not read: {}", names.join(", ")));
        }
        table.unread.clone_from(&self.unread);
        table.repeated.clone_from(&self.header.repeated);
        Ok(table)
    }
}

/// The kind of table column that an Arrow type makes.
fn natural_kind(data_type: &DataType) -> Option<Kind> {
    use DataType as D;
    match data_type {
        D::Null
        | D::Boolean
        | D::Int8
        | D::Int16
        | D::Int32
        | D::Int64
        | D::UInt8
        | D::UInt16
        | D::UInt32
        | D::UInt64
        | D::Float16
        | D::Float32
        | D::Float64
        | D::Decimal128(_, _) => Some(Kind::Number),
        D::Date32 | D::Date64 | D::Timestamp(_, _) => Some(Kind::Date),
        D::Utf8 | D::LargeUtf8 | D::Utf8View => Some(Kind::Text),
        D::Dictionary(_, values) => natural_kind(values),
        _ => None,
    }
}

/// A column under way.
pub(crate) enum Growing {
    Numbers {
        values: Vec<f64>,
        is_date: bool,
    },
    /// Text, or text that must be read as numbers.
    Cells(Builder),
}

/// Row of the batch, and what is wrong there.
type BadRow = (usize, String);

impl Growing {
    fn add(&mut self, array: &ArrayRef, kind: Kind) -> Result<(), BadRow> {
        if let DataType::Dictionary(_, _) = array.data_type() {
            let dictionary = array.as_any_dictionary();
            return self.add_dictionary(dictionary, kind);
        }
        if natural_kind(array.data_type()) == Some(Kind::Text) {
            return self.add_text(array, kind);
        }
        match self {
            Self::Numbers { values, is_date } => {
                *is_date = natural_kind(array.data_type()) == Some(Kind::Date);
                let start = values.len();
                numbers(array, values);
                match values[start..].iter().position(|v| v.is_infinite()) {
                    Some(i) => Err((i, BadCell::Infinite.message(values[start + i].to_string().as_bytes()))),
                    None => Ok(()),
                }
            }
            // Numbers where text is wanted, e.g. whole-number identifiers, keep all their digits.
            Self::Cells(builder) => {
                for i in 0..array.len() {
                    let text = if array.is_null(i) { String::new() } else { cell_text(array, i) };
                    builder.push(text.as_bytes(), 0).map_err(|bad| (i, bad.message(text.as_bytes())))?;
                }
                Ok(())
            }
        }
    }

    fn add_text(&mut self, array: &ArrayRef, kind: Kind) -> Result<(), BadRow> {
        if let Self::Numbers { values, .. } = self {
            // Text in a column declared numeric: each cell must parse.
            let mut builder = Builder::new(Some(kind));
            std::mem::take(values).iter().for_each(|&v| builder.push_value(v));
            *self = Self::Cells(builder);
        }
        let Self::Cells(builder) = self else { return Ok(()) };
        for i in 0..array.len() {
            let cell = text_at(array, i).unwrap_or_default();
            builder.push(cell.as_bytes(), 0).map_err(|bad| (i, bad.message(cell.as_bytes())))?;
        }
        Ok(())
    }

    fn add_dictionary(
        &mut self,
        dictionary: &dyn arrow_array::array::AnyDictionaryArray,
        kind: Kind,
    ) -> Result<(), BadRow> {
        let values = dictionary.values();
        let keys = dictionary.normalized_keys();
        if natural_kind(values.data_type()) == Some(Kind::Text) && matches!(self, Self::Cells(_)) && kind == Kind::Text
        {
            let Self::Cells(builder) = self else { return Ok(()) };
            for i in 0..dictionary.len() {
                let cell = if dictionary.is_null(i) { None } else { text_at(values, keys[i]) }.unwrap_or_default();
                builder.push(cell.as_bytes(), 0).map_err(|bad| (i, bad.message(cell.as_bytes())))?;
            }
            return Ok(());
        }
        // Dictionaries of numbers are rare: spell them out.
        let mut spelled = Vec::with_capacity(values.len());
        numbers(values, &mut spelled);
        for i in 0..dictionary.len() {
            let value =
                if dictionary.is_null(i) { f64::NAN } else { spelled.get(keys[i]).copied().unwrap_or(f64::NAN) };
            match self {
                Self::Numbers { values, .. } => values.push(value),
                Self::Cells(builder) => {
                    let text = if value.is_nan() { String::new() } else { value.to_string() };
                    builder.push(text.as_bytes(), 0).map_err(|bad| (i, bad.message(text.as_bytes())))?;
                }
            }
        }
        Ok(())
    }

    fn finish(self, name: &str) -> Option<TableColumn> {
        match self {
            Self::Numbers { values, is_date: true } => Some(TableColumn::date(name, values)),
            Self::Numbers { values, is_date: false } => Some(TableColumn::number(name, values)),
            Self::Cells(mut builder) => match builder.finish(name) {
                Finished::Column(column) => Some(column),
                Finished::ReadAgain | Finished::Infinite { .. } => None,
            },
        }
    }
}

fn text_at(array: &ArrayRef, i: usize) -> Option<&str> {
    if array.is_null(i) {
        return None;
    }
    match array.data_type() {
        DataType::Utf8 => Some(array.as_string::<i32>().value(i)),
        DataType::LargeUtf8 => Some(array.as_string::<i64>().value(i)),
        DataType::Utf8View => Some(array.as_string_view().value(i)),
        _ => None,
    }
}

/// A number as it would be written, without going through a float that would lose digits.
fn cell_text(array: &ArrayRef, i: usize) -> String {
    match array.data_type() {
        DataType::Int64 => array.as_primitive::<Int64Type>().value(i).to_string(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(i).to_string(),
        DataType::Boolean => array.as_boolean().value(i).to_string(),
        other => {
            let mut value = Vec::with_capacity(1);
            numbers(&array.slice(i, 1), &mut value);
            let value = value.first().copied().unwrap_or(f64::NAN);
            if natural_kind(other) == Some(Kind::Date) {
                crate::calendar::format_iso(value)
            } else {
                crate::table::format_number(value)
            }
        }
    }
}

/// Appends the array as numbers, NaN where null; dates as days.
fn numbers(array: &ArrayRef, out: &mut Vec<f64>) {
    use DataType as D;
    match array.data_type() {
        D::Boolean => out.extend(array.as_boolean().iter().map(|v| v.map_or(f64::NAN, |v| f64::from(u8::from(v))))),
        D::Int8 => push::<Int8Type>(array, out, f64::from),
        D::Int16 => push::<Int16Type>(array, out, f64::from),
        D::Int32 => push::<Int32Type>(array, out, f64::from),
        D::Int64 => push::<Int64Type>(array, out, |v| v as f64),
        D::UInt8 => push::<UInt8Type>(array, out, f64::from),
        D::UInt16 => push::<UInt16Type>(array, out, f64::from),
        D::UInt32 => push::<UInt32Type>(array, out, f64::from),
        D::UInt64 => push::<UInt64Type>(array, out, |v| v as f64),
        D::Float16 => push::<Float16Type>(array, out, f64::from),
        D::Float32 => push::<Float32Type>(array, out, f64::from),
        D::Float64 => push::<Float64Type>(array, out, |v| v),
        D::Decimal128(_, scale) => {
            let unit = 10_f64.powi(i32::from(*scale));
            push::<Decimal128Type>(array, out, |v| v as f64 / unit);
        }
        D::Date32 => push::<Date32Type>(array, out, f64::from),
        D::Date64 => push::<Date64Type>(array, out, |ms| ms as f64 / 86_400e3),
        D::Timestamp(TimeUnit::Second, _) => push::<TimestampSecondType>(array, out, |s| s as f64 / 86_400.0),
        D::Timestamp(TimeUnit::Millisecond, _) => push::<TimestampMillisecondType>(array, out, |s| s as f64 / 86_400e3),
        D::Timestamp(TimeUnit::Microsecond, _) => push::<TimestampMicrosecondType>(array, out, |s| s as f64 / 86_400e6),
        D::Timestamp(TimeUnit::Nanosecond, _) => push::<TimestampNanosecondType>(array, out, |s| s as f64 / 86_400e9),
        _ => out.resize(out.len() + array.len(), f64::NAN),
    }
}

fn push<T: ArrowPrimitiveType>(array: &ArrayRef, out: &mut Vec<f64>, convert: impl Fn(T::Native) -> f64) {
    let array = array.as_primitive::<T>();
    if array.null_count() == 0 {
        out.extend(array.values().iter().map(|&v| convert(v)));
    } else {
        out.extend(array.iter().map(|v| v.map_or(f64::NAN, &convert)));
    }
}
