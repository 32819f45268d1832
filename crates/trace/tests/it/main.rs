//! Tests with real programs.

mod followed;
mod library;
mod points;
