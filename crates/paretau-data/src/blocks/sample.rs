//! A sample of the rows of a stream: those with the smallest hash of their number, so that it does not depend on how the
//! stream is cut.

use paretau_core::Result;

use super::recoded::Recoded;
use super::row_hash;
use crate::table::{ColumnData, Table, TableColumn, Text};

/// Rows of a sample where the columns are few.
pub const ROWS: usize = 100_000;
/// Cells of a sample of many columns, and the fewest rows whatever their number.
const CELLS: usize = 1 << 23;
const FEWEST_ROWS: usize = 10_000;

/// How many rows of a table with so many columns are sampled.
pub(super) fn rows_of(n_columns: usize) -> usize {
    (CELLS / n_columns.max(1)).clamp(FEWEST_ROWS, ROWS)
}

/// The sample so far.
#[derive(Debug)]
pub(super) struct Sample {
    size: usize,
    /// Hash and number of each row that is kept.
    rows: Vec<(u64, u64)>,
    /// Their cells.
    columns: Vec<ColumnData>,
    /// No row with this hash or a larger one can be among the smallest any more.
    limit: u64,
}

impl Sample {
    pub(super) fn new(n_columns: usize) -> Self {
        Self { size: rows_of(n_columns), rows: vec![], columns: vec![], limit: u64::MAX }
    }

    /// Takes the rows of a batch that belong into the sample; `pinned` ones belong there in any case.
    pub(super) fn add(&mut self, batch: &[Recoded<'_>], first_row: u64, n_rows: usize, pinned: &[usize]) {
        if self.columns.is_empty() {
            self.columns = batch.iter().map(Recoded::empty).collect();
        }
        let mut pinned = pinned.iter().copied().peekable();
        for i in 0..n_rows {
            let row = first_row + i as u64;
            let hash = if pinned.next_if_eq(&i).is_some() { 0 } else { row_hash(row).max(1) };
            if hash >= self.limit {
                continue;
            }
            self.rows.push((hash, row));
            self.columns.iter_mut().zip(batch).for_each(|(column, cells)| cells.push_to(i, column));
        }
        if self.rows.len() >= 2 * self.size {
            self.shrink();
        }
    }

    fn shrink(&mut self) {
        if self.rows.len() <= self.size {
            return;
        }
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        order.sort_unstable_by_key(|&k| self.rows[k]);
        order.truncate(self.size);
        self.limit = order.last().map_or(u64::MAX, |&k| self.rows[k].0.saturating_add(1));
        order.sort_unstable_by_key(|&k| self.rows[k].1);
        self.rows = order.iter().map(|&k| self.rows[k]).collect();
        for column in &mut self.columns {
            match column {
                ColumnData::Number(values) => *values = order.iter().map(|&k| values[k]).collect(),
                ColumnData::Text(text) => text.codes = order.iter().map(|&k| text.codes[k]).collect(),
            }
        }
    }

    /// The sample as a table in the order of the rows, and their numbers. `names` and dates are those of the columns,
    /// `levels` the dictionaries of those that are text.
    pub(super) fn finish(mut self, columns: Vec<(String, bool, Option<Vec<String>>)>) -> Result<(Table, Vec<u64>)> {
        self.shrink();
        let named = columns.into_iter().zip(self.columns).map(|((name, is_date, levels), data)| match data {
            ColumnData::Number(values) => TableColumn { name, data: ColumnData::Number(values), is_date },
            ColumnData::Text(text) => {
                TableColumn::text(name, Text { levels: levels.unwrap_or_default(), codes: text.codes })
            }
        });
        let table = Table::new(named.collect())?;
        Ok((table, self.rows.into_iter().map(|(_, row)| row).collect()))
    }
}
