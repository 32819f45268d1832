//! Figures and sentences of `find working-set`.

use record::{Figure, FigureUnit, OperationTimes};
use stats::{CacheFit, CacheFitError, CachePoint, Median};
use units::{Bytes, Nanos, Rate, Share};
use workingset::{ReadMeasurement, RereadTimes};

/// The figures of all sizes.
pub const TABLE: &str = "working set";
/// The figures of the search for half the rate.
pub const HALF: &str = "half the rate";
/// Figures of a size where reads are timed one by one.
pub const COLUMNS: u32 = 5;
/// Rereading below this share of the first time means that something caches the data.
const CACHED_SHARE: f64 = 0.7;

/// The figures of one size, the rate first. `way` names the cache where there are several.
pub fn figures(table: &str, size: Bytes, cache: Option<&str>, reading: &ReadMeasurement) -> Vec<Figure> {
    let one = |column: &str, unit, values: &[f64]| figure(table, size, column, unit, values, reading);
    if let Some(cache) = cache {
        let each: Vec<f64> =
            reading.rates().iter().filter(|rate| **rate > 0.0).map(|rate| 1e9 / rate).collect();
        return one(cache, FigureUnit::Nanos, &each).into_iter().collect();
    }
    let rate = one("rate", FigureUnit::PerSecond, &reading.rates())
        .map(|figure| Figure { single: OperationTimes::from_histogram(&reading.times), ..figure });
    let quantile = |q| reading.times.quantile(q).map(|time| time.0 as f64);
    let [p50, p99] = [("p50", 0.5), ("p99", 0.99)]
        .map(|(name, q)| quantile(q).and_then(|value| one(name, FigureUnit::Nanos, &[value])));
    let missed =
        reading.missed_share().and_then(|share| one("misses, as counted", FigureUnit::Share, &[share]));
    [rate, p50, p99, missed].into_iter().flatten().collect()
}

/// The share of reads that took longer than `valley`.
pub fn misses(size: Bytes, reading: &ReadMeasurement, valley: Nanos) -> Figure {
    let share = Share::of(reading.times.count_above(valley), reading.times.count()).0;
    figure(TABLE, size, "misses, by time", FigureUnit::Share, &[share], reading).expect("there is a value")
}

fn figure(
    table: &str,
    size: Bytes,
    column: &str,
    unit: FigureUnit,
    values: &[f64],
    reading: &ReadMeasurement,
) -> Option<Figure> {
    Figure::from_blocks((table, &size.to_string(), column), unit, values.to_vec(), reading.reads())
}

fn time(seconds: f64) -> Nanos {
    Nanos::from_secs_f64(seconds)
}

fn size(bytes: f64) -> Bytes {
    Bytes(bytes as u64)
}

pub fn valley(valley: Nanos) -> String {
    format!(
        "By time a miss is whatever took longer than {valley}: between hits and misses hardly any read took so long."
    )
}

pub fn model(fit: &CacheFit) -> String {
    format!(
        "A read from the cache takes {}, one from behind it {}, {:.0} times as long; {} fit. The rates are within {} of what \
         follows from these three.",
        time(fit.hit),
        time(fit.miss),
        fit.miss / fit.hit,
        size(fit.size),
        Share(fit.error)
    )
}

pub fn size_by_misses(Median { median, low, high }: Median) -> String {
    format!(
        "By the misses that were counted, and no time at all, {} fit ({} to {} over the sizes).",
        size(median),
        size(low),
        size(high)
    )
}

pub fn all_fit(missed: Share) -> String {
    format!(
        "All sizes fit the cache: at no size did more than {missed} of the reads miss. Measure larger ones \
         with --sizes."
    )
}

pub fn no_model(why: CacheFitError, points: &[CachePoint]) -> String {
    let rates = || points.iter().map(|point| point.rate);
    let (least, most) = (Rate(rates().fold(f64::INFINITY, f64::min)), Rate(rates().fold(0.0, f64::max)));
    match why {
        CacheFitError::TooFew => "Fewer than four sizes were measured: too few for the three parameters of a cache.".to_owned(),
        CacheFitError::Flat => format!(
            "No cliff was seen: from {least} to {most} over all sizes. Either all of them fit a cache or none does; \
             measure larger or smaller ones with --sizes."
        ),
        CacheFitError::AllMiss => {
            "Not even the two smallest sets fit the cache, so nothing says what a hit takes; measure \
             smaller ones with --sizes."
                .to_owned()
        }
        CacheFitError::NoHyperbola => {
            "The rates do not fall as they do behind one cache: they rise somewhere, or fall only at the largest set; \
             measure larger ones with --sizes."
                .to_owned()
        }
    }
}

pub fn never_half(fit: &CacheFit) -> String {
    format!(
        "A miss takes only {:.1} times as long as a hit: the rate never falls to half.",
        fit.miss / fit.hit
    )
}

pub fn prediction(fit: &CacheFit, half: f64) -> String {
    format!(
        "Half the rate is predicted at {}, where {} of the reads miss; with 10 % more than fits the rate is {} of {}.",
        size(half),
        Share(fit.misses(half)),
        Share(fit.rate(1.1 * fit.size) * fit.hit),
        Rate(1.0 / fit.hit)
    )
}

pub fn comparison(predicted: f64, below: Bytes, above: Bytes, off: f64) -> String {
    let side = if off < 0.0 { "less" } else { "more" };
    let off = Share(off.abs());
    format!(
        "Measured, the rate falls below half between {below} and {above}: {off} {side} than the {} predicted.",
        size(predicted)
    )
}

pub fn half_not_found(most: Bytes) -> String {
    format!(
        "The size at which the rate is half was not found: it is not between the smallest size and {most}, \
         the most that can be measured."
    )
}

pub fn reread(twice: RereadTimes) -> String {
    let RereadTimes { first, again } = twice;
    let ratio = again.as_secs_f64() / first.as_secs_f64().max(1e-9);
    if ratio < CACHED_SHARE {
        format!(
            "Past the kernel's cache a block takes {first} for the first time and {again} again: the host, or the disk itself, \
             keeps what was read, so that a miss here is quicker than it will be with more data."
        )
    } else {
        format!(
            "Past the kernel's cache a block takes {first} for the first time and {again} again: nothing says that the host or the \
             disk keeps what was read, unless it has kept it since it was written."
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading() -> ReadMeasurement {
        let mut reading = ReadMeasurement {
            blocks: vec![(1000, Nanos::from_millis(10)); 8],
            missed: Some(4000.0),
            ..ReadMeasurement::default()
        };
        reading.times.record_many(Nanos(2400), 4000);
        reading.times.record_many(Nanos(90_000), 4000);
        reading
    }

    #[test]
    fn a_reading_becomes_figures() {
        let made = figures(TABLE, Bytes(512 << 20), None, &reading());
        let named: Vec<(&str, &str, f64)> = made
            .iter()
            .map(|f| (f.row.as_str(), f.column.as_str(), (f.median * 100.0).round() / 100.0))
            .collect();
        assert_eq!(named[0], ("512 MiB", "rate", 100_000.0));
        assert_eq!(
            (named[1].1, named[2].1, named[3]),
            ("p50", "p99", ("512 MiB", "misses, as counted", 0.5))
        );
        assert_eq!((made[0].blocks.len(), made[0].operations), (8, 8000));
        assert!(made[0].single.is_some_and(|single| single.max > Nanos(80_000)));
        let by_time = misses(Bytes(1 << 20), &reading(), Nanos(20_000));
        assert!((by_time.median - 0.5).abs() < 1e-9);
        let [each] = &figures(TABLE, Bytes(1 << 20), Some("huge pages"), &reading())[..] else {
            panic!("one figure")
        };
        assert!(
            each.column == "huge pages"
                && (each.median - 10_000.0).abs() < 1e-6
                && each.unit == FigureUnit::Nanos
        );
        assert!(figures(TABLE, Bytes(1), None, &ReadMeasurement::default()).is_empty());
    }

    #[test]
    fn sentences_have_their_numbers() {
        let fit = CacheFit { hit: 2.5e-6, miss: 100e-6, size: 244.0 * 1_048_576.0, error: 0.034 };
        let mib = |mib: f64| mib * 1_048_576.0;
        let fits = Median { median: mib(256.0), low: mib(250.0), high: mib(262.0) };
        assert!(size_by_misses(fits).contains("256 MiB fit (250 MiB to 262 MiB"), "{}", size_by_misses(fits));
        let text = model(&fit);
        assert!(
            text.contains("2.5")
                && text.contains("100")
                && text.contains("40 times")
                && text.contains("244 MiB"),
            "{text}"
        );
        let half = fit.half_rate_size().expect("it halves");
        assert!(
            prediction(&fit, half).contains("2.56 %") || prediction(&fit, half).contains("2.6"),
            "{}",
            prediction(&fit, half)
        );
        let text = comparison(half, Bytes(240 << 20), Bytes(250 << 20), -0.02);
        assert!(text.contains("240 MiB and 250 MiB") && text.contains("less than the"), "{text}");
        for why in
            [CacheFitError::TooFew, CacheFitError::Flat, CacheFitError::AllMiss, CacheFitError::NoHyperbola]
        {
            assert!(no_model(why, &[]).ends_with('.'));
        }
        let of = |first, again| reread(RereadTimes { first: Nanos(first), again: Nanos(again) });
        assert!(
            of(100_000, 60_000).contains("keeps what was read, so")
                && of(100_000, 95_000).contains("nothing says")
        );
    }
}
