//! Statistics that the rest builds on: histogram, straight lines with intervals, comparisons in blocks.
//!
//! Pure functions and values. Never a clock, never randomness but what is handed in, never a file.

mod binomial;
mod blocks;
mod bounds;
mod histogram;
mod slope;

pub use binomial::upper_bound;
pub use blocks::{Blocks, Contrast, Unequal, error_spread};
pub use bounds::{Looks, bounds};
pub use histogram::{Histogram, Quantiles};
pub use slope::{Slope, student_t};
