use crate::{MAX_CATCH_UP, SLICE, Slice};
use units::Nanos;

/// All but one second in this many have a median of at least the steady response time.
const STEADY_DIVISOR: usize = 10;
/// What is in flight when the load ends may take this many times as long: enough if no queue grows, and if one does the last take far
/// longer.
const DRAIN_FACTOR: f64 = 1.5;

/// A load's response time from beginning to end: a target may answer everything after a while, without a growing queue.
#[derive(Debug, Clone, Default)]
pub struct SteadyResponse {
    /// The median response time of each whole second.
    medians: Vec<Nanos>,
}

impl SteadyResponse {
    /// Adds a slice of a load of this length; the drain is ignored.
    pub fn add_slice(&mut self, slice: &Slice, load: Nanos) {
        if SLICE * (u64::from(slice.index) + 1) <= load {
            self.medians.push(slice.response.quantile(0.5).unwrap_or(Nanos::ZERO));
        }
    }

    /// How long such a load drains, if `drain` would do for a fast target.
    pub fn drain(&self, drain: Nanos) -> Nanos {
        let mut sorted = self.medians.clone();
        sorted.sort_unstable();
        let steady = sorted.get(sorted.len() / STEADY_DIVISOR).map_or(0.0, |median| median.as_secs_f64());
        drain.max(Nanos::from_secs_f64(steady * DRAIN_FACTOR).min(MAX_CATCH_UP))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(medians: [u64; 10]) -> Nanos {
        let mut steady = SteadyResponse::default();
        for (index, median) in medians.into_iter().chain([9_000]).enumerate() {
            let mut slice = Slice { index: index as u32, ..Slice::default() };
            slice.response.record(Nanos::from_millis(median));
            steady.add_slice(&slice, Nanos::from_secs(10));
        }
        steady.drain(Nanos::from_millis(300))
    }

    #[test]
    fn a_load_of_slow_answers_drains_longer_unless_a_queue_grows() {
        let about = |drain: Nanos, ms: u64| {
            let off = (drain.as_secs_f64() * 1e3 - ms as f64).abs();
            assert!(off < 0.01 * ms as f64, "{drain} and {ms} ms");
        };
        about(drain([20; 10]), 300);
        about(drain([100, 290, 300, 300, 300, 300, 300, 300, 300, 300]), 435);
        // The last take a second.
        about(drain([50, 150, 250, 350, 450, 550, 650, 750, 850, 950]), 300);
        // It wanders.
        about(drain([300, 10, 10, 200, 400, 500, 600, 400, 300, 600]), 300);
        assert_eq!(drain([8_000; 10]), MAX_CATCH_UP);
        assert_eq!(SteadyResponse::default().drain(Nanos(7)), Nanos(7));
    }
}
