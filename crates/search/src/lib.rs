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
mod capacity_trials;
mod ceiling;
mod classify;
mod curve;
mod divergence;
mod drift;
mod judge;
mod narrow;
mod search;
mod threshold;
mod trial;
mod warm_up;

pub use classify::{Class, TrialAtLevel, classify, conditional_throughput};
pub use judge::{judge, settled_slice};
pub use search::{Proposal, Search, SearchConfig, SearchStep, TRIALS_MOST};
pub use threshold::{LevelResult, ThresholdRange, ThresholdSearch, ThresholdStep};
pub use warm_up::{WarmUp, WindowMedian};
