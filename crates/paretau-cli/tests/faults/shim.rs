//! A disk that fails after so many writes, for one process: compiled by the test on its own and loaded before the C library
//! (`LD_PRELOAD`), it stands in for the calls that change a disk and refuses them once `FAIL_AFTER` of them have passed: all from
//! there on, as a full disk does, or with `FAIL_ONCE` only the next, as a disk with one bad place does.
//! It knows the call numbers of Linux on x86-64.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicI64, Ordering};

unsafe extern "C" {
    fn syscall(number: i64, ...) -> i64;
    fn __errno_location() -> *mut c_int;
}

/// What a full disk answers, and a bad one.
const NO_SPACE: c_int = 28;
const BAD_INPUT_OUTPUT: c_int = 5;
const O_CREAT: c_int = 0o100;

/// Calls that still pass; unset at first.
static LEFT: AtomicI64 = AtomicI64::new(i64::MIN);

/// Whether this call is one too many. From there on, all are.
fn is_full() -> bool {
    if LEFT.load(Ordering::Relaxed) == i64::MIN {
        let wanted = std::env::var("FAIL_AFTER").ok().and_then(|n| n.parse().ok()).unwrap_or(i64::MAX);
        let _ = LEFT.compare_exchange(i64::MIN, wanted, Ordering::Relaxed, Ordering::Relaxed);
    }
    let left = LEFT.fetch_sub(1, Ordering::Relaxed);
    if is_once() { left == 0 } else { left <= 0 }
}

fn is_once() -> bool {
    static ONCE: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *ONCE.get_or_init(|| std::env::var_os("FAIL_ONCE").is_some())
}

fn refuse() -> i64 {
    unsafe { *__errno_location() = if is_once() { BAD_INPUT_OUTPUT } else { NO_SPACE } };
    -1
}

/// Standard streams are no disk.
fn is_file(fd: c_int) -> bool {
    fd > 2
}

#[unsafe(no_mangle)]
pub extern "C" fn write(fd: c_int, bytes: *const c_void, n: usize) -> isize {
    (if is_file(fd) && is_full() { refuse() } else { unsafe { syscall(1, fd, bytes, n) } }) as isize
}

#[unsafe(no_mangle)]
pub extern "C" fn writev(fd: c_int, parts: *const c_void, n: c_int) -> isize {
    (if is_file(fd) && is_full() { refuse() } else { unsafe { syscall(20, fd, parts, n) } }) as isize
}

#[unsafe(no_mangle)]
pub extern "C" fn ftruncate64(fd: c_int, length: i64) -> c_int {
    (if is_full() { refuse() } else { unsafe { syscall(77, fd, length) } }) as c_int
}

#[unsafe(no_mangle)]
pub extern "C" fn mkdir(path: *const c_char, mode: c_int) -> c_int {
    (if is_full() { refuse() } else { unsafe { syscall(83, path, mode) } }) as c_int
}

#[unsafe(no_mangle)]
pub extern "C" fn fchmod(fd: c_int, mode: c_int) -> c_int {
    if std::env::var_os("SLOW_RIGHTS").is_some() {
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
    (if is_full() { refuse() } else { unsafe { syscall(91, fd, mode) } }) as c_int
}

/// With `HANGS`, calls that wait for a disk wait for a minute: a disk that does not answer.
fn wait_if_hanging() {
    if std::env::var_os("HANGS").is_some() {
        std::thread::sleep(std::time::Duration::from_secs(60));
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn flock(fd: c_int, how: c_int) -> c_int {
    wait_if_hanging();
    (unsafe { syscall(73, fd, how) }) as c_int
}

#[unsafe(no_mangle)]
pub extern "C" fn fsync(fd: c_int) -> c_int {
    wait_if_hanging();
    (if is_full() { refuse() } else { unsafe { syscall(74, fd) } }) as c_int
}

#[unsafe(no_mangle)]
pub extern "C" fn fdatasync(fd: c_int) -> c_int {
    wait_if_hanging();
    (if is_full() { refuse() } else { unsafe { syscall(75, fd) } }) as c_int
}

#[unsafe(no_mangle)]
pub extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    (if is_full() { refuse() } else { unsafe { syscall(82, from, to) } }) as c_int
}

#[unsafe(no_mangle)]
pub extern "C" fn open64(path: *const c_char, flags: c_int, mode: c_int) -> c_int {
    (if flags & O_CREAT != 0 && is_full() { refuse() } else { unsafe { syscall(2, path, flags, mode) } }) as c_int
}
