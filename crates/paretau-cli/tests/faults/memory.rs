//! Memory that ends after so many bytes, for one process: compiled by the test on its own and loaded before the C library
//! (`LD_PRELOAD`), it counts what is asked for and refuses all that comes after `BYTES` of it. What is freed from then on may be
//! had again, as it is on a machine without memory.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicI64, Ordering};

unsafe extern "C" {
    fn __libc_malloc(n: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, n: usize) -> *mut c_void;
    fn __libc_realloc(at: *mut c_void, n: usize) -> *mut c_void;
    fn __libc_memalign(align: usize, n: usize) -> *mut c_void;
    fn __libc_free(at: *mut c_void);
    fn malloc_usable_size(at: *mut c_void) -> usize;
    fn getenv(name: *const c_char) -> *const c_char;
    fn __errno_location() -> *mut c_int;
}

const NO_MEMORY: c_int = 12;

/// Bytes that are left; unset at first, and below zero once they have ended.
static LEFT: AtomicI64 = AtomicI64::new(i64::MIN);

/// Reads the limit without asking for memory.
fn limit() -> i64 {
    let text = unsafe { getenv(c"BYTES".as_ptr()) };
    if text.is_null() {
        return i64::MAX;
    }
    let (mut at, mut number) = (text, 0_i64);
    while let digit @ b'0'..=b'9' = unsafe { *at } as u8 {
        number = number * 10 + i64::from(digit - b'0');
        at = unsafe { at.add(1) };
    }
    number
}

/// Whether there are so many bytes, which are then gone.
fn take(n: usize) -> bool {
    if LEFT.load(Ordering::Relaxed) == i64::MIN {
        let _ = LEFT.compare_exchange(i64::MIN, limit(), Ordering::Relaxed, Ordering::Relaxed);
    }
    let n = n.min(1 << 60) as i64;
    if LEFT.fetch_sub(n, Ordering::Relaxed) >= n {
        return true;
    }
    // The end: from now on there is what is given back.
    IS_OVER.store(1, Ordering::Relaxed);
    LEFT.fetch_add(n, Ordering::Relaxed);
    LEFT.fetch_min(0, Ordering::Relaxed);
    unsafe { *__errno_location() = NO_MEMORY };
    false
}

static IS_OVER: AtomicI64 = AtomicI64::new(0);

fn give_back(at: *mut c_void) {
    if !at.is_null() && IS_OVER.load(Ordering::Relaxed) == 1 {
        LEFT.fetch_add(unsafe { malloc_usable_size(at) } as i64, Ordering::Relaxed);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc(n: usize) -> *mut c_void {
    if take(n) { unsafe { __libc_malloc(n) } } else { std::ptr::null_mut() }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn calloc(count: usize, n: usize) -> *mut c_void {
    if take(count.saturating_mul(n)) { unsafe { __libc_calloc(count, n) } } else { std::ptr::null_mut() }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn realloc(at: *mut c_void, n: usize) -> *mut c_void {
    if take(n) {
        give_back(at);
        unsafe { __libc_realloc(at, n) }
    } else {
        std::ptr::null_mut()
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn memalign(align: usize, n: usize) -> *mut c_void {
    if take(n) { unsafe { __libc_memalign(align, n) } } else { std::ptr::null_mut() }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aligned_alloc(align: usize, n: usize) -> *mut c_void {
    unsafe { memalign(align, n) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_memalign(out: *mut *mut c_void, align: usize, n: usize) -> c_int {
    let memory = unsafe { memalign(align, n) };
    if memory.is_null() {
        return NO_MEMORY;
    }
    unsafe { *out = memory };
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(at: *mut c_void) {
    give_back(at);
    unsafe { __libc_free(at) }
}
