//! The breaking point: proposes a load, takes a result, and ends in an interval with reasons.
//!
//! Multiple Loss Ratio Search (draft-ietf-bmwg-mlrsearch-15) decides what trials prove; around it stand
//! what a network switch does not need and a service does: a divergence rule, invalid trials, warm-up, a drift
//! sentinel, confirmation. The method is told in `docs/method/search.md`.
//!
//! Pure: this crate never sleeps, never reads a clock, never sends a request; its only randomness comes
//! from the seed it is given.

mod background;
mod bounds;
mod capacity;
mod ceiling;
mod classify;
mod curve;
mod diverge;
mod drift;
mod held;
mod judge;
mod narrow;
mod search;
mod threshold;
mod trial;
mod warm;

pub use classify::{Class, TrialAtLevel, classify, conditional_throughput};
pub use judge::{judge, steady};
pub use search::{Config, Proposal, Search, Step, TRIALS_MOST};
pub use threshold::{Ahead, Range, Shown, Threshold};
pub use warm::{Median, WarmUp};
