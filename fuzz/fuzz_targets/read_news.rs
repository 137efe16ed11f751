//! Any bytes as a News pair: `f.csv.x`, a NUL, `f.csv.y`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    paretau_fuzz::read_pair(bytes);
});
