//! Any bytes as `f.tsv`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    paretau_fuzz::read("f.tsv", bytes);
});
