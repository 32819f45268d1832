//! Durations, counted in fixed buckets.

use stats::Histogram;
use units::Nanos;

/// Within a decade: no bound is more than twice the previous, so that quantiles read from them are not far off.
const DECADE_STEPS: [u64; 6] = [100, 150, 200, 300, 500, 700];
/// 10 µs, in hundredths.
const FIRST_NS: u64 = 100;
/// Up to 100 s.
const DECADES: usize = 7;
const BOUND_COUNT: usize = DECADE_STEPS.len() * DECADES + 1;

/// The bounds in nanoseconds, ascending. The same for every run, so that counts can be summed.
const fn bounds_ns() -> [u64; BOUND_COUNT] {
    let mut bounds = [0; BOUND_COUNT];
    let mut unit = FIRST_NS;
    let mut place = 0;
    while place < BOUND_COUNT {
        bounds[place] = DECADE_STEPS[place % DECADE_STEPS.len()] * unit;
        place += 1;
        if place % DECADE_STEPS.len() == 0 {
            unit *= 10;
        }
    }
    bounds
}

const BOUNDS_NS: [u64; BOUND_COUNT] = bounds_ns();

/// Counts of durations between bounds. Integers only, so that the order of addition does not matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buckets {
    counts: [u64; BOUND_COUNT + 1],
    sum_ns: u128,
}

impl Buckets {
    /// Counts a histogram's durations, each exact to 0.1 %.
    pub fn from_histogram(times: &Histogram) -> Self {
        let mut all = Self { counts: [0; BOUND_COUNT + 1], sum_ns: 0 };
        for (time, count) in times.counts() {
            let place = BOUNDS_NS.partition_point(|bound| *bound < time.0);
            all.counts[place] += count;
            all.sum_ns += u128::from(time.0) * u128::from(count);
        }
        all
    }

    /// The upper bounds, in seconds; the last bucket has none.
    pub fn bounds() -> impl Iterator<Item = f64> {
        BOUNDS_NS.iter().map(|bound| Nanos(*bound).as_secs_f64())
    }

    /// Counts per bucket, not cumulative: above the previous bound, up to and including its own; the last is unbounded.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Total count.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Sum, in seconds.
    pub fn sum(&self) -> f64 {
        self.sum_ns as f64 / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_rise_from_ten_microseconds_to_a_hundred_seconds_by_small_steps() {
        let bounds: Vec<f64> = Buckets::bounds().collect();
        assert_eq!(
            (bounds[0], bounds[1], bounds[6], bounds[BOUND_COUNT - 1]),
            (0.00001, 0.000015, 0.0001, 100.0)
        );
        assert!(bounds.windows(2).all(|pair| pair[0] < pair[1] && pair[1] < pair[0] * 1.7), "{bounds:?}");
    }

    #[test]
    fn every_time_is_in_one_bucket_and_parts_sum_to_the_whole() {
        let times = |from: u64, to: u64| {
            let mut times = Histogram::default();
            (from..to).for_each(|i| times.record(Nanos::from_micros(i * i)));
            times
        };
        let whole = Buckets::from_histogram(&times(1, 12_000));
        let mut parts = Histogram::default();
        for (from, to) in [(7_000, 12_000), (1, 300), (300, 7_000)] {
            parts.merge(&times(from, to));
        }
        assert_eq!(Buckets::from_histogram(&parts), whole);
        assert_eq!(whole.count(), 11_999);
        // Each is exact to 0.1 %, even at a bound.
        let above = |us: u64| (1..12_000u64).filter(|i| i * i > us).count() as u64;
        let beyond = whole.counts()[BOUND_COUNT];
        assert!((above(100_100_000)..=above(99_900_000)).contains(&beyond), "{beyond} above 100 s");
        let exact: f64 = (1..12_000u64).map(|i| (i * i) as f64 / 1e6).sum();
        assert!((whole.sum() / exact - 1.0).abs() < 0.001, "{} {exact}", whole.sum());
        // Up to and including 1 ms: 1 to 31 µs squared.
        let below = Buckets::bounds().take_while(|bound| *bound <= 0.001).count();
        assert_eq!(whole.counts()[..below].iter().sum::<u64>(), 31);
    }
}
