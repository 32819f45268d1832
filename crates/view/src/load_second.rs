use crate::TimeSummary;
use record::{Outcomes, Slice};
use units::{Nanos, Rate};

/// One second of load, as charts need it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadSecond {
    /// Its trial.
    pub trial: u32,
    /// Which second of the trial, from 0.
    pub index: u32,
    /// How much time it covers.
    pub elapsed: Nanos,
    /// Starts that came due, a second.
    pub offered: Rate,
    /// Starts made, a second.
    pub achieved: Rate,
    /// Sent and not done, at its end.
    pub in_flight: u64,
    /// Due and not sent, at its end.
    pub backlog: u64,
    /// What was decided in it.
    pub outcomes: Outcomes,
    /// Half of its response times are below.
    pub response_p50: Option<Nanos>,
    /// 99 % are below.
    pub response_p99: Option<Nanos>,
}

impl LoadSecond {
    pub(crate) fn of(trial: u32, slice: &Slice) -> Self {
        let response = TimeSummary::from_histogram(&slice.response);
        Self {
            trial,
            index: slice.index,
            elapsed: slice.elapsed,
            offered: Rate::of(slice.due, slice.elapsed),
            achieved: Rate::of(slice.sent, slice.elapsed),
            in_flight: slice.in_flight,
            backlog: slice.backlog,
            outcomes: slice.outcomes,
            response_p50: response.map(|t| t.quantiles.p50),
            response_p99: response.map(|t| t.quantiles.p99),
        }
    }

    /// Whether its rates say anything: the rest of a load or a drain is too short to.
    pub fn is_whole(&self) -> bool {
        is_whole(self.elapsed)
    }
}

/// See [`Second::is_whole`].
pub(crate) fn is_whole(elapsed: Nanos) -> bool {
    elapsed.0 * 4 >= record::SLICE.0 * 3
}
