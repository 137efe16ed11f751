//! What a person sees while waiting: a bar on a terminal, plain lines otherwise, nothing with `--quiet`.

use std::io::IsTerminal as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use paretau::{Event, Interrupt, Observer};

/// Raised by Ctrl-C; every long loop of the library asks for it through the observer.
static INTERRUPT: Interrupt = Interrupt::new();

/// Shows events on stderr.
pub(crate) struct Progress {
    quiet: bool,
    bar: Mutex<Option<ProgressBar>>,
}

impl Progress {
    /// An observer that also listens for Ctrl-C.
    pub(crate) fn new(quiet: bool) -> Self {
        // A second Ctrl-C must not be needed, but a second handler is refused: the first one stays.
        let _ = ctrlc::set_handler(|| INTERRUPT.raise());
        Self { quiet, bar: Mutex::new(None) }
    }

    /// Says one line, beside the bar if there is one.
    pub(crate) fn say(&self, message: &str) {
        if self.quiet {
            return;
        }
        match &*self.bar.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(bar) => bar.suspend(|| eprintln!("{message}")),
            None => eprintln!("{message}"),
        }
    }

    fn start(&self, name: &str, total: Option<u64>) {
        if self.quiet || !std::io::stderr().is_terminal() {
            return;
        }
        let (bar, template) = match total {
            Some(total) => (ProgressBar::new(total), "{msg} {bar:24} {pos}/{len} ({per_sec}, {eta} left)"),
            None => (ProgressBar::new_spinner(), "{msg} {spinner} {elapsed}"),
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(name.to_owned());
        bar.enable_steady_tick(Duration::from_millis(120));
        let mut slot = self.bar.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(old) = slot.replace(bar) {
            old.finish_and_clear();
        }
    }
}

impl Observer for Progress {
    fn event(&self, event: &Event) {
        match event {
            Event::Stage { name, total } => self.start(name, *total),
            Event::Progress { done } => {
                if let Some(bar) = &*self.bar.lock().unwrap_or_else(PoisonError::into_inner) {
                    bar.set_position(*done);
                }
            }
            Event::Note { message } => self.say(message),
            _ => {}
        }
    }

    fn interrupted(&self) -> bool {
        INTERRUPT.is_raised()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.lock().unwrap_or_else(PoisonError::into_inner).take() {
            bar.finish_and_clear();
        }
    }
}
