//! Any text as an experiment's plan.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    paretau_fuzz::plan(bytes);
});
