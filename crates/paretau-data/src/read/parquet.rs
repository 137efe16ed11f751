//! Parquet files, whole or by record batch.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use arrow_array::{ArrayRef, RecordBatch};
use paretau_core::{Error, Result};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use rayon::prelude::*;

use super::arrow::{Growing, Plan};
use super::limit::{Budget, table_bytes};
use super::parquet_pages;
use super::position::Position;
use super::source::{check_magic, open};
use super::{ReadOptions, Watch};
use crate::table::{Table, file_error};

/// The most rows of a batch. Several batches are decoded at once, so that each can be small.
const BATCH: usize = 1 << 13;
/// Batches for each thread that are decoded at once, and the most cells of them.
const BATCHES_A_THREAD: usize = 2;
const MOST_CELLS: usize = 1 << 21;

/// Reads a whole file.
pub(crate) fn read(path: &Path, options: &ReadOptions, watch: &mut Watch<'_>) -> Result<Table> {
    let mut stream = ParquetStream::open(path, options, BATCH)?;
    let budget = Budget::new(path, options.max_memory);
    budget.check("its table", table_bytes(stream.rows_told, stream.plan.places().len()))?;
    let mut growing = stream.plan.start(stream.n_rows);
    let mut rows = 0;
    while let Some(n) = stream.grow(&mut growing, rows)? {
        rows += n;
        watch(Position::Rows { done: rows as u64, total: Some(stream.rows_told as u64) })?;
    }
    if rows == 0 {
        return Err(file_error(path, None, None, "has columns but no rows of data"));
    }
    stream.plan.finish(growing, 0)
}

/// A Parquet file under way. Its columns are shared out among readers that decode side by side, whatever the size of
/// the file's row groups.
pub(crate) struct ParquetStream {
    path: std::path::PathBuf,
    readers: Vec<Columns>,
    /// The error of a batch before which there were others to deliver.
    failed: Option<Error>,
    pub(crate) plan: Plan,
    /// Batches to decode at once.
    batches: usize,
    /// Rows to make room for.
    n_rows: usize,
    /// Rows that the file says it has.
    pub(crate) rows_told: usize,
    /// Rows that have been decoded.
    rows_read: usize,
}

/// A reader of neighbouring columns.
struct Columns {
    reader: ParquetRecordBatchReader,
    /// Their number.
    width: usize,
}

impl Columns {
    /// Up to `n` batches; fewer at the end or before an error.
    fn batches(&mut self, path: &Path, n: usize) -> (Vec<RecordBatch>, Option<Error>) {
        let mut batches = Vec::with_capacity(n);
        while batches.len() < n {
            match shielded(path, || self.reader.next().transpose().map_err(|e| damaged(path, &e))) {
                Ok(Some(batch)) => batches.push(batch),
                Ok(None) => break,
                Err(error) => return (batches, Some(error)),
            }
        }
        (batches, None)
    }
}

impl ParquetStream {
    /// Opens a file to be read in batches of up to `batch_rows` rows.
    pub(crate) fn open(path: &Path, options: &ReadOptions, batch_rows: usize) -> Result<Self> {
        check_magic(path, b"PAR1", "a Parquet file")?;
        let batch_rows = batch_rows.min(BATCH);
        shielded(path, || {
            let metadata = ArrowReaderMetadata::load(&open(path)?, ArrowReaderOptions::default())
                .map_err(|e| damaged(path, &e))?;
            let plan = Plan::new(path, metadata.schema(), options)?;
            let claimed = metadata.metadata().file_metadata().num_rows();
            let groups = metadata.metadata().row_groups();
            let rows_told =
                usize::try_from(claimed).map_err(|_| damaged(path, &"it claims a negative number of rows"))?;
            let in_groups = groups.iter().try_fold(0_i64, |n, group| n.checked_add(group.num_rows()));
            if in_groups != Some(claimed) || groups.iter().any(|group| group.num_rows() < 0) {
                let why = format!("it claims {claimed} rows, but its row groups have another number");
                return Err(damaged(path, &why));
            }
            let places = plan.places();
            let root = |leaf: usize| metadata.parquet_schema().get_column_root_idx(leaf);
            let known = metadata.parquet_schema().num_columns();
            let wanted = |leaf: usize| leaf < known && places.binary_search(&root(leaf)).is_ok();
            parquet_pages::check(path, metadata.metadata(), wanted, options.max_memory)?;
            let readers = share_out(&sizes(&metadata, &places), rayon::current_num_threads())
                .into_iter()
                .map(|share| {
                    // Readers of one file handle would move each other's place in the file.
                    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(open(path)?, metadata.clone());
                    let width = share.len();
                    let mask = ProjectionMask::roots(builder.parquet_schema(), places[share].iter().copied());
                    let reader = builder.with_projection(mask).with_batch_size(batch_rows).build();
                    Ok(Columns { reader: reader.map_err(|e| damaged(path, &e))?, width })
                })
                .collect::<Result<Vec<_>>>()?;
            let wide = MOST_CELLS / (batch_rows * places.len().max(1));
            Ok(Self {
                path: path.to_owned(),
                readers,
                failed: None,
                plan,
                batches: (BATCHES_A_THREAD * rayon::current_num_threads()).min(wide).max(1),
                n_rows: room(path, rows_told, places.len()),
                rows_told,
                rows_read: 0,
            })
        })
    }

    /// The next batches of rows as tables, the first of which starts at data row `row` (0-based); `None` at the end.
    pub(crate) fn tables(&mut self, row: usize) -> Result<Option<Vec<Table>>> {
        let Some(decoded) = self.decode()? else { return Ok(None) };
        let starts = decoded.iter().scan(row, |next, batch| {
            let start = *next;
            *next += rows(batch);
            Some(start)
        });
        let starts: Vec<usize> = starts.collect();
        let (plan, path) = (&self.plan, &self.path);
        let tables: Vec<Result<Table>> = (decoded.into_par_iter().zip(starts))
            .map(|(shares, start)| shielded(path, || plan.table(columns(&shares), rows(&shares), start)))
            .collect();
        tables.into_iter().collect::<Result<Vec<_>>>().map(Some)
    }

    /// Adds the next rows to the columns, data row `row` (0-based) first; how many they are, `None` at the end.
    fn grow(&mut self, growing: &mut [Growing], row: usize) -> Result<Option<usize>> {
        let Some(decoded) = self.decode()? else { return Ok(None) };
        let mut start = row;
        for shares in &decoded {
            shielded(&self.path, || self.plan.add(growing, columns(shares), start))?;
            start += rows(shares);
        }
        Ok(Some(start - row))
    }

    /// The next batches, each in shares of neighbouring columns.
    fn decode(&mut self) -> Result<Option<Vec<Vec<RecordBatch>>>> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let (path, n) = (&self.path, self.batches);
        let decoded: Vec<(Vec<RecordBatch>, Option<Error>)> =
            self.readers.par_iter_mut().map(|columns| columns.batches(path, n)).collect();
        let n_batches = decoded.iter().map(|(share, _)| share.len()).min().unwrap_or(0);
        let mut batches: Vec<Vec<RecordBatch>> = (0..n_batches).map(|_| Vec::with_capacity(decoded.len())).collect();
        let contradiction = || damaged(path, &"its columns have different lengths");
        let (mut failed, mut longer) = (None, false);
        for ((share, error), columns) in decoded.into_iter().zip(&self.readers) {
            longer |= share.len() > n_batches;
            // Whatever the number of readers, the error is that of the first batch that has one.
            if share.len() == n_batches {
                failed = failed.or(error);
            }
            for (batch, part) in batches.iter_mut().zip(share) {
                if part.num_columns() != columns.width || batch.first().is_some_and(|b| b.num_rows() != part.num_rows())
                {
                    return Err(contradiction());
                }
                batch.push(part);
            }
        }
        if longer {
            failed = failed.or_else(|| Some(contradiction()));
        }
        match failed {
            Some(error) if n_batches == 0 => Err(error),
            failed => {
                self.rows_read += batches.iter().map(|shares| rows(shares)).sum::<usize>();
                self.failed = failed;
                if n_batches == 0 && self.rows_read != self.rows_told {
                    let why = format!("it claims {} rows, but holds {}", self.rows_told, self.rows_read);
                    return Err(damaged(&self.path, &why));
                }
                Ok((n_batches > 0).then_some(batches))
            }
        }
    }
}

/// Rows to make room for at once. Equal values take next to no bytes of a Parquet file, so that a small file may have
/// many rows; but a damaged count must not reserve memory, and then the columns grow as the rows come.
fn room(path: &Path, rows: usize, columns: usize) -> usize {
    let held = std::fs::metadata(path).map_or(0, |m| m.len());
    if table_bytes(rows, columns) <= held.saturating_mul(64) { rows } else { 0 }
}

/// All columns of a batch.
fn columns(shares: &[RecordBatch]) -> impl Iterator<Item = &ArrayRef> {
    shares.iter().flat_map(RecordBatch::columns)
}

/// Rows of a batch.
fn rows(shares: &[RecordBatch]) -> usize {
    shares.first().map_or(0, RecordBatch::num_rows)
}

/// Bytes of each of the columns, uncompressed.
fn sizes(metadata: &ArrowReaderMetadata, places: &[usize]) -> Vec<u64> {
    let file = metadata.metadata();
    let schema = metadata.parquet_schema();
    let mut sizes = vec![0_u64; places.len()];
    for group in file.row_groups() {
        for (leaf, chunk) in group.columns().iter().enumerate().take(schema.num_columns()) {
            if let Ok(i) = places.binary_search(&schema.get_column_root_idx(leaf)) {
                sizes[i] = sizes[i].saturating_add(u64::try_from(chunk.uncompressed_size()).unwrap_or(0));
            }
        }
    }
    sizes
}

/// Neighbouring columns in up to `n` shares of about the same size, at least one share.
fn share_out(sizes: &[u64], n: usize) -> Vec<Range<usize>> {
    let total: u128 = sizes.iter().map(|&size| u128::from(size) + 1).sum();
    let n = n.clamp(1, sizes.len().max(1));
    let (mut shares, mut start, mut sum) = (vec![], 0, 0_u128);
    for (i, &size) in sizes.iter().enumerate() {
        sum += u128::from(size) + 1;
        if sum * n as u128 >= total * (shares.len() as u128 + 1) {
            shares.push(start..i + 1);
            start = i + 1;
        }
    }
    if start < sizes.len() || shares.is_empty() {
        shares.push(start..sizes.len());
    }
    shares
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
