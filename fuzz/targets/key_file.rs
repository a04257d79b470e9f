//! Fuzzes `althing_fuzz::key_file`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| althing_fuzz::key_file(data));
