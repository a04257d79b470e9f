//! Fuzzes `althing_fuzz::trail`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| althing_fuzz::trail(data));
