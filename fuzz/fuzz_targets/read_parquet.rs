//! Any bytes as `f.parquet`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    paretau_fuzz::read("f.parquet", bytes);
});
