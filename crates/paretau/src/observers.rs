//! Observers for fits inside a longer job.

use paretau_core::{Event, Observer};

/// Passes on interruption, but not the events of every single fit.
pub(crate) struct Quiet<'a>(pub(crate) &'a dyn Observer);

impl Observer for Quiet<'_> {
    fn event(&self, _: &Event) {}

    fn interrupted(&self) -> bool {
        self.0.interrupted()
    }
}
