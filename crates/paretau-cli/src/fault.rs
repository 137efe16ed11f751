//! A fault of our own (a panic): one line that asks for a report, exit code 1. Panics that somebody catches, as the readers
//! do with the decoders of damaged files, print nothing.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use paretau::{Error, printable};

/// The last panic's message and place, with its backtrace where RUST_BACKTRACE asks for one.
static LAST: Mutex<Option<String>> = Mutex::new(None);

/// Keeps what a panic says instead of printing it.
pub(crate) fn hold_back() {
    std::panic::set_hook(Box::new(|panic| {
        let backtrace = Backtrace::capture();
        let mut text = printable(&panic.to_string().replace('\n', " ")).into_owned();
        if backtrace.status() == BacktraceStatus::Captured {
            text += &format!("\n{backtrace}");
        }
        *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }));
}

/// Runs `work`; a panic that nobody caught becomes an error.
pub(crate) fn caught(work: impl FnOnce() -> Result<()>) -> Result<()> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let last = LAST.lock().unwrap_or_else(PoisonError::into_inner).take();
        Err(Error::internal("paretau", last.unwrap_or_else(|| "it stopped without a word".to_owned())).into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::panic)]
    fn a_panic_becomes_an_error_that_asks_for_a_report() {
        hold_back();
        let message = caught(|| panic!("a \u{1b}[31mfault")).map_err(|e| e.to_string()).unwrap_err();
        assert!(message.contains("fault") && message.contains("fault.rs") && !message.contains('\u{1b}'), "{message}");
        assert!(caught(|| Ok(())).is_ok());
    }
}
