//! The part of a run that the rules need: its trials, with the first and last of their seconds and windows.

use crate::freezes::FreezeDetector;
use record::watch::{CloserLook, WatchCoverage, Window};
use record::{
    Caveat, CaveatDetails, CaveatKind, Event, Failure, Judgement, MachineCosts, Outcomes, Purpose, SearchEnd,
    Slice, Verdict,
};
use std::collections::BTreeMap;
use units::{Nanos, Rate};

/// Of a trial, the first and the last this many seconds are kept, with their windows: ten minutes each, some 10 MB. Before the load rose,
/// and where it ended up; a day in between would only take memory.
const KEPT_EACH_END: usize = 600;

/// A run as the rules see it: fold its events in order.
#[derive(Debug, Clone, Default)]
pub struct ObservedRun {
    /// What was observed, by place.
    pub(crate) watched: BTreeMap<String, WatchCoverage>,
    pub(crate) costs: Option<MachineCosts>,
    pub(crate) trials: Vec<Trial>,
    /// The largest load that a search may offer was held.
    pub(crate) reached_max: bool,
    /// The rate a search found to hold for its first goal.
    pub(crate) held_rate: Option<Rate>,
    pub(crate) freeze_detector: FreezeDetector,
}

#[derive(Debug, Clone)]
pub(crate) struct Trial {
    pub number: u32,
    pub purpose: Purpose,
    /// None for a closed loop.
    pub rate: Option<Rate>,
    pub seconds: Vec<Second>,
    /// Observations, by place.
    pub observations: BTreeMap<String, PlaceObservations>,
    /// Length of the load, and its judgement; none while it runs, or if it was cut short.
    pub end: Option<TrialEnd>,
}

/// Observations at one place in one trial.
#[derive(Debug, Clone, Default)]
pub(crate) struct PlaceObservations {
    pub windows: Vec<Window>,
    pub looks: Vec<CloserLook>,
}

impl Trial {
    /// The observations at a place, if any.
    pub fn at(&self, place: &str) -> Option<&PlaceObservations> {
        self.observations.get(place)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct TrialEnd {
    pub loaded: Nanos,
    pub good: bool,
    pub invalid: Vec<Caveat>,
    /// Answers held back by delayed acknowledgements, if a good part was.
    pub held_back: Option<CaveatDetails>,
}

/// Figures of a second of load.
#[derive(Debug, Clone)]
pub(crate) struct Second {
    pub trial: u32,
    /// Since the trial began.
    pub from: Nanos,
    pub elapsed: Nanos,
    pub due: u64,
    pub outcomes: Outcomes,
    pub failures: BTreeMap<Failure, u64>,
    /// Mean arrivals outstanding.
    pub outstanding: f64,
    /// Sent and not done, due and not sent, connections: at its end.
    pub in_flight: u64,
    pub backlog: u64,
    pub connections: u64,
    /// torment's loops, and their processor time.
    pub loops: u32,
    pub cpu: Nanos,
    pub response_p50: Option<Nanos>,
    pub response_p99: Option<Nanos>,
    pub pacing_p99: Option<Nanos>,
}

impl Second {
    fn of(trial: u32, from: Nanos, slice: &Slice) -> Self {
        let outstanding = if slice.elapsed == Nanos::ZERO {
            0.0
        } else {
            slice.outstanding_ns as f64 / slice.elapsed.0 as f64
        };
        Self {
            trial,
            from,
            elapsed: slice.elapsed,
            due: slice.due,
            outcomes: slice.outcomes,
            failures: slice.failures.clone(),
            outstanding,
            in_flight: slice.in_flight,
            backlog: slice.backlog,
            connections: slice.connections,
            loops: slice.loops,
            cpu: slice.cpu,
            response_p50: slice.response.quantile(0.5),
            response_p99: slice.response.quantile(0.99),
            pacing_p99: slice.pacing.quantile(0.99),
        }
    }

    /// Answers as expected, in time or late, per second.
    pub fn answered(&self) -> f64 {
        Rate::of(self.outcomes.answered(), self.elapsed).0
    }

    /// Mean time an arrival is outstanding, by Little's law, in seconds; none without arrivals.
    pub fn stay(&self) -> Option<f64> {
        let rate = Rate::of(self.due, self.elapsed).0;
        (self.due > 0).then(|| self.outstanding / rate)
    }
}

impl ObservedRun {
    /// What is known beside its trials.
    pub(crate) fn without_trials(&self) -> Self {
        Self { watched: self.watched.clone(), costs: self.costs.clone(), ..Self::default() }
    }

    /// Sets the run's verdict; its last event has it as well.
    pub fn set_verdict(&mut self, verdict: &Verdict) {
        self.reached_max = matches!(verdict, Verdict::Limits { ended: SearchEnd::MaxReached, .. });
        if let Verdict::Limits { limits, .. } = verdict {
            self.held_rate = limits.first().and_then(|limit| limit.held.or(limit.lower)).map(Rate);
        }
    }

    /// Folds the next event.
    pub fn fold(&mut self, event: &Event) {
        self.freeze_detector.fold(event);
        match event {
            // A restarted target has other numbers, and the same roles.
            Event::WatchStarted { place, watched } => {
                self.watched.insert(place.clone(), (**watched).clone());
            }
            Event::Known { costs } => self.costs = Some(costs.clone()),
            // Sampling follows the verdict.
            Event::TrialStarted { purpose: Purpose::Profile, .. } => {}
            Event::TrialStarted { trial, purpose, rate, .. } => self.trials.push(Trial {
                number: *trial,
                purpose: *purpose,
                rate: *rate,
                seconds: Vec::new(),
                observations: BTreeMap::new(),
                end: None,
            }),
            Event::SliceDone { trial, slice } => {
                let number = *trial;
                if let Some(trial) = self.trial(number) {
                    let from = trial.seconds.last().map_or(Nanos::ZERO, |last| last.from + last.elapsed);
                    push_bounded(&mut trial.seconds, Second::of(number, from, slice));
                }
            }
            Event::Observed { trial, place, window } => {
                // A target that warms up is in another state.
                let warm = |trial: &&mut Trial| trial.purpose != Purpose::WarmUp;
                if let Some(trial) = self.trial(*trial).filter(warm) {
                    push_bounded(
                        &mut trial.observations.entry(place.clone()).or_default().windows,
                        (**window).clone(),
                    );
                }
            }
            Event::Looked { trial, place, look } => {
                if let Some(trial) = self.trial(*trial) {
                    trial.observations.entry(place.clone()).or_default().looks.push(look.clone());
                }
            }
            Event::TrialDone { trial, result, judgement } => {
                let Judgement { good, invalid, .. } = judgement.clone();
                if let Some(trial) = self.trial(*trial) {
                    let held_back =
                        result.caveats.iter().find(|caveat| caveat.doubt == CaveatKind::DelayedAcks);
                    let held_back = held_back.and_then(|caveat| caveat.grounds.clone());
                    trial.end = Some(TrialEnd { loaded: result.loaded, good, invalid, held_back });
                }
            }
            Event::RunEnded(end) => end.verdict.iter().for_each(|verdict| self.set_verdict(verdict)),
            _ => {}
        }
    }

    /// The observed places; for an unobserved run, where torment is.
    pub(crate) fn places(&self) -> Vec<&str> {
        let mut places: Vec<&str> = self.watched.keys().map(String::as_str).collect();
        let observed_places = self.trials.iter().flat_map(|trial| trial.observations.keys());
        places.extend(observed_places.map(String::as_str));
        places.sort_unstable();
        places.dedup();
        if places.is_empty() { vec![""] } else { places }
    }

    fn trial(&mut self, number: u32) -> Option<&mut Trial> {
        self.trials.iter_mut().rev().find(|trial| trial.number == number)
    }
}

/// Appends; if there are too many, the middle one is dropped.
fn push_bounded<T>(to: &mut Vec<T>, next: T) {
    to.push(next);
    if to.len() > 2 * KEPT_EACH_END {
        to.remove(KEPT_EACH_END);
    }
}
