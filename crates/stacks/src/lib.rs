//! What a profile says: how much of it each function and each module has ([`Tally`]), what it is for ([`gist`]), what changed from one to another ([`shares`]), and the forms in which other tools read it
//! ([`folded`], [`pprof`], [`speedscope`]). Whoever makes one puts its stacks together with a [`CallTree`].
//!
//! Counts in, values out. It never samples, and knows neither processes nor files.

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
