//! Folds a measurement's events into the figures that experiments compare. In the runner, below the view, and from
//! whole trials and raw windows.

use crate::Sink;
use plan::{ArmMeasure, LoadLevel};
use record::{
    Caveat, CaveatDetails, CaveatKind, Diagnosis, Event, Judgement, Limit, MeasurementResult, Purpose,
    Recovery, RunId, SearchEnd, StartTimes, TrialResult, Verdict,
};
use std::collections::BTreeMap;
use units::{Nanos, Rate};

/// Passes events on, and keeps what counts.
pub(super) struct MeasurementSink<'a> {
    sink: &'a mut dyn Sink,
    trials: Vec<(u32, TrialResult, Judgement)>,
    usage: BTreeMap<u32, ServiceUsage>,
    /// Planned length of each trial's load, and the requests answered during it.
    loads: BTreeMap<u32, (Nanos, u64)>,
    caveats: Vec<Caveat>,
    diagnosis: Option<Diagnosis>,
    verdict: Option<Verdict>,
}

/// The service's resource usage within one trial.
#[derive(Default)]
struct ServiceUsage {
    cpu: Nanos,
    memory_most: u64,
    threads_most: u32,
}

impl Sink for MeasurementSink<'_> {
    fn event(&mut self, event: &Event) {
        match event {
            Event::TrialStarted { trial, duration: Some(duration), .. } => {
                self.loads.insert(*trial, (*duration, 0));
            }
            Event::SliceDone { trial, slice } => {
                if let Some((load, answered)) = self.loads.get_mut(trial) {
                    *answered += slice.answered_within(*load);
                }
            }
            Event::TrialDone { trial, result, judgement } => {
                self.trials.push((*trial, (**result).clone(), judgement.clone()));
            }
            Event::Observed { trial, window, .. } => {
                if let Some(service) = window.subjects.first() {
                    let seen = self.usage.entry(*trial).or_default();
                    seen.cpu += Nanos(service.cpu_ns);
                    seen.memory_most = seen.memory_most.max(service.rss_bytes);
                    seen.threads_most = seen.threads_most.max(service.threads);
                }
            }
            Event::Caveat { caveat } => self.caveats.push(caveat.clone()),
            Event::Diagnosed { diagnosis } => self.diagnosis = Some((**diagnosis).clone()),
            Event::RunEnded(end) => self.verdict.clone_from(&end.verdict),
            _ => {}
        }
        self.sink.measurement_event(event);
    }
}

impl<'a> MeasurementSink<'a> {
    pub fn new(sink: &'a mut dyn Sink) -> Self {
        Self {
            sink,
            trials: Vec::new(),
            usage: BTreeMap::new(),
            loads: BTreeMap::new(),
            caveats: Vec::new(),
            diagnosis: None,
            verdict: None,
        }
    }

    /// Adds where this measurement's time went, `reset` of it on restoring state before trials.
    pub fn add_spent(&self, into: &mut StartTimes, took: Nanos, reset: Nanos) {
        let mut of_trials = Nanos::ZERO;
        for (_, result, _) in &self.trials {
            let recovery = match result.recovery {
                Recovery::NotNeeded => Nanos::ZERO,
                Recovery::After(time) | Recovery::Not(time) => time,
            };
            let (load, after) = (result.loaded, result.total.elapsed - result.loaded + recovery);
            of_trials += load + after;
            match result.purpose {
                Purpose::WarmUp => into.warm += load + after,
                Purpose::Recovery => into.drain += load + after,
                _ => (into.load, into.drain) = (into.load + load, into.drain + after),
            }
        }
        into.reset += reset;
        into.rest += took - (reset + of_trials);
    }

    /// The measurement's figures; none if it must not be counted, with a caveat that says why.
    pub fn into_figures(
        mut self,
        probe: usize,
        at: LoadLevel,
        run: RunId,
        rate: Option<Rate>,
    ) -> MeasurementResult {
        let (figures, at_least) = match at {
            LoadLevel::Limit => self.of_search(),
            LoadLevel::Rate(_) | LoadLevel::Share(_) | LoadLevel::Connections(_) => self.of_load(at),
        };
        let diagnosis = self.diagnosis.unwrap_or_default();
        let says = diagnosis.sentences.first().cloned().unwrap_or_default();
        let cause = diagnosis.cause();
        MeasurementResult { probe, run, rate, figures, at_least, cause, says, caveats: self.caveats }
    }

    fn of_search(&mut self) -> (Vec<(ArmMeasure, f64)>, bool) {
        let no_limit = |ended| Caveat::with_details(CaveatKind::NoLimit, CaveatDetails::NoLimit { ended });
        let Some(Verdict::Limits { limits, ended, .. }) = &self.verdict else {
            self.caveats.push(no_limit(None));
            return (Vec::new(), false);
        };
        let at_least = ended.is_at_least();
        let Some((capacity, lower)) = limits.last().and_then(capacity) else {
            self.caveats.push(no_limit(Some(ended.clone())));
            return (Vec::new(), false);
        };
        match ended {
            SearchEnd::NonStationary => self.caveats.push(CaveatKind::NonStationary.into()),
            SearchEnd::BudgetSpent if !limits.iter().all(|limit| limit.regular) => {
                self.caveats.push(CaveatKind::NotNarrow.into());
            }
            _ => {}
        }
        let mut figures = vec![(ArmMeasure::Capacity, capacity)];
        // The highest good trial below the limit: a queue costs processor time of its own.
        let near = self
            .trials
            .iter()
            .filter(|(_, result, judgement)| {
                judgement.good && judgement.invalid.is_empty() && result.purpose != Purpose::Recovery
            })
            .filter(|(_, result, _)| result.rate.0 <= lower * 1.001)
            .max_by(|a, b| a.1.rate.0.total_cmp(&b.1.rate.0));
        if let Some((trial, result, _)) = near {
            figures.extend(self.cpu(*trial, result));
        }
        figures.extend(self.most(self.usage.values()));
        (figures, at_least)
    }

    fn of_load(&mut self, at: LoadLevel) -> (Vec<(ArmMeasure, f64)>, bool) {
        let Some((trial, result, judgement)) =
            self.trials.iter().find(|(_, r, _)| r.purpose == Purpose::Load)
        else {
            self.caveats.push(CaveatKind::NoLoad.into());
            return (Vec::new(), false);
        };
        let is_closed = matches!(at, LoadLevel::Connections(_));
        // Stolen time affects every figure of a load, whatever its result.
        let stolen =
            result.caveats.iter().filter(|c| c.doubt == CaveatKind::Steal && !judgement.invalid.contains(c));
        self.caveats.splice(0..0, judgement.invalid.iter().chain(stolen).cloned());
        let is_whole = !judgement.invalid.iter().any(|caveat| caveat.doubt.is_fleet());
        if !(judgement.invalid.is_empty() || is_closed && is_whole) {
            return (Vec::new(), false);
        }
        let bad = result.total.outcomes.bad();
        if bad > 0 {
            let most = result.total.failures.iter().max_by_key(|(_, count)| **count);
            let most = most.map(|(why, _)| why.clone());
            let grounds = CaveatDetails::NotAnswered { bad, due: result.total.due, most };
            self.caveats.push(Caveat::with_details(CaveatKind::NotAnswered, grounds));
        }
        let answered = self.loads.get(trial).map_or(0, |(_, answered)| *answered);
        let mut figures =
            vec![(ArmMeasure::Throughput, answered as f64 / result.loaded.as_secs_f64().max(1e-9))];
        for (measure, q) in [(ArmMeasure::P50, 0.5), (ArmMeasure::P99, 0.99), (ArmMeasure::Max, 1.0)] {
            let time = result.total.response.quantile(q);
            figures.extend(time.map(|time| (measure, time.as_secs_f64())));
        }
        figures.extend(self.cpu(*trial, result));
        figures.extend(self.most(self.usage.get(trial)));
        // In a closed loop the generator may be the limit: its throughput is then a lower bound.
        (figures, is_closed && !judgement.invalid.is_empty())
    }

    fn cpu(&self, trial: u32, result: &TrialResult) -> Option<(ArmMeasure, f64)> {
        let answered = result.total.outcomes.ok + result.total.outcomes.late;
        let seen = self.usage.get(&trial)?;
        (answered > 0 && seen.cpu > Nanos::ZERO)
            .then(|| (ArmMeasure::Cpu, seen.cpu.as_secs_f64() / answered as f64))
    }

    fn most<'b>(&self, seen: impl IntoIterator<Item = &'b ServiceUsage>) -> Vec<(ArmMeasure, f64)> {
        let (mut memory, mut threads) = (0, 0);
        for seen in seen {
            memory = memory.max(seen.memory_most);
            threads = threads.max(seen.threads_most);
        }
        let both = [(ArmMeasure::Memory, memory as f64), (ArmMeasure::Threads, f64::from(threads))];
        both.into_iter().filter(|(_, n)| *n > 0.0).collect()
    }
}

/// Geometric mean of the typical goal's bounds, or the lower one alone; and the lower one.
fn capacity(limit: &Limit) -> Option<(f64, f64)> {
    let lower = limit.lower?;
    if let Some(held) = limit.held {
        return Some((held, lower));
    }
    Some((limit.upper.map_or(lower, |upper| (lower * upper).sqrt()), lower))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::watch::{TreeWindow, Window};
    use record::{LimitUnit, Outcome, Slice};

    struct NullSink;

    impl Sink for NullSink {
        fn event(&mut self, _: &Event) {}
    }

    fn limit(lower: Option<f64>, upper: Option<f64>) -> Limit {
        Limit {
            goal: "typical".to_owned(),
            held: None,
            lower,
            upper,
            unit: LimitUnit::Requests,
            regular: true,
            good_trials: 1,
            bad_trials: 1,
            lower_due: 100,
            lower_bad: 0,
            throughput: lower,
        }
    }

    fn ended(limit: Limit, ended: SearchEnd) -> Event {
        let (limits, curve, loaded) = (vec![limit], Vec::new(), Nanos::from_secs(9));
        let verdict = Verdict::Limits {
            limits,
            ended,
            curve,
            detection_limit: 0.01,
            trials: 3,
            loaded,
            background: None,
            warmed_up: None,
            overloaded: None,
            generator: None,
        };
        Event::RunEnded(Box::new(record::RunEnd {
            at_unix_ms: 0,
            verdict: Some(verdict),
            exit_code: 0,
            error: None,
        }))
    }

    /// A trial of one second with this many answers, and the service's usage meanwhile.
    fn trial(number: u32, answers: u64, failed: u64, busy_ms: u64, invalid: &[CaveatKind]) -> [Event; 5] {
        let mut total = Slice { due: answers + failed, elapsed: Nanos::from_secs(1), ..Slice::default() };
        total.outcomes.add(Outcome::Ok, answers);
        total.outcomes.add(Outcome::Failed, failed);
        total.response.record_many(Nanos::from_millis(10), answers.max(1));
        let service = TreeWindow {
            cpu_ns: busy_ms * 1_000_000,
            rss_bytes: u64::from(number) << 20,
            threads: 7,
            ..TreeWindow::default()
        };
        let window = Window { subjects: vec![service], ..Window::default() };
        let result = TrialResult {
            purpose: Purpose::Load,
            rate: Rate(answers as f64),
            planned: Nanos::from_secs(1),
            loaded: Nanos::from_secs(1),
            drain: Nanos::ZERO,
            hopeless: false,
            total,
            recovery: Recovery::NotNeeded,
            caveats: Vec::new(),
            members: Vec::new(),
        };
        let invalid = invalid.iter().map(|doubt| Caveat::new(doubt.clone(), "for a reason")).collect();
        let judgement = Judgement { loss: 0.0, good: failed == 0, growth_per_second: None, invalid };
        let slice = |index: u32, ok: u64| {
            let mut slice = Slice { index, elapsed: Nanos::from_secs(1), ..Slice::default() };
            slice.outcomes.add(Outcome::Ok, ok);
            Event::SliceDone { trial: number, slice: Box::new(slice) }
        };
        // Outstanding requests are answered after the end.
        let late = answers / 5;
        [
            Event::TrialStarted {
                trial: number,
                purpose: Purpose::Load,
                rate: None,
                duration: Some(Nanos::from_secs(1)),
                at_unix_ms: 0,
            },
            slice(0, answers - late),
            slice(1, late),
            Event::Observed { trial: number, place: String::new(), window: Box::new(window) },
            Event::TrialDone { trial: number, result: Box::new(result), judgement },
        ]
    }

    fn taken(at: LoadLevel, events: impl IntoIterator<Item = Event>) -> MeasurementResult {
        let mut nobody = NullSink;
        let mut measurement = MeasurementSink::new(&mut nobody);
        events.into_iter().for_each(|event| measurement.event(&event));
        measurement.into_figures(0, at, RunId("a".to_owned()), None)
    }

    fn figure(taken: &MeasurementResult, measure: ArmMeasure) -> Option<f64> {
        taken.figures.iter().find(|(m, _)| *m == measure).map(|(_, figure)| *figure)
    }

    #[test]
    fn a_search_gives_the_middle_of_its_bounds_and_the_cost_below_them() {
        let trials = [trial(1, 50, 0, 100, &[]), trial(2, 100, 0, 300, &[]), trial(3, 150, 40, 900, &[])];
        let events = trials.into_iter().flatten();
        let found = taken(
            LoadLevel::Limit,
            events.chain([ended(limit(Some(100.0), Some(121.0)), SearchEnd::Converged)]),
        );
        assert_eq!(figure(&found, ArmMeasure::Capacity).map(f64::round), Some(110.0));
        assert_eq!(figure(&found, ArmMeasure::Cpu), Some(0.003), "of the good trial at the lower bound");
        assert_eq!(figure(&found, ArmMeasure::Memory), Some(f64::from(3 << 20)), "of all of them");
        assert!(!found.at_least && found.caveats.is_empty());

        let open = taken(LoadLevel::Limit, [ended(limit(Some(100.0), None), SearchEnd::GeneratorLimit)]);
        assert_eq!((figure(&open, ArmMeasure::Capacity), open.at_least), (Some(100.0), true));
        let none = taken(LoadLevel::Limit, [ended(limit(None, None), SearchEnd::TargetFails)]);
        assert!(none.figures.is_empty() && none.caveats[0].to_string().contains("only errors"), "{none:?}");
    }

    #[test]
    fn a_load_that_the_generator_spoilt_counts_only_as_a_lower_bound_of_a_closed_loop() {
        let rate = LoadLevel::Rate(Rate(100.0));
        let good = taken(rate, trial(1, 100, 0, 200, &[]));
        assert_eq!(
            figure(&good, ArmMeasure::Throughput),
            Some(80.0),
            "what came after the load is of no rate"
        );
        assert_eq!(figure(&good, ArmMeasure::Cpu), Some(0.002));
        assert!(figure(&good, ArmMeasure::P99).is_some_and(|p99| (p99 - 0.01).abs() < 0.001));
        assert_eq!(figure(&good, ArmMeasure::Threads), Some(7.0));

        let spoilt = taken(rate, trial(1, 100, 0, 200, &[CaveatKind::GeneratorBusy]));
        assert!(
            spoilt.figures.is_empty() && spoilt.caveats[0].doubt == CaveatKind::GeneratorBusy,
            "{spoilt:?}"
        );
        let closed = taken(LoadLevel::Connections(9), trial(1, 100, 5, 200, &[CaveatKind::GeneratorBusy]));
        assert!(closed.at_least && figure(&closed, ArmMeasure::Throughput) == Some(80.0), "{closed:?}");
        assert!(closed.caveats.iter().any(|c| c.to_string().starts_with("5 of 105 requests")), "{closed:?}");
        let lost = taken(LoadLevel::Connections(9), trial(1, 100, 0, 200, &[CaveatKind::WorkerLost]));
        assert!(lost.figures.is_empty() && lost.caveats[0].doubt == CaveatKind::WorkerLost, "{lost:?}");

        let mut stolen = trial(1, 100, 0, 200, &[]);
        let Event::TrialDone { result, .. } = &mut stolen[4] else { panic!("the last") };
        result.caveats.push(Caveat::new(CaveatKind::Steal, "for others"));
        let stolen = taken(LoadLevel::Connections(9), stolen);
        assert!(!stolen.at_least && stolen.caveats[0].doubt == CaveatKind::Steal, "{stolen:?}");
    }
}
