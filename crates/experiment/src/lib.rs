//! Hypotheses as experiments: which arm to start next, and what the starts so far answer.
//!
//! Pure, like the search: it is asked for the next visit, is told what a visit gave, and says where the experiment
//! stands. An experiment that was cut short goes on by telling it the visits that were kept. The method is told in
//! `docs/method/experiment.md`.
//!
//! It never starts a service, never reads a clock and keeps nothing; its only randomness comes from the design's seed.

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
