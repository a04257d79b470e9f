//! Fuzzes `althing_fuzz::door`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| althing_fuzz::door(data));
