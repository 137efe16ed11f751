//! What a person sees while waiting: a bar on a terminal, plain lines otherwise, nothing with `--quiet`.

use std::collections::HashSet;
use std::io::{IsTerminal as _, Write as _};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use paretau::data::Position;
use paretau::{Event, Observer, printable};

use crate::{interrupt, log, terminal};

/// The bar of a stage whose steps are counted.
const COUNTED: &str = "{msg} {bar:10} {pos}/{len} ({pace})";

/// Columns that the rest of a bar's line may take beside the stage's name: a line that wraps is not cleared in full.
const REST: usize = 50;

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
                let _ = writeln!(std::io::stderr(), "{}", terminal::for_stderr(&printable(line)));
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
                (done, Some(total), "{msg} {bar:10} {bytes}/{total_bytes} ({bytes_per_sec}, {left})")
            }
            Position::Rows { done, total: Some(total) } => (done, Some(total), COUNTED),
            Position::Rows { done, total: None } => (done, None, "{msg} {spinner} {pos} ({rate}, {elapsed})"),
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
        let mut slot = self.bar.lock().unwrap_or_else(PoisonError::into_inner);
        // The old bar goes before the new one draws: two at once leave a line behind.
        if let Some(old) = slot.take() {
            old.finish_and_clear();
        }
        let bar = total.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.with_key("left", time_left).with_key("rate", rate).with_key("pace", pace));
        }
        bar.set_message(terminal::cut(name, REST));
        bar.enable_steady_tick(Duration::from_millis(120));
        *slot = Some(bar);
    }
}

/// Steps per second or minute, in three digits.
fn rate(state: &ProgressState, out: &mut dyn std::fmt::Write) {
    let _ = out.write_str(&rate_in_words(state.per_sec()));
}

/// The rate and the time left, once there is a step to compute them from.
fn pace(state: &ProgressState, out: &mut dyn std::fmt::Write) {
    if state.pos() > 0 && state.per_sec() > 0.0 {
        rate(state, out);
        let _ = out.write_str(", ");
    }
    time_left(state, out);
}

fn rate_in_words(per_second: f64) -> String {
    match per_second {
        r if !r.is_finite() || r <= 0.0 => "0/s".to_owned(),
        r if r >= 100.0 => format!("{r:.0}/s"),
        r if r >= 10.0 => format!("{r:.1}/s"),
        r if r >= 1.0 => format!("{r:.2}/s"),
        r => format!("{:.2}/min", 60.0 * r),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_sensible_digits() {
        let words = [0.0, f64::NAN, 0.05, 1.234_56, 23.456, 1119.7635].map(rate_in_words);
        let none = "0/s";
        let want = [none, none, "3.00/min", "1.23/s", "23.5/s", "1120/s"];
        assert_eq!(words, want);
    }
}
