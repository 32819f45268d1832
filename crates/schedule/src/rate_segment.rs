use plan::Stage;
use units::Nanos;

/// A stage whose rate is not zero throughout, as plain numbers placed on both axes: time, and arrivals counted
/// from the start of the schedule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RateSegment {
    start: Nanos,
    duration: Nanos,
    /// Rates at both ends, per second.
    from: f64,
    to: f64,
    /// N at the start.
    count_start: f64,
    /// How much N grows over the segment.
    count: f64,
}

impl RateSegment {
    pub(crate) fn new(stage: &Stage, start: Nanos, count_start: f64) -> Self {
        let (from, to) = (stage.from.0.max(0.0), stage.to.0.max(0.0));
        let count = (from + to) / 2.0 * stage.duration.as_secs_f64();
        Self { start, duration: stage.duration, from, to, count_start, count }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count <= 0.0
    }

    /// N at the end.
    pub(crate) fn count_end(&self) -> f64 {
        self.count_start + self.count
    }

    /// When N reaches `count`; never after the segment's last nanosecond.
    ///
    /// With a slope `a = (to − from) / T` the count after t seconds is `from·t + a·t²/2 = x`, so `t = 2x /
    /// (from + √(from² + 2ax))`. This form subtracts nothing while a ≥ 0, so it is exact even for a slope of
    /// almost zero. A falling ramp is a rising one seen from its end.
    pub(crate) fn due_at_count(&self, count: f64) -> Nanos {
        let seconds = self.duration.as_secs_f64();
        let slope = (self.to - self.from) / seconds;
        let offset = if slope == 0.0 {
            (count - self.count_start) / self.from
        } else if slope > 0.0 {
            time_to_count(self.from, slope, count - self.count_start)
        } else {
            seconds - time_to_count(self.to, -slope, self.count_end() - count)
        };
        self.start + Nanos::from_secs_f64(offset).min(self.duration - Nanos(1))
    }
}

/// When a rate that starts at `from` and grows by `slope` per second has made `count` arrivals.
fn time_to_count(from: f64, slope: f64, count: f64) -> f64 {
    let count = count.max(0.0);
    let divisor = from + (from * from + 2.0 * slope * count).sqrt();
    if divisor > 0.0 { 2.0 * count / divisor } else { 0.0 }
}
