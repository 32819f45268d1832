//! Hypotheses tested by experiments: which arm to start next, and the answers so far.
//!
//! Pure, like the search: it proposes the next start, takes its result, and reports the state. An interrupted experiment resumes by
//! taking the stored starts. The method is described in `docs/method/experiment.md`.
//!
//! It never starts a service, reads a clock or stores anything; its only randomness comes from the design's seed.

mod check;
mod comparison;
mod describe;
mod experiment;
mod group;
mod look;
mod noise;
mod predict;
mod random;
mod state;

pub use check::Error;
pub use experiment::{Experiment, ExperimentStep, least_time};
