//! Programs and libraries read from their bytes.

mod any_bytes;
mod made;
mod ways;
