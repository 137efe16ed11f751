//! Trials, kept in a file line by line so that a search can be stopped and resumed.

use std::path::Path;

use paretau_core::{Error, Params, Result};
use paretau_data::{Assigned, RoleSpec};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::TuneOptions;
use crate::lines::{self, LinesFile};

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
pub(super) fn heading(estimator: &str, options: &TuneOptions<'_>, roles: &RoleSpec, rows: &Assigned) -> Value {
    let digest = paretau::identity::rows_digest(rows);
    // The number of trials may grow from one run to the next.
    let mut spec = json!(options.spec);
    if let Some(spec) = spec.as_object_mut() {
        spec.remove("trials");
    }
    json!({
        "tune": estimator, "version": env!("CARGO_PKG_VERSION"), "seed": options.seed, "valid": options.valid_share,
        "spec": spec, "roles": roles, "rows": digest,
    })
}

/// What is wrong with a file that `tune` did not write.
const NOT_TRIALS: &str = "is not a file of trials, and stays as it is; choose another file";

/// The trials of a search, in memory or in a file.
#[derive(Debug)]
pub struct Trials {
    all: Vec<Trial>,
    /// Locked as long as it is open: a search has one writer.
    file: Option<LinesFile>,
}

impl Trials {
    /// Opens a file of trials, or none. Without `resume` the file must not have any.
    pub(super) fn open(path: Option<&Path>, resume: bool, heading: &Value) -> Result<Self> {
        let Some(path) = path else { return Ok(Self { all: vec![], file: None }) };
        let file = LinesFile::open(path)?;
        let wrong =
            |row: Option<u64>, message: String| Error::File { path: path.to_path_buf(), column: None, row, message };
        if !file.try_own()? {
            return Err(wrong(
                None,
                "another search is writing to this file; wait for it, or choose another file".into(),
            ));
        }
        let bytes = file.bytes()?;
        let (whole, torn) = lines::split(&bytes);
        let mut all: Vec<Trial> = vec![];
        let mut whole = whole.peekable();
        if let Some((_, first)) = whole.next() {
            let earlier = serde_json::from_slice::<Value>(first).ok().filter(|first| first.get("tune").is_some());
            let Some(earlier) = earlier else { return Err(wrong(None, NOT_TRIALS.into())) };
            if !resume {
                return Err(wrong(
                    None,
                    "there are trials already; add --resume to go on, or choose another file".into(),
                ));
            }
            if let Some(what) = paretau::identity::difference(&earlier, heading) {
                let message = format!(
                    "holds the trials of another search: {what} differ; restore what it was, or choose another file"
                );
                return Err(wrong(None, message));
            }
            for (row, line) in whole {
                let trial: Trial =
                    serde_json::from_slice(line).map_err(|e| wrong(Some(row), format!("is not a trial ({e})")))?;
                if trial.index != all.len() {
                    return Err(wrong(Some(row), "is out of order".into()));
                }
                all.push(trial);
            }
        } else {
            // A first line that was torn by a crash is the beginning of a heading; anything else is somebody's file.
            let own = serde_json::to_vec(heading).map_err(|e| Error::internal("a line of trials", e))?;
            if !own.starts_with(torn) {
                return Err(wrong(None, NOT_TRIALS.into()));
            }
            file.append(heading)?;
        }
        Ok(Self { all, file: Some(file) })
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
        if let Some(file) = &self.file {
            file.append(&trial)?;
        }
        self.all.push(trial);
        Ok(())
    }
}
