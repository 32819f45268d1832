//! Metrics of a run in progress, for monitoring tools: a pure fold of its events.
//!
//! A *sample* belongs to a *family*: a name, a type and a unit that are stable across versions; labels tell its samples apart. [`text`]
//! writes them for Prometheus, [`otlp`] for the OpenTelemetry protocol, under the same names. Counters only grow, over all trials of a
//! run; gauges are of the last second seen.

mod buckets;
mod families;
mod format;
mod load;
mod otlp;
mod search;
#[cfg(test)]
mod tests;
mod text;
mod watched;

pub use buckets::Buckets;
pub use families::{FAMILIES, MetricFamily, MetricType};
pub use format::ExpositionFormat;
pub use otlp::otlp;
pub use text::text;

use crate::RunView;
use families as family;
use load::LastSecond;
use record::{Event, Label, Slice};
use watched::TargetMetrics;

/// Labels of every sample, which identify the run.
pub const LABELS: [&str; 4] = ["run", "command", "name", "target"];

/// A run's metrics: fold its events in order, then take a [`Snapshot`] at any time.
#[derive(Debug, Clone, Default)]
pub struct RunMetrics {
    view: RunView,
    /// All finished trials, merged.
    finished: Slice,
    /// The current trial: what it measured is reported once more at its end, with what was decided since.
    current: Slice,
    last_second: Option<LastSecond>,
    target: TargetMetrics,
}

/// All metrics of a run at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Snapshot {
    /// The values of [`LABELS`].
    pub labels: [String; 4],
    /// torment's version.
    pub version: String,
    /// The machine that makes the run.
    pub host: String,
    /// Start of the counters, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// The samples.
    pub samples: Vec<Sample>,
}

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Its family.
    pub family: &'static MetricFamily,
    /// Values of the family's own labels, in order.
    pub labels: Vec<String>,
    /// Its value.
    pub value: SampleValue,
}

/// The value of a sample.
#[derive(Debug, Clone, PartialEq)]
pub enum SampleValue {
    /// An integer count.
    Count(u64),
    /// Any other number; always finite.
    Number(f64),
    /// A histogram of durations.
    Times(Box<Buckets>),
}

impl RunMetrics {
    /// Folds the next event.
    pub fn fold(&mut self, event: &Event) {
        self.view.fold(event);
        // Only charts need them.
        self.view.seconds.clear();
        match event {
            Event::TrialStarted { .. } => {
                let cut_short = std::mem::take(&mut self.current);
                add(&mut self.finished, &cut_short);
            }
            Event::SliceDone { slice, .. } => {
                add(&mut self.current, slice);
                self.last_second = Some(LastSecond::of(slice, self.last_second.as_ref()));
            }
            Event::TrialDone { result, .. } => {
                add(&mut self.finished, &result.total);
                self.current = Slice::default();
            }
            Event::WatchStarted { place, watched } => self.target.set_watched(place, watched),
            Event::Observed { place, window, .. } => self.target.add_window(place, window),
            _ => {}
        }
    }

    /// The current samples; `None` before the run has begun.
    pub fn snapshot(&self) -> Option<Snapshot> {
        let started = self.view.started.as_ref()?;
        let Label { name, .. } = &started.label;
        let mut samples = Samples::default();
        let goes_on = u64::from(self.view.end.is_none());
        let part_of = started.part_of.as_ref().map_or("", |run| run.0.as_str());
        samples.count(&family::INFO, &[&started.version, &started.goal, &started.machine.host, part_of], 1);
        samples.count(&family::RUNNING, &[], goes_on);
        samples.number(&family::STARTED, &[], started.at_unix_ms as f64 / 1000.0);
        let mut total = self.finished.clone();
        add(&mut total, &self.current);
        load::add_samples(&total, self.last_second.as_ref(), &mut samples);
        search::add_samples(&self.view, &mut samples);
        self.target.add_samples(&mut samples);
        Some(Snapshot {
            labels: [
                started.id.0.clone(),
                started.command.to_string(),
                name.clone().unwrap_or_default(),
                started.target.clone(),
            ],
            version: started.version.clone(),
            host: started.machine.host.clone(),
            started_unix_ms: started.at_unix_ms,
            samples: samples.0,
        })
    }
}

/// Adds the following slice. Only tenths of seconds would grow with the length of a run.
fn add(total: &mut Slice, next: &Slice) {
    total.merge_after(next);
    total.outstanding.clear();
}

#[derive(Debug, Default)]
struct Samples(Vec<Sample>);

impl Samples {
    fn count(&mut self, family: &'static MetricFamily, labels: &[&str], value: u64) {
        self.push(family, labels, SampleValue::Count(value));
    }

    /// Drops values that are not finite.
    fn number(&mut self, family: &'static MetricFamily, labels: &[&str], value: f64) {
        if value.is_finite() {
            self.push(family, labels, SampleValue::Number(value));
        }
    }

    fn push(&mut self, family: &'static MetricFamily, labels: &[&str], value: SampleValue) {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        self.0.push(Sample { family, labels, value });
    }
}
