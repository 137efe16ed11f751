//! When the system has no memory left: one line that says so, exit code 3 and nothing temporary left behind, where the language's
//! own way is to abort.
//!
//! This is the one module of the crate with `unsafe` code. Every request goes to the system's allocator as it came, and its answer
//! goes back unchanged unless there is none; then the process ends here, since nobody up the stack could go on.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use crate::interrupt;

/// Memory that is kept for the report and given back for it.
const RESERVE: usize = 1 << 20;
static RESERVED: Mutex<Vec<u8>> = Mutex::new(vec![]);
/// Raised at the end: if the C library finds no memory for a thread meanwhile, it aborts, and that is then no other end.
static ABORTS: OnceLock<Arc<AtomicBool>> = OnceLock::new();
/// Exit code of data that are not fit for the job: they are too large for this machine.
const EXIT: i32 = 3;

struct EndsInWords;

#[global_allocator]
static ALLOCATOR: EndsInWords = EndsInWords;

// SAFETY: each method hands its arguments to the same method of `System` and gives back what that gives.
unsafe impl GlobalAlloc for EndsInWords {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that `System` asks for.
        checked(unsafe { System.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above; `at` came from `System`.
        checked(unsafe { System.realloc(at, layout, size) }, size)
    }

    #[inline]
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above; `at` came from `System`.
        unsafe { System.dealloc(at, layout) }
    }
}

#[inline]
fn checked(memory: *mut u8, size: usize) -> *mut u8 {
    if memory.is_null() {
        end(size);
    }
    memory
}

/// Sets memory aside for the report.
pub(crate) fn reserve() {
    if let Ok(mut reserved) = RESERVED.lock() {
        *reserved = vec![1; RESERVE];
    }
    let aborts = Arc::clone(ABORTS.get_or_init(Arc::default));
    let _ = signal_hook::flag::register_conditional_shutdown(signal_hook::consts::SIGABRT, EXIT, aborts);
}

/// Says that there is no memory, removes what is half-written, and ends the process. Until the reserve is given back nothing
/// here may ask for memory.
#[cold]
#[inline(never)]
fn end(size: usize) -> ! {
    static ENDING: AtomicBool = AtomicBool::new(false);
    thread_local!(static IS_ENDING: Cell<bool> = const { Cell::new(false) });
    if IS_ENDING.replace(true) {
        // Not even the reserve was enough.
        signal_hook::low_level::exit(EXIT);
    }
    if ENDING.swap(true, Ordering::Relaxed) {
        // Another thread is at it.
        loop {
            std::thread::sleep(Duration::from_secs(1));
        }
    }
    if let Some(aborts) = ABORTS.get() {
        aborts.store(true, Ordering::Relaxed);
    }
    let _ = interrupt::claim_report();
    let mut text = [0; 400];
    let mut rest = &mut text[..];
    let _ = writeln!(
        rest,
        "paretau: out of memory: the system has no {} kB more; older files are as they were. Fit fewer columns (--features) or blocks \
         of rows (--block-rows), use fewer --threads, or a machine with more memory",
        size.div_ceil(1024)
    );
    let unused = rest.len();
    write_error(&text[..text.len() - unused]);
    if let Ok(mut reserved) = RESERVED.try_lock() {
        drop(std::mem::take(&mut *reserved));
    }
    interrupt::remove_temporaries();
    if std::env::args_os().any(|arg| arg == "--json") {
        // Rows may be on their way there and hold its lock; then they are all that it gets.
        let _ = std::thread::Builder::new().spawn(|| {
            let _ = writeln!(std::io::stdout(), r#"{{"error":"out of memory","exit_code":3}}"#);
        });
        std::thread::sleep(Duration::from_millis(50));
    }
    signal_hook::low_level::exit(EXIT);
}

/// Writes to standard error past its lock, which a thread that found no memory either may hold.
#[cfg(unix)]
fn write_error(bytes: &[u8]) {
    use std::os::fd::AsFd as _;
    let copy = std::io::stderr().as_fd().try_clone_to_owned();
    let _ = copy.and_then(|stderr| std::fs::File::from(stderr).write_all(bytes));
}

#[cfg(not(unix))]
fn write_error(bytes: &[u8]) {
    let _ = std::io::stderr().write_all(bytes);
}
