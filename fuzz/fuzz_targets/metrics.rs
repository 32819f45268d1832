//! Nothing that an endpoint of metrics says makes torment panic, and what is kept is kept again.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| torment_hostile::reader("metrics")(bytes));
