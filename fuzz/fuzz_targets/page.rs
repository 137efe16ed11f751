//! Any bytes as the records of a run that becomes a page.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    paretau_fuzz::page(bytes);
});
