//! A feature that is the treatment under another name: with it the arms have nobody in common, and every effect would be
//! invented by the outcome model.

use std::collections::HashMap;

use paretau_core::Result;
use paretau_data::{Assigned, ColumnData, Table, TableColumn};

/// Rows from which on a coincidence is out of the question.
const LEAST_ROWS: usize = 12;

/// Refuses features with one value per arm, a different one in each.
pub(crate) fn check(assigned: &Assigned) -> Result<()> {
    if assigned.t.len() < LEAST_ROWS {
        return Ok(());
    }
    let columns = assigned.features.columns().iter();
    match columns.into_iter().find(|column| is_copy(column, &assigned.t)) {
        Some(column) => Err(refusal(&assigned.features, &column.name)),
        None => Ok(()),
    }
}

fn refusal(table: &Table, name: &str) -> paretau_core::Error {
    let message = format!(
        "is the treatment under another name: it has one value per arm, so that no two people with the same features were \
         treated differently; leave it out with --ignore {name}"
    );
    table.error(Some(name), None, message)
}

/// Whether the cells and the arms stand for each other, row by row; a missing cell is a value like others.
fn is_copy(column: &TableColumn, arms: &[u8]) -> bool {
    let cell: Box<dyn Fn(usize) -> u64> = match &column.data {
        ColumnData::Number(values) => {
            Box::new(|i| if values[i].is_nan() { u64::MAX } else { (values[i] + 0.0).to_bits() })
        }
        ColumnData::Text(text) => Box::new(|i| u64::from(text.codes[i])),
    };
    let mut value_of = HashMap::new();
    let mut arm_of = HashMap::new();
    (0..arms.len()).all(|i| {
        *value_of.entry(arms[i]).or_insert_with(|| cell(i)) == cell(i)
            && *arm_of.entry(cell(i)).or_insert(arms[i]) == arms[i]
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use paretau_data::{RoleSpec, Table, assign};

    fn with(feature: &[f64]) -> Result<()> {
        let n = feature.len();
        let t: Vec<f64> = (0..n).map(|i| f64::from(i % 3 == 0)).collect();
        let columns = vec![
            TableColumn::number("t", t),
            TableColumn::number("y", (0..n).map(|i| i as f64).collect()),
            TableColumn::number("a", (0..n).map(|i| (i * i % 7) as f64).collect()),
            TableColumn::number("b", feature.to_vec()),
        ];
        check(&assign(Table::new(columns).unwrap(), &RoleSpec::new("t", "y")).unwrap())
    }

    #[test]
    fn copies_and_opposites_of_the_treatment_are_refused_and_nothing_else() {
        let made = |values: [f64; 2], n: usize| (0..n).map(|i| values[usize::from(i % 3 == 0)]).collect::<Vec<_>>();
        for values in [[0.0, 1.0], [1.0, 0.0], [7.5, -2.0], [f64::NAN, 1.0]] {
            let message = with(&made(values, 30)).unwrap_err().to_string();
            assert!(message.contains("column `b`") && message.contains("--ignore b"), "{message}");
        }
        let mut nearly = made([0.0, 1.0], 30);
        nearly[4] = 1.0;
        with(&nearly).unwrap();
        with(&made([3.0, 3.0], 30)).unwrap();
        // Of few rows, chance may do it.
        with(&made([0.0, 1.0], 6)).unwrap();
    }
}
