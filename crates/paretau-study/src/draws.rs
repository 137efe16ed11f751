//! Studies of many draws: one line per draw in a file that several processes fill at once, and a table made from all of them.

use std::path::{Path, PathBuf};

use paretau_core::{Error, Result};
use paretau_data::write_atomically;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::lines::{self, LinesFile};

/// The records of a study's draws. Lines are only ever appended, under the file's lock, so that whatever one process finds no
/// other takes away.
#[derive(Debug)]
pub struct DrawRecords<R> {
    file: LinesFile,
    path: PathBuf,
    records: Vec<R>,
}

impl<R: Serialize + DeserializeOwned> DrawRecords<R> {
    /// Opens or makes a file of records and reads what it holds.
    pub fn open(path: &Path) -> Result<Self> {
        let mut draws = Self { file: LinesFile::open(path)?, path: path.to_path_buf(), records: vec![] };
        draws.records = {
            let _locked = draws.file.lock()?;
            draws.read()?
        };
        Ok(draws)
    }

    /// The records of all processes, in the order of their lines, as they were when the file was last opened or added to.
    /// Processes that drew the same have two records of it.
    pub fn all(&self) -> &[R] {
        &self.records
    }

    /// Appends records, then puts the text that `table` makes of all of them, those of other processes too, in place of the file
    /// `to`. All of it happens under the lock, so that the last table is made from everything.
    pub fn add(&mut self, found: &[R], to: &Path, table: impl FnOnce(&[R]) -> String) -> Result<()> {
        let _locked = self.file.lock()?;
        for record in found {
            self.file.append(record)?;
        }
        self.records = self.read()?;
        write_atomically(to, table(&self.records).as_bytes())
    }

    /// What the file holds; to be called under the lock. The torn line of a killed process is no record.
    fn read(&self) -> Result<Vec<R>> {
        let bytes = self.file.bytes()?;
        let (whole, _) = lines::split(&bytes);
        let read = |(row, line): (u64, &[u8])| {
            serde_json::from_slice(line).map_err(|e| Error::File {
                path: self.path.clone(),
                column: None,
                row: None,
                message: format!("line {row} is no record of this study ({e}); begin in another folder"),
            })
        };
        whole.map(read).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn sum(all: &[u64]) -> String {
        format!("{} records, sum {}", all.len(), all.iter().sum::<u64>())
    }

    #[test]
    fn what_two_draw_at_once_is_all_there() {
        let folder = tempfile::tempdir().unwrap();
        let (path, table) = (folder.path().join("records.jsonl"), folder.path().join("table.md"));
        // Both are open before either writes, as two processes are.
        let mut opened: Vec<DrawRecords<u64>> = (0..2).map(|_| DrawRecords::open(&path).unwrap()).collect();
        std::thread::scope(|scope| {
            for (k, draws) in (0..).zip(&mut opened) {
                let table = &table;
                scope.spawn(move || (0..20).for_each(|i| draws.add(&[2 * i + k], table, sum).unwrap()));
            }
        });
        let mut all = DrawRecords::<u64>::open(&path).unwrap().all().to_vec();
        all.sort_unstable();
        assert_eq!(all, (0..40).collect::<Vec<_>>());
        assert_eq!(std::fs::read_to_string(&table).unwrap(), "40 records, sum 780");
    }

    #[test]
    fn a_torn_line_is_cut_off_and_a_foreign_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let (path, table) = (folder.path().join("records.jsonl"), folder.path().join("table.md"));
        std::fs::write(&path, "1\n2\n3").unwrap();
        let mut draws = DrawRecords::<u64>::open(&path).unwrap();
        assert_eq!(draws.all(), [1, 2]);
        draws.add(&[4], &table, sum).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "1\n2\n4\n");
        std::fs::write(&path, "1\n\"two\"\n").unwrap();
        let message = DrawRecords::<u64>::open(&path).unwrap_err().to_string();
        assert!(message.contains("records.jsonl") && message.contains("line 2"), "{message}");
    }
}
