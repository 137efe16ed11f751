//! Reading files into tables: the format is known from the path's ending and checked by the first bytes.

mod arrow;
mod batches;
mod builder;
mod cell;
mod csv;
mod head;
mod header;
mod ipc;
mod ipc_lengths;
mod json;
mod limit;
mod lines;
mod many;
mod meaning;
mod news;
mod notation;
mod npy;
mod npz;
mod parquet;
mod parquet_pages;
mod parts;
mod pieces;
mod position;
mod records;
mod source;
mod spelled;
mod stata;
mod stream;
mod svm;
mod top;
mod understand;
mod zip;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use paretau_core::Result;

pub use crate::calendar::DateOrder;
pub use batches::BatchReader;
pub use limit::default_max_memory;
pub use news::news_files;
pub use notation::Notation;
pub use parts::{DataFiles, Part};
pub use position::Position;
pub use source::Format;
pub use stream::read_stream;

use crate::table::{Field, Kind, Reading, Table};
pub(crate) use cell::{Cell, classify};
pub(crate) use head::by_first_rows;
use source::Input;
pub(crate) use understand::quoted;

/// How to read a file. The default reads everything and finds out kinds by itself.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// The format, when the path does not tell it.
    pub format: Option<Format>,
    /// Whether the first line of a delimited text holds the names; without it they are `column1, column2, …`.
    pub header: bool,
    /// The delimiter of text; found out when not given.
    pub delimiter: Option<u8>,
    /// Columns whose kind is known, e.g. identifiers as text (`007` stays `007`) or a model's inputs.
    /// A cell that does not fit its declared kind is an error.
    pub fields: Vec<Field>,
    /// Columns whose kind is known, but which the file need not have.
    pub optional: Vec<Field>,
    /// Column that identifies rows, which messages about cells then name; see [`ReadOptions::with_id`].
    pub id: Option<String>,
    /// Read the columns in `fields` (all of which must be there) and `optional` and no others.
    pub only_fields: bool,
    /// Decimal mark of all numbers; found from the cells when not given.
    pub decimal: Option<char>,
    /// What separates thousands; found from the cells when not given.
    pub thousands: Option<char>,
    /// Order of day and month; found from the cells when not given.
    pub date_order: Option<DateOrder>,
    /// Marks that mean a missing cell, besides the usual ones; compared without case.
    pub na: Vec<String>,
    /// Columns of numbers in which every other cell counts as missing.
    pub numeric: Vec<String>,
    /// Columns of categories, though they may look like numbers.
    pub categorical: Vec<String>,
    /// How the cells of a column are written, where that is known from a model.
    pub notations: BTreeMap<String, Notation>,
    /// The sheet of a workbook; the first when not given.
    pub sheet: Option<String>,
    /// Bytes of memory that the contents of a file may take; a file that claims or unpacks to more is refused before
    /// the memory is taken. The default is [`default_max_memory`].
    pub max_memory: u64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            format: None,
            header: true,
            delimiter: None,
            fields: vec![],
            optional: vec![],
            id: None,
            only_fields: false,
            decimal: None,
            thousands: None,
            date_order: None,
            na: vec![],
            numeric: vec![],
            categorical: vec![],
            notations: BTreeMap::new(),
            sheet: None,
            max_memory: default_max_memory(),
        }
    }
}

impl ReadOptions {
    /// The same, with one more column of a known kind.
    #[must_use]
    pub fn with_field(mut self, field: Field) -> Self {
        self.fields.push(field);
        self
    }

    /// The same, with a column that identifies rows: it is read as text, so that `007` stays `007`, and messages name it.
    #[must_use]
    pub fn with_id(mut self, name: impl Into<String>) -> Self {
        let name = name.into();
        self.fields.push(Field::new(name.clone(), Kind::Text));
        self.id = Some(name);
        self
    }

    /// The same, with a decimal mark and a separator of thousands, as far as they are given. Where a point or a comma
    /// separates thousands, the other one is the decimal mark.
    pub fn with_marks(mut self, decimal: Option<char>, thousands: Option<char>) -> Result<Self, BadMark> {
        let check = |option: &'static str, given: Option<char>, known: &[char]| match given {
            Some(mark) if !known.contains(&mark) => {
                let shown: Vec<String> = known.iter().map(|mark| format!("'{mark}'")).collect();
                Err(BadMark { option, mark, expected: format!("one of {}", shown.join(" ")) })
            }
            _ => Ok(()),
        };
        check("decimal", decimal, &['.', ','])?;
        check("thousands", thousands, &['.', ',', ' ', '\''])?;
        if let Some(mark) = decimal.filter(|_| decimal == thousands) {
            let expected = "another mark than the decimal one".to_owned();
            return Err(BadMark { option: "thousands", mark, expected });
        }
        let implied = match thousands {
            Some('.') => Some(','),
            Some(',') => Some('.'),
            _ => None,
        };
        (self.decimal, self.thousands) = (decimal.or(implied), thousands);
        Ok(self)
    }

    /// The same, read as a model's training data were read, as far as nothing else is asked for.
    #[must_use]
    pub fn like(mut self, reading: &Reading) -> Self {
        if self.na.is_empty() {
            self.na.clone_from(&reading.na);
        }
        // A file that is written otherwise than the training data is read as the options say.
        let given = self.decimal.is_some() || self.thousands.is_some() || self.date_order.is_some();
        for (name, notation) in reading.notations.iter().filter(|_| !given) {
            self.notations.entry(name.clone()).or_insert_with(|| notation.clone());
        }
        self
    }

    /// The kinds that were declared, by the columns' names; of two for one column, the first counts.
    fn declared(&self) -> HashMap<&str, Kind> {
        let fields = self.fields.iter().chain(&self.optional).rev();
        let mut kinds: HashMap<&str, Kind> = fields.map(|field| (field.name.as_str(), field.kind)).collect();
        kinds.extend(self.categorical.iter().map(|name| (name.as_str(), Kind::Text)));
        kinds
    }
}

/// A mark that cannot be what it was given for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadMark {
    /// `decimal` or `thousands`.
    pub option: &'static str,
    /// The mark.
    pub mark: char,
    /// What is possible.
    pub expected: String,
}

/// Hears how far a reader is; its error stops the reading.
pub type Watch<'a> = dyn FnMut(Position) -> Result<()> + 'a;

/// Reads a whole file into a table; `-` is CSV on standard input. A folder, or a glob such as `part-*.parquet`, is all of
/// its files as one table, in the order of their paths; folders named `column=value` give a column.
///
/// ```no_run
/// let table = paretau_data::read("trial.csv.gz".as_ref(), &paretau_data::ReadOptions::default())?;
/// println!("{} rows", table.n_rows());
/// # Ok::<(), paretau_core::Error>(())
/// ```
pub fn read(path: &Path, options: &ReadOptions) -> Result<Table> {
    read_watched(path, options, &mut |_| Ok(()))
}

/// The same, telling now and then how far it is; an error of `watch` stops the reading.
pub fn read_watched(path: &Path, options: &ReadOptions, watch: &mut Watch<'_>) -> Result<Table> {
    match DataFiles::find(path)? {
        Some(files) => many::read(&files, options, watch),
        None => read_one(path, options, watch),
    }
}

/// Reads one file.
fn read_one(path: &Path, options: &ReadOptions, watch: &mut Watch<'_>) -> Result<Table> {
    if options.format.is_none()
        && let Some((input, note)) = spelled::spelled(path, options)?
    {
        let tabs = ReadOptions { delimiter: Some(b'\t'), ..options.clone() };
        let mut table = csv::read(&input, Format::Tsv, &tabs, watch)?;
        // Lines of the text in memory are none of the file.
        table.source.first_line = None;
        table.notes.extend(note);
        return Ok(table);
    }
    let format = options.format.map_or_else(|| Format::from_path(path), Ok)?;
    let mut table = match format {
        Format::Csv | Format::Tsv => {
            return csv::read(&Input::whole(path, options.max_memory)?, format, options, watch);
        }
        Format::Parquet => parquet::read(path, options, watch)?,
        Format::Arrow => ipc::read(path, options, watch)?,
        Format::Npz => npz::read(path, options.max_memory)?,
        Format::Svm => svm::read(path, options.max_memory)?,
        Format::News => news::read(path, options.max_memory)?,
    };
    let names: Vec<String> = table.columns().iter().map(|c| c.name.clone()).collect();
    understand::check_named(path, &names, options)?;
    let found = understand::understand(table.columns_mut(), None, options);
    describe(&mut table, found, options);
    Ok(table)
}

/// Adds to a table how its cells were understood.
fn describe(table: &mut Table, found: understand::Understood, options: &ReadOptions) {
    table.notes.extend(found.notes);
    table.doubts = found.doubts;
    table.id.clone_from(&options.id);
    table.reading = Reading { na: options.na.clone(), notations: found.notations };
}
