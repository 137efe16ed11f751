//! What encoding did to a table's cells.

use std::collections::BTreeMap;

/// Counts of cells that could not be taken as they were; reports of batches can be added up.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TransformReport {
    /// Rows encoded.
    pub n_rows: usize,
    /// Missing cells filled in, by column.
    pub imputed: BTreeMap<String, usize>,
    /// Cells whose level was rare or absent in training, by column.
    pub unseen: BTreeMap<String, usize>,
    /// Columns of the data that the model does not read.
    pub extra: Vec<String>,
}

impl TransformReport {
    pub(super) fn count(&mut self, name: &str, imputed: usize, unseen: usize) {
        for (map, n) in [(&mut self.imputed, imputed), (&mut self.unseen, unseen)] {
            if n > 0 {
                *map.entry(name.to_owned()).or_insert(0) += n;
            }
        }
    }

    /// Adds the report of another batch.
    pub fn add(&mut self, other: &Self) {
        self.n_rows += other.n_rows;
        for (into, from) in [(&mut self.imputed, &other.imputed), (&mut self.unseen, &other.unseen)] {
            for (name, n) in from {
                *into.entry(name.clone()).or_insert(0) += n;
            }
        }
        self.extra.clone_from(&other.extra);
    }

    /// The report in words; columns that are merely not read are one short note.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = vec![];
        for (name, n) in &self.imputed {
            notes.push(format!("`{name}`: {n} of {} rows were missing and were filled in", self.n_rows));
        }
        for (name, n) in &self.unseen {
            notes.push(format!("`{name}`: {n} of {} rows have a level that training hardly had", self.n_rows));
        }
        if !self.extra.is_empty() {
            let shown: Vec<&str> = self.extra.iter().take(10).map(String::as_str).collect();
            let more =
                if self.extra.len() > 10 { format!(" and {} more", self.extra.len() - 10) } else { String::new() };
            notes.push(format!("columns not used by the model: {}{more}", shown.join(", ")));
        }
        notes
    }
}
