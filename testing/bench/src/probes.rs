//! `make bench-probes`: compares torment's probes with reference programs that measure the same, in pairs.
//!
//! A single figure says little on a machine that drifts; the ratio of two adjacent ones says more. So each
//! block of torment's own prober is paired with one of the reference, on the same processors, alternating who is first.
//! What is compared with what is in [`cases`].

mod block_source;
pub mod cases;
mod pairs;
mod table;

pub use block_source::{BlockSource, BuildContext};
pub use cases::{RatioGoal, ReferenceComparison, cases};
pub use pairs::{PairedResult, measure};
pub use table::{table_header, table_note, table_rows};
