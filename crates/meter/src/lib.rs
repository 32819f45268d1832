//! Follows runs in the store and provides their metrics to monitoring tools: the page answers scrapes, and an OpenTelemetry collector gets
//! pushes.
//!
//! A run is read from the store, as by any other process. Its maker only passes its id and its end, and never waits: a collector that is
//! away or hangs costs the run nothing. [`view::metrics`] defines the metrics and their formats; nothing here writes a run or prints.

mod collector;
mod follower;
mod pusher;
mod reader;

pub use collector::{CollectorHeaders, CollectorUrl};
pub use follower::RunFollower;
pub use pusher::MetricsPusher;
pub use reader::MetricsReader;
