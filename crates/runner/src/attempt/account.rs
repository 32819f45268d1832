//! What one measurement comes to: its events, folded into the figures that experiments compare.

use crate::Sink;
use plan::{At, Measure};
use record::{
    Caveat, Diagnosis, Ended, Event, Judgement, Limit, Purpose, RunId, Taken, TrialResult, Verdict,
};
use std::collections::BTreeMap;
use units::{Nanos, Rate};

/// Passes everything on, and keeps what counts.
pub(super) struct Account<'a> {
    sink: &'a mut dyn Sink,
    trials: Vec<(u32, TrialResult, Judgement)>,
    seen: BTreeMap<u32, Seen>,
    caveats: Vec<Caveat>,
    diagnosis: Option<Diagnosis>,
    verdict: Option<Verdict>,
}

/// Of the service, within one trial.
#[derive(Default)]
struct Seen {
    cpu: Nanos,
    memory_most: u64,
    threads_most: u32,
}

impl Sink for Account<'_> {
    fn event(&mut self, event: &Event) {
        match event {
            Event::TrialDone { trial, result, judgement } => {
                self.trials.push((*trial, (**result).clone(), judgement.clone()));
            }
            Event::Observed { trial, window } => {
                if let Some(service) = window.subjects.first() {
                    let seen = self.seen.entry(*trial).or_default();
                    seen.cpu += Nanos(service.cpu_ns);
                    seen.memory_most = seen.memory_most.max(service.rss_bytes);
                    seen.threads_most = seen.threads_most.max(service.threads);
                }
            }
            Event::Doubt { caveat } => self.caveats.push(caveat.clone()),
            Event::Diagnosed { diagnosis } => self.diagnosis = Some((**diagnosis).clone()),
            Event::RunEnded { verdict, .. } => self.verdict.clone_from(verdict),
            _ => {}
        }
        self.sink.part(event);
    }
}

impl<'a> Account<'a> {
    pub fn new(sink: &'a mut dyn Sink) -> Self {
        Self {
            sink,
            trials: Vec::new(),
            seen: BTreeMap::new(),
            caveats: Vec::new(),
            diagnosis: None,
            verdict: None,
        }
    }

    /// The figures of a probe. None of them if the measurement must not be counted; a caveat then says why.
    pub fn taken(mut self, probe: usize, at: At, run: RunId, rate: Option<Rate>) -> Taken {
        let (figures, at_least) = match at {
            At::Limit => self.of_search(),
            At::Rate(_) | At::Share(_) | At::Connections(_) => self.of_load(at),
        };
        let diagnosis = self.diagnosis.unwrap_or_default();
        let says = diagnosis.sentences.first().cloned().unwrap_or_default();
        let cause = diagnosis.cause();
        Taken { probe, run, rate, figures, at_least, cause, says, caveats: self.caveats }
    }

    fn of_search(&mut self) -> (Vec<(Measure, f64)>, bool) {
        let Some(Verdict::Limits { limits, ended, .. }) = &self.verdict else {
            self.doubt("no-limit", "the search came to no verdict");
            return (Vec::new(), false);
        };
        let at_least = matches!(ended, Ended::MaxReached | Ended::GeneratorLimit);
        let Some((capacity, lower)) = limits.last().and_then(capacity) else {
            let text = match ended {
                Ended::TargetFails => "only errors came back",
                Ended::BelowMin => "the lowest rate failed already: lower [find] from",
                Ended::NotRecovered => "the target did not come back after an overload",
                _ => "the search ended before it found a rate that holds",
            };
            self.doubt("no-limit", text);
            return (Vec::new(), false);
        };
        if *ended == Ended::NonStationary {
            self.doubt("non-stationary", "the target kept changing during the search");
        }
        let mut figures = vec![(Measure::Capacity, capacity)];
        // The good trial next below the limit: a queue costs processor time of its own.
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
        figures.extend(self.most(self.seen.values()));
        (figures, at_least)
    }

    fn of_load(&mut self, at: At) -> (Vec<(Measure, f64)>, bool) {
        let Some((trial, result, judgement)) =
            self.trials.iter().find(|(_, r, _)| r.purpose == Purpose::Load)
        else {
            self.doubt("no-load", "no load was made");
            return (Vec::new(), false);
        };
        let is_closed = matches!(at, At::Connections(_));
        self.caveats.splice(0..0, judgement.invalid.iter().cloned());
        if !is_closed && !judgement.invalid.is_empty() {
            return (Vec::new(), false);
        }
        let outcomes = &result.total.outcomes;
        let (ok, bad) = (outcomes.ok + outcomes.late, outcomes.bad());
        if bad > 0 {
            let why = result.total.failures.iter().max_by_key(|(_, count)| **count);
            let why = why.map_or(String::new(), |(why, _)| format!(", most of them: {why}"));
            let text = format!("{bad} of {} requests were not answered{why}", result.total.due);
            self.caveats.push(Caveat::new("not-answered", text));
        }
        let mut figures = vec![(Measure::Throughput, ok as f64 / result.loaded.as_secs_f64().max(1e-9))];
        for (measure, q) in [(Measure::P50, 0.5), (Measure::P99, 0.99), (Measure::Max, 1.0)] {
            let time = result.total.response.quantile(q);
            figures.extend(time.map(|time| (measure, time.as_secs_f64())));
        }
        figures.extend(self.cpu(*trial, result));
        figures.extend(self.most(self.seen.get(trial)));
        // Of a closed loop the generator may be the limit: what it got through is then a lower bound.
        (figures, is_closed && !judgement.invalid.is_empty())
    }

    fn cpu(&self, trial: u32, result: &TrialResult) -> Option<(Measure, f64)> {
        let answered = result.total.outcomes.ok + result.total.outcomes.late;
        let seen = self.seen.get(&trial)?;
        (answered > 0 && seen.cpu > Nanos::ZERO)
            .then(|| (Measure::Cpu, seen.cpu.as_secs_f64() / answered as f64))
    }

    fn most<'b>(&self, seen: impl IntoIterator<Item = &'b Seen>) -> Vec<(Measure, f64)> {
        let (mut memory, mut threads) = (0, 0);
        for seen in seen {
            memory = memory.max(seen.memory_most);
            threads = threads.max(seen.threads_most);
        }
        let both = [(Measure::Memory, memory as f64), (Measure::Threads, f64::from(threads))];
        both.into_iter().filter(|(_, n)| *n > 0.0).collect()
    }

    fn doubt(&mut self, code: &str, text: &str) {
        self.caveats.push(Caveat::new(code, text));
    }
}

/// The middle of the bounds of the typical goal (on a logarithmic scale), or the lower one alone; and the lower one.
fn capacity(limit: &Limit) -> Option<(f64, f64)> {
    let lower = limit.lower?;
    Some((limit.upper.map_or(lower, |upper| (lower * upper).sqrt()), lower))
}
