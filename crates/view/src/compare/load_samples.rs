//! Per-second samples of a load, from the raw slices, for intervals. Needs a first fold to know which load is compared.

use crate::watched::cpu_of;
use crate::{ReportKind, RunView, Trial};
use record::{Event, Slice};
use stats::{Estimate, Histogram, clustered_share, quantile_bounds, ratio_of_sums};
use units::Nanos;

/// The quantiles that get an interval.
pub(super) const QUANTILES: [f64; 3] = [0.5, 0.9, 0.99];
/// A search is compared at this share of its own limit: near it, but below.
pub(super) const LIMIT_SHARE: f64 = 0.8;
/// A window that ends this much after the load still belongs to it.
const WINDOW_GRACE: Nanos = Nanos::from_millis(250);

/// One load of a run, second by second. Needs a second pass over the events: only the complete view tells which load it is, and which
/// times exceeded its quantiles.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LoadSamples {
    trial: Option<u32>,
    loaded: Nanos,
    thresholds: Option<[Nanos; 3]>,
    times: Histogram,
    /// For each quantile, per second: times above it, and all times.
    above: [Vec<(u64, u64)>; 3],
    /// Per second: bad arrivals, and decided ones.
    lost: Vec<(u64, u64)>,
    /// Per second: good arrivals, and seconds.
    good: Vec<(f64, f64)>,
    /// The service's processor time, and elapsed time, in nanoseconds.
    cpu: Vec<(f64, f64)>,
    /// The service's peak memory, in bytes.
    pub(super) memory: Option<u64>,
    /// The queue grows, so what is answered afterwards is no rate of the load.
    grows: bool,
}

/// The load to compare: that of `torment run`, or that of a search at [`LIMIT_SHARE`] of its limit, if made.
pub(super) fn compared_load(view: &RunView) -> Option<Trial> {
    if view.kind() == ReportKind::Load {
        return view.load();
    }
    let point = view.curve().iter().find(|point| (point.share - LIMIT_SHARE).abs() < 1e-6)?;
    let at_it = |trial: &&Trial| trial.is_curve_at(point.rate.0);
    view.trials.iter().rev().find(at_it).cloned()
}

impl LoadSamples {
    /// Creates samples for the run with this view, before its first event.
    pub fn new(view: &RunView) -> Self {
        let Some(load) = compared_load(view) else { return Self::default() };
        let thresholds = load.figures.quantiles().map(|times| [times.p50, times.p90, times.p99]);
        let grows = load.judgement.is_some_and(|judgement| judgement.growth_per_second.is_some());
        Self { trial: Some(load.number), loaded: load.loaded, thresholds, grows, ..Self::default() }
    }

    /// Folds all events of a run in memory.
    pub fn from_events<'a>(view: &RunView, events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut spread = Self::new(view);
        events.into_iter().for_each(|event| spread.fold(view, event));
        spread
    }

    /// Folds the next event.
    pub fn fold(&mut self, view: &RunView, event: &Event) {
        match event {
            Event::SliceDone { trial, slice } if Some(*trial) == self.trial => self.second(slice),
            Event::Observed { trial, place, window }
                if Some(*trial) == self.trial && window.to <= self.loaded + WINDOW_GRACE =>
            {
                let main = view.main_place().filter(|main| main.name == *place);
                let watched = main.is_some_and(|main| main.coverage.has_processes());
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
        // What is decided in the drain counts to the load's last second.
        if slice.due > 0 || self.good.is_empty() {
            self.good.push((slice.outcomes.ok as f64, slice.elapsed.as_secs_f64()));
        } else if let Some(last) = self.good.last_mut().filter(|_| !self.grows) {
            last.0 += slice.outcomes.ok as f64;
        }
    }

    /// Response time in nanoseconds at one of the [`QUANTILES`]; without an interval if there were too few seconds.
    pub(super) fn quantile(&self, which: usize) -> Option<(f64, Option<Estimate>)> {
        let value = self.thresholds?[which].0 as f64;
        let at = |q: f64| self.times.quantile(q).map(|time| time.0 as f64);
        let interval = quantile_bounds(QUANTILES[which], &self.above[which]).and_then(|(low, high)| {
            let high = high.map_or(Some(f64::INFINITY), at)?;
            Some(Estimate { value, low: at(low)?.min(value), high: high.max(value) })
        });
        Some((value, interval))
    }

    /// The loss.
    pub(super) fn lost(&self) -> Option<Estimate> {
        clustered_share(&self.lost)
    }

    /// Good answers per second.
    pub(super) fn goodput(&self) -> Option<Estimate> {
        ratio_of_sums(&self.good).map(|found| Estimate { low: found.low.max(0.0), ..found })
    }

    /// The service's processor time, in nanoseconds per good or late answer; `answered` is their number.
    pub(super) fn cpu(&self, answered: u64) -> Option<Estimate> {
        if answered == 0 || self.loaded == Nanos::ZERO {
            return None;
        }
        let gap = self.loaded.0 as f64 / answered as f64;
        ratio_of_sums(&self.cpu).map(|used| used.map(|processors| processors.max(0.0) * gap))
    }
}
