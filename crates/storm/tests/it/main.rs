//! Real processes.

mod storms;
