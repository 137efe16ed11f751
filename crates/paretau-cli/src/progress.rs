//! What a person sees while waiting: a bar on a terminal, plain lines otherwise, nothing with `--quiet`.

use std::collections::HashSet;
use std::io::{IsTerminal as _, Write as _};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use paretau::data::Position;
use paretau::{Event, Observer, printable};

use crate::{interrupt, log};

/// The bar of a stage whose steps are counted.
const COUNTED: &str = "{msg} {bar:24} {pos}/{len} ({per_sec}, {left})";

/// Shows events on stderr.
pub(crate) struct Progress {
    quiet: bool,
    bar: Mutex<Option<ProgressBar>>,
    /// Lines that were printed already: fitting six estimators to one table notes the same things six times.
    printed: Mutex<HashSet<String>>,
}

impl Progress {
    /// An observer that also passes on Ctrl-C.
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet, bar: Mutex::new(None), printed: Mutex::new(HashSet::new()) }
    }

    /// Prints a message once, beside the bar if there is one.
    pub(crate) fn print_line(&self, message: &str) {
        log::line(message);
        if self.quiet || !self.printed.lock().unwrap_or_else(PoisonError::into_inner).insert(message.to_owned()) {
            return;
        }
        // Whoever listened to stderr may have gone; that is no reason to stop.
        let line = || {
            for line in message.lines() {
                let _ = writeln!(std::io::stderr(), "{}", printable(line));
            }
        };
        match &*self.bar.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(bar) => bar.suspend(line),
            None => line(),
        }
    }

    /// An error if Ctrl-C was pressed.
    pub(crate) fn check_interrupt(&self) -> paretau::Result<()> {
        if self.interrupted() { Err(paretau::Error::Interrupted) } else { Ok(()) }
    }

    /// Shows how far the reading of a file is.
    pub(crate) fn reading(&self, name: &str, position: Position) {
        let (done, total, template) = match position {
            Position::Bytes { done, total } => {
                (done, Some(total), "{msg} {bar:24} {bytes}/{total_bytes} ({bytes_per_sec}, {left})")
            }
            Position::Rows { done, total: Some(total) } => (done, Some(total), COUNTED),
            Position::Rows { done, total: None } => (done, None, "{msg} {spinner} {pos} ({per_sec}, {elapsed})"),
        };
        if self.bar.lock().unwrap_or_else(PoisonError::into_inner).is_none() {
            self.show(name, total, template);
        }
        if let Some(bar) = &*self.bar.lock().unwrap_or_else(PoisonError::into_inner) {
            bar.set_position(done);
        }
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        if let Some(bar) = self.bar.lock().unwrap_or_else(PoisonError::into_inner).take() {
            bar.finish_and_clear();
        }
    }

    fn start(&self, name: &str, total: Option<u64>) {
        self.show(name, total, if total.is_some() { COUNTED } else { "{msg} {spinner} {elapsed}" });
    }

    fn show(&self, name: &str, total: Option<u64>, template: &str) {
        if self.quiet || !std::io::stderr().is_terminal() {
            return;
        }
        let bar = total.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.with_key("left", time_left));
        }
        bar.set_message(name.to_owned());
        bar.enable_steady_tick(Duration::from_millis(120));
        let mut slot = self.bar.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(old) = slot.replace(bar) {
            old.finish_and_clear();
        }
    }
}

/// The time left, as far as it can be known.
fn time_left(state: &ProgressState, out: &mut dyn std::fmt::Write) {
    let _ = match state.pos() {
        0 => write!(out, "time left not known yet"),
        _ => write!(out, "{} left", HumanDuration(state.eta())),
    };
}

impl Observer for Progress {
    fn event(&self, event: &Event) {
        match event {
            Event::Stage { name, total } => {
                log::line(&format!("stage: {name}"));
                self.start(name, *total);
            }
            Event::Progress { done } => {
                if let Some(bar) = &*self.bar.lock().unwrap_or_else(PoisonError::into_inner) {
                    bar.set_position(*done);
                }
            }
            Event::Note { message } => self.print_line(message),
            _ => {}
        }
    }

    fn interrupted(&self) -> bool {
        interrupt::is_raised()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
