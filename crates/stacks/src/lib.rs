//! What a profile says: how much of it each function and each module has ([`Tally`]), and the forms in which other tools read it
//! ([`folded`], [`pprof`], [`speedscope`]). Whoever makes one puts its stacks together with a [`CallTree`].
//!
//! Counts in, values out. It never samples, and knows neither processes nor files.

mod folded;
mod pprof;
mod speedscope;
mod tally;
mod tree;

pub use folded::folded;
pub use pprof::pprof;
pub use speedscope::speedscope;
pub use tally::{Portion, Tally};
pub use tree::CallTree;
