//! Trials, kept in a file line by line so that a search can be stopped and resumed.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use paretau_core::{Error, Params, Result, hex};
use paretau_data::Assigned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::TuneOptions;
use crate::lines;

/// One set of parameters and its losses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Its number; 0 are the defaults.
    pub index: usize,
    /// Parameters that differ from the defaults.
    pub params: Params,
    /// Losses of the folds, as far as it got.
    pub folds: Vec<f64>,
    /// Their mean; none when it failed or was given up.
    pub value: Option<f64>,
    /// Whether it was given up early for being worse than half of the others.
    pub given_up: bool,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The first line of a trials file: its trials are resumed only for the same search on the same rows.
pub(super) fn heading(estimator: &str, options: &TuneOptions<'_>, rows: &Assigned) -> Value {
    let mut digest = Sha256::new();
    for (&t, y) in rows.t.iter().zip(&rows.y) {
        digest.update([t]);
        digest.update(y.to_le_bytes());
    }
    for name in rows.feature_names() {
        digest.update(name.as_bytes());
        digest.update([0]);
    }
    let rows = hex(&digest.finalize()[..12]);
    // The number of trials may grow from one run to the next.
    let mut spec = json!(options.spec);
    if let Some(spec) = spec.as_object_mut() {
        spec.remove("trials");
    }
    json!({
        "tune": estimator, "version": env!("CARGO_PKG_VERSION"), "seed": options.seed, "valid": options.valid_share,
        "spec": spec, "rows": rows,
    })
}

/// The trials of a search, in memory or in a file.
#[derive(Debug)]
pub struct Trials {
    all: Vec<Trial>,
    file: Option<(PathBuf, File)>,
}

impl Trials {
    /// Opens a file of trials, or none. Without `resume` the file must not have any.
    pub(super) fn open(path: Option<&Path>, resume: bool, heading: &Value) -> Result<Self> {
        let Some(path) = path else { return Ok(Self { all: vec![], file: None }) };
        let (file, text) = lines::open(path)?;
        let wrong = |row: u64, message: &str| Error::File {
            path: path.to_path_buf(),
            column: None,
            row: Some(row),
            message: message.to_owned(),
        };
        let mut all: Vec<Trial> = vec![];
        let mut lines = text.lines();
        match lines.next() {
            None => {}
            Some(_) if !resume => {
                return Err(wrong(1, "there are trials already; add --resume to go on, or choose another file"));
            }
            Some(first) if serde_json::from_str::<Value>(first).ok().as_ref() != Some(heading) => {
                return Err(wrong(1, "holds the trials of another search (other data, seed or settings)"));
            }
            Some(_) => {
                for (number, line) in lines.enumerate() {
                    let trial: Trial = serde_json::from_str(line)
                        .map_err(|e| wrong(number as u64 + 2, &format!("is not a trial ({e})")))?;
                    if trial.index != all.len() {
                        return Err(wrong(number as u64 + 2, "is out of order"));
                    }
                    all.push(trial);
                }
            }
        }
        let mut trials = Self { all, file: Some((path.to_path_buf(), file)) };
        if text.is_empty() {
            trials.write(heading)?;
        }
        Ok(trials)
    }

    fn write(&mut self, value: &impl Serialize) -> Result<()> {
        let Some((path, file)) = &mut self.file else { return Ok(()) };
        let io = |source| Error::Io { path: path.clone(), source };
        let mut line = serde_json::to_vec(value).map_err(|e| Error::bad_model(e.to_string()))?;
        line.push(b'\n');
        file.write_all(&line).map_err(io)?;
        file.sync_data().map_err(io)
    }

    /// Number of trials so far.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Trials so far, in order.
    pub(super) fn all(&self) -> &[Trial] {
        &self.all
    }

    pub(super) fn into_all(self) -> Vec<Trial> {
        self.all
    }

    pub(super) fn append(&mut self, trial: Trial) -> Result<()> {
        self.write(&trial)?;
        self.all.push(trial);
        Ok(())
    }
}
