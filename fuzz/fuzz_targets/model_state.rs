//! A forged model file: the digest is right, its document is not.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    paretau_fuzz::model_state(bytes);
});
