//! Statistics that the rest builds on: histogram, straight lines with intervals, queueing laws.
//!
//! Pure functions and values. Never a clock, never randomness, never a file.

mod histogram;
mod slope;

pub use histogram::{Histogram, Quantiles};
pub use slope::{Slope, student_t};
