//! Programs and libraries parsed from their bytes.

mod any_bytes;
mod call_paths;
mod elf_fixture;
