//! The one way from Python into long computations: detached from the interpreter, with Ctrl-C and panics handled.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use paretau::{Event, Interrupt, Observer};
use pyo3::prelude::*;

use crate::error;
use crate::wording::in_python;

/// How often a waiting call checks for signals and passes events on: quick for a person, no cost to a fit.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Keeps caught panics from printing: every one of them becomes an exception, or the error of a damaged file.
pub(crate) fn quiet_panics() {
    std::panic::set_hook(Box::new(|_| {}));
}

/// Runs short work with the interpreter released, so that other Python threads go on.
pub(crate) fn detach<T: Send, E: Send>(
    py: Python<'_>,
    to_py: impl FnOnce(E) -> PyErr,
    work: impl FnOnce() -> Result<T, E> + Send,
) -> PyResult<T> {
    match py.detach(|| catch_unwind(AssertUnwindSafe(work))) {
        Ok(done) => done.map_err(to_py),
        Err(payload) => Err(error::of_panic(payload.as_ref())),
    }
}

/// Runs long work in a thread of its own while the calling one waits for it, handles Python's signals, and hands the
/// work's events, as JSON text, to `listener`.
///
/// An exception of a signal handler (Ctrl-C) or of the listener asks the work to stop, and is raised when it has.
pub(crate) fn detach_with_events<T: Send>(
    py: Python<'_>,
    listener: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&dyn Observer) -> paretau::Result<T> + Send,
) -> PyResult<T> {
    let watch = Watch { interrupt: Interrupt::new(), events: listener.map(|_| Mutex::default()) };
    let listener = listener.map(|l| l.clone().unbind());
    let mut raised: Option<PyErr> = None;
    let done = py.detach(|| {
        std::thread::scope(|scope| {
            let (sender, receiver) = channel();
            let watch = &watch;
            scope.spawn(move || {
                // The receiver outlives us; a failed send could only mean that nobody waits any more.
                let _ = sender.send(catch_unwind(AssertUnwindSafe(|| work(watch))));
            });
            loop {
                let outcome = receiver.recv_timeout(POLL_INTERVAL);
                if raised.is_none() {
                    let polled = Python::attach(|py| watch.poll(py, listener.as_ref()));
                    if let Err(exception) = polled {
                        watch.interrupt.raise();
                        raised = Some(exception);
                    }
                }
                match outcome {
                    Ok(done) => return Some(done),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return None,
                }
            }
        })
    });
    if let Some(exception) = raised {
        return Err(exception);
    }
    match done {
        Some(Ok(done)) => done.map_err(error::to_py),
        Some(Err(payload)) => Err(error::of_panic(payload.as_ref())),
        None => Err(error::of_panic(&"the working thread vanished")),
    }
}

/// What the working thread and the waiting one share.
struct Watch {
    interrupt: Interrupt,
    /// Events not handed on yet; `None` when nobody listens.
    events: Option<Mutex<Vec<Event>>>,
}

impl Watch {
    fn poll(&self, py: Python<'_>, listener: Option<&Py<PyAny>>) -> PyResult<()> {
        py.check_signals()?;
        let (Some(events), Some(listener)) = (&self.events, listener) else { return Ok(()) };
        let events = std::mem::take(&mut *events.lock().unwrap_or_else(PoisonError::into_inner));
        for event in &events {
            let text = serde_json::to_string(event).map_err(|e| error::usage(e.to_string()))?;
            listener.call1(py, (in_python(&text),))?;
        }
        Ok(())
    }
}

impl Observer for Watch {
    fn event(&self, event: &Event) {
        if let Some(events) = &self.events {
            events.lock().unwrap_or_else(PoisonError::into_inner).push(event.clone());
        }
    }

    fn interrupted(&self) -> bool {
        self.interrupt.is_raised()
    }
}
