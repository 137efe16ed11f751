//! Reading a file batch by batch, in input order and in constant memory.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use paretau_core::Result;
use rayon::prelude::*;

use super::ReadOptions;
use super::csv::{CsvStream, PIECE};
use super::ipc::IpcStream;
use super::parquet::ParquetStream;
use super::position::Position;
use super::source::{Format, Input};
use super::understand::{Convert, as_text, convert};
use crate::table::{Table, file_error};

/// An iterator of tables of up to `batch_rows` rows each. Where they end depends on the file alone, never on threads.
///
/// Kinds must not depend on where a batch ends, so that the columns of delimited text that
/// [`ReadOptions::fields`] does not declare are read as text.
pub struct BatchReader {
    path: PathBuf,
    source: Batches,
    batch_rows: usize,
    rows: usize,
    /// Batches that were read together with one that was asked for.
    waiting: VecDeque<Table>,
    failed: bool,
    /// Columns that are read as text and then by their notations, and marks for missing cells.
    converts: Vec<Convert>,
    na: Vec<String>,
}

enum Batches {
    Csv(Box<CsvStream>),
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
        let (options, converts) = as_text(options);
        let options = &options;
        let spelled = if options.format.is_none() { super::spelled::spelled(path, options)? } else { None };
        let format = match (&spelled, options.format) {
            (Some(_), _) => Format::Tsv,
            (None, Some(format)) => format,
            (None, None) => Format::from_path(path)?,
        };
        let source = match format {
            _ if spelled.is_some() => {
                let tabs = ReadOptions { delimiter: Some(b'\t'), ..options.clone() };
                let input = spelled.map_or_else(|| Input::stream(path), |(input, _)| input);
                Batches::Csv(Box::new(CsvStream::open(&input, format, &tabs, PIECE)?))
            }
            Format::Csv | Format::Tsv => {
                Batches::Csv(Box::new(CsvStream::open(&Input::stream(path), format, options, PIECE)?))
            }
            Format::Parquet => Batches::Parquet(Box::new(ParquetStream::open(path, options, batch_rows)?)),
            Format::Arrow => Batches::Ipc(Box::new(IpcStream::open(path, options)?)),
            // These hold one matrix that is decoded as a whole anyway.
            Format::Npz | Format::Svm | Format::News => Batches::Whole(Box::new(super::read(path, options)?)),
        };
        Ok(Self {
            path: path.to_owned(),
            source,
            batch_rows,
            rows: 0,
            waiting: VecDeque::new(),
            failed: false,
            converts,
            na: options.na.clone(),
        })
    }

    /// How far it is.
    pub fn position(&self) -> Position {
        let rows = |total: usize| Position::Rows { done: self.rows as u64, total: Some(total as u64) };
        match &self.source {
            Batches::Csv(stream) => stream.position(),
            Batches::Parquet(stream) => rows(stream.rows_told),
            Batches::Ipc(stream) => stream.position(self.rows),
            Batches::Whole(table) => rows(table.n_rows()),
        }
    }

    /// Names of the file's columns that are not read, because [`ReadOptions::only_fields`] says so or because no
    /// cell can be made of them.
    pub fn left_out(&self) -> Vec<String> {
        match &self.source {
            Batches::Csv(stream) => stream.left_out(),
            Batches::Parquet(stream) => stream.plan.left_out(),
            Batches::Ipc(stream) => stream.plan.left_out(),
            Batches::Whole(_) => vec![],
        }
    }

    /// The next batches, as many as come out of the file at once; `None` at the end and after an error. Whoever works
    /// on some batches while the next ones are read calls this on one thread and works on another.
    pub fn next_batches(&mut self) -> Option<Result<Vec<Table>>> {
        if self.failed {
            return None;
        }
        if !self.waiting.is_empty() {
            return Some(Ok(self.waiting.drain(..).collect()));
        }
        let next = match self.read_batches() {
            Ok(None) if self.rows == 0 => Err(file_error(&self.path, None, None, "has no rows of data")),
            other => other,
        };
        self.failed = next.is_err();
        next.transpose()
    }

    fn read_batches(&mut self) -> Result<Option<Vec<Table>>> {
        let start = self.rows;
        let mut tables = match &mut self.source {
            Batches::Csv(stream) => stream.tables(self.batch_rows)?,
            Batches::Parquet(stream) => stream.tables(start)?,
            Batches::Ipc(stream) => match stream.next_rows(self.batch_rows)? {
                Some(batch) => Some(vec![stream.plan.table(batch.columns(), batch.num_rows(), start)?]),
                None => None,
            },
            Batches::Whole(table) => {
                let end = (start + self.batch_rows).min(table.n_rows());
                (start < end).then(|| vec![table.select(&(start..end).collect::<Vec<_>>())])
            }
        };
        if !self.converts.is_empty() || !self.na.is_empty() {
            let tables = tables.iter_mut().flatten().collect::<Vec<_>>();
            tables.into_par_iter().try_for_each(|table| convert(table, &self.converts, &self.na))?;
        }
        self.rows += tables.iter().flatten().map(Table::n_rows).sum::<usize>();
        Ok(tables)
    }
}

impl Iterator for BatchReader {
    type Item = Result<Table>;

    fn next(&mut self) -> Option<Self::Item> {
        // A round of batches may be empty, but not at the end.
        while self.waiting.is_empty() {
            match self.next_batches()? {
                Ok(batches) => self.waiting = batches.into(),
                Err(error) => return Some(Err(error)),
            }
        }
        self.waiting.pop_front().map(Ok)
    }
}
