//! The catalogue of everything measured of a target, its machine and torment itself: name, unit, description, how it is read, and how
//! several windows merge.
//!
//! An *entity* is a struct of [`crate::watch`]; `window_rows` has a row for each of its numbers, `load_rows` for those of a
//! [`crate::Slice`]. The rows define how windows ([`crate::watch::Window::add`]) and slices merge; the rows and columns of an export, OpenMetrics and
//! OTLP; and the tables of the manual. A test fails if a number is in no row or in two.

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
