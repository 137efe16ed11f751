//! Arrow IPC files (Feather version 2), whole or by record batch.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_ipc::reader::FileReader;
use paretau_core::Result;

use super::ReadOptions;
use super::arrow::Plan;
use super::parquet::{damaged, shielded};
use super::source::{check_magic, open};
use crate::table::{Table, file_error};

/// Reads a whole file.
pub(crate) fn read(path: &Path, options: &ReadOptions) -> Result<Table> {
    let mut stream = IpcStream::open(path, options)?;
    let mut growing = stream.plan.start(0);
    let mut rows = 0;
    while let Some(batch) = stream.next_batch()? {
        stream.plan.add(&mut growing, &batch, rows)?;
        rows += batch.num_rows();
    }
    if rows == 0 {
        return Err(file_error(path, None, None, "has columns but no rows of data"));
    }
    stream.plan.finish(growing, 0)
}

/// An Arrow file under way.
pub(crate) struct IpcStream {
    path: std::path::PathBuf,
    reader: FileReader<BufReader<File>>,
    pub(crate) plan: Plan,
}

impl IpcStream {
    /// Opens a file.
    pub(crate) fn open(path: &Path, options: &ReadOptions) -> Result<Self> {
        check_magic(path, b"ARROW1", "an Arrow file (Feather version 1 must be written again)")?;
        shielded(path, || {
            let whole = FileReader::try_new(BufReader::new(open(path)?), None).map_err(|e| damaged(path, &e))?;
            let plan = Plan::new(path, &whole.schema(), options)?;
            let reader =
                FileReader::try_new(BufReader::new(open(path)?), Some(plan.places())).map_err(|e| damaged(path, &e))?;
            Ok(Self { path: path.to_owned(), reader, plan })
        })
    }

    /// The next batch of rows.
    pub(crate) fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let Self { path, reader, .. } = self;
        shielded(path, || reader.next().transpose().map_err(|e| damaged(path, &e)))
    }
}
