//! Any bytes as `f.xlsx`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    paretau_fuzz::read("f.xlsx", bytes);
});
