//! Fuzzes `althing_fuzz::entry`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| althing_fuzz::entry(data));
