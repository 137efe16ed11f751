//! Any bytes as `f.csv`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    paretau_fuzz::read("f.csv", bytes);
});
