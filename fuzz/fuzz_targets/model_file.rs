//! Any bytes as a model file.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    paretau_fuzz::model_file(bytes);
});
