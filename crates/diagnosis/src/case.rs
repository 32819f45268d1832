//! What every rule is given: the degraded part of a run beside the part where the target was well.

use crate::bystanders::Bystanders;
use crate::recording::{Recording, Second};
use crate::steps::{Part, Steps};
use crate::workers::Workers;
use record::watch::{Look, Role, Subject, SubjectWindow, Watched, Window};
use record::{Caveat, Costs, Failure, Lack, Outcome, Station, Use};
use std::collections::BTreeMap;
use std::ops::Deref;
use units::Nanos;

/// A run, divided and merged.
pub(crate) struct Case<'a> {
    pub watched: &'a Watched,
    /// What the machine was measured to cost.
    pub costs: Option<&'a Costs>,
    /// Where the target was degraded.
    pub bad: Condition<'a>,
    /// Where it was well; none if it never was, or was not looked at then.
    pub well: Option<Condition<'a>>,
    /// Threads of the service that serve nobody.
    pub bystanders: Bystanders,
    /// What was looked at once.
    pub looks: Vec<&'a Look>,
    /// Why trials were void, if that was for the generator.
    pub void: Vec<&'a Caveat>,
    /// Arrivals that failed because torment lacked something, in these trials and the degraded ones.
    pub lacking: BTreeMap<Lack, u64>,
    /// Later seconds of the same load, at the same rate, were well.
    pub recovered: bool,
    /// The trial in which it first was degraded.
    pub since: Option<u32>,
}

/// One part of a run: what was offered, how that went, and what was seen.
pub(crate) struct Condition<'a> {
    pub load: LoadThere,
    /// All windows as one; of no length if nothing was seen.
    pub all: Window,
    /// Each window.
    pub each: Vec<Moment<'a>>,
    /// The subject that the load meets; `all.subjects` may be empty.
    service: SubjectWindow,
    /// Its workers, if it has any.
    pub workers: Option<Workers>,
}

/// A window, and what was outstanding meanwhile: one of a growing queue is not like the average of all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment<'a> {
    pub window: &'a Window,
    /// Arrivals, on average.
    pub outstanding: f64,
}

impl Deref for Moment<'_> {
    type Target = Window;

    fn deref(&self) -> &Window {
        self.window
    }
}

/// Load and answers.
#[derive(Debug, Clone, Default)]
pub(crate) struct LoadThere {
    /// Arrivals a second.
    pub offered: f64,
    /// Answers as expected, a second.
    pub answered: f64,
    /// Arrivals outstanding, on average.
    pub outstanding: f64,
    /// The most outstanding in any second.
    pub most_outstanding: f64,
    /// Sent and not done, due and not sent, connections: on average over the ends of the seconds.
    pub in_flight: f64,
    pub backlog: f64,
    pub connections: f64,
    /// torment's loops, and the processors they used.
    pub loops: f64,
    pub loops_cpu: f64,
    /// Median over the seconds of their medians and p99s.
    pub response_p50: Option<f64>,
    pub response_p99: Option<f64>,
    /// The generator's own delay, the median second's p99.
    pub pacing_p99: Option<f64>,
    pub timeouts: u64,
    pub failures: BTreeMap<Failure, u64>,
    pub seconds: f64,
}

impl LoadThere {
    fn of(seconds: &[&Second]) -> Self {
        let time: Nanos = seconds.iter().fold(Nanos::ZERO, |sum, s| sum + s.elapsed);
        let span = time.as_secs_f64().max(f64::MIN_POSITIVE);
        let mut failures: BTreeMap<Failure, u64> = BTreeMap::new();
        for (failure, count) in seconds.iter().flat_map(|s| &s.failures) {
            *failures.entry(failure.clone()).or_default() += count;
        }
        let sum = |of: &dyn Fn(&Second) -> u64| seconds.iter().map(|s| of(s)).sum::<u64>();
        let mean = |of: &dyn Fn(&Second) -> f64| {
            seconds.iter().map(|s| of(s) * s.elapsed.as_secs_f64()).sum::<f64>() / span
        };
        Self {
            offered: sum(&|s| s.due) as f64 / span,
            answered: mean(&Second::answered),
            outstanding: mean(&|s| s.outstanding),
            in_flight: mean(&|s| s.in_flight as f64),
            backlog: mean(&|s| s.backlog as f64),
            connections: mean(&|s| s.connections as f64),
            loops: seconds.iter().map(|s| f64::from(s.loops)).fold(0.0, f64::max),
            loops_cpu: sum(&|s| s.cpu.0) as f64 / 1e9 / span,
            most_outstanding: seconds.iter().map(|s| s.outstanding).fold(0.0, f64::max),
            response_p50: median(seconds.iter().filter_map(|s| s.response_p50)),
            response_p99: median(seconds.iter().filter_map(|s| s.response_p99)),
            pacing_p99: median(seconds.iter().filter_map(|s| s.pacing_p99)),
            timeouts: sum(&|s| s.outcomes.get(Outcome::Timeout)),
            failures,
            seconds: time.as_secs_f64(),
        }
    }

    /// How many arrivals failed for a reason of which this is true.
    pub fn failed(&self, is: impl Fn(&Failure) -> bool) -> u64 {
        self.failures.iter().filter(|(failure, _)| is(failure)).map(|(_, count)| count).sum()
    }
}

fn median(times: impl Iterator<Item = Nanos>) -> Option<f64> {
    let mut times: Vec<Nanos> = times.collect();
    times.sort_unstable();
    times.get(times.len() / 2).map(|time| time.as_secs_f64())
}

impl<'a> Condition<'a> {
    /// Without its workers: who those are is known when there are two sides to compare.
    fn of(part: &Part<'a>) -> Self {
        let load = LoadThere::of(&part.seconds);
        let each: Vec<Moment<'a>> =
            part.windows.iter().map(|&(window, outstanding)| Moment { window, outstanding }).collect();
        let all = Window::merged(each.iter().map(|moment| moment.window));
        let service = all.subjects.first().cloned().unwrap_or_default();
        Self { load, all, each, service, workers: None }
    }

    /// The subject that the load meets.
    pub fn service(&self) -> &SubjectWindow {
        &self.service
    }

    /// All of it as one moment.
    pub fn whole(&self) -> Moment<'_> {
        Moment { window: &self.all, outstanding: self.load.outstanding }
    }

    /// Seconds that were seen.
    pub fn seen(&self) -> f64 {
        self.all.length().as_secs_f64()
    }

    /// A counter as a rate per second.
    pub fn per_second(&self, count: u64) -> f64 {
        count as f64 / self.seen().max(f64::MIN_POSITIVE)
    }

    /// In how many of the windows it holds, as a share and as a count.
    pub fn holds(&self, is: impl Fn(&Moment<'_>) -> bool) -> (f64, u32) {
        let count = self.each.iter().filter(|moment| is(moment)).count();
        (count as f64 / self.each.len().max(1) as f64, count as u32)
    }
}

/// Nanoseconds of all threads ÷ nanoseconds of the window.
fn average(ns: u64, window: Nanos) -> f64 {
    ns as f64 / (window.0 as f64).max(1.0)
}

/// Processors used by a subject: by its threads where they were seen, else by its processes.
pub(crate) fn cpu(subject: &SubjectWindow, length: Nanos) -> f64 {
    let threads: u64 = subject.groups.iter().map(|group| group.on_cpu_ns).sum();
    average(threads.max(subject.cpu_ns), length)
}

/// Threads of a subject that were ready and waited for a processor.
pub(crate) fn runnable(subject: &SubjectWindow, length: Nanos) -> f64 {
    let delay: u64 = subject.groups.iter().map(|group| group.run_delay_ns).sum();
    // Delay is charged when a thread gets its processor: one that starves shows in the looks alone.
    let running: f64 = subject
        .groups
        .iter()
        .flat_map(|group| &group.states)
        .filter(|state| state.wait == record::watch::Wait::Running)
        .map(|state| state.threads)
        .sum();
    average(delay, length).max(running - cpu(subject, length))
}

impl<'a> Case<'a> {
    /// None if the target was never degraded, or nothing was seen of it when it was.
    pub fn of(recording: &'a Recording, watched: &'a Watched, steps: &Steps<'a>) -> Self {
        let mut bad = Condition::of(&steps.bad);
        let mut well =
            Some(Condition::of(&steps.well)).filter(|w| !w.each.is_empty() || w.load.seconds > 0.0);
        let bystanders =
            well.as_ref().map_or_else(Bystanders::default, |well| Bystanders::between(well, &bad));
        let about = watched.subjects.first();
        for side in std::iter::once(&mut bad).chain(&mut well) {
            side.workers = Workers::find(&side.service, about, &bystanders);
        }
        let used = |number: &u32| steps.bad.trials.contains(number);
        let looks = recording.trials.iter().filter(|t| used(&t.number)).flat_map(|t| &t.looks).collect();
        let void =
            |trial: &&&crate::recording::Trial| steps.void.iter().any(|void| void.number == trial.number);
        let mut lacking = BTreeMap::new();
        for trial in recording.trials.iter().filter(|trial| used(&trial.number) || void(&trial)) {
            for (failure, count) in trial.seconds.iter().flat_map(|second| &second.failures) {
                if let Failure::Lacking(lack) = failure {
                    *lacking.entry(*lack).or_default() += count;
                }
            }
        }
        let invalid = |trial: &&'a crate::recording::Trial| trial.end.iter().flat_map(|end| &end.invalid);
        Self {
            watched,
            costs: recording.costs.as_ref(),
            since: steps.bad.trials.iter().min().copied(),
            well,
            bad,
            bystanders,
            looks,
            recovered: steps.recovered,
            lacking,
            void: steps.void.iter().flat_map(invalid).collect(),
        }
    }

    /// The service as it was looked for.
    pub fn about(&self) -> Option<&'a Subject> {
        self.watched.subjects.first()
    }

    /// Its workers in a window, if it has any.
    pub fn workers(&self, subject: &SubjectWindow) -> Option<Workers> {
        Workers::find(subject, self.about(), &self.bystanders)
    }

    /// What people call it. A target that is torment itself is the built-in service, and not to be taken for the generator.
    pub fn name(&self) -> &str {
        match self.about() {
            Some(subject) if subject.name == "torment" => "the built-in service",
            Some(subject) if !subject.name.is_empty() => &subject.name,
            _ => "the service",
        }
    }

    /// Processors the service may use.
    pub fn cpus(&self) -> f64 {
        let host = self.bad.all.host.as_ref().map_or(1.0, |host| f64::from(host.cpus));
        self.about().map(|subject| subject.cpus).filter(|cpus| *cpus > 0.0).unwrap_or(host)
    }

    /// Processors the service used while degraded.
    pub fn cpu(&self) -> f64 {
        cpu(self.bad.service(), self.bad.all.length())
    }

    /// Its threads that were ready and waited for one.
    pub fn runnable(&self) -> f64 {
        runnable(self.bad.service(), self.bad.all.length())
    }

    /// The process trees behind the service that are watched.
    pub fn downstreams(&self) -> impl Iterator<Item = (&'a Subject, &SubjectWindow)> {
        let pairs = self.watched.subjects.iter().zip(&self.bad.all.subjects);
        pairs.filter(|(subject, _)| subject.role == Role::Downstream)
    }

    /// Looks at threads that were made, of those that were due.
    pub fn coverage(&self) -> f64 {
        let Some(sweep) = &self.bad.service().sweep else { return 1.0 };
        let done = f64::from(sweep.done) / f64::from(sweep.due.max(1));
        let seen = if sweep.looked_at > 0.0 { sweep.readable / sweep.looked_at } else { 1.0 };
        (done * seen).min(1.0)
    }

    /// The service's figure while it was well, from the same function.
    pub fn when_well<T>(&self, of: impl Fn(&Condition<'a>) -> T) -> Option<T> {
        self.well.as_ref().filter(|well| !well.each.is_empty()).map(of)
    }

    /// A station, and what was in use there: while it was well, and where it was not.
    pub fn station(&self, named: Station, there: impl Fn(&Condition<'a>) -> Option<Use>) -> Station {
        Station { well: self.when_well(&there).flatten(), degraded: there(&self.bad), ..named }
    }
}

impl Case<'_> {
    /// Processors the service used, or none if the service is the database itself.
    pub fn cpu_beside_postgres(&self) -> f64 {
        if self.about().is_some_and(|subject| subject.is_postgres) { 0.0 } else { self.cpu() }
    }
}
