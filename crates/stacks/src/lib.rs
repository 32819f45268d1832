//! What a profile says: how much of it each function and each module has ([`Tally`]), what it is for ([`gist`]), what changed from one to another ([`shares`]), and the forms in which other tools read it
//! ([`folded`], [`pprof`], [`speedscope`]). Whoever makes one puts its stacks together with a [`CallTree`].
//!
//! Counts in, values out. It never samples, and knows neither processes nor files.

mod change;
mod flame;
mod folded;
mod gist;
mod pprof;
mod speedscope;
mod tally;
mod topic;
mod tree;

pub use change::{CodeChange, CodeScope, each_request, shares, topics};
pub use flame::{FlameCall, Flames, flames};
pub use folded::folded;
pub use gist::{Gist, gist};
pub use pprof::pprof;
pub use speedscope::speedscope;
pub use tally::{Portion, Tally};
pub use tree::CallTree;
