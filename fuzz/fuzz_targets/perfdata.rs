//! No file of a Java virtual machine's counters makes torment panic, and one cut short says nothing else.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| torment_hostile::reader("perfdata")(bytes));
