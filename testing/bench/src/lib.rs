//! Compares torment with other load generators: the same load on the same server, in turns, as ratios
//! with confidence intervals.
//!
//! One processor belongs to the server, one to the generator. In each round every program makes the
//! load once, in random order; only figures of the same round are divided by each other. A
//! program's cost is the kernel's resource usage of the ended process.
//!
//! Never installs anything, never fails because a program is missing, and only loads what it
//! was given. The servers are started by the caller: `benches/bench`.
//!
//! Whole searches by fleets, with a known limit: [`fleet`]. And torment's probes against small programs that measure
//! the same, in pairs: [`probes`].

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
