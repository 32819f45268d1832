//! `make bench-probes`: torment's probes beside reference programs that do the same, in pairs.
//!
//! A figure of one run says little on a machine that drifts; the ratio of two that stand beside each other says more. So each
//! block of torment's own worker has a block of the reference beside it, on the same processors, in turns of who is first.
//! What is compared with what stands in [`cases`].

pub mod cases;
mod pairs;
mod side;
mod tell;

pub use cases::{Case, Goal, cases};
pub use pairs::{Measured, measure};
pub use side::{Here, Side};
pub use tell::{header, line, words};
