//! Recovery of a target after an overload.

use super::{PlannedTrial, RECOVERY_LIMIT, TrialRunner};
use engine::{LoadGenerator, OfferedLoad};
use record::{Caveat, CaveatDetails, CaveatKind, Judgement, Purpose};
use schedule::Schedule;
use units::{Nanos, Rate, Share};

/// Rate and length of one recovery probe, at most and at least.
const CHECK_RATE: Rate = Rate(20.0);
const CHECK_TIME: Nanos = Nanos::from_millis(500);
/// For a slow target, a probe's share of the rate it held, and its number of requests: it must not be an overload
/// itself.
const CHECK_SHARE: f64 = 0.25;
const CHECK_REQUESTS_LEAST: f64 = 5.0;
/// A target has recovered once its median is below this many calm medians, and this much.
const CALM_FACTOR: f64 = 3.0;
const CALM_MARGIN: Nanos = Nanos::from_millis(2);
/// Or once this many probes in a row differ by no more than this factor, and are no slower than it was, while calm, at
/// another rate: a few requests may be slower than many, or than those on rarely used connections (the kernel delays an
/// acknowledgement by 40 ms).
const LEVEL_CHECKS: usize = 4;
const LEVEL_FACTOR: f64 = 1.25;
/// Up to this share of the highest good rate a target counts as calm.
const CALM_SHARE: f64 = 0.5;

/// Response times of the target while it was well.
#[derive(Debug, Default)]
pub(super) struct CalmBaseline {
    /// Each rate with its median response time.
    medians: Vec<(Rate, Nanos)>,
    /// The slowest of the probes in a row that were alike, once they were: so quick it is again at a probe's rate.
    level: Option<Nanos>,
}

impl CalmBaseline {
    pub fn record(&mut self, rate: Rate, median: Nanos) {
        self.medians.push((rate, median));
    }

    /// The highest good rate.
    fn highest(&self) -> f64 {
        self.medians.iter().map(|(rate, _)| rate.0).fold(0.0, f64::max)
    }

    /// Rate and length of a probe.
    fn check_load(&self) -> (Rate, Nanos) {
        let rate = CHECK_RATE.0.min(self.highest() * CHECK_SHARE);
        (Rate(rate), CHECK_TIME.max(Nanos::from_secs_f64(CHECK_REQUESTS_LEAST / rate)))
    }

    /// Recovered below the first for a single median, below the second for several.
    fn bands(&self) -> Option<(Nanos, Nanos)> {
        let band = |median: Nanos| Nanos::from_secs_f64(median.as_secs_f64() * CALM_FACTOR) + CALM_MARGIN;
        let quickest = band(self.medians.iter().map(|(_, median)| *median).min()?);
        let calm = self.medians.iter().filter(|(rate, _)| rate.0 <= CALM_SHARE * self.highest());
        let usual = calm.map(|(_, median)| *median + CALM_MARGIN).max().unwrap_or_default().max(quickest);
        let again = self.level.map(|level| Nanos::from_secs_f64(level.as_secs_f64() * LEVEL_FACTOR));
        Some((quickest.max(again.unwrap_or_default().min(usual)), usual))
    }
}

/// The slowest of the last probes, if they were alike and within the band.
fn level(medians: &[Option<Nanos>], band: Nanos) -> Option<Nanos> {
    let last: Option<Vec<Nanos>> =
        medians.len().checked_sub(LEVEL_CHECKS).and_then(|from| medians[from..].iter().copied().collect());
    let ends = |last: Vec<Nanos>| last.iter().min().copied().zip(last.iter().max().copied());
    let alike = |(least, most): &(Nanos, Nanos)| {
        *most <= band && most.as_secs_f64() <= least.as_secs_f64() * LEVEL_FACTOR
    };
    last.and_then(ends).filter(alike).map(|(_, most)| most)
}

impl<C: LoadGenerator> TrialRunner<'_, C> {
    /// Whether the target has been seen while calm.
    pub fn has_baseline(&self) -> bool {
        !self.baseline.medians.is_empty()
    }

    /// After an overload, probes with a few requests at a time until the target is as quick as while calm. False if it
    /// is not within the limit: the target is metastable. A probe that is slow because torment itself was late tells
    /// nothing.
    pub fn await_recovery(&mut self) -> bool {
        let Some((band, usual)) = self.baseline.bands() else { return true };
        let since = self.now();
        let (rate, time) = self.baseline.check_load();
        let looks = (RECOVERY_LIMIT.0 / (time + self.pauses).0).max(LEVEL_CHECKS as u64);
        let (mut slow, mut medians) = (false, Vec::new());
        for _ in 0..looks {
            let load = PlannedTrial {
                purpose: Purpose::Recovery,
                offer: OfferedLoad::Open(Schedule::constant(rate, time)),
                rate: Some(rate),
                duration: Some(time),
                drain: usual + time,
            };
            let finished = self.trial(&load, &|_| false);
            let total = &finished.result.total;
            let median = total.response.quantile(0.5).filter(|_| total.outcomes.bad() == 0);
            medians.push(median);
            let level = level(&medians, usual);
            self.baseline.level = level.or(self.baseline.level);
            let has_recovered = median.is_some_and(|median| median <= band) || level.is_some();
            let own = total.pacing.quantile(0.5).unwrap_or_default();
            let mut invalid: Vec<Caveat> = finished.result.fleet_caveats().cloned().collect();
            let in_time =
                has_recovered || median.is_some_and(|median| median <= band + own) || !invalid.is_empty();
            if in_time && !has_recovered && invalid.is_empty() {
                let p99 = total.pacing.quantile(0.99).unwrap_or_default();
                invalid.push(Caveat::with_details(
                    CaveatKind::GeneratorLate,
                    CaveatDetails::Late { p99, most: band },
                ));
            }
            slow |= !in_time;
            let judgement = Judgement {
                loss: Share::of(total.outcomes.bad(), total.due).0,
                good: has_recovered,
                growth_per_second: None,
                invalid,
            };
            self.emit_judgement(finished, &judgement);
            if has_recovered || self.stop.is_requested() {
                return true;
            }
            // A probe's requests may stay unanswered for as long as the limit.
            if self.now() - since > RECOVERY_LIMIT * 2 {
                break;
            }
        }
        !slow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Services that answer 20/s more slowly than 300/s had four probes after each overload: 19 to 24 s of a search.
    #[test]
    fn what_was_level_once_suffices_from_then_on() {
        let ms = Nanos::from_millis;
        let mut baseline = CalmBaseline::default();
        baseline.record(Rate(20.0), ms(12));
        baseline.record(Rate(300.0), ms(2));
        assert_eq!(baseline.bands(), Some((ms(8), ms(14))));
        let probes = |medians: [u64; 4]| medians.map(|median| Some(ms(median)));
        let (_, usual) = baseline.bands().expect("it was calm");
        assert_eq!(level(&probes([9, 9, 10, 9])[..3], usual), None, "too few");
        assert_eq!(level(&probes([9, 12, 10, 9]), usual), None, "not alike");
        assert_eq!(level(&probes([20, 20, 20, 20]), usual), None, "slower than ever while calm");
        baseline.level = level(&probes([9, 9, 10, 9]), usual);
        assert_eq!(baseline.level, Some(ms(10)));
        assert_eq!(baseline.bands(), Some((Nanos::from_micros(12_500), ms(14))));
    }
}
