//! Fuzzes `althing_fuzz::snapshot`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| althing_fuzz::snapshot(data));
