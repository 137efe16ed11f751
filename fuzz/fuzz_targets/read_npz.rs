//! Any bytes as `f.npz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    paretau_fuzz::read("f.npz", bytes);
});
