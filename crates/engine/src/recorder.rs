//! One loop's record of a trial, cut into slices.

use record::{BLOCK, Failure, Outcome, SLICE, Silence, Slice, StepSlice};
use std::collections::BTreeSet;
use units::Nanos;

/// Distinct failures kept per trial: a server's messages may differ each time, and memory must not grow with
/// them. A plan's own reasons are few.
const FAILURES_MOST: usize = 200;
/// Stands for all further ones.
const OTHER_REASONS: &str = "for many other reasons, which are not told apart";

/// An arrival taken up and not yet decided. Times count from the trial's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutstandingArrival {
    /// Counted over the whole run.
    pub number: u64,
    /// When it should start.
    pub due: Nanos,
    /// When the generator took it up.
    pub taken: Nanos,
    /// Total pauses of its user so far.
    pub paused: Nanos,
}

/// Counts events in the current slice, and integrates the number of outstanding arrivals.
pub struct Recorder {
    slice: Slice,
    index: u32,
    slice_start: Nanos,
    slice_end: Nanos,
    load_ends: Nanos,
    deadline: Nanos,
    outstanding: u64,
    integrated_to: Nanos,
    block_ends: Nanos,
    block_ns: u64,
    /// How many steps have figures of their own.
    step_count: usize,
    /// Distinct failures of this trial.
    distinct_failures: BTreeSet<Failure>,
    meter: Meter,
}

impl Recorder {
    /// From the start of a trial whose load ends at `load_ends`.
    pub fn new(load_ends: Nanos, deadline: Option<Nanos>, step_count: usize) -> Self {
        Self {
            slice: empty_slice(step_count),
            index: 0,
            slice_start: Nanos::ZERO,
            slice_end: SLICE.min(load_ends),
            load_ends,
            deadline: deadline.unwrap_or(Nanos::MAX),
            outstanding: 0,
            integrated_to: Nanos::ZERO,
            block_ends: BLOCK,
            block_ns: 0,
            step_count,
            distinct_failures: BTreeSet::new(),
            meter: Meter::start(),
        }
    }

    /// Ends the load earlier than planned.
    pub fn cut_load(&mut self, at: Nanos) {
        self.load_ends = self.load_ends.min(at);
        self.slice_end = self.slice_end.min(self.load_ends.max(self.slice_start));
    }

    /// When to call [`Recorder::cut`] next.
    pub fn slice_ends(&self) -> Nanos {
        self.slice_end
    }

    /// Arrivals taken up and not yet decided.
    pub fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// An arrival came due and was taken up at `now`.
    pub fn taken(&mut self, due: Nanos, now: Nanos) {
        self.advance(now);
        self.outstanding += 1;
        self.slice.due += 1;
        self.slice.pacing.record(now - due);
    }

    /// An arrival came due but is not started.
    pub fn not_started(&mut self, outcome: Outcome) {
        self.slice.due += 1;
        self.slice.outcomes.add(outcome, 1);
    }

    /// The arrival's request, in a flow the first, was handed to the kernel.
    pub fn sent(&mut self, arrival: &OutstandingArrival, now: Nanos) {
        self.slice.sent += 1;
        self.slice.lateness.record(now - arrival.due);
    }

    /// A request is sent again.
    pub fn resent(&mut self) {
        self.slice.resent += 1;
    }

    /// A request of this step was handed to the kernel.
    pub fn step_sent(&mut self, index: usize) {
        if let Some(step) = self.slice.parts.get_mut(index) {
            step.sent += 1;
        }
    }

    /// A request of this step ended; `waited` is `None` if it says nothing about the target's speed.
    pub fn step_ended(&mut self, index: usize, ok: bool, waited: Option<Nanos>) {
        if let Some(step) = self.slice.parts.get_mut(index) {
            step.ok += u64::from(ok);
            step.bad += u64::from(!ok);
            waited.into_iter().for_each(|waited| step.response.record(waited));
        }
    }

    /// A complete answer arrived.
    pub fn count_status(&mut self, status: Option<u16>) {
        if let Some(status) = status {
            *self.slice.statuses.entry(status).or_default() += 1;
        }
    }

    /// An answer as expected arrived, with this service time.
    pub fn record_service(&mut self, service: Nanos) {
        self.slice.service.record(service);
    }

    /// Everything the arrival requested was answered as expected, the last of it at `received`.
    pub fn answered(&mut self, arrival: &OutstandingArrival, received: Nanos, now: Nanos) {
        let response = received - arrival.due - arrival.paused;
        self.slice.response.record(response);
        self.record_outcome(arrival, if response > self.deadline { Outcome::Late } else { Outcome::Ok }, now);
    }

    /// The user pauses: the arrival is not outstanding until [`Recorder::resumed`].
    pub fn paused(&mut self, arrival: &OutstandingArrival, now: Nanos) {
        self.advance(now);
        self.outstanding -= 1;
        self.slice.waited_ns += (now - arrival.taken).0;
    }

    /// The pause is over; the arrival counts as taken up again now.
    pub fn resumed(&mut self, now: Nanos) {
        self.advance(now);
        self.outstanding += 1;
    }

    /// The user was pausing when the trial ended.
    pub fn never_resumed(&mut self) {
        self.slice.outcomes.add(Outcome::Unfinished, 1);
    }

    /// An unexpected answer, or none to be had.
    pub fn failed(&mut self, arrival: &OutstandingArrival, why: Failure, now: Nanos) {
        let why = self.limit_distinct(why);
        *self.slice.failures.entry(why).or_default() += 1;
        self.record_outcome(arrival, Outcome::Failed, now);
    }

    /// The failure itself while there are few, else a generic one for its kind.
    fn limit_distinct(&mut self, mut why: Failure) -> Failure {
        if self.distinct_failures.contains(&why) {
            return why;
        }
        if self.distinct_failures.len() < FAILURES_MOST {
            self.distinct_failures.insert(why.clone());
        } else {
            why.visit_texts(&mut |text| OTHER_REASONS.clone_into(text));
        }
        why
    }

    /// No answer is waited for any more: `Timeout` or `Unfinished`. The time waited so far counts as response
    /// time, as omitting the slowest would flatter.
    pub fn given_up(&mut self, arrival: &OutstandingArrival, outcome: Outcome, now: Nanos) {
        self.slice.response.record(now - arrival.due - arrival.paused);
        self.record_outcome(arrival, outcome, now);
    }

    fn record_outcome(&mut self, arrival: &OutstandingArrival, outcome: Outcome, now: Nanos) {
        self.advance(now);
        self.outstanding -= 1;
        self.slice.outcomes.add(outcome, 1);
        self.slice.waited_ns += (now - arrival.taken).0;
    }

    /// The target was silent, as was just detected.
    pub fn record_silence(&mut self, silence: Silence) {
        self.slice.silences.push(silence);
    }

    /// A connection was made.
    pub fn connected(&mut self) {
        self.slice.connects += 1;
    }

    /// Bytes were received.
    pub fn received(&mut self, bytes: u64) {
        self.slice.received_bytes += bytes;
    }

    /// Intentional spinning does not count as work.
    pub fn spun(&mut self, time: Nanos) {
        self.meter.spun += time;
    }

    /// Integrates the outstanding arrivals up to `now`, closing blocks on the way.
    fn advance(&mut self, now: Nanos) {
        while now >= self.block_ends {
            let rest = (self.block_ends - self.integrated_to).0 * self.outstanding;
            self.block_ns += rest;
            self.slice.outstanding_ns += rest;
            if self.block_ends <= self.load_ends {
                self.slice.outstanding.push(self.block_ns as f64 / BLOCK.0 as f64);
            }
            self.block_ns = 0;
            self.integrated_to = self.block_ends;
            self.block_ends += BLOCK;
        }
        let rest = (now - self.integrated_to).0 * self.outstanding;
        self.block_ns += rest;
        self.slice.outstanding_ns += rest;
        self.integrated_to = self.integrated_to.max(now);
    }

    /// The current slice, if it is over at `now`; call until there is none.
    pub fn cut(&mut self, now: Nanos, open: OpenCounts) -> Option<Slice> {
        (now >= self.slice_end).then(|| self.close(self.slice_end, open))
    }

    /// The last slice, which ends now.
    pub fn finish(&mut self, now: Nanos, open: OpenCounts) -> Slice {
        self.close(now.min(self.slice_end).max(self.slice_start), open)
    }

    fn close(&mut self, at: Nanos, open: OpenCounts) -> Slice {
        self.advance(at);
        let mut slice = std::mem::replace(&mut self.slice, empty_slice(self.step_count));
        slice.index = self.index;
        slice.elapsed = at - self.slice_start;
        slice.in_flight = open.in_flight;
        slice.backlog = open.backlog;
        slice.connections = open.connections;
        slice.loops = 1;
        (slice.cpu, slice.kernel, slice.run_delay) = self.meter.read();
        self.index += 1;
        self.slice_start = at;
        let next = at + SLICE;
        self.slice_end = if at < self.load_ends { next.min(self.load_ends) } else { next };
        slice
    }
}

fn empty_slice(step_count: usize) -> Slice {
    Slice { parts: vec![StepSlice::default(); step_count], ..Slice::default() }
}

/// Open requests and connections at the end of a slice.
#[derive(Debug, Clone, Copy)]
pub struct OpenCounts {
    /// Sent, not yet done.
    pub in_flight: u64,
    /// Due, not yet sent.
    pub backlog: u64,
    /// Open connections.
    pub connections: u64,
}

/// The cost of the loop's own thread.
struct Meter {
    cpu_ns: u64,
    kernel: Nanos,
    run_delay_ns: u64,
    spun: Nanos,
}

impl Meter {
    fn start() -> Self {
        let kernel = sys::usage(sys::UsageScope::Thread).kernel.into();
        Self { cpu_ns: sys::thread_cpu_ns(), kernel, run_delay_ns: run_delay_ns(), spun: Nanos::ZERO }
    }

    /// Processor time without spinning, its kernel part, and time ready but not running, since the last read.
    fn read(&mut self) -> (Nanos, Nanos, Nanos) {
        let next = Self::start();
        let cpu = Nanos(next.cpu_ns - self.cpu_ns) - self.spun;
        let delay = Nanos(next.run_delay_ns.saturating_sub(self.run_delay_ns));
        // The kernel splits time by ticks, but the sum is exact.
        let kernel = (next.kernel - self.kernel).min(cpu);
        *self = next;
        (cpu, kernel, delay)
    }
}

/// Second field of /proc/thread-self/schedstat (proc(5)): time spent waiting on a run queue. Zero if the kernel
/// does not record it.
fn run_delay_ns() -> u64 {
    std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split_ascii_whitespace().nth(1)?.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: OpenCounts = OpenCounts { in_flight: 0, backlog: 0, connections: 0 };

    #[test]
    fn slices_add_up_and_the_integral_is_exact() {
        let ms = Nanos::from_millis;
        let mut recorder = Recorder::new(ms(1500), Some(ms(200)), 0);
        let mut total = Slice::default();
        let mut elapsed = Vec::new();
        // One arrival every 100 ms, each answered after 250 ms: late, and 2.5 outstanding on average.
        let mut open: Vec<OutstandingArrival> = Vec::new();
        for step in 0..40 {
            let now = ms(step * 50);
            while let Some(slice) = recorder.cut(now, OPEN) {
                elapsed.push(slice.elapsed);
                total.merge_after(&slice);
            }
            if let Some(at) = open.iter().position(|a| a.due + ms(250) == now) {
                let arrival = open.remove(at);
                recorder.answered(&arrival, now, now);
            }
            if step % 2 == 0 && now < ms(1500) {
                recorder.taken(now, now);
                open.push(OutstandingArrival { number: step, due: now, taken: now, paused: Nanos::ZERO });
                recorder.sent(&open[open.len() - 1], now);
            }
        }
        total.merge_after(&recorder.finish(ms(2000), OPEN));
        assert_eq!(elapsed[..2], [ms(1000), ms(500)]);
        assert_eq!((total.due, total.sent, total.outcomes.late), (15, 15, 15));
        assert_eq!(total.outstanding.len(), 15, "only the load has blocks");
        assert!((total.outstanding[10] - 2.5).abs() < 1e-9, "{:?}", total.outstanding);
        assert_eq!(total.outstanding_ns, total.waited_ns);
        assert_eq!(total.waited_ns, 15 * ms(250).0);
    }

    /// A server with a different message for each request made memory, and the stored run, grow with their
    /// number.
    #[test]
    fn what_a_server_says_of_each_request_is_bounded() {
        let second = Nanos::from_secs(1);
        let mut recorder = Recorder::new(second * 3, None, 0);
        let mut total = Slice::default();
        let arrival =
            OutstandingArrival { number: 0, due: Nanos::ZERO, taken: Nanos::ZERO, paused: Nanos::ZERO };
        for number in 0..30_000 {
            let now = Nanos::from_micros(number * 100);
            recorder.taken(now, now);
            let why = match number % 3 {
                0 => Failure::Grpc(format!("5 NOT_FOUND: nobody is called {number}")),
                1 => Failure::Database(format!("XX000 {number}")),
                _ => Failure::Status(503),
            };
            recorder.failed(&arrival, why, now);
            if let Some(slice) = recorder.cut(now, OPEN) {
                total.merge_after(&slice);
            }
        }
        total.merge_after(&recorder.finish(second * 3, OPEN));
        assert!(total.failures.len() <= FAILURES_MOST + 2, "{}", total.failures.len());
        assert_eq!((total.failures.values().sum(), total.failures[&Failure::Status(503)]), (30_000, 10_000));
        assert!(total.failures[&Failure::Grpc(OTHER_REASONS.to_owned())] > 9_000);
    }
}
