//! Parquet files, whole or by record batch.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use arrow_array::RecordBatch;
use paretau_core::{Error, Result};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use super::arrow::Plan;
use super::position::Position;
use super::source::{check_magic, open};
use super::{ReadOptions, Watch};
use crate::table::{Table, file_error};

const BATCH: usize = 1 << 14;

/// Reads a whole file.
pub(crate) fn read(path: &Path, options: &ReadOptions, watch: &mut Watch<'_>) -> Result<Table> {
    let mut stream = ParquetStream::open(path, options, BATCH)?;
    let mut growing = stream.plan.start(stream.n_rows);
    let mut rows = 0;
    while let Some(batch) = stream.next_batch()? {
        stream.plan.add(&mut growing, &batch, rows)?;
        rows += batch.num_rows();
        watch(Position::Rows { done: rows as u64, total: Some(stream.rows_told as u64) })?;
    }
    if rows == 0 {
        return Err(file_error(path, None, None, "has columns but no rows of data"));
    }
    stream.plan.finish(growing, 0)
}

/// A Parquet file under way.
pub(crate) struct ParquetStream {
    path: std::path::PathBuf,
    reader: ParquetRecordBatchReader,
    pub(crate) plan: Plan,
    /// Rows to make room for.
    pub(crate) n_rows: usize,
    /// Rows that the file says it has.
    pub(crate) rows_told: usize,
}

impl ParquetStream {
    /// Opens a file to be read in batches of up to `batch_rows` rows.
    pub(crate) fn open(path: &Path, options: &ReadOptions, batch_rows: usize) -> Result<Self> {
        check_magic(path, b"PAR1", "a Parquet file")?;
        let file = open(path)?;
        shielded(path, || {
            let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| damaged(path, &e))?;
            let plan = Plan::new(path, builder.schema(), options)?;
            let rows_told = usize::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0);
            // A damaged count must not reserve the memory of the world.
            let n_rows = rows_told.min(1 << 26);
            let mask = ProjectionMask::roots(builder.parquet_schema(), plan.places());
            let reader =
                builder.with_projection(mask).with_batch_size(batch_rows).build().map_err(|e| damaged(path, &e))?;
            Ok(Self { path: path.to_owned(), reader, plan, n_rows, rows_told })
        })
    }

    /// The next batch of rows.
    pub(crate) fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let Self { path, reader, .. } = self;
        shielded(path, || reader.next().transpose().map_err(|e| damaged(path, &e)))
    }
}

/// Runs a decoder of others' bytes. Both Arrow and Parquet decoders index into what a damaged file tells them
/// and may panic on it; a file must never bring down the program that reads it.
pub(crate) fn shielded<T>(path: &Path, decode: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(decode)).unwrap_or_else(|_| Err(damaged(path, &"its parts contradict each other")))
}

/// The error for a file that does not decode.
pub(crate) fn damaged(path: &Path, error: &dyn std::fmt::Display) -> Error {
    file_error(path, None, None, format!("is cut short or damaged ({error}); fetch or write the file again"))
}
