//! No message of a member makes its coordinator panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| torment_hostile::reader("fleet_messages")(bytes));
