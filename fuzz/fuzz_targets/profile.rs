//! No program, library, list of functions or record of the kernel makes torment panic, whatever its bytes are.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| torment_hostile::reader("profile")(bytes));
