//! Ctrl-C and polite requests to end. The first signal raises a flag that every long loop asks for; whoever does not ask in
//! time (linear algebra, a read that waits on a pipe) is ended from here, with nothing half-written. The second signal ends
//! the program at once.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

static RAISED: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| {
    let raised = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // Actions run in the order of their registration, so the first signal finds the flag still lowered. Where a
        // signal cannot be caught, it keeps its usual meaning: the program ends.
        let _ = flag::register_conditional_shutdown(signal, 130, Arc::clone(&raised));
        let _ = flag::register(signal, Arc::clone(&raised));
    }
    raised
});
/// Folders with files that are being written.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(vec![]);
/// Whether a checkpoint is being written, which is waited for.
static SAVES_STATE: AtomicBool = AtomicBool::new(false);
/// Who reports the end: the first to raise it.
static REPORTED: AtomicBool = AtomicBool::new(false);

/// What loops that ask get to end by themselves.
const GRACE: Duration = Duration::from_millis(600);
/// What a checkpoint gets to reach the disk.
const GRACE_TO_SAVE: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(50);

/// Starts to listen.
pub(crate) fn listen() {
    LazyLock::force(&RAISED);
    // Without the thread, the loops still ask.
    let _ = std::thread::Builder::new().name("interrupt".into()).spawn(|| {
        while !is_raised() {
            std::thread::sleep(POLL);
        }
        let start = Instant::now();
        while start.elapsed() < if SAVES_STATE.load(Ordering::Relaxed) { GRACE_TO_SAVE } else { GRACE } {
            std::thread::sleep(POLL);
        }
        if claim_report() {
            remove_temporaries();
            if std::env::args_os().any(|arg| arg == "--json") {
                // Rows may be on their way to stdout and hold its lock; then they are all that it gets.
                let _ = std::thread::Builder::new().spawn(|| {
                    let _ = writeln!(std::io::stdout(), r#"{{"error":"interrupted","exit_code":130}}"#);
                });
                std::thread::sleep(POLL);
            }
            let _ = writeln!(std::io::stderr(), "paretau: interrupted");
            signal_hook::low_level::exit(130);
        }
    });
}

/// Whether a signal came.
pub(crate) fn is_raised() -> bool {
    RAISED.load(Ordering::Relaxed)
}

/// Whether the caller is the one who reports how the program ends.
pub(crate) fn claim_report() -> bool {
    !REPORTED.swap(true, Ordering::Relaxed)
}

/// Notes that a file of this folder is being written.
pub(crate) fn writes_in(folder: &Path) {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner).push(folder.to_path_buf());
}

/// Notes whether a checkpoint is being written.
pub(crate) fn saves_state(on: bool) {
    SAVES_STATE.store(on, Ordering::Relaxed);
}

/// Removes what this process leaves in the folders it writes to: temporary files, whose names hold its number, and its claim
/// to a part of a run, which holds it too.
pub(crate) fn remove_temporaries() {
    let own = std::process::id().to_string();
    // A thread that holds the list for longer than a moment is one that waits for its end, without memory.
    let folders = match FOLDERS.try_lock() {
        Ok(folders) => folders.clone(),
        Err(TryLockError::Poisoned(folders)) => folders.into_inner().clone(),
        Err(TryLockError::WouldBlock) => return,
    };
    for folder in &folders {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| name.starts_with('.')) else { continue };
            let numbers = name.strip_suffix(".tmp").and_then(|rest| rest.rsplit_once('.'));
            let temporary = numbers.is_some_and(|(rest, number)| {
                number.parse::<u64>().is_ok() && rest.rsplit_once('.').is_some_and(|(_, process)| process == own)
            });
            let claim = name.strip_prefix(".part-").and_then(|rest| rest.strip_suffix(".lock")).is_some()
                && std::fs::read_to_string(entry.path()).is_ok_and(|process| process.trim() == own);
            if temporary || claim {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}
