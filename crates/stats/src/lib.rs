//! Statistics: histograms, regression lines with intervals, comparisons in blocks.
//!
//! Pure functions and values: no clock, no files, no randomness but what is passed in.

mod binomial;
mod block_design;
mod cache_fit;
mod clusters;
mod half_widths;
mod histogram;
mod rank;
mod shuffle;
mod slope;

pub use binomial::{binomial_cdf, binomial_upper_bound};
pub use block_design::{BlockDesign, Contrast, NoisiestTreatment, error_spread};
pub use cache_fit::{CacheFit, CacheFitError, CachePoint, hit_miss_threshold, size_from_misses};
pub use clusters::{
    Estimate, clustered_share, poisson_interval, quantile_bounds, ratio_of_sums, share_interval,
    wilson_interval,
};
pub use half_widths::{LookSchedule, half_widths};
pub use histogram::{Histogram, Quantiles};
pub use rank::{Median, ratio_of_medians};
pub use shuffle::shuffled;
pub use slope::{Slope, student_t};
