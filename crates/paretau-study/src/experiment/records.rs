//! Append-only records, one JSON line per cell.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use paretau_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::cell::Cell;
use super::search::TunedParams;
use crate::lines;

/// The result of one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The cell's key.
    pub key: String,
    /// The cell.
    pub cell: Cell,
    /// The parameters that a search found, when the plan asks for one.
    #[serde(default, rename = "found", skip_serializing_if = "Option::is_none")]
    pub tuned: Option<TunedParams>,
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
pub struct StudyRecords {
    path: PathBuf,
    file: File,
    by_key: HashMap<String, Record>,
}

impl StudyRecords {
    /// Opens a folder's records. Without `resume` the folder must not have any.
    pub fn open(folder: &Path, resume: bool) -> Result<Self> {
        let path = folder.join("records.jsonl");
        std::fs::create_dir_all(folder).map_err(|source| Error::Io { path: folder.to_path_buf(), source })?;
        let (file, text) = lines::open(&path)?;
        if !text.is_empty() && !resume {
            let message = "there are records already; add --resume to go on, or choose another folder".to_owned();
            return Err(Error::File { path, column: None, row: None, message });
        }
        let mut by_key = HashMap::new();
        for (row, line) in text.lines().enumerate() {
            let record: Record = serde_json::from_str(line).map_err(|e| Error::File {
                path: path.clone(),
                column: None,
                row: Some(row as u64 + 1),
                message: format!("is not a record ({e}); remove the line to have its cell done again"),
            })?;
            by_key.insert(record.key.clone(), record);
        }
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
