//! One unit of work that any process can do: a pure function of rows, estimator, parameters, seed and fold, named by the
//! digest of these, that gives one record. A study lists its tasks, an [`Executor`] does them wherever it likes, and the
//! study puts the records together; so the result is the same wherever the work was done.

use std::path::Path;
use std::sync::OnceLock;

use paretau_core::{Error, Observer, Result, hex};
use paretau_data::{Assigned, ReadOptions, Table, read};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::compare::{FOLD_TASK, perform_fold};
use crate::identity::rows_digest;
use crate::intervals::{HALVES_TASK, perform_halves};

/// A unit of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Digest of all that decides its record.
    pub key: String,
    /// What is to be done.
    pub kind: String,
    /// The version that lists it; another one may compute other numbers.
    pub version: String,
    /// With what.
    pub work: Value,
}

impl Task {
    /// A task of a kind.
    pub fn new(kind: &str, work: &impl Serialize) -> Result<Self> {
        let work = serde_json::to_value(work).map_err(|e| Error::internal("a task", e))?;
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let content = json!({ "kind": kind, "version": version, "work": work });
        let key = hex(&Sha256::digest(content.to_string())[..12]);
        Ok(Self { key, kind: kind.to_owned(), version, work })
    }

    /// What it is to be done with, unless another version listed it.
    pub fn work<T: DeserializeOwned>(&self) -> Result<T> {
        let own = env!("CARGO_PKG_VERSION");
        if self.version != own {
            return Err(Error::unfit(format!(
                "the task comes from paretau {}, but this worker has {own}; install the same version everywhere",
                self.version
            )));
        }
        serde_json::from_value(self.work.clone()).map_err(|e| Error::unfit(format!("the task cannot be read ({e})")))
    }
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// With its record.
    Done(Value),
    /// Without one, again and again: whoever did it vanished each time.
    Lost(String),
}

impl Outcome {
    /// The record, or why there is none.
    pub fn record<T: DeserializeOwned>(self) -> Result<T> {
        match self {
            Self::Done(value) => serde_json::from_value(value)
                .map_err(|e| Error::unfit(format!("a worker's record cannot be read ({e})"))),
            Self::Lost(message) => Err(Error::unfit(message)),
        }
    }
}

/// Called with the place of a task in its list when it is done.
pub type OnDone<'a> = &'a mut dyn FnMut(usize, Outcome) -> Result<()>;

/// Does tasks: in threads, in processes, on a cluster.
pub trait Executor: Sync {
    /// Does the tasks in any order and calls `done` once for each. Gives up when `done` fails or the observer is
    /// interrupted, and where no task could ever be done (no cluster, another version).
    fn perform(&self, tasks: &[Task], observer: &dyn Observer, done: OnDone<'_>) -> Result<()>;
}

/// The rows that tasks work on, held by a worker.
#[derive(Debug)]
pub struct TaskData {
    table: Table,
    /// Digest of the rows in their roles, once it was asked for: the tasks of one study share their roles.
    digest: OnceLock<String>,
}

impl TaskData {
    /// Rows that came with the tasks.
    pub fn new(table: Table) -> Self {
        Self { table, digest: OnceLock::new() }
    }

    /// Rows of a file that the worker reads itself.
    pub fn read(path: &Path) -> Result<Self> {
        Ok(Self::new(read(path, &ReadOptions::default())?))
    }

    /// The rows.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Refuses rows that are not those that the tasks were listed for.
    pub fn check(&self, rows: &Assigned, expected: &str) -> Result<()> {
        if self.digest.get_or_init(|| rows_digest(rows)) == expected {
            return Ok(());
        }
        let place = self.table.source.path.as_ref().map_or_else(String::new, |path| format!(" in {}", path.display()));
        Err(Error::unfit(format!(
            "the rows{place} are not those that the study began with; every worker must read the same file"
        )))
    }
}

/// Does a task of this crate: part of a comparison, or refits for intervals. `None` when it is of another kind.
pub fn perform(task: &Task, data: Option<&TaskData>, observer: &dyn Observer) -> Option<Result<Value>> {
    let work = match task.kind.as_str() {
        FOLD_TASK => perform_fold,
        HALVES_TASK => perform_halves,
        _ => return None,
    };
    Some(match data {
        Some(data) => work(task, data, observer),
        None => Err(Error::unfit("the task came without its rows")),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_named_by_its_content() {
        let task = |seed: u64| Task::new("cell", &json!({ "seed": seed })).unwrap();
        assert_eq!(task(1), task(1));
        assert_ne!(task(1).key, task(2).key);
        assert_ne!(task(1).key, Task::new("fold", &json!({ "seed": 1 })).unwrap().key);
        assert_eq!(task(1).work::<Value>().unwrap(), json!({ "seed": 1 }));
        let other = Task { version: "0.0.1".into(), ..task(1) };
        let message = other.work::<Value>().unwrap_err().to_string();
        assert!(message.contains("0.0.1") && message.contains("same version"), "{message}");
    }
}
