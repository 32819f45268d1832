//! The drift sentinel: one calm load, repeated, detects a target that has changed.

use crate::warm_up::{JITTER, WindowMedian};
use stats::Histogram;
use units::Nanos;

/// Shifts of the median below this share are noise.
const MIN_NOISE: f64 = 0.04;

/// A repetition lasts until the median is known this well, so that a shift of [`MIN_NOISE`] would show.
const TARGET_DOUBT: f64 = 0.03;

/// The response time at the reference load when measurement of the bounds began.
#[derive(Debug, Clone, Copy)]
pub struct Reference {
    median: WindowMedian,
    seconds: f64,
    noise: f64,
    /// The tenth percentile of the response times; none if they are not known.
    p10: Option<Nanos>,
}

/// A target that has warmed up answers everything sooner. If its median falls to this share,
const MAX_FALL: f64 = 0.5;
/// while its fastest tenth stays above this share, the others only stopped waiting for something else, such as a delayed ACK.
const UNCHANGED_TENTH: f64 = 0.8;

/// How a target changed: the response time's ratio to before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift(pub f64);

impl Shift {
    pub fn is_faster(self) -> bool {
        self.0 < 1.0
    }
}

impl Reference {
    /// From the last window of a warm-up, which lasted `seconds`.
    pub fn new(median: WindowMedian, seconds: f64, times: &Histogram) -> Self {
        Self { median, seconds, noise: MIN_NOISE, p10: times.quantile(0.1) }
    }

    /// How long a repetition must be, in seconds, to be comparable: uncertainty falls with the root of time.
    pub fn seconds(&self) -> f64 {
        self.seconds * (self.median.doubt / TARGET_DOUBT).powi(2)
    }

    /// The shift that a repetition of the reference load shows, if it exceeds noise.
    pub fn shift(&self, now: WindowMedian) -> Option<Shift> {
        let ratio = now.value / self.median.value;
        let noise = self.noise.max((self.median.doubt.powi(2) + now.doubt.powi(2)).sqrt());
        let beyond = ratio.ln().abs() > noise && (now.value - self.median.value).abs() > JITTER.as_secs_f64();
        beyond.then_some(Shift(ratio))
    }

    /// Whether all answers came sooner, not only the half that waited.
    pub fn is_all_faster(&self, shift: Shift, now: &Histogram) -> bool {
        let ratio = |(before, now): (Nanos, Nanos)| now.as_secs_f64() / before.as_secs_f64();
        let tenths = self.p10.zip(now.quantile(0.1)).map(ratio);
        shift.0 > MAX_FALL || tenths.is_none_or(|tenths| tenths < UNCHANGED_TENTH)
    }

    /// The bounds held despite this shift: that much is noise here.
    pub fn add_noise(&mut self, shift: Shift) {
        self.noise = self.noise.max(1.25 * shift.0.ln().abs());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shift_must_exceed_the_noise() {
        let at = |ms: f64| WindowMedian { value: ms / 1024.0, doubt: 0.01 };
        let mut reference = Reference::new(at(8.0), 2.0, &Histogram::default());
        assert_eq!(reference.shift(at(8.25)), None);
        assert!((reference.seconds() - 2.0 / 9.0).abs() < 1e-9);
        assert_eq!(reference.shift(at(7.0)), Some(Shift(0.875)));
        assert_eq!(reference.shift(at(10.0)), Some(Shift(1.25)));
        reference.add_noise(Shift(0.875));
        assert_eq!(reference.shift(at(7.0)), None);
        assert_eq!(
            Reference::new(at(0.1), 2.0, &Histogram::default()).shift(at(0.13)),
            None,
            "30 µs are the loopback's jitter"
        );
    }

    /// Django's development server sends an answer in two pieces, so half of those on a connection wait 40 ms for a delayed ACK; over the
    /// next few connections none did, and the target was warmed up again for 64 s.
    #[test]
    fn who_waits_no_more_is_not_warmer() {
        let times = |quick: u64, slow: u64| {
            let mut times = Histogram::default();
            times.record_many(Nanos::from_micros(quick), 450);
            times.record_many(Nanos::from_micros(slow), 550);
            times
        };
        let waits = times(700, 43_000);
        let reference = Reference::new(WindowMedian::of(&waits).expect("some"), 2.0, &waits);
        let shift =
            |now: &Histogram| reference.shift(WindowMedian::of(now).expect("some")).expect("it is quicker");
        let no_more = times(690, 730);
        assert!(!reference.is_all_faster(shift(&no_more), &no_more));
        let warmer = times(350, 21_000);
        assert!(reference.is_all_faster(shift(&warmer), &warmer));
    }
}
