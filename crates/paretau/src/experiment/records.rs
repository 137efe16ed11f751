//! Append-only records, one JSON line each. A line is either whole or, after a crash, the torn last one, which is
//! cut off on opening.

use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use paretau_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::cell::Cell;

/// The result of one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The cell's key.
    pub key: String,
    /// The cell.
    pub cell: Cell,
    /// Scores on the test rows; empty when the cell failed.
    pub scores: BTreeMap<String, f64>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long the fit took.
    pub seconds: f64,
}

/// The records of a run's folder.
#[derive(Debug)]
pub struct Records {
    path: PathBuf,
    file: File,
    by_key: HashMap<String, Record>,
}

impl Records {
    /// Opens a folder's records. Without `resume` the folder must not have any.
    pub fn open(folder: &Path, resume: bool) -> Result<Self> {
        let path = folder.join("records.jsonl");
        let io = |source| Error::Io { path: path.clone(), source };
        std::fs::create_dir_all(folder).map_err(|source| Error::Io { path: folder.to_path_buf(), source })?;
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(io)?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(io)?;
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        if whole > 0 && !resume {
            let message = "there are records already; add --resume to go on, or choose another folder".to_owned();
            return Err(Error::File { path, column: None, row: None, message });
        }
        let mut by_key = HashMap::new();
        for (row, line) in text[..whole].lines().enumerate() {
            let record: Record = serde_json::from_str(line).map_err(|e| Error::File {
                path: path.clone(),
                column: None,
                row: Some(row as u64 + 1),
                message: format!("is not a record ({e}); remove the line to have its cell done again"),
            })?;
            by_key.insert(record.key.clone(), record);
        }
        // A torn last line is the mark of a crash; its cell is done again.
        file.set_len(whole as u64).map_err(io)?;
        file.seek(SeekFrom::End(0)).map_err(io)?;
        Ok(Self { path, file, by_key })
    }

    /// The record of a cell.
    pub fn get(&self, key: &str) -> Option<&Record> {
        self.by_key.get(key)
    }

    /// Appends a record and writes it through to the disk.
    pub fn append(&mut self, record: Record) -> Result<()> {
        let io = |source| Error::Io { path: self.path.clone(), source };
        let mut line = serde_json::to_vec(&record).map_err(|e| Error::bad_model(e.to_string()))?;
        line.push(b'\n');
        self.file.write_all(&line).map_err(io)?;
        self.file.sync_data().map_err(io)?;
        self.by_key.insert(record.key.clone(), record);
        Ok(())
    }

    /// Records of the given cells, in their order, as far as they are there.
    pub fn of<'a>(&'a self, cells: &'a [Cell]) -> Vec<&'a Record> {
        cells.iter().filter_map(|cell| self.get(&cell.key())).collect()
    }
}
