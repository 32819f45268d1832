//! No curl command, recording or description makes torment panic, and what comes of it is a plan.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| torment_hostile::reader("import")(bytes));
