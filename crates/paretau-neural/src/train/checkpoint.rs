//! Checkpoints of several runs in one store: members of an ensemble train side by side, a checkpoint holds them all.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use paretau_core::{CheckpointStore, Error, FitContext, Result, State};
use serde_json::Value;

/// Holds the latest state of every run and writes all of them at once.
pub struct Keeper<'a> {
    store: Option<&'a dyn CheckpointStore>,
    /// What the fit was asked to do; a checkpoint of something else is refused.
    request: Value,
    runs: Mutex<BTreeMap<String, State>>,
}

impl<'a> Keeper<'a> {
    /// Loads what an earlier fit left, if it was asked the same.
    pub fn new(ctx: &FitContext<'a>, request: Value) -> Result<Self> {
        let mut runs = BTreeMap::new();
        if let Some(saved) = ctx.checkpoint.map(CheckpointStore::load).transpose()?.flatten() {
            if saved.json.get("request") != Some(&request) {
                return Err(Error::bad_model(
                    "the checkpoint is of a fit with other settings, data or seed; remove it or restore them",
                ));
            }
            let names = saved.json.get("runs").and_then(Value::as_array).cloned().unwrap_or_default();
            for name in names.iter().filter_map(Value::as_str) {
                runs.insert(name.to_owned(), saved.nested(name)?);
            }
        }
        Ok(Self { store: ctx.checkpoint, request, runs: Mutex::new(runs) })
    }

    /// Whether anything is kept at all.
    pub fn is_on(&self) -> bool {
        self.store.is_some()
    }

    /// The kept state of a run.
    pub fn load(&self, name: &str) -> Option<State> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Keeps the state of a run that is put aside, even where nothing is stored.
    pub fn hold(&self, name: &str, state: State) -> Result<()> {
        if self.is_on() {
            return self.save(name, state);
        }
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), state);
        Ok(())
    }

    /// Lets go of a run that nobody comes back to; a stored one stays, so that a resumed fit decides as this one did.
    pub fn release(&self, name: &str) {
        if !self.is_on() {
            self.runs.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        }
    }

    /// Keeps the state of a run.
    pub fn save(&self, name: &str, state: State) -> Result<()> {
        let Some(store) = self.store else { return Ok(()) };
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.insert(name.to_owned(), state);
        let mut all = State::default();
        for (name, state) in runs.iter() {
            all.nest(name, state.clone());
        }
        if let Value::Object(map) = &mut all.json {
            map.insert("request".to_owned(), self.request.clone());
            map.insert("runs".to_owned(), runs.keys().map(String::as_str).collect());
        }
        // Still under the lock: an older state must not overwrite a newer one.
        store.save(&all)
    }
}

impl std::fmt::Debug for Keeper<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keeper").field("on", &self.is_on()).finish_non_exhaustive()
    }
}
