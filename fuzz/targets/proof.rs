//! Fuzzes `althing_fuzz::proof`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| althing_fuzz::proof(data));
