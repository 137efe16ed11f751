//! Events instead of prints: libraries report, the command line or Python decides what to show.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

/// Something that happened during a fit or a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// A stage began; `total` steps are expected when known.
    Stage {
        /// What the stage does, for people.
        name: String,
        /// Expected number of steps.
        total: Option<u64>,
    },
    /// Steps of the current stage are done.
    Progress {
        /// Steps done so far.
        done: u64,
    },
    /// An epoch ended, with its named numbers (losses, largest weight, k-hat, …).
    Epoch {
        /// 1-based epoch.
        epoch: u64,
        /// Named numbers.
        values: BTreeMap<String, f64>,
    },
    /// Something worth telling that is not an error.
    Note {
        /// The sentence.
        message: String,
    },
}

/// Receives events. Must be cheap: it is called from inner loops of a fit, from any thread.
pub trait Observer: Sync {
    /// Takes one event.
    fn event(&self, event: &Event);

    /// Whether the user asked to stop; long loops ask between steps.
    fn interrupted(&self) -> bool {
        false
    }
}

/// An observer that hears nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {
    fn event(&self, _: &Event) {}
}

/// A flag that a signal handler can raise.
#[derive(Debug, Default)]
pub struct Interrupt(AtomicBool);

impl Interrupt {
    /// A lowered flag.
    pub const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Raises the flag.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it is raised.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
