//! Reading files into tables: the format is told by the path's ending and checked by the first bytes.

mod arrow;
mod batches;
mod builder;
mod cell;
mod csv;
mod header;
mod ipc;
mod ipc_lengths;
mod limit;
mod lines;
mod news;
mod npy;
mod npz;
mod parquet;
mod parquet_pages;
mod pieces;
mod position;
mod records;
mod source;
mod svm;
mod zip;

use std::collections::HashMap;
use std::path::Path;

use paretau_core::Result;

pub use batches::BatchReader;
pub use limit::default_max_memory;
pub use position::Position;
pub use source::Format;

use crate::table::{Field, Kind, Table};
pub(crate) use cell::{Cell, classify};
use source::Input;

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
    /// Read the columns in `fields` (all of which must be there) and `optional` and no others.
    pub only_fields: bool,
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
            only_fields: false,
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

    /// The kinds that were declared, by the columns' names; of two for one column, the first counts.
    fn declared(&self) -> HashMap<&str, Kind> {
        let fields = self.fields.iter().chain(&self.optional).rev();
        fields.map(|field| (field.name.as_str(), field.kind)).collect()
    }
}

/// Hears how far a reader is; its error stops the reading.
pub type Watch<'a> = dyn FnMut(Position) -> Result<()> + 'a;

/// Reads a whole file into a table; `-` is CSV on standard input.
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
    let format = options.format.map_or_else(|| Format::from_path(path), Ok)?;
    match format {
        Format::Csv | Format::Tsv => csv::read(&Input::whole(path, options.max_memory)?, format, options, watch),
        Format::Parquet => parquet::read(path, options, watch),
        Format::Arrow => ipc::read(path, options, watch),
        Format::Npz => npz::read(path, options.max_memory),
        Format::Svm => svm::read(path, options.max_memory),
        Format::News => news::read(path, options.max_memory),
    }
}
