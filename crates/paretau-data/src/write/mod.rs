//! Writing tables: CSV, Parquet and Arrow, batch by batch, and whole or not at all.

pub(crate) mod arrow;
mod atomic;
mod csv;

use std::path::Path;

use paretau_core::{Error, Result};

pub use atomic::{check_writable, write_atomically};

use crate::read::Format;
use crate::table::{Field, Table, file_error};

/// Writes batches of one schema to a file. Nothing appears under the file's name before
/// [`TableWriter::finish`]; a writer dropped earlier leaves nothing behind. `-` is CSV on standard output.
pub struct TableWriter {
    fields: Vec<Field>,
    sink: Sink,
}

enum Sink {
    Csv(Box<csv::CsvSink>),
    Arrow(Box<arrow::ArrowSink>),
}

impl TableWriter {
    /// Starts a file with the given columns, in the format that its ending names.
    pub fn create(path: &Path, fields: &[Field]) -> Result<Self> {
        let format = Format::from_path(path)?;
        let zipped = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"));
        let sink = match format {
            Format::Csv => Sink::Csv(Box::new(csv::CsvSink::create(path, fields, b',')?)),
            Format::Tsv => Sink::Csv(Box::new(csv::CsvSink::create(path, fields, b'\t')?)),
            Format::Parquet | Format::Arrow if !zipped => {
                Sink::Arrow(Box::new(arrow::ArrowSink::create(path, fields, format)?))
            }
            _ => {
                return Err(file_error(
                    path,
                    None,
                    None,
                    "tables are written as .csv, .tsv (also .gz), .parquet, .arrow or .feather; use one of these endings",
                ));
            }
        };
        Ok(Self { fields: fields.to_vec(), sink })
    }

    /// Appends a batch, whose columns must be the writer's. A sparse block is not written.
    pub fn write_batch(&mut self, batch: &Table) -> Result<()> {
        self.write_batches(std::slice::from_ref(batch))
    }

    /// Appends batches in their order; text is spelled out by several threads at once.
    pub fn write_batches(&mut self, batches: &[Table]) -> Result<()> {
        if let Some(other) = batches.iter().find(|batch| batch.fields() != self.fields) {
            return Err(Error::SchemaMismatch {
                message: format!(
                    "a batch to write has columns {:?}, the file has {:?}",
                    other.fields().iter().map(|f| f.name.as_str()).collect::<Vec<_>>(),
                    self.fields.iter().map(|f| f.name.as_str()).collect::<Vec<_>>()
                ),
            });
        }
        match &mut self.sink {
            Sink::Csv(sink) => sink.write(batches),
            Sink::Arrow(sink) => batches.iter().try_for_each(|batch| sink.write(batch)),
        }
    }

    /// Completes the file and gives it its name.
    pub fn finish(self) -> Result<()> {
        match self.sink {
            Sink::Csv(sink) => sink.finish(),
            Sink::Arrow(sink) => sink.finish(),
        }
    }
}

/// Rows of a sparse block that are spelled out at a time.
const ROWS: usize = 512;

/// Writes a whole table; the columns of a sparse block are written out one by one.
pub fn write_table(path: &Path, table: &Table) -> Result<()> {
    let Some(block) = table.sparse() else {
        let mut writer = TableWriter::create(path, &table.fields())?;
        writer.write_batch(table)?;
        return writer.finish();
    };
    let mut fields = table.fields();
    fields.extend(block.names.iter().map(|name| Field::new(name.clone(), crate::table::Kind::Number)));
    let mut writer = TableWriter::create(path, &fields)?;
    for start in (0..table.n_rows()).step_by(ROWS) {
        let rows: Vec<usize> = (start..(start + ROWS).min(table.n_rows())).collect();
        writer.write_batch(&table.select(&rows).densified()?)?;
    }
    writer.finish()
}
