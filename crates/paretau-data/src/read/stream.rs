//! Record batches in memory, as an Arrow IPC stream, read by the rules of files.

use std::path::Path;

use arrow_ipc::reader::StreamReader;
use paretau_core::Result;

use super::ReadOptions;
use super::arrow::Plan;
use super::parquet::{damaged, shielded};
use super::understand::{as_text, convert};
use crate::table::Table;

/// What messages call a batch, which has no path.
const NAME: &str = "record batch";

/// The record batches of an Arrow IPC stream as tables, one per batch that has rows. The same cells give the same tables as
/// the batches of a file would. `rows_before` is how many rows came earlier, for messages.
pub fn read_stream(bytes: &[u8], options: &ReadOptions, rows_before: usize) -> Result<Vec<Table>> {
    let path = Path::new(NAME);
    let (options, converts) = as_text(options);
    shielded(path, || {
        let reader = StreamReader::try_new(bytes, None).map_err(|e| damaged(path, &e))?;
        let plan = Plan::new(path, &reader.schema(), &options)?;
        let (mut tables, mut rows) = (vec![], rows_before);
        for batch in reader {
            let batch = batch.map_err(|e| damaged(path, &e))?;
            if batch.num_rows() == 0 {
                continue;
            }
            let columns: Vec<_> = plan.places().into_iter().map(|j| batch.column(j).clone()).collect();
            let mut table = plan.table(&columns, batch.num_rows(), rows)?;
            if !converts.is_empty() || !options.na.is_empty() {
                convert(&mut table, &converts, &options.na)?;
            }
            rows += batch.num_rows();
            tables.push(table);
        }
        Ok(tables)
    })
}
