//! Append-only records, one JSON line per cell, shared by all processes that work in one folder.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use paretau_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::cell::{Cell, Shard};
use super::claim::Claim;
use super::search::TunedParams;
use crate::lines::{self, LinesFile};

/// The file of a folder's records.
pub(crate) const RECORDS: &str = "records.jsonl";
/// How the line of a record begins.
const START: &[u8] = b"{\"key\":\"";

/// The result of one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The cell's key.
    pub key: String,
    /// The cell.
    pub cell: Cell,
    /// Digest of the rows as they were read from files; none for simulated ones, which the cell itself decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<String>,
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

/// No score is larger: outcomes go up to 1e37. Squares of larger numbers overflow, and no table could be made of them.
const MOST_SCORE: f64 = 1e140;

impl Record {
    /// The record, unless its numbers cannot have been written by a run.
    fn plausible(self) -> Result<Self, String> {
        let odd = self.scores.iter().find(|(_, score)| !(0.0..=MOST_SCORE).contains(&score.abs()));
        match odd {
            Some((name, score)) => Err(format!("its {name} is {score:e}")),
            None if !(0.0..MOST_SCORE).contains(&self.seconds) => Err(format!("it took {:e} seconds", self.seconds)),
            None => Ok(self),
        }
    }
}

/// Records read from a file: the last of each key in the order of their first lines, and the lines that are none.
#[derive(Debug, Default)]
pub(crate) struct RecordLines {
    pub(crate) records: Vec<Record>,
    /// One sentence per damaged line.
    pub(crate) damaged: Vec<String>,
}

impl RecordLines {
    /// Reads whole lines. A line that is no record is set aside; a file without a single record in it is not ours.
    pub(crate) fn parse(bytes: &[u8], path: &Path) -> Result<Self> {
        let mut out = Self::default();
        let mut places: HashMap<String, usize> = HashMap::new();
        let (whole, torn) = lines::split(bytes);
        for (row, line) in whole {
            match serde_json::from_slice::<Record>(line).map_err(|e| e.to_string()).and_then(Record::plausible) {
                Ok(record) => match places.get(&record.key) {
                    // A success stays, whatever another process could not do later.
                    Some(&at) if record.error.is_some() && out.records[at].error.is_none() => {}
                    Some(&at) => out.records[at] = record,
                    None => {
                        places.insert(record.key.clone(), out.records.len());
                        out.records.push(record);
                    }
                },
                Err(e) => out.damaged.push(format!(
                    "{}, line {row} is damaged ({e}) and was set aside; its cell is done again",
                    path.display()
                )),
            }
        }
        let ours = torn.starts_with(START) || START.starts_with(torn);
        if out.records.is_empty() && (!out.damaged.is_empty() || !ours) {
            let message = "is not a file of records; choose another folder".to_owned();
            return Err(Error::File { path: path.to_path_buf(), column: None, row: None, message });
        }
        Ok(out)
    }
}

/// The records of a run's folder.
#[derive(Debug)]
pub struct StudyRecords {
    file: LinesFile,
    by_key: HashMap<String, Record>,
    /// This process's part of the cells; others may work on other parts.
    _claim: Claim,
    /// One sentence per damaged line.
    pub(super) damaged: Vec<String>,
}

impl StudyRecords {
    /// Opens a folder's records for a part of its cells. Without `resume` there must not be any of these cells. Another
    /// process that works on some of them is an error.
    pub fn open(folder: &Path, resume: bool, shard: Shard, cells: &[Cell]) -> Result<Self> {
        let path = folder.join(RECORDS);
        std::fs::create_dir_all(folder).map_err(|source| Error::Io { path: folder.to_path_buf(), source })?;
        let file = LinesFile::open(&path)?;
        let (claim, text) = {
            let _locked = file.lock()?;
            (Claim::new(folder, shard)?, file.bytes()?)
        };
        let RecordLines { records, damaged } = RecordLines::parse(&text, &path)?;
        let by_key: HashMap<String, Record> = records.into_iter().map(|r| (r.key.clone(), r)).collect();
        // Parts that were started together find each other's records.
        let own = if shard == Shard::WHOLE {
            !by_key.is_empty()
        } else {
            cells.iter().any(|c| by_key.contains_key(&c.key()))
        };
        if own && !resume {
            let message = "there are records already; add --resume to go on, or choose another folder".to_owned();
            return Err(Error::File { path, column: None, row: None, message });
        }
        Ok(Self { file, by_key, _claim: claim, damaged })
    }

    /// The record of a cell.
    pub fn get(&self, key: &str) -> Option<&Record> {
        self.by_key.get(key)
    }

    /// Appends a record and writes it through to the disk.
    pub fn append(&mut self, record: Record) -> Result<()> {
        {
            let _locked = self.file.lock()?;
            self.file.append(&record)?;
        }
        self.by_key.insert(record.key.clone(), record);
        Ok(())
    }

    /// Records of the given cells, in their order, as far as they are there.
    pub fn of<'a>(&'a self, cells: &'a [Cell]) -> Vec<&'a Record> {
        cells.iter().filter_map(|cell| self.get(&cell.key())).collect()
    }

    /// Calls `write` with the records of all processes, those of the given cells, while nobody adds any: what the last
    /// process writes is made from everything.
    pub(super) fn with_all<T>(&mut self, cells: &[Cell], write: impl FnOnce(&[&Record]) -> Result<T>) -> Result<T> {
        let _locked = self.file.lock()?;
        let all = RecordLines::parse(&self.file.bytes()?, Path::new(RECORDS))?;
        self.by_key = all.records.into_iter().map(|r| (r.key.clone(), r)).collect();
        let all: Vec<&Record> = cells.iter().filter_map(|cell| self.by_key.get(&cell.key())).collect();
        write(&all)
    }
}

/// Reads the records of a folder without changing anything in it.
pub(crate) fn read(folder: &Path) -> Result<RecordLines> {
    let path: PathBuf = folder.join(RECORDS);
    let bytes = std::fs::read(&path).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => Error::File {
            path: path.clone(),
            column: None,
            row: None,
            message: "is not there: the folder holds no run; name the --out folder of `paretau run`".to_owned(),
        },
        _ => Error::Io { path: path.clone(), source },
    })?;
    RecordLines::parse(&bytes, &path)
}
