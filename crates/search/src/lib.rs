//! The capacity search: proposes a load, takes a result, and ends in an interval with reasons.
//!
//! Multiple Loss Ratio Search (draft-ietf-bmwg-mlrsearch-15) decides what trials prove; around it stands what a network switch does not
//! need and a service does: a divergence rule, void trials, warm-up, a drift sentinel, confirmation. The method is described in
//! `docs/method/search.md`.
//!
//! Pure: this crate never sleeps, reads a clock or sends a request; its only randomness comes from its seed.

mod background;
mod bounds;
mod capacity;
mod capacity_trials;
mod ceiling;
mod classify;
mod curve;
mod divergence;
mod drift;
mod grid;
mod judge;
mod moving;
mod narrow;
mod observation;
mod search;
mod slump;
mod threshold;
mod trial;
mod warm_up;

pub use classify::{Class, TrialAtLevel, classify, conditional_throughput};
pub use judge::{judge, settled_slice};
pub use search::{MAX_TRIALS, Proposal, Search, SearchConfig, SearchStep};
pub use threshold::{LevelResult, ThresholdRange, ThresholdSearch, ThresholdStep};
pub use warm_up::{WarmUp, WindowMedian};
