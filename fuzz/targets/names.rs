//! Fuzzes `althing_fuzz::names`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| althing_fuzz::names(data));
