//! Any bytes as `f.arrow`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    paretau_fuzz::read("f.arrow", bytes);
});
