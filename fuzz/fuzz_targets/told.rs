//! Nothing that a member tells makes its coordinator panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| torment_hostile::reader("told")(bytes));
