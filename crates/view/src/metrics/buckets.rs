//! Lengths of time, counted between fixed bounds.

use stats::Histogram;
use units::Nanos;

/// Within a decade: no bound is more than twice the one before, so that a quantile that is read off them is not far out.
const STEPS: [u64; 6] = [100, 150, 200, 300, 500, 700];
/// From 10 µs, in hundredths of it.
const FIRST_NS: u64 = 100;
/// To 100 s.
const DECADES: usize = 7;
/// How many bounds there are.
const BOUNDS: usize = STEPS.len() * DECADES + 1;

/// The bounds in nanoseconds, rising. They never change from run to run, or nothing could be summed.
const fn bounds_ns() -> [u64; BOUNDS] {
    let mut bounds = [0; BOUNDS];
    let mut unit = FIRST_NS;
    let mut place = 0;
    while place < BOUNDS {
        bounds[place] = STEPS[place % STEPS.len()] * unit;
        place += 1;
        if place % STEPS.len() == 0 {
            unit *= 10;
        }
    }
    bounds
}

const BOUNDS_NS: [u64; BOUNDS] = bounds_ns();

/// How many times lay between which bounds. Whole numbers only: what is added in another order gives the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buckets {
    counts: [u64; BOUNDS + 1],
    sum_ns: u128,
}

impl Buckets {
    /// All times of a histogram; each is known within 0.1 %.
    pub fn from_histogram(times: &Histogram) -> Self {
        let mut all = Self { counts: [0; BOUNDS + 1], sum_ns: 0 };
        for (time, count) in times.counts() {
            let place = BOUNDS_NS.partition_point(|bound| *bound < time.0);
            all.counts[place] += count;
            all.sum_ns += u128::from(time.0) * u128::from(count);
        }
        all
    }

    /// The upper bounds, in seconds; times beyond the last have none.
    pub fn bounds() -> impl Iterator<Item = f64> {
        BOUNDS_NS.iter().map(|bound| Nanos(*bound).as_secs_f64())
    }

    /// How many lie at or below each bound and above the one before; the last: how many lie above all.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// All together, in seconds.
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
        assert_eq!((bounds[0], bounds[1], bounds[6], bounds[BOUNDS - 1]), (0.00001, 0.000015, 0.0001, 100.0));
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
        // Each is known within 0.1 %, also one that is exactly at a bound.
        let above = |us: u64| (1..12_000u64).filter(|i| i * i > us).count() as u64;
        let beyond = whole.counts()[BOUNDS];
        assert!((above(100_100_000)..=above(99_900_000)).contains(&beyond), "{beyond} above 100 s");
        let exact: f64 = (1..12_000u64).map(|i| (i * i) as f64 / 1e6).sum();
        assert!((whole.sum() / exact - 1.0).abs() < 0.001, "{} {exact}", whole.sum());
        // What is at or below 1 ms: 1 to 31 µs squared.
        let below = Buckets::bounds().take_while(|bound| *bound <= 0.001).count();
        assert_eq!(whole.counts()[..below].iter().sum::<u64>(), 31);
    }
}
