//! `make bench-probes`: torment's probes beside reference programs that do the same, in pairs.
//!
//! A figure of one run says little on a machine that drifts; the ratio of two that stand beside each other says more. So each
//! block of torment's own worker has a block of the reference beside it, on the same processors, in turns of who is first.
//! What is compared with what stands in [`cases`].

mod block_source;
pub mod cases;
mod pairs;
mod table;

pub use block_source::{BlockSource, BuildContext};
pub use cases::{RatioGoal, ReferenceComparison, cases};
pub use pairs::{PairedResult, measure};
pub use table::{table_header, table_note, table_rows};
