//! How a load's seconds differ, as far as intervals need it: from the raw slices, once a first fold has told which load it is.

use crate::watched::cpu_of;
use crate::{ReportKind, RunView, Trial};
use record::{Event, Purpose, Slice, Verdict};
use stats::{Estimate, Histogram, clustered_share, quantile_bounds, ratio_of_sums};
use units::Nanos;

/// The quantiles that have an interval.
pub(super) const QUANTILES: [f64; 3] = [0.5, 0.9, 0.99];
/// Of a search the load at this share of its own limit is looked at: near it, and not yet at it.
pub(super) const SHARE: f64 = 0.8;
/// A window that ends so much later than the load is still of the load.
const LATE: Nanos = Nanos::from_millis(250);

/// One load of a run, second by second. It is made in a second pass over the run's events, when the run's view is known: only then is
/// known which load it is, and which times were above its quantiles.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LoadSamples {
    trial: Option<u32>,
    loaded: Nanos,
    thresholds: Option<[Nanos; 3]>,
    times: Histogram,
    /// Of each second and quantile how many times were above it, and how many times there were.
    above: [Vec<(u64, u64)>; 3],
    /// Bad ones, and those decided.
    lost: Vec<(u64, u64)>,
    /// Good ones, and seconds.
    good: Vec<(f64, f64)>,
    /// Processor time of the service, and time, both in nanoseconds.
    cpu: Vec<(f64, f64)>,
    memory: Option<u64>,
    /// Its queue grows: what is answered after it, however long that takes, is no rate of it.
    grows: bool,
}

/// The load that is compared: that of `torment run`; of a search the one at [`SHARE`] of its limit, if it was made.
pub(super) fn compared_load(view: &RunView) -> Option<Trial> {
    if view.kind() == ReportKind::Load {
        return view.load();
    }
    let Some(Verdict::Limits { curve, .. }) = &view.end.as_ref()?.verdict else { return None };
    let point = curve.iter().find(|point| (point.share - SHARE).abs() < 1e-6)?;
    let at_it = |trial: &&Trial| trial.purpose == Purpose::Curve && trial.is_at(point.rate.0);
    view.trials.iter().rev().find(at_it).cloned()
}

impl LoadSamples {
    /// Of the run with this view, before the first event.
    pub fn new(view: &RunView) -> Self {
        let Some(load) = compared_load(view) else { return Self::default() };
        let thresholds = load
            .figures
            .response()
            .map(|times| [times.quantiles.p50, times.quantiles.p90, times.quantiles.p99]);
        let grows = load.judgement.is_some_and(|judgement| judgement.growth_per_second.is_some());
        Self { trial: Some(load.number), loaded: load.loaded, thresholds, grows, ..Self::default() }
    }

    /// All of a run that is in memory.
    pub fn from_events<'a>(view: &RunView, events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut spread = Self::new(view);
        events.into_iter().for_each(|event| spread.fold(view, event));
        spread
    }

    /// Takes the next event in.
    pub fn fold(&mut self, view: &RunView, event: &Event) {
        match event {
            Event::SliceDone { trial, slice } if Some(*trial) == self.trial => self.second(slice),
            Event::Observed { trial, place, window }
                if Some(*trial) == self.trial && window.to <= self.loaded + LATE =>
            {
                let main = view.main_place().filter(|main| main.name == *place);
                let watched = main.is_some_and(|main| main.watched.has_processes());
                if let Some(service) = window.subjects.first().filter(|_| watched) {
                    let length = window.length();
                    self.cpu.push((cpu_of(service, length) * length.0 as f64, length.0 as f64));
                    self.memory = self.memory.max((service.rss_bytes > 0).then_some(service.rss_bytes));
                }
            }
            _ => {}
        }
    }

    fn second(&mut self, slice: &Slice) {
        let all = slice.response.count();
        for (above, threshold) in self.above.iter_mut().zip(self.thresholds.into_iter().flatten()) {
            if all > 0 {
                above.push((slice.response.count_above(threshold), all));
            }
        }
        self.times.merge(&slice.response);
        let decided = slice.outcomes.total();
        if decided > 0 {
            self.lost.push((slice.outcomes.bad(), decided));
        }
        // What is decided in the drain belongs to the load, whose last second it makes fuller.
        if slice.due > 0 || self.good.is_empty() {
            self.good.push((slice.outcomes.ok as f64, slice.elapsed.as_secs_f64()));
        } else if let Some(last) = self.good.last_mut().filter(|_| !self.grows) {
            last.0 += slice.outcomes.ok as f64;
        }
    }

    /// Response time at one of the [`QUANTILES`], in nanoseconds; without an interval if there were too few seconds.
    pub(super) fn quantile(&self, which: usize) -> Option<(f64, Option<Estimate>)> {
        let value = self.thresholds?[which].0 as f64;
        let at = |q: f64| self.times.quantile(q).map(|time| time.0 as f64);
        let interval = quantile_bounds(QUANTILES[which], &self.above[which]).and_then(|(low, high)| {
            let high = high.map_or(Some(f64::INFINITY), at)?;
            Some(Estimate { value, low: at(low)?.min(value), high: high.max(value) })
        });
        Some((value, interval))
    }

    /// The share of arrivals that were lost.
    pub(super) fn lost(&self) -> Option<Estimate> {
        clustered_share(&self.lost)
    }

    /// Good answers a second.
    pub(super) fn goodput(&self) -> Option<Estimate> {
        ratio_of_sums(&self.good).map(|found| Estimate { low: found.low.max(0.0), ..found })
    }

    /// Processor time of the service for each good or late answer, in nanoseconds; `answered` is how many there were.
    pub(super) fn cpu(&self, answered: u64) -> Option<Estimate> {
        if answered == 0 || self.loaded == Nanos::ZERO {
            return None;
        }
        let gap = self.loaded.0 as f64 / answered as f64;
        ratio_of_sums(&self.cpu).map(|used| used.map(|processors| processors.max(0.0) * gap))
    }

    /// The most memory that the service was seen to hold, in bytes.
    pub(super) fn memory(&self) -> Option<u64> {
        self.memory
    }
}
