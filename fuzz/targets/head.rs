//! Fuzzes `althing_fuzz::head`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| althing_fuzz::head(data));
