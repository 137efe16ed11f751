//! Any bytes as `f.csv.gz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    paretau_fuzz::read("f.csv.gz", bytes);
});
