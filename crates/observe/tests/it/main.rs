//! Tests with real services.

mod database;
