//! Reading a file, or several as one, batch by batch, in input order and in constant memory.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use paretau_core::Result;
use rayon::prelude::*;

use super::ReadOptions;
use super::csv::{CsvStream, PIECE};
use super::ipc::IpcStream;
use super::parquet::ParquetStream;
use super::parts::DataFiles;
use super::position::Position;
use super::source::{Format, Input};
use super::understand::{Convert, as_text, convert};
use crate::table::{Kind, Table, file_error};

/// An iterator of tables of up to `batch_rows` rows each. Where they end depends on the files alone, never on threads.
/// Several files (a folder or a glob) come one after the other; no batch holds rows of two.
///
/// Kinds must not depend on where a batch ends, so that the columns of delimited text that
/// [`ReadOptions::fields`] does not declare are read as text.
pub struct BatchReader {
    current: FileBatches,
    /// Batches that were read together with one that was asked for.
    waiting: VecDeque<Table>,
    /// Where the rows come from when that is not one file.
    many: Option<Many>,
}

/// Several files under way.
struct Many {
    files: DataFiles,
    options: ReadOptions,
    /// Kinds of the columns whose cells are in the folders' names.
    kinds: Vec<Option<Kind>>,
    batch_rows: usize,
    /// The file that is read.
    at: usize,
    /// Bytes of all files, and of those that are done.
    total: u64,
    done: u64,
}

/// One file under way.
struct FileBatches {
    path: PathBuf,
    source: Batches,
    batch_rows: usize,
    rows: usize,
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
    /// Rows of a batch unless set otherwise.
    pub const BATCH_ROWS: usize = 1 << 16;

    /// Opens a file, a folder or a glob; `-` is CSV on standard input.
    pub fn open(path: &Path, options: &ReadOptions, batch_rows: usize) -> Result<Self> {
        match DataFiles::find(path)? {
            Some(files) => Self::open_files(files, options, batch_rows),
            None => Ok(Self {
                current: FileBatches::open(path, options, batch_rows)?,
                waiting: VecDeque::new(),
                many: None,
            }),
        }
    }

    /// Opens several files as one.
    pub fn open_files(files: DataFiles, options: &ReadOptions, batch_rows: usize) -> Result<Self> {
        let kinds = files.kinds(options)?;
        let options = files.options_of_a_file(options);
        let Some(first) = files.parts.first() else {
            return Err(file_error(&files.path, None, None, "names no files"));
        };
        let current = FileBatches::open(&first.path, &options, batch_rows)?;
        let total = files.parts.iter().map(|part| size(&part.path)).sum();
        let many = Many { files, options, kinds, batch_rows, at: 0, total, done: 0 };
        Ok(Self { current, waiting: VecDeque::new(), many: Some(many) })
    }

    /// How far it is.
    pub fn position(&self) -> Position {
        let Some(many) = &self.many else { return self.current.position() };
        let here = many.files.parts.get(many.at).map_or(0, |part| size(&part.path));
        let share = match self.current.position() {
            Position::Bytes { done, .. } => done,
            Position::Rows { done, total: Some(total) } if total > 0 => {
                (here as f64 * (done as f64 / total as f64)) as u64
            }
            Position::Rows { .. } => 0,
        };
        Position::Bytes { done: (many.done + share.min(here)).min(many.total), total: many.total }
    }

    /// Names of the file's columns that are not read, because [`ReadOptions::only_fields`] says so or because no
    /// cell can be made of them.
    pub fn left_out(&self) -> Vec<String> {
        self.current.left_out()
    }

    /// The next batches, as many as come out of a file at once; `None` at the end and after an error. Whoever works
    /// on some batches while the next ones are read calls this on one thread and works on another.
    pub fn next_batches(&mut self) -> Option<Result<Vec<Table>>> {
        if !self.waiting.is_empty() {
            return Some(Ok(self.waiting.drain(..).collect()));
        }
        loop {
            if let Some(next) = self.current.next_batches() {
                return Some(next.and_then(|tables| self.with_folders(tables)));
            }
            match self.next_file() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    self.current.failed = true;
                    return Some(Err(error));
                }
            }
        }
    }

    /// Opens the next file; whether there is one.
    fn next_file(&mut self) -> Result<bool> {
        let Some(many) = &mut self.many else { return Ok(false) };
        if self.current.failed {
            return Ok(false);
        }
        many.done += many.files.parts.get(many.at).map_or(0, |part| size(&part.path));
        many.at += 1;
        let Some(part) = many.files.parts.get(many.at) else { return Ok(false) };
        self.current = FileBatches::open(&part.path, &many.options, many.batch_rows)?;
        Ok(true)
    }

    /// The batches with the columns that the folders of their file name.
    fn with_folders(&mut self, tables: Vec<Table>) -> Result<Vec<Table>> {
        let Some(many) = &self.many else { return Ok(tables) };
        let Some(part) = many.files.parts.get(many.at).filter(|part| !part.cells.is_empty()) else { return Ok(tables) };
        let tables = tables.into_iter().map(|table| many.files.with_columns(part, &many.kinds, table));
        let tables = tables.collect::<Result<Vec<_>>>();
        self.current.failed |= tables.is_err();
        tables
    }
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |m| m.len())
}

impl FileBatches {
    fn open(path: &Path, options: &ReadOptions, batch_rows: usize) -> Result<Self> {
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
            Format::Npz | Format::Svm | Format::News => {
                Batches::Whole(Box::new(super::read_one(path, options, &mut |_| Ok(()))?))
            }
        };
        Ok(Self { path: path.to_owned(), source, batch_rows, rows: 0, failed: false, converts, na: options.na.clone() })
    }

    fn position(&self) -> Position {
        let rows = |total: usize| Position::Rows { done: self.rows as u64, total: Some(total as u64) };
        match &self.source {
            Batches::Csv(stream) => stream.position(),
            Batches::Parquet(stream) => rows(stream.rows_told),
            Batches::Ipc(stream) => stream.position(self.rows),
            Batches::Whole(table) => rows(table.n_rows()),
        }
    }

    fn left_out(&self) -> Vec<String> {
        match &self.source {
            Batches::Csv(stream) => stream.left_out(),
            Batches::Parquet(stream) => stream.plan.left_out(),
            Batches::Ipc(stream) => stream.plan.left_out(),
            Batches::Whole(_) => vec![],
        }
    }

    fn next_batches(&mut self) -> Option<Result<Vec<Table>>> {
        if self.failed {
            return None;
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
