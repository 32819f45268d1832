//! Nothing that an HTTP/1.1 server says makes torment panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| torment_engine::fuzzing::http1(bytes));
