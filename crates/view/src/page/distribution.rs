//! Latency distributions as points of a percentile plot.

use crate::Tone;
use crate::document::ChartPoint;
use stats::Histogram;

/// Points per decade of 1 ÷ (1 − quantile).
const POINTS_PER_DECADE: i32 = 6;
/// Ends at the 99.999th percentile.
const DECADES: i32 = 5;

/// Points at 1 ÷ (1 − quantile), from the median as far as there are enough times.
pub(super) fn points(times: &Histogram) -> Vec<ChartPoint> {
    let steps = (2..=DECADES * POINTS_PER_DECADE)
        .map(|step| 10f64.powf(f64::from(step) / f64::from(POINTS_PER_DECADE)));
    let known = std::iter::once(2.0).chain(steps).filter(|x| *x <= times.count() as f64);
    let point = |x: f64| {
        let y = times.quantile(1.0 - 1.0 / x)?.as_secs_f64();
        Some(ChartPoint { x, y, tone: Tone::Plain, ..ChartPoint::default() })
    };
    known.filter_map(point).collect()
}

/// Response, lateness and service time of one load.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Distribution {
    pub name: String,
    pub response: Vec<ChartPoint>,
    pub lateness: Vec<ChartPoint>,
    pub service: Vec<ChartPoint>,
}

impl Distribution {
    /// From a load's merged slice.
    pub fn of(name: String, total: &record::Slice) -> Self {
        Self {
            name,
            response: points(&total.response),
            lateness: points(&total.lateness),
            service: points(&total.service),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Nanos;

    #[test]
    fn it_goes_as_far_as_there_are_times() {
        let mut times = Histogram::default();
        (1..=1000).for_each(|ms| times.record(Nanos::from_millis(ms)));
        let points = points(&times);
        let last = points.last().expect("a thousand times");
        assert!((last.x - 1000.0).abs() < 1e-6 && (last.y - 0.999).abs() < 0.002, "{last:?}");
        assert!(points.windows(2).all(|pair| pair[0].x < pair[1].x && pair[0].y <= pair[1].y));
        assert!((points[0].y - 0.5).abs() < 0.001, "{:?}", points[0]);
        assert!(super::points(&Histogram::default()).is_empty());
    }
}
