//! Any bytes as `f.svm`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    paretau_fuzz::read("f.svm", bytes);
});
