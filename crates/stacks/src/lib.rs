//! Evaluates profiles: the shares of functions and modules ([`Tally`]), what the time goes to
//! ([`summarize`]), changes between profiles ([`share_changes`]), and other tools' formats
//! ([`format_folded`], [`encode_pprof`], [`to_speedscope`]). Profiles are built with a [`CallTree`].
//!
//! Pure computation: no sampling, no processes, no files.

mod changes;
mod flame_graph;
mod folded;
mod pprof;
mod speedscope;
mod summary;
mod tally;
mod topics;
mod tree;

pub use changes::{CodeChange, CodeScope, request_changes, share_changes, topic_changes};
pub use flame_graph::{FlameCall, FlameGraph, flame_graph};
pub use folded::format_folded;
pub use pprof::encode_pprof;
pub use speedscope::to_speedscope;
pub use summary::{SummaryPart, summarize};
pub use tally::{SampleCount, Tally};
pub use tree::CallTree;
