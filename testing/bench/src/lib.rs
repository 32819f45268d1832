//! torment beside the other load generators: the same load on the same server, in turns, as ratios
//! with their doubt.
//!
//! One processor belongs to the server, one to the generator. In each round every program makes the
//! load once, in an order drawn anew; only figures of the same round are divided by each other. What
//! a program cost is what the kernel says of the process when it has ended.
//!
//! Never installs anything, never fails because a program is missing, and never loads but what it
//! was given. The servers are started by whoever uses this: `benches/bench`.
//!
//! Whole searches by fleets, whose limit is known: [`fleet`]. And torment's probes beside small programs that measure the same, in pairs: [`probes`].

pub mod cases;
pub mod child;
pub mod estimate;
pub mod figures;
pub mod fleet;
pub mod generators;
pub mod load_run;
pub mod machine;
pub mod page;
pub mod probes;
pub mod rounds;
pub mod table;
