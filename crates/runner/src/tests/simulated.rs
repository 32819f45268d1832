//! A target in virtual time, to test a runner's decisions without spending any.
//!
//! First come, first served: when a request arrives, its completion time is already certain.

use crate::Sink;
use crate::stop_flag::StopFlag;
use engine::{ClockSample, LoadCommand, LoadGenerator, OfferedLoad};
use plan::Plan;
use record::{
    BLOCK, Event, Failure, LostMember, MemberFigures, Outcome, SLICE, Slice, SliceMerger, TrialCounts,
};
use schedule::Schedule;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use sys::Ticks;
use units::Nanos;

/// An arrival later than this is unsent, as in the engine.
const UNSENT_AFTER: Nanos = Nanos::from_millis(100);
/// How often to check for a stop, as in the engine.
const STOP_POLL: Nanos = Nanos::from_millis(50);

/// A target, the machine that makes the load, and a user who may interrupt.
pub(crate) struct SimulatedTarget {
    /// Requests served at once; `None`: all.
    pub servers: Option<usize>,
    /// Service time of each.
    pub service: Nanos,
    /// When a request is given up.
    pub timeout: Nanos,
    /// When an answer is late.
    pub deadline: Option<Nanos>,
    /// Number of connections; requests beyond them wait.
    pub connections: u64,
    /// How the target breaks under too much load.
    pub collapse: Option<OverloadCollapse>,
    /// Every n-th request fails, for this reason.
    pub failures: Option<(u64, Failure)>,
    /// Share of the machine that the hypervisor gives to others.
    pub stolen: f64,
    /// Share of its time that the generator works.
    pub busy: f64,
    /// Requests a second the generator can make, each from a moment on; empty: unlimited.
    pub generator_rates: Vec<(Nanos, f64)>,
    /// The same with each further worker.
    pub grown_rates: Vec<f64>,
    /// Half-life of the warm-up: service starts three times as slow as in the end.
    pub warm_half_life: Option<Nanos>,
    /// When the user interrupts.
    pub interrupt_at: Option<Nanos>,
    /// Trials in which a worker is lost after a second, counted from 1.
    pub lossy_trials: Vec<u32>,
    pub state: SimulatedState,
}

/// State of a target so far.
#[derive(Default)]
pub(crate) struct SimulatedState {
    interrupted: Arc<AtomicBool>,
    now: Nanos,
    /// When the first request came.
    first_request: Option<Nanos>,
    /// When each busy server is free again.
    free: BinaryHeap<Reverse<Nanos>>,
    /// When the last request is done.
    last: Nanos,
    slow_until: Nanos,
    served: u64,
    trials: u32,
}

/// A target that gets slow once too many requests are outstanding.
#[derive(Clone, Copy)]
pub(crate) struct OverloadCollapse {
    /// Threshold of outstanding requests.
    pub threshold: usize,
    /// Slowdown factor.
    pub slowdown: u64,
    /// How long it stays slow.
    pub duration: Nanos,
}

impl SimulatedTarget {
    /// One server of 500 µs: 2,000/s.
    pub fn queue() -> Self {
        Self {
            servers: Some(1),
            service: Nanos::from_micros(500),
            timeout: Nanos::from_secs(5),
            deadline: None,
            connections: u64::MAX,
            collapse: None,
            failures: None,
            stolen: 0.0,
            busy: 0.1,
            generator_rates: Vec::new(),
            grown_rates: Vec::new(),
            warm_half_life: None,
            interrupt_at: None,
            lossy_trials: Vec::new(),
            state: SimulatedState::default(),
        }
    }

    /// Answers everything after this delay.
    pub fn delay(service: Nanos) -> Self {
        Self { servers: None, service, timeout: Nanos::from_secs(30), ..Self::queue() }
    }

    pub fn stop(&self) -> StopFlag {
        StopFlag::new(Arc::clone(&self.state.interrupted))
    }

    /// Time the generator takes for a request at this moment.
    fn generator_time(&self, now: Nanos) -> Nanos {
        let rate = self.generator_rates.iter().rfind(|(from, _)| *from <= now).map(|(_, rate)| *rate);
        rate.map_or(Nanos::ZERO, |rate| Nanos::from_secs_f64(1.0 / rate))
    }

    /// Moves virtual time to `to`.
    pub fn advance_to(&mut self, to: Nanos) {
        self.state.now = to;
        if self.interrupt_at.is_some_and(|at| to >= at) {
            self.state.interrupted.store(true, Ordering::Relaxed);
        }
    }

    /// How much longer a request that arrives at `at` takes because the target is still cold.
    fn warm_up_delay(&mut self, at: Nanos) -> Nanos {
        let Some(warms) = self.warm_half_life else { return Nanos::ZERO };
        let since = at - *self.state.first_request.get_or_insert(at);
        let halvings = since.as_secs_f64() / warms.as_secs_f64();
        Nanos::from_secs_f64(2.0 * self.service.as_secs_f64() * (-halvings).exp2())
    }

    /// When a request that arrives at `at` will be done, with this many before it.
    fn serve(&mut self, at: Nanos, outstanding: usize) -> Nanos {
        if let Some(breaks) = self.collapse.filter(|breaks| outstanding > breaks.threshold) {
            self.state.slow_until = Nanos(at.0.saturating_add(breaks.duration.0));
        }
        let times = self.collapse.filter(|_| at < self.state.slow_until).map_or(1, |breaks| breaks.slowdown);
        let idle = match self.servers {
            Some(servers) if self.state.free.len() >= servers => {
                self.state.free.pop().map_or(at, |Reverse(free)| free)
            }
            _ => at,
        };
        let done = at.max(idle) + self.service * times + self.warm_up_delay(at);
        if self.servers.is_some() {
            self.state.free.push(Reverse(done));
        }
        self.state.last = self.state.last.max(done);
        done
    }
}

impl LoadGenerator for SimulatedTarget {
    fn run_trial(
        &mut self,
        offer: &OfferedLoad,
        drain: Nanos,
        on_begin: &mut dyn FnMut(ClockSample),
        on_slice: &mut dyn FnMut(&Slice),
        next_command: &mut dyn FnMut(&Slice, Nanos) -> LoadCommand,
    ) -> TrialCounts {
        let before = self.now();
        on_begin(before);
        self.state.trials += 1;
        let loses = self.lossy_trials.contains(&self.state.trials);
        let began = self.state.now;
        let (duration, mut due) = match offer {
            OfferedLoad::Open(schedule) => (schedule.duration(), DueQueue::of(schedule)),
            OfferedLoad::Closed { connections, duration, .. } => {
                (duration.expect("a simulated load has an end"), DueQueue::closed(*connections))
            }
        };
        let mut counter = TrialCounter::new(duration, self);
        let mut merger = SliceMerger::new(1);
        let (mut stopped, mut idle, mut crowded) = (false, Nanos::ZERO, false);
        loop {
            let over = counter.load_ends + drain;
            let edge = if counter.at < counter.load_ends { counter.load_ends } else { over };
            let until =
                Nanos((counter.at.0 / STOP_POLL.0 + 1) * STOP_POLL.0).min(counter.slice_ends).min(edge);
            loop {
                let ends = counter.open.peek().map(|Reverse((end, _))| *end).filter(|end| *end <= until);
                let next = due.first().filter(|due| *due < until.min(counter.load_ends));
                match (ends, next) {
                    (Some(end), next) if next.is_none_or(|due| end <= due) => {
                        counter.decide(end);
                        due.answered(end);
                    }
                    (_, Some(at)) => {
                        due.pop();
                        counter.advance(at);
                        counter.slice.due += 1;
                        self.state.served += 1;
                        let failure = self
                            .failures
                            .as_ref()
                            .filter(|(each, _)| self.state.served.is_multiple_of(*each));
                        // It starts when the generator is done with the one before.
                        let taken = at.max(idle);
                        let unsent = !due.is_closed && taken - at > UNSENT_AFTER;
                        if unsent {
                            counter.slice.outcomes.add(Outcome::Unsent, 1);
                            continue;
                        }
                        idle = taken + self.generator_time(began + at);
                        if let Some((_, why)) = failure {
                            counter.fail(why);
                            due.answered(at + self.service);
                        } else {
                            let done = self.serve(began + taken, counter.open.len()) - began;
                            counter.send(at, taken, done);
                        }
                    }
                    _ => break,
                }
            }
            counter.advance(until);
            self.advance_to(began + until);
            let is_over = until >= counter.load_ends && (counter.open.is_empty() || until >= over);
            if is_over {
                counter.give_up();
            }
            if is_over || until >= counter.slice_ends {
                merger.add(0, &counter.cut());
            }
            if is_over {
                merger.finish_source(0, counter.load_ends);
            }
            while let Some(slice) = merger.next_complete() {
                crowded |= slice.backlog > 0 && slice.in_flight >= self.connections;
                on_slice(&slice);
            }
            if is_over {
                let mut counted = merger.into_counts();
                let (stolen, crowded) =
                    (self.now().stolen_since(&before), crowded.then_some(self.connections));
                counted.members.push(MemberFigures::from_slice(&counted.total, stolen, crowded));
                if loses {
                    let (place, why) = ("b".to_owned(), "killed".to_owned());
                    counted.lost.push(LostMember { member: 1, place, at: SLICE, unaccounted: 7, why });
                }
                return counted;
            }
            if !stopped
                && (next_command(merger.total(), until) > LoadCommand::Continue || loses && until >= SLICE)
            {
                stopped = true;
                counter.load_ends = counter.load_ends.min(until);
            }
        }
    }

    fn settle(&mut self, limit: Nanos, interrupted: &dyn Fn() -> bool) -> Option<Nanos> {
        let began = self.state.now;
        while self.state.now < self.state.last {
            if self.state.now - began > limit || interrupted() {
                self.state.free.clear();
                self.state.last = self.state.now;
                return None;
            }
            self.advance_to((self.state.now + STOP_POLL).min(self.state.last));
        }
        Some(self.state.now - began)
    }

    fn scale_up(&mut self) -> bool {
        let more = self.grown_rates.drain(..self.grown_rates.len().min(1)).next();
        self.generator_rates =
            more.map_or_else(|| std::mem::take(&mut self.generator_rates), |rate| vec![(Nanos::ZERO, rate)]);
        more.is_some()
    }

    fn now(&self) -> ClockSample {
        let ms = self.state.now.as_millis_f64();
        let stolen = (ms * self.stolen) as u64;
        let ticks = Ticks { user: 0, system: 0, idle: ms as u64 - stolen, stolen };
        ClockSample { monotonic: self.state.now, unix_ms: 1_700_000_000_000 + ms as u64, ticks: Some(ticks) }
    }
}

/// When requests come due: at times known in advance, or each as soon as another is answered.
struct DueQueue {
    at: BinaryHeap<Reverse<Nanos>>,
    is_closed: bool,
}

impl DueQueue {
    fn of(schedule: &Schedule) -> Self {
        Self { at: schedule.arrivals(0, 1).map(|arrival| Reverse(arrival.due)).collect(), is_closed: false }
    }

    fn closed(users: u32) -> Self {
        Self { at: (0..users).map(|_| Reverse(Nanos::ZERO)).collect(), is_closed: true }
    }

    fn first(&self) -> Option<Nanos> {
        self.at.peek().map(|Reverse(at)| *at)
    }

    fn pop(&mut self) {
        self.at.pop();
    }

    fn answered(&mut self, at: Nanos) {
        if self.is_closed {
            self.at.push(Reverse(at));
        }
    }
}

/// A trial's counts, in its own time.
struct TrialCounter {
    at: Nanos,
    load_ends: Nanos,
    slice_ends: Nanos,
    slice: Slice,
    block_ns: u64,
    /// When each will be decided, and when it was due.
    open: BinaryHeap<Reverse<(Nanos, Nanos)>>,
    timeout: Nanos,
    deadline: Nanos,
    connections: u64,
    busy: f64,
    begins: Nanos,
}

impl TrialCounter {
    fn new(load_ends: Nanos, target: &SimulatedTarget) -> Self {
        Self {
            at: Nanos::ZERO,
            load_ends,
            slice_ends: SLICE.min(load_ends),
            slice: Slice::default(),
            block_ns: 0,
            open: BinaryHeap::new(),
            timeout: target.timeout,
            deadline: target.deadline.unwrap_or(Nanos::MAX),
            connections: target.connections,
            busy: target.busy,
            begins: Nanos::ZERO,
        }
    }

    /// Integrates what is outstanding.
    fn advance(&mut self, to: Nanos) {
        while self.at < to {
            let block_ends = Nanos((self.at.0 / BLOCK.0 + 1) * BLOCK.0);
            let next = to.min(block_ends);
            let held = (next - self.at).0 * self.open.len() as u64;
            self.slice.outstanding_ns += held;
            self.block_ns += held;
            if next == block_ends {
                if block_ends <= self.load_ends {
                    self.slice.outstanding.push(self.block_ns as f64 / BLOCK.0 as f64);
                }
                self.block_ns = 0;
            }
            self.at = next;
        }
    }

    fn send(&mut self, due: Nanos, taken: Nanos, done: Nanos) {
        self.slice.sent += 1;
        self.slice.pacing.record((taken - due).max(Nanos::from_micros(20)));
        self.open.push(Reverse((done.min(due + self.timeout), due)));
    }

    fn fail(&mut self, why: &Failure) {
        self.slice.outcomes.add(Outcome::Failed, 1);
        *self.slice.failures.entry(why.clone()).or_default() += 1;
    }

    /// Decides the next one.
    fn decide(&mut self, at: Nanos) {
        self.advance(at);
        let Some(Reverse((_, due))) = self.open.pop() else { return };
        let waited = at - due;
        self.slice.outcomes.add(
            match waited {
                _ if waited >= self.timeout => Outcome::Timeout,
                _ if waited > self.deadline => Outcome::Late,
                _ => Outcome::Ok,
            },
            1,
        );
        self.slice.response.record(waited);
        self.slice.waited_ns += waited.0;
    }

    /// Stops waiting for what is still open.
    fn give_up(&mut self) {
        for Reverse((_, due)) in std::mem::take(&mut self.open) {
            self.slice.outcomes.add(Outcome::Unfinished, 1);
            self.slice.response.record(self.at - due);
            self.slice.waited_ns += (self.at - due).0;
        }
    }

    fn cut(&mut self) -> Slice {
        let index = self.slice.index;
        let mut slice = std::mem::take(&mut self.slice);
        slice.loops = 1;
        slice.elapsed = self.at - self.begins;
        slice.cpu = Nanos::from_secs_f64(slice.elapsed.as_secs_f64() * self.busy);
        slice.in_flight = (self.open.len() as u64).min(self.connections);
        slice.backlog = self.open.len() as u64 - slice.in_flight;
        self.slice.index = index + 1;
        self.begins = self.at;
        let next = self.at + SLICE;
        self.slice_ends = if self.at < self.load_ends { next.min(self.load_ends) } else { next };
        slice
    }
}

#[derive(Default)]
pub(crate) struct EventCollector(pub Vec<Event>);

impl Sink for EventCollector {
    fn event(&mut self, event: &Event) {
        self.0.push(event.clone());
    }
}

/// Any plan that searches for a limit.
pub(crate) fn plan() -> Plan {
    let mut draft = plan::Draft::default();
    draft.set(plan::Key::Url, "TARGET", "null");
    draft
        .check(plan::PlanCommand::Find, &mut |_| Err("no file".to_owned()))
        .expect("the null target needs nothing")
}
