//! Tasks of studies, done wherever an executor sends them, and executors that need no cluster.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use paretau::task::{Executor, OnDone, Outcome, Task, TaskData};
use paretau_core::{Error, Observer, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::lines::{self, LinesFile};
use crate::{experiment, tune};

/// Does a task. What the method cannot do is in the record; an error means that this worker cannot do any such task:
/// another version, other rows, a file that is not here.
pub fn perform(task: &Task, data: Option<&TaskData>, observer: &dyn Observer) -> Result<Value> {
    if let Some(done) = paretau::task::perform(task, data, observer) {
        return done;
    }
    match (task.kind.as_str(), data) {
        (experiment::CELL_TASK, _) => experiment::perform_cell(task, observer),
        (experiment::SEARCH_TASK, _) => experiment::perform_search(task, observer),
        (tune::TRIAL_TASK, Some(data)) => tune::perform_fold(task, data, observer),
        (tune::TRIAL_TASK, None) => Err(Error::unfit("the task came without its rows")),
        (other, _) => Err(Error::unfit(format!("this version knows no task of kind `{other}`"))),
    }
}

/// Does tasks in this process, one after the other, each with all threads.
#[derive(Debug)]
pub struct InProcess<'a> {
    /// The rows of the tasks.
    pub data: Option<&'a TaskData>,
}

impl Executor for InProcess<'_> {
    fn perform(&self, tasks: &[Task], observer: &dyn Observer, done: OnDone<'_>) -> Result<()> {
        for (k, task) in tasks.iter().enumerate() {
            if observer.interrupted() {
                return Err(Error::Interrupted);
            }
            done(k, Outcome::Done(perform(task, self.data, observer)?))?;
        }
        Ok(())
    }
}

/// Keeps the record of every task in a file, so that a study that is killed goes on where it was: what has a record there is
/// not done again.
pub struct Kept<'a> {
    executor: &'a dyn Executor,
    file: LinesFile,
    known: Mutex<HashMap<String, Value>>,
}

#[derive(Serialize, Deserialize)]
struct Line {
    task: String,
    kind: String,
    record: Value,
}

impl<'a> Kept<'a> {
    /// Opens a file of records, or begins one. Without `resume` there must be none.
    pub fn open(path: &Path, resume: bool, executor: &'a dyn Executor) -> Result<Self> {
        let file = LinesFile::open(path)?;
        let wrong = |row: Option<u64>, message: &str| Error::File {
            path: path.to_path_buf(),
            column: None,
            row,
            message: message.to_owned(),
        };
        if !file.try_own()? {
            return Err(wrong(None, "another process is writing to this file; wait for it, or choose another file"));
        }
        let bytes = file.bytes()?;
        let (whole, torn) = lines::split(&bytes);
        let mut known = HashMap::new();
        for (row, line) in whole {
            let line: Line = serde_json::from_slice(line)
                .map_err(|_| wrong(Some(row), "is not a record of a task, and stays as it is; choose another file"))?;
            known.insert(line.task, line.record);
        }
        let start = b"{\"task\":\"";
        if known.is_empty() && !torn.starts_with(start) && !start.starts_with(torn) {
            return Err(wrong(None, "is not a file of records of tasks, and stays as it is; choose another file"));
        }
        if !known.is_empty() && !resume {
            return Err(wrong(None, "there are records already; add --resume to go on, or choose another file"));
        }
        Ok(Self { executor, file, known: Mutex::new(known) })
    }
}

impl Executor for Kept<'_> {
    fn perform(&self, tasks: &[Task], observer: &dyn Observer, done: OnDone<'_>) -> Result<()> {
        let mut open = vec![];
        {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            for (k, task) in tasks.iter().enumerate() {
                match known.get(&task.key) {
                    Some(record) => done(k, Outcome::Done(record.clone()))?,
                    None => open.push(k),
                }
            }
        }
        let left: Vec<Task> = open.iter().map(|&k| tasks[k].clone()).collect();
        if left.is_empty() {
            return Ok(());
        }
        self.executor.perform(&left, observer, &mut |k, outcome| {
            // What was lost is tried again when the study is gone on with.
            if let Outcome::Done(record) = &outcome {
                let Task { key, kind, .. } = &left[k];
                self.file.append(&Line { task: key.clone(), kind: kind.clone(), record: record.clone() })?;
                self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone(), record.clone());
            }
            done(open[k], outcome)
        })
    }
}
