//! Readers against the real thing.

mod database;
