//! Statistics that the rest builds on: histogram, straight lines with intervals, queueing laws.
//!
//! Pure functions and values. Never a clock, never randomness, never a file.

mod binomial;
mod histogram;
mod slope;

pub use binomial::upper_bound;
pub use histogram::{Histogram, Quantiles};
pub use slope::{Slope, student_t};
