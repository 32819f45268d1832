//! Nothing that an HTTP/1.1 server says makes torment panic, and how it is cut makes no difference.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| torment_hostile::reader("http1")(bytes));
