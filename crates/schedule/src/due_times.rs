use crate::exponential::ExponentialGaps;
use crate::rate_segment::RateSegment;
use plan::Arrivals;
use std::sync::Arc;
use units::Nanos;

/// One request to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Its number in the whole schedule, from 0.
    pub number: u64,
    /// When it is due, counted from the start of the schedule.
    pub due: Nanos,
}

/// The arrivals of one worker, in due order.
#[derive(Debug, Clone)]
pub struct DueTimes {
    segments: Arc<[RateSegment]>,
    /// The segment of the last arrival; earlier ones are not looked at again.
    current: usize,
    /// The number of the next arrival.
    next_number: u64,
    workers: u64,
    spacing: Spacing,
}

#[derive(Debug, Clone)]
enum Spacing {
    /// The total number of arrivals.
    Even(u64),
    Poisson(Box<PoissonProcess>),
}

/// A Poisson process of rate 1, walked arrival by arrival.
#[derive(Debug, Clone)]
struct PoissonProcess {
    gaps: ExponentialGaps,
    /// Arrivals walked so far: `count` belongs to the last one, number `drawn - 1`.
    drawn: u64,
    count: f64,
}

impl PoissonProcess {
    /// Advances to arrival `number`. Other workers' arrivals must be walked too, as each builds on the one
    /// before; that costs one logarithm each.
    fn advance_to(&mut self, number: u64, end: f64) -> f64 {
        while self.drawn <= number && self.count < end {
            self.count += self.gaps.next();
            self.drawn += 1;
        }
        self.count
    }
}

impl DueTimes {
    pub(crate) fn new(
        segments: Arc<[RateSegment]>,
        arrivals: Arrivals,
        seed: u64,
        worker: u32,
        workers: u32,
    ) -> Self {
        let spacing = match arrivals {
            // Marks at k + 0.5 make the count the rounded integral: no rounding error adds or drops an arrival,
            // and the first and last keep half a gap from the ends.
            Arrivals::Even => {
                Spacing::Even(segments.last().map_or(0.0, RateSegment::count_end).round() as u64)
            }
            Arrivals::Poisson => Spacing::Poisson(Box::new(PoissonProcess {
                gaps: ExponentialGaps::new(seed),
                drawn: 0,
                count: 0.0,
            })),
        };
        Self { segments, current: 0, next_number: u64::from(worker), workers: u64::from(workers), spacing }
    }
}

impl Iterator for DueTimes {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        let end = self.segments.last()?.count_end();
        let number = self.next_number;
        let count = match &mut self.spacing {
            Spacing::Even(total) if number >= *total => return None,
            Spacing::Even(_) => number as f64 + 0.5,
            Spacing::Poisson(process) => match process.advance_to(number, end) {
                count if count >= end => return None,
                count => count,
            },
        };
        // The last segment also takes a mark that only rounding has put past its end.
        while self.current + 1 < self.segments.len() && count >= self.segments[self.current].count_end() {
            self.current += 1;
        }
        self.next_number += self.workers;
        Some(Arrival { number, due: self.segments[self.current].due_at_count(count) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self.spacing {
            Spacing::Even(total) => {
                let left = total.saturating_sub(self.next_number).div_ceil(self.workers) as usize;
                (left, Some(left))
            }
            Spacing::Poisson(_) => (0, None),
        }
    }
}

impl std::iter::FusedIterator for DueTimes {}
