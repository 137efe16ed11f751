//! Reading a file batch by batch, in input order and in constant memory.

use std::path::{Path, PathBuf};

use paretau_core::Result;

use super::ReadOptions;
use super::builder::{Builder, Finished};
use super::csv::CsvStream;
use super::ipc::IpcStream;
use super::parquet::ParquetStream;
use super::position::Position;
use super::source::{Format, Input};
use crate::table::{Kind, Table, file_error};

/// An iterator of tables of up to `batch_rows` rows each.
///
/// Kinds must not depend on where a batch ends, so that the columns of delimited text that
/// [`ReadOptions::fields`] does not declare are read as text.
pub struct BatchReader {
    path: PathBuf,
    source: Batches,
    batch_rows: usize,
    rows: usize,
    failed: bool,
}

enum Batches {
    Csv { stream: Box<CsvStream>, builders: Vec<Builder> },
    Parquet(Box<ParquetStream>),
    Ipc(Box<IpcStream>),
    Whole(Box<Table>),
}

impl BatchReader {
    /// Rows of a batch unless told otherwise.
    pub const BATCH_ROWS: usize = 1 << 16;

    /// Opens a file; `-` is CSV on standard input.
    pub fn open(path: &Path, options: &ReadOptions, batch_rows: usize) -> Result<Self> {
        let batch_rows = batch_rows.max(1);
        let format = options.format.map_or_else(|| Format::from_path(path), Ok)?;
        let source = match format {
            Format::Csv | Format::Tsv => {
                let stream = CsvStream::open(&Input::new(path, true)?, format, options)?;
                let builders = stream.builders(|declared| Some(declared.unwrap_or(Kind::Text)));
                Batches::Csv { stream: Box::new(stream), builders }
            }
            Format::Parquet => Batches::Parquet(Box::new(ParquetStream::open(path, options, batch_rows)?)),
            Format::Arrow => Batches::Ipc(Box::new(IpcStream::open(path, options)?)),
            // These hold one matrix that is decoded as a whole anyway.
            Format::Npz | Format::Svm | Format::News => Batches::Whole(Box::new(super::read(path, options)?)),
        };
        Ok(Self { path: path.to_owned(), source, batch_rows, rows: 0, failed: false })
    }

    /// How far it is.
    pub fn position(&self) -> Position {
        let rows = |total: usize| Position::Rows { done: self.rows as u64, total: Some(total as u64) };
        match &self.source {
            Batches::Csv { stream, .. } => stream.position(),
            Batches::Parquet(stream) => rows(stream.rows_told),
            Batches::Ipc(stream) => stream.position(self.rows),
            Batches::Whole(table) => rows(table.n_rows()),
        }
    }

    /// Names of the file's columns that are not read, because [`ReadOptions::only_fields`] says so or because no
    /// cell can be made of them.
    pub fn left_out(&self) -> Vec<String> {
        match &self.source {
            Batches::Csv { stream, .. } => stream.left_out(),
            Batches::Parquet(stream) => stream.plan.left_out(),
            Batches::Ipc(stream) => stream.plan.left_out(),
            Batches::Whole(_) => vec![],
        }
    }

    fn next_table(&mut self) -> Result<Option<Table>> {
        let start = self.rows;
        match &mut self.source {
            Batches::Csv { stream, builders } => {
                let n = stream.fill(builders, self.batch_rows)?;
                if n == 0 {
                    return Ok(None);
                }
                self.rows += n;
                let columns = (builders.iter_mut().zip(stream.names()))
                    .filter_map(|(builder, name)| match builder.finish(&name) {
                        Finished::Column(column) => Some(column),
                        Finished::ReadAgain | Finished::Infinite { .. } => None,
                    })
                    .collect();
                let mut table = Table::new(columns)?;
                stream.describe(&mut table, start);
                Ok(Some(table))
            }
            Batches::Parquet(stream) => {
                let Some(batch) = stream.next_batch()? else { return Ok(None) };
                self.rows += batch.num_rows();
                stream.plan.table(&batch, start).map(Some)
            }
            Batches::Ipc(stream) => {
                let Some(batch) = stream.next_rows(self.batch_rows)? else { return Ok(None) };
                self.rows += batch.num_rows();
                stream.plan.table(&batch, start).map(Some)
            }
            Batches::Whole(table) => {
                let end = (start + self.batch_rows).min(table.n_rows());
                self.rows = end;
                Ok((start < end).then(|| table.select(&(start..end).collect::<Vec<_>>())))
            }
        }
    }
}

impl Iterator for BatchReader {
    type Item = Result<Table>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = match self.next_table() {
            Ok(None) if self.rows == 0 => Err(file_error(&self.path, None, None, "has no rows of data")),
            other => other,
        };
        self.failed = next.is_err();
        next.transpose()
    }
}
