//! Fuzzes `althing_fuzz::surface`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| althing_fuzz::surface(data));
