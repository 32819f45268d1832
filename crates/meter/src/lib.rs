//! Follows runs in the store, and tells other people's tools their measures: those that scrape are answered by the page,
//! to a collector of OpenTelemetry they are pushed.
//!
//! A run is read from the store, as any other process reads it. Whoever makes it tells this crate nothing but its id and its
//! end, and never waits: a collector that is away, or hangs, costs the run nothing. What a measure is, and how it is
//! written, is said in [`view::measures`]; nothing here writes a run or prints.

mod collector;
mod follower;
mod pusher;
mod reader;

pub use collector::{CollectorHeaders, CollectorUrl};
pub use follower::RunFollower;
pub use pusher::MetricsPusher;
pub use reader::MetricsReader;
