//! Synthetic runs: the events a search or a load would have emitted.

#[allow(dead_code, reason = "not every test makes experiments, nor loads")]
pub mod experiment;
pub mod watched;

use record::{
    Caveat, CaveatKind, CurvePoint, Event, Failure, GeneratorCapacity, Judgement, Limit, LimitUnit, Machine,
    Outcome, Purpose, Recovery, RunId, RunKind, SearchEnd, Silence, Slice, TrialResult, Verdict,
    WarmUpResult,
};
use std::path::PathBuf;
use torment_view::{ProgressLog, RunView, Text};
use units::{Nanos, Rate};

/// Builds a run's events.
pub struct RunBuilder {
    pub events: Vec<Event>,
    trial: u32,
}

/// A synthetic trial.
#[derive(Clone)]
pub struct LoadBuilder {
    pub purpose: Purpose,
    pub rate: f64,
    pub seconds: u64,
    pub bad: Vec<(Outcome, u64)>,
    pub failures: Vec<(Failure, u64)>,
    pub growth: Option<f64>,
    pub good: bool,
    pub invalid: Vec<Caveat>,
    pub caveats: Vec<Caveat>,
    pub recovery: Recovery,
    pub hopeless: bool,
    pub loaded: Option<u64>,
    pub still: Vec<Silence>,
    pub left: u64,
    pub resent: u64,
}

pub fn load(purpose: Purpose, rate: f64, seconds: u64) -> LoadBuilder {
    LoadBuilder {
        purpose,
        rate,
        seconds,
        bad: Vec::new(),
        failures: Vec::new(),
        growth: None,
        good: true,
        invalid: Vec::new(),
        caveats: Vec::new(),
        recovery: Recovery::NotNeeded,
        hopeless: false,
        loaded: None,
        still: Vec::new(),
        left: 0,
        resent: 0,
    }
}

impl LoadBuilder {
    pub fn bad(mut self, outcome: Outcome, count: u64) -> Self {
        self.bad.push((outcome, count));
        self.good = false;
        self
    }
    pub fn failed(mut self, failure: Failure, count: u64) -> Self {
        self.failures.push((failure, count));
        self.bad(Outcome::Failed, count)
    }
    /// Freezes for `length` milliseconds from `from` on.
    pub fn still(mut self, from: u64, length: u64) -> Self {
        let waiting = (self.rate * length as f64 / 1e3) as u64;
        let [from, to] = [from, from + length].map(Nanos::from_millis);
        self.still.push(Silence { from, to, waiting, freed: Some(waiting) });
        self
    }
    /// So many are outstanding throughout.
    pub fn left(mut self, waiting: u64) -> Self {
        self.left = waiting;
        self
    }
    pub fn resent(mut self, count: u64) -> Self {
        self.resent = count;
        self
    }
    pub fn grows(mut self, per_second: f64) -> Self {
        self.growth = Some(per_second);
        self.good = false;
        self
    }
    pub fn void(mut self, code: &str, text: &str) -> Self {
        self.invalid.push(Caveat::new(CaveatKind::from(code.to_owned()), text));
        self
    }

    fn slice(&self, index: u32, of: u64) -> Slice {
        let part = |total: u64| total * (u64::from(index) + 1) / of - total * u64::from(index) / of;
        let mut slice = Slice {
            index,
            due: self.rate.round() as u64,
            elapsed: Nanos::from_secs(1),
            loops: 1,
            ..Slice::default()
        };
        slice.sent = slice.due;
        slice.resent = part(self.resent);
        let mut good = slice.due;
        for (outcome, count) in &self.bad {
            let count = part(*count).min(good);
            good -= count;
            slice.outcomes.add(*outcome, count);
        }
        for (failure, count) in &self.failures {
            *slice.failures.entry(failure.clone()).or_default() += part(*count);
            if let Failure::Status(code) = failure {
                *slice.statuses.entry(*code).or_default() += part(*count);
            }
        }
        slice.outcomes.add(Outcome::Ok, good);
        if good > 0 {
            slice.statuses.insert(200, good);
        }
        for i in 0..good {
            // One in a hundred is slower, one in a thousand much slower.
            let us =
                500 + i % 100 + if i % 100 == 99 { 200 } else { 0 } + if i % 1000 == 999 { 3000 } else { 0 };
            // Arrivals after the first second wait for the outstanding ones.
            let us = us + if index > 0 { self.left * 1_000_000 / slice.due } else { 0 };
            slice.response.record(Nanos::from_micros(us));
            slice.service.record(Nanos::from_micros(us - 20));
            slice.lateness.record(Nanos::from_micros(20));
            slice.pacing.record(Nanos::from_micros(3));
        }
        let growth = self.growth.unwrap_or(0.0);
        slice.outstanding =
            (0..10).map(|b| 1.0 + growth * (f64::from(index) + f64::from(b) / 10.0)).collect();
        slice.in_flight = 1 + (growth * f64::from(index + 1)) as u64;
        slice.in_flight += self.left;
        slice.outstanding_ns = self.left * 1_000_000_000;
        slice.connections = 4;
        slice.received_bytes = good * 512;
        slice.cpu = Nanos::from_millis(80);
        let within = |at: Nanos| at.0 / 1_000_000_000 == u64::from(index);
        slice.silences = self.still.iter().filter(|silence| within(silence.to)).copied().collect();
        slice
    }
}

impl RunBuilder {
    pub fn start(command: &str) -> Self {
        let started = Event::RunStarted(Box::new(record::RunStart {
            id: RunId("20261120-161502-k3f".to_owned()),
            at_unix_ms: 1_795_191_302_000,
            version: "0.1.0".to_owned(),
            method: record::METHOD,
            command: RunKind::from(command.to_owned()),
            target: "http://127.0.0.1:8080/queue?us=500".to_owned(),
            goal: "zero-drop".to_owned(),
            plan: "target = \"http://127.0.0.1:8080/queue?us=500\"\n".to_owned(),
            parts: Vec::new(),
            machine: Machine {
                host: "hill".to_owned(),
                processor: "Abacus 3000".to_owned(),
                cpus: 2,
                memory_bytes: 8 << 30,
                kernel: "6.12.0".to_owned(),
            },
            part_of: None,
            label: record::Label::default(),
        }));
        Self { events: vec![started], trial: 0 }
    }

    /// The progress log.
    pub fn progress(&self) -> Vec<Text> {
        let (mut progress, mut view) = (ProgressLog::default(), RunView::default());
        let say = |event: &Event| {
            let said = progress.event_lines(&view, event);
            view.fold(event);
            said
        };
        self.events.iter().flat_map(say).collect()
    }

    /// Begins a trial and plays `seconds` of it.
    pub fn begin(mut self, load: &LoadBuilder, seconds: u64) -> Self {
        self.trial += 1;
        self.events.push(Event::TrialStarted {
            trial: self.trial,
            purpose: load.purpose,
            rate: Some(Rate(load.rate)),
            duration: Some(Nanos::from_secs(load.seconds)),
            at_unix_ms: 1_795_191_303_000 + u64::from(self.trial) * 12_000,
        });
        for index in 0..seconds {
            let slice = load.slice(index as u32, load.seconds);
            self.events.push(Event::SliceDone { trial: self.trial, slice: Box::new(slice) });
        }
        self
    }

    pub fn trial(self, load: LoadBuilder) -> Self {
        let seconds = load.loaded.unwrap_or(load.seconds);
        let mut run = self.begin(&load, seconds);
        let mut total = Slice::default();
        (0..seconds).for_each(|index| total.merge_after(&load.slice(index as u32, load.seconds)));
        let loss = total.outcomes.bad() as f64 / total.due as f64;
        let implied = load.growth.unwrap_or(0.0) * seconds as f64 / total.due as f64;
        let result = TrialResult {
            purpose: load.purpose,
            rate: Rate(load.rate),
            planned: Nanos::from_secs(load.seconds),
            loaded: Nanos::from_secs(seconds),
            drain: Nanos::from_millis(100),
            hopeless: load.hopeless,
            total,
            recovery: load.recovery,
            caveats: load.caveats,
            members: Vec::new(),
        };
        let judgement = Judgement {
            loss: loss.max(implied),
            good: load.good,
            growth_per_second: load.growth,
            invalid: load.invalid,
        };
        run.events.push(Event::TrialDone { trial: run.trial, result: Box::new(result), judgement });
        run
    }

    pub fn bounds(mut self, limits: Vec<Limit>) -> Self {
        self.events.push(Event::Bounds { limits, making: None });
        self
    }

    pub fn doubt(mut self, code: &str, text: &str) -> Self {
        self.events.push(Event::Caveat { caveat: Caveat::new(CaveatKind::from(code.to_owned()), text) });
        self
    }

    pub fn found(self, ended: SearchEnd, limits: Vec<Limit>, curve: Vec<CurvePoint>) -> Self {
        self.made(ended, limits, curve, None)
    }

    /// With the generator's capacity.
    pub fn made(
        self,
        ended: SearchEnd,
        limits: Vec<Limit>,
        curve: Vec<CurvePoint>,
        generator: Option<GeneratorCapacity>,
    ) -> Self {
        let trials = self.trial;
        let verdict = Verdict::Limits {
            limits,
            ended,
            curve,
            detection_limit: 0.006,
            trials,
            loaded: Nanos::from_secs(71),
            background: None,
            warmed_up: Some(WarmUpResult { loaded: Nanos::from_secs(41), answered: 9_300, times: 6.04 }),
            overloaded: None,
            generator,
        };
        self.end(Some(verdict), 0, None)
    }

    /// Ends a load with its trial's result.
    pub fn judged(self, met: Option<bool>) -> Self {
        let Some(Event::TrialDone { result, judgement, .. }) = self.events.last() else {
            panic!("no trial yet")
        };
        let outcomes = result.total.outcomes;
        let verdict = Verdict::Goal { met, goal: "zero-drop".to_owned(), outcomes, loss: judgement.loss };
        self.end(Some(verdict), if met == Some(true) { 0 } else { 99 }, None)
    }

    pub fn end(mut self, verdict: Option<Verdict>, exit_code: u8, error: Option<&str>) -> Self {
        let error = error.map(str::to_owned);
        self.events.push(Event::RunEnded(Box::new(record::RunEnd {
            at_unix_ms: 1_795_191_400_000,
            verdict,
            exit_code,
            error,
        })));
        self
    }
}

pub fn limit(goal: &str, lower: Option<f64>, upper: Option<f64>) -> Limit {
    let good = lower.map_or(0, |_| 3);
    Limit {
        held: None,
        goal: goal.to_owned(),
        lower,
        upper,
        unit: LimitUnit::Requests,
        regular: lower.is_some() && upper.is_some(),
        good_trials: good,
        bad_trials: upper.map_or(0, |_| 1),
        lower_due: lower.map_or(0, |l| (l * 30.0) as u64),
        lower_bad: 0,
        throughput: lower,
    }
}

pub fn pair(lower: Option<f64>, upper: Option<f64>) -> Vec<Limit> {
    vec![limit("strict", lower, upper), limit("typical", lower, upper)]
}

pub fn curve(capacity: f64) -> Vec<CurvePoint> {
    [(0.25, 520, 0.3), (0.5, 700, 0.8), (0.8, 1500, 2.6), (0.9, 2600, 5.1), (0.95, 5200, 10.0)]
        .into_iter()
        .map(|(share, us, outstanding)| CurvePoint {
            share,
            rate: Rate(capacity * share),
            due: (capacity * share * 5.0) as u64,
            response_p50: Nanos::from_micros(us),
            response_p99: Nanos::from_micros(us * 3),
            response_max: Nanos::from_micros(us * 4),
            outstanding,
            response_mean: Nanos::from_micros(us + 50),
        })
        .collect()
}

/// Compares with a golden file, or writes it.
pub fn check(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, text).expect("the folder of golden files can be written");
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == golden, "{name} differs; BLESS=1 accepts this:\n{text}");
}
