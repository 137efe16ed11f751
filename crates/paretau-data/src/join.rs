//! Putting tables side by side: by row number, or by a key that both have.

use std::collections::HashMap;

use paretau_core::{Error, Result};

use crate::table::{ColumnData, Table, TableColumn, format_number};

impl Table {
    /// This table's columns followed by another's, row by row.
    pub fn beside(self, other: Self) -> Result<Self> {
        if self.n_rows() != other.n_rows() {
            return Err(Error::LengthMismatch {
                what: "the second table",
                expected: self.n_rows(),
                found: other.n_rows(),
            });
        }
        let (source, mut notes, mut unread, repeated) =
            (self.source.clone(), self.notes.clone(), self.unread.clone(), self.repeated.clone());
        notes.extend(other.notes.iter().cloned());
        unread.extend(other.unread.clone());
        let (mut columns, sparse) = self.into_parts();
        let (more, more_sparse) = other.into_parts();
        if sparse.is_some() && more_sparse.is_some() {
            return Err(Error::unfit("both tables have a sparse block; only one can"));
        }
        columns.extend(more);
        let mut table = Self::new(columns)?;
        if let Some(block) = sparse.or(more_sparse) {
            table = table.with_sparse(block)?;
        }
        table.source = source;
        table.notes = notes;
        table.unread = unread;
        table.repeated = repeated;
        Ok(table)
    }

    /// Every row of this table with the columns of the row of `other` that has the same key.
    /// A key that `other` lacks or has twice is an error.
    pub fn join(self, other: &Self, key: &str) -> Result<Self> {
        let theirs = keys(other, key)?;
        let mut place: HashMap<&str, usize> = HashMap::with_capacity(theirs.len());
        for (i, cell) in theirs.iter().enumerate() {
            if place.insert(cell, i).is_some() {
                return Err(other.error(Some(key), Some(i), format!("the key `{cell}` occurs twice")));
            }
        }
        let ours = keys(&self, key)?;
        let mut rows = Vec::with_capacity(ours.len());
        for (i, cell) in ours.iter().enumerate() {
            let Some(&row) = place.get(cell.as_str()) else {
                let message = format!("the other table has no row with the key `{cell}`");
                return Err(self.error(Some(key), Some(i), message));
            };
            rows.push(row);
        }
        let (columns, sparse) = other.select(&rows).into_parts();
        let mut right = Self::new(columns.into_iter().filter(|c: &TableColumn| c.name != key).collect())?;
        if let Some(block) = sparse {
            right = right.with_sparse(block)?;
        }
        if right.columns().is_empty() && right.sparse().is_none() {
            return Ok(self);
        }
        self.beside(right)
    }
}

/// The key column as text, so that numbers and text compare alike.
fn keys(table: &Table, key: &str) -> Result<Vec<String>> {
    let column = table.require(key)?;
    (0..table.n_rows())
        .map(|i| {
            let cell = match &column.data {
                ColumnData::Number(values) if !values[i].is_nan() => Some(format_number(values[i])),
                ColumnData::Number(_) => None,
                ColumnData::Text(text) => text.get(i).map(str::to_owned),
            };
            cell.ok_or_else(|| table.error(Some(key), Some(i), "the key is missing"))
        })
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::table::Text;

    #[test]
    fn joins_by_key_in_the_order_of_the_first() {
        let left =
            Table::new(vec![TableColumn::number("id", vec![3.0, 1.0]), TableColumn::number("y", vec![0.3, 0.1])])
                .unwrap();
        let right = Table::new(vec![
            TableColumn::text("id", Text::from_cells([Some("1"), Some("2"), Some("3")])),
            TableColumn::number("x", vec![10.0, 20.0, 30.0]),
        ])
        .unwrap();
        let joined = left.clone().join(&right, "id").unwrap();
        assert_eq!(joined.column("x").unwrap().data, ColumnData::Number(vec![30.0, 10.0].into()));
        let gap = right.select(&[0, 1]);
        assert!(left.clone().join(&gap, "id").unwrap_err().to_string().contains("`3`"));
        assert!(left.join(&right.select(&[0, 0]), "id").unwrap_err().to_string().contains("twice"));
    }
}
