//! Arrow IPC files (Feather version 2) and streams, whole or by record batch.

use std::io::BufReader;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, SchemaRef};
use paretau_core::Result;

use super::arrow::Plan;
use super::ipc_lengths;
use super::limit::{Budget, table_bytes};
use super::parquet::{damaged, shielded};
use super::position::{ByteCount, Counted, Position};
use super::source::{check_magic, open};
use super::{ReadOptions, Watch};
use crate::table::{Table, file_error};

/// Reads a whole file.
pub(crate) fn read(path: &Path, options: &ReadOptions, watch: &mut Watch<'_>) -> Result<Table> {
    let mut stream = IpcStream::open(path, options)?;
    let mut growing = stream.plan.start(0);
    let budget = Budget::new(path, options.max_memory);
    let mut rows = 0;
    while let Some(batch) = stream.next_batch()? {
        stream.plan.add(&mut growing, batch.columns(), rows)?;
        rows += batch.num_rows();
        budget.check("its table", table_bytes(rows, growing.len()))?;
        watch(stream.position(rows))?;
    }
    if rows == 0 {
        return Err(file_error(path, None, None, "has columns but no rows of data"));
    }
    stream.plan.finish(growing, 0)
}

enum Reader {
    File(Box<FileReader<BufReader<Counted>>>),
    Stream(Box<StreamReader<BufReader<Counted>>>),
}

impl Reader {
    fn open(path: &Path, is_stream: bool, places: Option<Vec<usize>>) -> Result<(Self, Option<ByteCount>)> {
        let (file, count) = ByteCount::of(open(path)?);
        let file = BufReader::new(file);
        let reader = if is_stream {
            StreamReader::try_new(file, places).map(|r| Self::Stream(Box::new(r)))
        } else {
            FileReader::try_new(file, places).map(|r| Self::File(Box::new(r)))
        };
        reader.map(|reader| (reader, count)).map_err(|e| damaged(path, &e))
    }

    fn schema(&self) -> SchemaRef {
        match self {
            Self::File(reader) => reader.schema(),
            Self::Stream(reader) => reader.schema(),
        }
    }

    fn next(&mut self) -> Option<Result<RecordBatch, ArrowError>> {
        match self {
            Self::File(reader) => reader.next(),
            Self::Stream(reader) => reader.next(),
        }
    }
}

/// An Arrow file under way.
pub(crate) struct IpcStream {
    path: std::path::PathBuf,
    reader: Reader,
    count: Option<ByteCount>,
    /// What is left of a large batch.
    rest: Option<RecordBatch>,
    pub(crate) plan: Plan,
}

impl IpcStream {
    /// Opens a file.
    pub(crate) fn open(path: &Path, options: &ReadOptions) -> Result<Self> {
        // A stream has no magic bytes; its first message starts with this mark.
        let is_stream = check_magic(path, &[0xff; 4], "").is_ok();
        if !is_stream {
            check_magic(path, b"ARROW1", "an Arrow file (Feather version 1 must be written again)")?;
        }
        shielded(path, || {
            ipc_lengths::check(path, is_stream, options.max_memory)?;
            let plan = Plan::new(path, &Reader::open(path, is_stream, None)?.0.schema(), options)?;
            let (reader, count) = Reader::open(path, is_stream, Some(plan.places()))?;
            Ok(Self { path: path.to_owned(), reader, count, rest: None, plan })
        })
    }

    /// How far it is through its file, in bytes where their number is known.
    pub(crate) fn position(&self, rows: usize) -> Position {
        self.count.as_ref().map_or(Position::Rows { done: rows as u64, total: None }, ByteCount::position)
    }

    /// The next batch of rows, as large as it was written.
    pub(crate) fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let Self { path, reader, .. } = self;
        shielded(path, || reader.next().transpose().map_err(|e| damaged(path, &e)))
    }

    /// The next batch of at most `max` rows.
    pub(crate) fn next_rows(&mut self, max: usize) -> Result<Option<RecordBatch>> {
        let batch = match self.rest.take() {
            Some(rest) => rest,
            None => match self.next_batch()? {
                Some(batch) => batch,
                None => return Ok(None),
            },
        };
        if batch.num_rows() > max {
            self.rest = Some(batch.slice(max, batch.num_rows() - max));
            return Ok(Some(batch.slice(0, max)));
        }
        Ok(Some(batch))
    }
}
