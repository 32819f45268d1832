//! Statistics that the rest builds on: histogram, straight lines with intervals, comparisons in blocks.
//!
//! Pure functions and values. Never a clock, never randomness but what is handed in, never a file.

mod binomial;
mod blocks;
mod bounds;
mod cache;
mod clusters;
mod histogram;
mod order;
mod shuffle;
mod slope;

pub use binomial::{at_most, upper_bound};
pub use blocks::{Blocks, Contrast, Unequal, error_spread};
pub use bounds::{Looks, bounds};
pub use cache::{Cache, NoCache, Point, fits, valley};
pub use clusters::{Estimate, binomial, counted, levels, lost, ratio_of_sums, share};
pub use histogram::{Histogram, Quantiles};
pub use order::{Median, ratio};
pub use shuffle::shuffled;
pub use slope::{Slope, student_t};
