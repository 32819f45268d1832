//! Every noun that goes in: target, request, load, goal; text to a checked plan.
//!
//! Pure: it never opens a file, resolves a name or asks for the time.

mod goal;

pub use goal::{Goal, Objective};
