//! Nothing in the kernel's files, and in what processes call themselves, makes torment panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| torment_hostile::reader("kernel")(bytes));
