//! No plan file makes torment panic, and one that is taken is written and read again as it was.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| torment_hostile::reader("plan")(bytes));
