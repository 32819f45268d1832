//! Everything that is measured of a target, its machine and torment itself, once: what it is called, its unit, what it says, how it
//! is read, and how that of several windows becomes one.
//!
//! A *noun* is a struct of [`crate::watch`]; [`watched`] has a row for each of its numbers, [`load`] for those of a [`crate::Slice`]. From the rows
//! come what several windows are as one ([`Window::add`]), or several slices; the rows and columns of an export, OpenMetrics and OTLP, and the
//! tables of the manual. A test fails if a number is in no row or in two.

mod kind;
mod load;
mod merge;
mod noun;
mod watched;
mod window;

pub use kind::{Least, Level, Limit, Mean, Most, Share, Sum};
pub use load::{LOAD, LoadReader, LoadRow};
pub use merge::Weights;
pub use noun::{Listed, Measure, Metric, Noun, Of, Quantity, listed};

pub(crate) use merge::Part;

#[cfg(test)]
mod tests;
