//! Tests with real programs.

mod library;
mod points;
mod seen;
