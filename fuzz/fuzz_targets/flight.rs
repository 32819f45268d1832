//! No recording of a Java virtual machine makes torment panic, or hold more than it has bytes for.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| torment_hostile::reader("flight")(bytes));
