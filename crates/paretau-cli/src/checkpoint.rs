//! The checkpoint of a fit: one file, written whole or not at all, gone when the fit is done.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::interrupt;
use anyhow::Result;
use paretau::{CheckpointStore, Error, State, model_file};

/// A checkpoint in a file.
pub(crate) struct FileCheckpoint {
    path: PathBuf,
    resume: bool,
    /// Whether the file is this fit's: read as its checkpoint, or written.
    own: AtomicBool,
}

impl FileCheckpoint {
    /// Refuses to write over a checkpoint that was not to be resumed.
    pub(crate) fn new(path: &Path, resume: bool) -> Result<Self> {
        if path.exists() && !resume {
            let message = "there is a checkpoint already; add --resume to go on from it, or remove the file".to_owned();
            return Err(Error::File { path: path.to_path_buf(), column: None, row: None, message }.into());
        }
        Ok(Self { path: path.to_path_buf(), resume, own: AtomicBool::new(false) })
    }

    /// Removes the file: a finished fit needs none.
    pub(crate) fn done(&self) {
        // It may never have been written, and a file that stays does no harm: the next fit reports it.
        if self.own.load(Ordering::Relaxed) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl CheckpointStore for FileCheckpoint {
    fn load(&self) -> paretau::Result<Option<State>> {
        if !self.resume || !self.path.exists() {
            return Ok(None);
        }
        let state = model_file::read(&self.path)?;
        // A fit that refuses it ends in an error and leaves it; one that goes on from it may have nothing more to save.
        self.own.store(true, Ordering::Relaxed);
        Ok(Some(state))
    }

    fn save(&self, state: &State) -> paretau::Result<()> {
        interrupt::saves_state(true);
        let saved = model_file::to_bytes(state).and_then(|bytes| paretau::data::write_atomically(&self.path, &bytes));
        interrupt::saves_state(false);
        saved?;
        self.own.store(true, Ordering::Relaxed);
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_fit_that_only_read_its_checkpoint_removes_it_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.checkpoint");
        // Interrupted after its last step: the next process reads the file and saves nothing more.
        FileCheckpoint::new(&path, false).unwrap().save(&State::new(&1).unwrap()).unwrap();
        let next = FileCheckpoint::new(&path, true).unwrap();
        next.done();
        assert!(path.exists(), "nobody read it yet");
        assert!(next.load().unwrap().is_some());
        next.done();
        assert!(!path.exists());
    }
}
