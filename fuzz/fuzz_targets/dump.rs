//! Nothing that a Java virtual machine says of its threads makes torment panic, or is read in two ways.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| torment_hostile::reader("dump")(bytes));
