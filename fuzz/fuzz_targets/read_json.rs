//! Any bytes as `f.json`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    paretau_fuzz::read("f.json", bytes);
});
