//! Nothing that an HTTP/2 server says makes torment panic or hold more than its limits, and how it is cut makes no difference.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| torment_hostile::reader("http2")(bytes));
