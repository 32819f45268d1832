//! Simulated targets of known capacity, on a clock of their own.
//!
//! First come, first served, without preemption: when a request arrives, the moment it will be done is already certain, so a heap of the
//! moments at which servers become free is the whole queue.

use crate::system::{Arrivals, Flaw, Service, System};
use record::{CatchUp, Failure, Outcome, Recovery, Silence, Slice, SteadyResponse, TrialResult};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use torment_search::{Proposal, Search};
use units::random::{Random, unit_float};
use units::{Nanos, Rate};

const SECOND: u64 = 1_000_000_000;
const BLOCK: u64 = record::BLOCK.0;
/// Time a trial takes besides load and drain.
const PAUSE: u64 = SECOND / 5;
/// How long to wait for recovery.
const MAX_RECOVERY: u64 = 60 * SECOND;
/// The in-flight cap.
const MAX_OPEN: usize = 10_000;
/// A request this late is not sent at all.
const UNSENT_AFTER: u64 = SECOND / 10;

#[derive(Clone)]
struct Dice(Random);

impl Dice {
    /// Uniform in (0, 1].
    fn uniform(&mut self) -> f64 {
        unit_float(self.0.draw()) + f64::EPSILON / 2.0
    }
    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.uniform().ln()
    }
    fn service(&mut self, service: Service) -> f64 {
        match service {
            Service::Fixed(s) => s,
            Service::Exponential(mean) => self.exponential(mean),
        }
    }
}

/// A system's state over time.
#[derive(Clone)]
pub struct Target {
    system: System,
    random: Dice,
    now: u64,
    free_servers: BinaryHeap<Reverse<u64>>,
    /// For a target with keep-alive connections: until when each is busy, and its worker.
    connections: Vec<(u64, usize)>,
    second_pool: BinaryHeap<Reverse<u64>>,
    served: u64,
    broken: bool,
    offset: f64,
    slow: bool,
    state_until: u64,
    /// Slowdown factor of a shared machine, until then.
    pace: f64,
    /// The next or current hiccup: start and end.
    hiccup: (u64, u64),
}

/// A request in flight: when its outcome is decided, when it was due, when it was taken up, and its outcome.
type OpenRequest = (u64, u64, u64, u8);

impl Target {
    pub fn new(system: System, seed: u64) -> Self {
        let mut random = Dice(Random(seed));
        let offset = random.uniform();
        let idle = |n: usize| (0..n).map(|_| Reverse(0)).collect();
        let behind = match system.flaw {
            Some(Flaw::Behind(n, _)) => idle(n),
            Some(Flaw::KeepsConnections(_)) => idle(system.servers.unwrap_or(0) / 2),
            _ => BinaryHeap::new(),
        };
        let free = match system.flaw {
            Some(Flaw::KeepsConnections(_)) => idle(system.servers.unwrap_or(0) / 2),
            _ => idle(system.servers.unwrap_or(0)),
        };
        Self {
            system,
            random,
            now: 0,
            free_servers: free,
            connections: Vec::new(),
            second_pool: behind,
            served: 0,
            broken: false,
            offset,
            slow: false,
            state_until: 0,
            pace: 1.0,
            hiccup: (0, 0),
        }
    }

    /// Lets some time pass.
    pub fn wait(&mut self) {
        self.now += (self.random.exponential(20.0) * 1e9) as u64;
    }

    /// Seconds since the start.
    pub fn age(&self) -> f64 {
        self.now as f64 / 1e9
    }

    /// Threads compiling now.
    pub fn compiling(&self) -> f64 {
        match self.system.flaw {
            Some(Flaw::MovesOnceCompiled(_, cold)) if self.age() < cold => 1.0,
            _ => 0.0,
        }
    }

    /// Service time now, as a multiple of its mean.
    fn slowdown_factor(&mut self, at: u64) -> f64 {
        match self.system.flaw {
            Some(Flaw::Warms(times, requests)) => {
                1.0 + (times - 1.0) * (-4.0 * self.served as f64 / requests).exp()
            }
            Some(
                Flaw::Moves(series) | Flaw::MovesAndSinks(series, ..) | Flaw::MovesOnceCompiled(series, _),
            ) => {
                let second = at as f64 / 1e9 + self.offset * series.len() as f64;
                let mean = series.iter().map(|n| f64::from(*n)).sum::<f64>() / series.len() as f64;
                let sunk = match self.system.flaw {
                    Some(Flaw::MovesAndSinks(.., to)) if self.slow => to,
                    Some(Flaw::MovesOnceCompiled(_, cold)) if (at as f64) < cold * 1e9 => 0.5,
                    _ => 1.0,
                };
                mean / f64::from(series[second as usize % series.len()]) / sunk
            }
            Some(Flaw::States(slower, share, stays)) => {
                while self.state_until <= at {
                    self.slow = self.random.uniform() <= share;
                    self.state_until += (self.random.exponential(stays) * 1e9) as u64;
                }
                if self.slow { slower } else { 1.0 }
            }
            Some(Flaw::Shared(by, stays, _)) => {
                while self.state_until <= at {
                    self.pace = 1.0 + by * (2.0 * self.random.uniform() - 1.0);
                    self.state_until += (self.random.exponential(stays) * 1e9) as u64;
                }
                self.pace
            }
            Some(Flaw::Fills(requests)) => 1.0 + 0.5 * self.served as f64 / requests,
            Some(Flaw::Slows(doubles)) => 1.0 + at as f64 / 1e9 / doubles,
            Some(Flaw::Breaks(_)) if self.broken => 5.0,
            Some(Flaw::Sinks(_, to)) if self.slow => 1.0 / to,
            _ => 1.0,
        }
    }

    /// When work that was to run from `start` may go on, after hiccups of a shared machine.
    fn after_hiccup(&mut self, start: u64, often: f64) -> u64 {
        while self.hiccup.1 <= start {
            let from = self.hiccup.1.saturating_add((self.random.exponential(1.0 / often) * 1e9) as u64);
            let length = 0.005 * 10f64.powf(self.random.uniform());
            self.hiccup = (from, from.saturating_add((length * 1e9) as u64));
        }
        if start >= self.hiccup.0 { self.hiccup.1 } else { start }
    }

    /// When work begun at `start` is done, stalls included.
    fn finish(&self, start: u64, work: f64) -> u64 {
        let mut work = (work * 1e9) as u64;
        let Some(Flaw::Stalls(every, length)) = self.system.flaw else { return start + work };
        let (every, length) = ((every * 1e9) as u64, (length * 1e9) as u64);
        let mut at = start + (self.offset * every as f64) as u64;
        let shift = at - start;
        loop {
            let phase = at % every;
            if phase < length {
                at += length - phase;
            }
            let until = every - at % every;
            if work < until {
                return at + work - shift;
            }
            work -= until;
            at += until;
        }
    }

    /// As [`Self::serve`], for workers that own connections.
    fn serve_kept(&mut self, at: u64, idle: u64) -> u64 {
        self.connections.retain(|(free, _)| *free + idle > at);
        let warm = self.connections.iter_mut().filter(|(free, _)| *free <= at).max_by_key(|(free, _)| *free);
        let worker = warm.as_ref().map_or_else(
            || usize::from(self.random.uniform() <= 0.5 + 0.4 * self.offset),
            |(_, worker)| *worker,
        );
        let servers = if worker == 0 { &mut self.free_servers } else { &mut self.second_pool };
        let mut server = servers.peek_mut().expect("there is a server");
        let done = at.max(server.0) + (self.random.service(self.system.service) * 1e9) as u64;
        *server = Reverse(done);
        drop(server);
        match warm {
            Some(connection) => connection.0 = done,
            None => self.connections.push((done, worker)),
        }
        done
    }

    /// When a request that arrives `at` will be done.
    fn serve(&mut self, at: u64) -> u64 {
        self.served += 1;
        if let Some(Flaw::KeepsConnections(idle)) = self.system.flaw {
            return self.serve_kept(at, (idle * 1e9) as u64);
        }
        let mut start = at;
        if let Some(server) = self.free_servers.peek() {
            start = start.max(server.0);
        }
        if let Some(Flaw::Shared(.., often)) = self.system.flaw {
            start = self.after_hiccup(start, often);
        }
        let factor = self.slowdown_factor(start);
        let work = self.random.service(self.system.service) * factor;
        let mut done = self.finish(start, work);
        if let Some(Flaw::Behind(_, service)) = self.system.flaw {
            let mut server = self.second_pool.peek_mut().expect("there is a server");
            done = done.max(server.0) + (self.random.service(service) * 1e9) as u64;
            *server = Reverse(done);
        }
        if let Some(mut server) = self.free_servers.peek_mut() {
            *server = Reverse(done);
        }
        done
    }

    /// Runs a trial as the runner would for this search, and advances the time.
    pub fn trial(&mut self, search: &Search, p: &Proposal, deadline: Option<Nanos>) -> TrialResult {
        if let Some(users) = p.users {
            return self.closed_trial(users, p);
        }
        let drain = search.drain();
        let mut total = Slice { loops: 1, ..Slice::default() };
        let mut open: BinaryHeap<Reverse<OpenRequest>> = BinaryHeap::new();
        let mut outstanding = OutstandingBlocks::new(p.duration.0);
        let mut gaps = AnswerGaps::default();
        let gap = 1e9 / p.rate.0;
        let (mut due, mut lag_free, mut second) = (self.gap(gap), 0f64, SECOND);
        let mut end_of_load = p.duration.0;
        let mut gave_up = false;
        while due < p.duration.0 as f64 {
            let at = due as u64;
            if at >= second {
                decide(&mut total, &mut open, second, p.duration, &mut gaps);
                total.outstanding = outstanding.blocks(second);
                total.silences.clone_from(&gaps.silences);
                if search.hopeless(&total) {
                    (end_of_load, gave_up) = (second, true);
                    break;
                }
                second += SECOND;
                continue;
            }
            decide(&mut total, &mut open, at, p.duration, &mut gaps);
            total.due += 1;
            let mut taken = at;
            if let Some(Flaw::GeneratorLags(most, often)) = self.system.flaw {
                let free = self.after_hiccup(self.now + lag_free.max(due) as u64, often) - self.now;
                lag_free = free as f64 + 1e9 / most;
                taken = taken.max((lag_free - 1e9 / most) as u64);
            }
            due += self.gap(gap);
            if taken - at > UNSENT_AFTER {
                lag_free -= match self.system.flaw {
                    Some(Flaw::GeneratorLags(most, _)) => 1e9 / most,
                    _ => 0.0,
                };
                total.outcomes.add(Outcome::Unsent, 1);
                continue;
            }
            if open.len() >= MAX_OPEN {
                total.outcomes.add(Outcome::Refused, 1);
                continue;
            }
            total.sent += 1;
            total.pacing.record(Nanos(taken - at));
            if let Some(Flaw::Breaks(most)) = self.system.flaw {
                self.broken |= open.len() > most;
            }
            if let Some(Flaw::Sinks(most, _) | Flaw::MovesAndSinks(_, most, _)) = self.system.flaw {
                self.slow = open.len() > if self.slow { self.system.servers.unwrap_or(0) } else { most };
            }
            let (mut end, mut outcome) = (0, Outcome::Ok);
            match self.system.flaw {
                Some(Flaw::Sheds(room)) if open.len() >= self.system.servers.unwrap_or(0) + room => {
                    (end, outcome) = (taken + 200_000, Outcome::Failed);
                    *total.failures.entry(Failure::Status(503)).or_default() += 1;
                }
                _ => end = end.max(self.serve(self.now + taken) - self.now),
            }
            if matches!(self.system.flaw, Some(Flaw::Fails(p)) if self.random.uniform() <= p) {
                outcome = Outcome::Failed;
            }
            if outcome == Outcome::Ok && deadline.is_some_and(|d| end - at > d.0) {
                outcome = Outcome::Late;
            }
            if end - at > self.system.timeout.0 {
                (end, outcome) = (at + self.system.timeout.0, Outcome::Timeout);
            }
            outstanding.add(taken, end);
            open.push(Reverse((end, at, taken, index(outcome))));
        }
        // As in the engine: the drain lasts at least as long as the target was silent, with some margin, and a silence is waited out.
        gaps.finish_seconds(end_of_load, p.duration);
        let drain = if gave_up { drain } else { gaps.steady.drain(drain) };
        let mut last = end_of_load + drain.0;
        while let Some(Reverse((end, _, taken, _))) = open.peek().copied() {
            let silent =
                gaps.last < end_of_load && last.saturating_sub(gaps.last.max(taken)) >= record::MIN_SILENCE.0;
            if end > last && !(silent && end <= end_of_load + record::MAX_CATCH_UP.0) {
                break;
            }
            decide(&mut total, &mut open, end, p.duration, &mut gaps);
            last = last.max(end).max(end_of_load + gaps.catch_up.drain(drain, Nanos(end_of_load)).0);
        }
        let drain = Nanos(last - end_of_load);
        let drained = if open.is_empty() { end_of_load + PAUSE } else { last };
        for Reverse((_, at, taken, _)) in open.drain() {
            close(&mut total, last, at, taken, Outcome::Unfinished);
        }
        total.outstanding = outstanding.blocks(end_of_load);
        total.silences.clone_from(&gaps.silences);
        total.elapsed = Nanos(end_of_load);
        self.now += drained + PAUSE;
        let recovery = self.recover();
        TrialResult {
            purpose: p.purpose,
            rate: p.rate,
            planned: p.duration,
            loaded: Nanos(end_of_load),
            drain,
            hopeless: gave_up,
            total,
            recovery,
            caveats: Vec::new(),
            members: Vec::new(),
        }
    }

    /// A closed loop: each user sends again as soon as it is answered.
    fn closed_trial(&mut self, users: u32, p: &Proposal) -> TrialResult {
        let mut total = Slice { loops: 1, elapsed: p.duration, ..Slice::default() };
        let mut sends: BinaryHeap<Reverse<u64>> = (0..users).map(|_| Reverse(0)).collect();
        let (mut last_end, mut answers) = (p.duration.0, Vec::new());
        while let Some(Reverse(at)) = sends.pop() {
            if at >= p.duration.0 {
                continue;
            }
            total.due += 1;
            total.sent += 1;
            let mut done = self.serve(self.now + at) - self.now;
            if let Some(Flaw::GeneratorLags(most, _)) = self.system.flaw {
                done = done.max(at + (f64::from(users) / most * 1e9) as u64);
            }
            let outcome = if matches!(self.system.flaw, Some(Flaw::Fails(p)) if self.random.uniform() <= p) {
                Outcome::Failed
            } else {
                Outcome::Ok
            };
            close(&mut total, done, at, at, outcome);
            last_end = last_end.max(done);
            answers.push((done, at));
            sends.push(Reverse(done));
        }
        answers.sort_unstable();
        let mut gaps = AnswerGaps { is_closed: true, ..AnswerGaps::default() };
        for (at, sent) in answers {
            gaps.answer(at, sent);
        }
        total.silences = gaps.silences;
        self.now += last_end + PAUSE;
        TrialResult {
            purpose: p.purpose,
            rate: Rate::of(total.due, p.duration),
            planned: p.duration,
            loaded: p.duration,
            drain: Nanos::ZERO,
            hopeless: false,
            total,
            recovery: self.recover(),
            caveats: Vec::new(),
            members: Vec::new(),
        }
    }

    fn gap(&mut self, mean: f64) -> f64 {
        match self.system.arrivals {
            Arrivals::Even => mean,
            Arrivals::Poisson => self.random.exponential(mean),
        }
    }

    fn recover(&mut self) -> Recovery {
        if self.broken {
            return Recovery::Not(Nanos(MAX_RECOVERY));
        }
        let busy = self.free_servers.iter().map(|f| f.0).max().unwrap_or(0).saturating_sub(self.now);
        self.now += busy;
        match busy {
            0 => Recovery::NotNeeded,
            b if b > MAX_RECOVERY => Recovery::Not(Nanos(MAX_RECOVERY)),
            b => Recovery::After(Nanos(b)),
        }
    }
}

fn index(outcome: Outcome) -> u8 {
    Outcome::ALL.iter().position(|o| *o == outcome).expect("ALL lists every outcome") as u8
}

/// When the last answer came, and the gaps between answers.
#[derive(Default)]
struct AnswerGaps {
    last: u64,
    silences: Vec<Silence>,
    is_closed: bool,
    catch_up: CatchUp,
    /// Until when requests that waited in the last silence are counted.
    freed_until: u64,
    /// Answers of this second, and how slow earlier ones were.
    second: Slice,
    steady: SteadyResponse,
}

impl AnswerGaps {
    /// Counts the seconds of a load of `load` that are over by then.
    fn finish_seconds(&mut self, at: u64, load: Nanos) {
        while u64::from(self.second.index) < at / SECOND {
            self.steady.add_slice(&self.second, load);
            self.second = Slice { index: self.second.index + 1, ..Slice::default() };
        }
    }

    /// A request sent at `sent` is answered.
    fn answer(&mut self, at: u64, sent: u64) {
        let from = self.last.max(sent);
        self.last = at;
        if at - from >= record::MIN_SILENCE.0 {
            let silence = Silence { from: Nanos(from), to: Nanos(at), waiting: 1, freed: Some(0) };
            self.freed_until = at + (at - from) / record::freed_within(self.is_closed);
            self.catch_up = self.catch_up.and(CatchUp::after(&silence));
            self.silences.push(silence);
        }
        if let Some(silence) = self.silences.last_mut()
            && at <= self.freed_until
            && sent < silence.to.0
        {
            silence.freed = silence.freed.map(|freed| freed + 1);
        }
    }
}

/// Decides every request that ends by `until`.
fn decide(
    total: &mut Slice,
    open: &mut BinaryHeap<Reverse<OpenRequest>>,
    until: u64,
    load: Nanos,
    gaps: &mut AnswerGaps,
) {
    while let Some(Reverse((end, at, taken, outcome))) = open.peek().copied() {
        if end > until {
            return;
        }
        open.pop();
        gaps.answer(end, taken);
        gaps.finish_seconds(end, load);
        gaps.second.response.record(Nanos(end - at));
        close(total, end, at, taken, Outcome::ALL[usize::from(outcome)]);
    }
}

fn close(total: &mut Slice, end: u64, at: u64, taken: u64, outcome: Outcome) {
    total.outcomes.add(outcome, 1);
    // Both sides of Little's law count from when the engine took up the request.
    total.outstanding_ns += end - taken;
    total.waited_ns += end - taken;
    if outcome != Outcome::Failed {
        total.response.record(Nanos(end - at));
    }
}

/// Exact block means of outstanding requests: partial blocks are added, full ones counted by difference.
struct OutstandingBlocks {
    part: Vec<u64>,
    full: Vec<i64>,
}

impl OutstandingBlocks {
    fn new(duration: u64) -> Self {
        let blocks = (duration / BLOCK) as usize + 2;
        Self { part: vec![0; blocks], full: vec![0; blocks] }
    }

    fn add(&mut self, from: u64, to: u64) {
        let last = self.part.len() - 1;
        let (a, b) = ((from / BLOCK) as usize, (to / BLOCK) as usize);
        if a == b {
            self.part[a.min(last)] += to - from;
            return;
        }
        self.part[a.min(last)] += (a as u64 + 1) * BLOCK - from;
        if b <= last {
            self.part[b] += to - b as u64 * BLOCK;
        }
        self.full[(a + 1).min(last)] += 1;
        self.full[b.min(last)] -= 1;
    }

    fn blocks(&self, until: u64) -> Vec<f64> {
        let mut full = 0;
        (0..(until / BLOCK) as usize)
            .map(|i| {
                full += self.full[i];
                full as f64 + self.part[i] as f64 / BLOCK as f64
            })
            .collect()
    }
}
