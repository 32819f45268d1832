use crate::TimeSummary;
use record::{Outcomes, Slice};
use units::{Nanos, Rate};

/// One second of load, as charts need it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadSecond {
    /// Its trial's number.
    pub trial: u32,
    /// Second within the trial, from 0.
    pub index: u32,
    /// The time it covers.
    pub elapsed: Nanos,
    /// Offered rate.
    pub offered: Rate,
    /// Achieved rate.
    pub achieved: Rate,
    /// In flight at its end.
    pub in_flight: u64,
    /// Backlog at its end.
    pub backlog: u64,
    /// Outcomes decided within it.
    pub outcomes: Outcomes,
    /// Median response time.
    pub response_p50: Option<Nanos>,
    /// 99th percentile of the response time.
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

    /// Whether it is long enough for rates; the rest of a load or a drain is not.
    pub fn is_whole(&self) -> bool {
        is_whole(self.elapsed)
    }
}

/// See [`LoadSecond::is_whole`].
pub(crate) fn is_whole(elapsed: Nanos) -> bool {
    elapsed.0 * 4 >= record::SLICE.0 * 3
}
