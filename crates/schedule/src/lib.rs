//! Arrival processes: when is the n-th request due?
//!
//! A [`Schedule`] is a rate over time. Its integral N(t) is the number of arrivals due by t, and an arrival is
//! due where N reaches its mark: `k + 0.5` for even arrivals, the running sum of unit-rate exponential gaps for
//! Poisson ones. It treats stages, ramps and silences alike. Due times depend only on the stages and the seed:
//! arrival k belongs to worker `k mod W`, and W workers together make exactly the schedule of one machine.
//!
//! It never reads a clock, never waits, and never allocates per arrival.

mod due_times;
mod exponential;
mod offered_load;
mod rate_segment;

pub use due_times::{Arrival, DueTimes};
pub use offered_load::OfferedLoad;

use plan::{Arrivals, Stage};
use rate_segment::RateSegment;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use units::{Nanos, Rate};

/// A planned load: a rate over time, and how its arrivals are spaced. Serialised as its parts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "ScheduleParts", into = "ScheduleParts")]
pub struct Schedule {
    stages: Arc<[Stage]>,
    segments: Arc<[RateSegment]>,
    duration: Nanos,
    max_rate: Rate,
    arrivals: Arrivals,
    seed: u64,
}

impl Schedule {
    /// The stages in sequence. A stage without time or rate has no arrivals.
    ///
    /// `seed` is used only by Poisson arrivals.
    pub fn new(stages: &[Stage], arrivals: Arrivals, seed: u64) -> Self {
        let mut segments: Vec<RateSegment> = Vec::with_capacity(stages.len());
        let (mut start, mut count, mut max_rate) = (Nanos::ZERO, 0.0, 0.0_f64);
        for stage in stages {
            let segment = RateSegment::new(stage, start, count);
            start += stage.duration;
            if segment.is_empty() {
                continue;
            }
            count = segment.count_end();
            max_rate = max_rate.max(stage.from.0).max(stage.to.0);
            segments.push(segment);
        }
        let (stages, segments, max_rate) = (stages.into(), segments.into(), Rate(max_rate));
        Self { stages, segments, duration: start, max_rate, arrivals, seed }
    }

    /// A constant rate with even arrivals.
    pub fn constant(rate: Rate, duration: Nanos) -> Self {
        Self::new(&[Stage { duration, from: rate, to: rate }], Arrivals::Even, 0)
    }

    /// From the start of the first stage to the end of the last; every arrival is due before that.
    pub fn duration(&self) -> Nanos {
        self.duration
    }

    /// The highest rate at any moment.
    pub fn max_rate(&self) -> Rate {
        self.max_rate
    }

    /// The integral of the rate. Even arrivals are exactly this many, rounded; Poisson arrivals are this many
    /// on average.
    pub fn expected_arrivals(&self) -> f64 {
        self.segments.last().map_or(0.0, RateSegment::count_end)
    }

    /// The arrivals of one of `workers` workers, in due order.
    ///
    /// # Panics
    /// If `worker` is not below `workers`.
    pub fn arrivals(&self, worker: u32, workers: u32) -> DueTimes {
        assert!(worker < workers, "worker {worker} of {workers} does not exist");
        DueTimes::new(Arc::clone(&self.segments), self.arrivals, self.seed, worker, workers)
    }
}

/// What a schedule is made of.
#[derive(Serialize, Deserialize)]
struct ScheduleParts {
    stages: Vec<Stage>,
    arrivals: Arrivals,
    seed: u64,
}

impl From<ScheduleParts> for Schedule {
    fn from(parts: ScheduleParts) -> Self {
        Self::new(&parts.stages, parts.arrivals, parts.seed)
    }
}

impl From<Schedule> for ScheduleParts {
    fn from(schedule: Schedule) -> Self {
        let Schedule { stages, arrivals, seed, .. } = schedule;
        Self { stages: stages.to_vec(), arrivals, seed }
    }
}

#[cfg(test)]
mod tests;
