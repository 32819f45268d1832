//! Everything that is measured of a target, its machine and torment itself, once: what it is called, its unit, what it says, how it
//! is read, and how that of several windows becomes one.
//!
//! A *noun* is a struct of [`crate::watch`]; [`watched`] has a row for each of its numbers. From the rows come what several windows are as
//! one ([`Window::add`]), the rows of an export, OpenMetrics and OTLP, and the tables of the manual. A test fails if a number of a window
//! is in no row or in two.

mod kind;
mod merge;
mod noun;
mod watched;
mod window;

pub use kind::{Least, Level, Limit, Mean, Most, Share, Sum};
pub use merge::Weights;
pub use noun::{Listed, Measure, Metric, Noun, Of, Quantity, listed};

pub(crate) use merge::Part;

#[cfg(test)]
mod tests;
