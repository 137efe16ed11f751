//! Learning an encoder from counts over all rows of a table that no memory holds, and from a sample of its rows.
//!
//! What differs from an encoder that has seen every cell: medians of numbers are those of the sample, and of copies only these
//! are found: numbers that are equal in every row, and texts that divide the rows in the same way.

use paretau_core::Result;

use super::encoding::{Encoding, median};
use super::fit::{Seen, put_together};
use super::{Encoder, EncoderPolicy};
use crate::blocks::{Cells, Counted};
use crate::table::{ColumnData, Table, TableColumn};

impl Encoder {
    /// Learns how to encode columns of which all cells were counted; `sample` has some rows of them.
    pub(crate) fn of_counts(
        columns: &[&Counted],
        sample: &Table,
        n_rows: usize,
        policy: &EncoderPolicy,
    ) -> Result<Self> {
        let seen = columns.iter().map(|own| {
            let encoding = match &own.cells {
                Cells::Number { .. } => {
                    let fill = sample.column(&own.name).map_or(0.0, median_of);
                    Encoding::of_median(fill, own.missing, policy)
                }
                Cells::Text { dictionary, counts } => {
                    Encoding::of_counts(dictionary.levels(), counts.clone(), (own.missing, n_rows), policy)
                }
            };
            let k = encoding.columns(&own.name).len();
            let texts = match &own.cells {
                Cells::Number { .. } => None,
                Cells::Text { dictionary, counts } => Some((dictionary.levels(), counts.clone())),
            };
            Seen { name: &own.name, kind: own.kind, prints: prints(own, &encoding, k, n_rows), encoding, texts }
        });
        put_together(seen, n_rows, sample, policy)
    }
}

fn median_of(column: &TableColumn) -> f64 {
    match &column.data {
        ColumnData::Number(values) => median(&mut values.iter().copied().filter(|v| !v.is_nan()).collect::<Vec<_>>()),
        ColumnData::Text(_) => 0.0,
    }
}

/// What tells the outputs of a column from those of others; `None` for constant ones.
fn prints(own: &Counted, encoding: &Encoding, k: usize, n_rows: usize) -> Vec<Option<[u64; 2]>> {
    match &own.cells {
        Cells::Number { .. } => {
            let gaps = (own.missing > 0 && own.missing < n_rows).then_some(own.gaps);
            // Gaps that are filled do not make one value two.
            let different = own.n_numbers() + usize::from(own.missing > 0 && encoding.keeps_missing());
            let values = (different > 1).then_some(own.print);
            [values, gaps].into_iter().take(k).collect()
        }
        // A text that divides the rows as an earlier one does has the same outputs, under other names.
        Cells::Text { dictionary, counts } => {
            let varies = encoding.varying(dictionary.levels(), counts, own.missing);
            varies.into_iter().enumerate().map(|(j, varies)| varies.then(|| marked(own.print, j))).collect()
        }
    }
}

/// The hash of the `j`-th output of a column of texts.
fn marked([a, b]: [u64; 2], j: usize) -> [u64; 2] {
    [a ^ (j as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15), b.wrapping_add(j as u64 + 1)]
}
