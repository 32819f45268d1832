//! Everything that is measured of a target, its machine and torment itself, once: what it is called, its unit, what it says, how it
//! is read, and how that of several windows becomes one.
//!
//! An *entity* is a struct of [`crate::watch`]; [`window_rows`] has a row for each of its numbers, [`load_rows`] for those of a [`crate::Slice`]. From the rows
//! come what several windows are as one ([`Window::add`]), or several slices; the rows and columns of an export, OpenMetrics and OTLP, and the
//! tables of the manual. A test fails if a number is in no row or in two.

mod aggregation;
mod entity;
mod load_rows;
mod merge;
mod window;
mod window_rows;

pub use aggregation::{Least, Level, Limit, Mean, Most, Share, Sum};
pub use entity::{CatalogueRow, Entity, Measure, Metric, Quantity, ValueLabels, catalogue_rows};
pub use load_rows::{LOAD, LoadReader, LoadRow};
pub use merge::Weights;

pub(crate) use merge::Component;

#[cfg(test)]
mod tests;
