//! Programs and libraries read from their bytes.

mod any_bytes;
mod call_paths;
mod elf_fixture;
