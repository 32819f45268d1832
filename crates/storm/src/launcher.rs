//! One thread that starts programs and waits for them.
//!
//! Starting blocks the caller until the program is executed, so there is one launcher per processor. Each turn
//! kills what has timed out, takes up due arrivals, starts at most one program, and reaps processes that have
//! ended. The thread is the parent of what it starts: whenever it ends, the kernel kills them.

use crate::Setup;
use crate::arrival_source::ArrivalSource;
use crate::job_log::{JobBuffer, JobRecord};
use crate::report::{LauncherControl, LauncherCounts, LauncherReport};
use engine::{
    OpenCounts, OutstandingArrival, Recorder, Reporter, SlotKey, Slots, ThreadReport, TimeoutQueue,
    to_timespec,
};
use record::{Failure, Outcome, Slice};
use rustix::event::{PollFd, PollFlags, epoll, poll};
use rustix::process::{Pid, Signal, pidfd_send_signal};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use units::Nanos;

/// Process exits handled per turn.
const EVENTS_PER_TURN: usize = 64;
/// Arrivals taken up per turn: more come due in a turn only if nothing can keep up.
const ARRIVALS_PER_TURN: usize = 4096;
/// How often it checks whether it should end.
const POLL_INTERVAL: Nanos = Nanos::from_millis(20);

pub(crate) struct LauncherTask {
    pub index: u32,
    /// The trial, counted from 1.
    pub trial: u32,
    /// Processes that it may have alive.
    pub max_children: usize,
    /// Arrivals that may wait for it.
    pub max_outstanding: u64,
    pub source: ArrivalSource,
    /// The run's start, on the monotonic clock.
    pub run_ns: u64,
    pub load_ends: Nanos,
    pub drain: Nanos,
    pub deadline: Option<Nanos>,
    /// Number of the trial's first arrival.
    pub first_number: u64,
    pub log: Option<JobBuffer>,
}

struct Child {
    arrival: OutstandingArrival,
    pid: Pid,
    handle: OwnedFd,
    started: Nanos,
    executed: Nanos,
    cpu: u32,
    /// Its outcome is no longer counted.
    given_up: bool,
    timed_out: bool,
}

pub(crate) struct Launcher {
    setup: Arc<Setup>,
    control: Arc<LauncherControl>,
    reporter: Reporter<LauncherReport>,
    task: LauncherTask,
    /// The trial's start, on the monotonic clock.
    start_ns: u64,
    epoll: OwnedFd,
    recorder: Recorder,
    backlog: TimeoutQueue<OutstandingArrival>,
    children: Slots<Child>,
    /// Processes not yet timed out; those that have ended are skipped.
    expiry: TimeoutQueue<SlotKey>,
    over: bool,
    counts: LauncherCounts,
}

impl Launcher {
    pub fn new(
        setup: Arc<Setup>,
        control: Arc<LauncherControl>,
        task: LauncherTask,
        reporter: Reporter<LauncherReport>,
    ) -> io::Result<Self> {
        Ok(Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            recorder: Recorder::new(task.load_ends, task.deadline, 0),
            setup,
            control,
            reporter,
            task,
            start_ns: 0,
            backlog: TimeoutQueue::default(),
            children: Slots::default(),
            expiry: TimeoutQueue::default(),
            over: false,
            counts: LauncherCounts::default(),
        })
    }

    /// Runs until the trial that begins at `start_ns` is over and no process is left.
    pub fn run(mut self, start_ns: u64) {
        self.start_ns = start_ns;
        let mut events = [MaybeUninit::<epoll::Event>::uninit(); EVENTS_PER_TURN];
        loop {
            let now = self.now();
            self.apply_control(now);
            self.expire(now);
            if !self.over {
                self.cut_slices(now);
                self.take_arrivals(now);
                self.start_next();
                self.end_if_over();
            }
            if self.over && self.children.is_empty() {
                return self.report_settled();
            }
            let wait = self.wait_time();
            let ended: Vec<u32> = match epoll::wait(&self.epoll, &mut events, Some(&to_timespec(wait))) {
                Ok((ended, _)) => ended.iter().map(|event| event.data.u64() as u32).collect(),
                Err(_) => Vec::new(),
            };
            ended.into_iter().for_each(|child| self.handle_exit(child));
        }
    }

    /// Time since the trial's start.
    fn now(&self) -> Nanos {
        Nanos(sys::monotonic_ns().saturating_sub(self.start_ns))
    }

    fn apply_control(&mut self, now: Nanos) {
        let kill = self.control.kill.load(Ordering::Relaxed);
        if (kill || self.control.stop.load(Ordering::Relaxed)) && now < self.task.load_ends {
            self.task.load_ends = now;
            self.recorder.cut_load(now);
        }
        if kill {
            self.task.drain = Nanos::ZERO;
            for (_, child) in self.children.iter_mut() {
                // If it has ended meanwhile, its exit event follows.
                let _ = pidfd_send_signal(&child.handle, Signal::KILL);
            }
        }
    }

    fn open_counts(&self) -> OpenCounts {
        OpenCounts {
            in_flight: self.children.len() as u64,
            backlog: self.backlog.len() as u64,
            connections: 0,
        }
    }

    fn cut_slices(&mut self, now: Nanos) {
        let open = self.open_counts();
        while let Some(slice) = self.recorder.cut(now, open) {
            self.report_slice(slice);
        }
    }

    fn report_slice(&self, mut slice: Slice) {
        // Starting programs is what is measured here, not a generator's overhead.
        (slice.cpu, slice.run_delay) = (Nanos::ZERO, Nanos::ZERO);
        self.reporter.send(ThreadReport::Slice(Box::new(slice)));
    }

    /// Takes up due arrivals. Delay by a start, or by waiting for a processor that the processes use, is not
    /// the generator's pacing: it is part of the response time, and does not void a trial.
    fn take_arrivals(&mut self, now: Nanos) {
        if self.task.source.is_closed_loop() && now >= self.task.load_ends {
            return;
        }
        for _ in 0..ARRIVALS_PER_TURN {
            let free_slots = self.free_slots();
            let Some((number, due)) = self.task.source.take(now, self.task.load_ends, free_slots) else {
                return;
            };
            if self.recorder.outstanding() >= self.task.max_outstanding {
                self.recorder.not_started(Outcome::Refused);
                continue;
            }
            self.recorder.taken(now, now);
            let number = self.task.first_number + number;
            self.backlog.push(
                due,
                self.setup.timeout,
                OutstandingArrival { number, due, taken: now, paused: Nanos::ZERO },
            );
        }
    }

    /// How many more a closed loop may take up: one, to be started at once.
    fn free_slots(&self) -> usize {
        usize::from(self.backlog.is_empty() && self.children.len() < self.task.max_children)
    }

    /// When the next arrival is to be taken up, if any.
    fn next_due(&mut self, now: Nanos) -> Option<Nanos> {
        let (free_slots, load_end) = (self.free_slots(), self.task.load_ends);
        if self.task.source.is_closed_loop() && now >= load_end {
            return None;
        }
        self.task.source.next_due(free_slots).filter(|due| *due < load_end)
    }

    /// Starts the program for the arrival that has waited longest, if there is room.
    fn start_next(&mut self) {
        if self.children.len() >= self.task.max_children {
            return;
        }
        let Some(mut arrival) = self.backlog.pop() else { return };
        let started = self.now();
        if self.task.source.is_closed_loop() {
            // In a closed loop nothing waits before it is started.
            arrival.due = started;
        }
        let spawned = self.setup.program.start();
        let executed = self.now();
        let (pid, handle) = match spawned {
            Ok(begun) => begun,
            Err(why) => return self.not_started(&arrival, why, executed),
        };
        let data = epoll::EventData::new_u64(self.children.next_number().into());
        if let Err(why) = epoll::add(&self.epoll, &handle, data, epoll::EventFlags::IN) {
            // Its end would go unnoticed: count it as never started.
            kill_and_reap(pid, &handle);
            return self.not_started(&arrival, why.into(), executed);
        }
        self.recorder.sent(&arrival, started);
        self.counts.spawn_times.record(executed - started);
        self.control.started.fetch_add(1, Ordering::Relaxed);
        let alive = self.control.alive.fetch_add(1, Ordering::Relaxed) + 1;
        self.control.max_alive.fetch_max(alive, Ordering::Relaxed);
        let cpu = rustix::thread::sched_getcpu() as u32;
        let key = self.children.insert(Child {
            arrival,
            pid,
            handle,
            started,
            executed,
            cpu,
            given_up: false,
            timed_out: false,
        });
        self.expiry.push(arrival.due, self.setup.timeout, key);
    }

    /// A program that cannot be executed now never can; lack of room for a process may pass.
    fn not_started(&mut self, arrival: &OutstandingArrival, why: io::Error, now: Nanos) {
        let transient =
            matches!(
                why.kind(),
                io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory | io::ErrorKind::Interrupted
            ) || why.raw_os_error().is_some_and(|code| rustix::io::Errno::TXTBSY.raw_os_error() == code);
        let resource = engine::exhausted_resource(&why);
        let failure = match resource {
            Some(resource) => Failure::Lacking(resource),
            None => Failure::Check(format!("not started: {}", engine::reason(&why))),
        };
        self.recorder.failed(arrival, failure, now);
        if !transient && resource.is_none() {
            self.control.stop.store(true, Ordering::Relaxed);
            self.reporter.send(ThreadReport::Custom(LauncherReport::Fault(why)));
        }
    }

    /// Records the outcome of a process that has ended.
    fn handle_exit(&mut self, slot: u32) {
        let Some(pid) = self.children.get_mut(slot).map(|child| child.pid) else { return };
        let ended = self.now();
        let last_cpu = self.task.log.as_ref().and_then(|_| last_cpu(pid));
        // If it has not ended yet, another event follows.
        let Ok(Some(exit)) = sys::reap(pid) else { return };
        let Some(child) = self.children.remove(slot) else { return };
        let _ = epoll::delete(&self.epoll, &child.handle);
        self.control.alive.fetch_sub(1, Ordering::Relaxed);
        self.counts.alive_ns += (ended - child.started).0;
        self.counts.ended += 1;
        if !child.given_up {
            self.record_exit(&child, exit.status, ended);
        }
        let since_run = |at: Nanos| Nanos((self.start_ns + at.0).saturating_sub(self.task.run_ns));
        if let Some(log) = &mut self.task.log {
            log.push(JobRecord {
                trial: self.task.trial,
                number: child.arrival.number,
                pid: child.pid.as_raw_nonzero().get(),
                due: since_run(child.arrival.due),
                started: since_run(child.started),
                executed: since_run(child.executed),
                ended: since_run(ended),
                user: exit.user,
                system: exit.system,
                status: exit.status,
                timed_out: child.timed_out,
                launcher: self.task.index,
                launcher_cpu: child.cpu,
                last_cpu,
            });
        }
    }

    fn record_exit(&mut self, child: &Child, status: ExitStatus, ended: Nanos) {
        let recorder = &mut self.recorder;
        let code = status.code().and_then(|code| u16::try_from(code).ok());
        recorder.count_status(code);
        match self.setup.expected.check(status) {
            Ok(()) => {
                recorder.record_service(ended - child.started);
                recorder.answered(&child.arrival, ended, ended);
            }
            Err(why) => recorder.failed(&child.arrival, why, ended),
        }
    }

    /// Kills what has run too long, and gives up on what has waited too long to be started.
    fn expire(&mut self, now: Nanos) {
        while let Some(key) =
            self.expiry.pop_expired(now, Nanos::MAX, |key| self.children.get(*key).is_some())
        {
            let Some(child) = self.children.get_mut(key.number) else { continue };
            child.timed_out = true;
            // If it has ended meanwhile, its exit event follows.
            let _ = pidfd_send_signal(&child.handle, Signal::KILL);
            if !std::mem::replace(&mut child.given_up, true) {
                self.recorder.given_up(&child.arrival, Outcome::Timeout, now);
            }
        }
        while !self.task.source.is_closed_loop()
            && let Some(arrival) = self.backlog.pop_expired(now, Nanos::MAX, |_| true)
        {
            self.recorder.given_up(&arrival, Outcome::Timeout, now);
        }
    }

    fn end_if_over(&mut self) {
        let now = self.now();
        let nothing_outstanding = self.recorder.outstanding() == 0;
        if self.task.source.is_closed_loop() && nothing_outstanding && self.task.source.is_exhausted() {
            self.task.load_ends = self.task.load_ends.min(now);
            self.recorder.cut_load(now);
        }
        let load_end = self.task.load_ends;
        let idle = nothing_outstanding && self.next_due(now).is_none();
        if now < load_end || (now < load_end + self.task.drain && !idle) {
            return;
        }
        self.cut_slices(now);
        let open = self.open_counts();
        // Due but never taken up: it was delayed that long.
        while self.task.source.take(Nanos::MAX, load_end, 0).is_some() {
            self.recorder.not_started(Outcome::Unfinished);
        }
        while let Some(arrival) = self.backlog.pop() {
            self.recorder.given_up(&arrival, Outcome::Unfinished, now);
        }
        for (_, child) in self.children.iter_mut().filter(|(_, child)| !child.given_up) {
            child.given_up = true;
            self.recorder.given_up(&child.arrival, Outcome::Unfinished, now);
        }
        let slice = self.recorder.finish(now, open);
        self.report_slice(slice);
        self.reporter.send(ThreadReport::Over(load_end));
        self.over = true;
    }

    fn report_settled(mut self) {
        if let Some(log) = &mut self.task.log {
            log.flush();
        }
        let counts = Box::new(std::mem::take(&mut self.counts));
        self.reporter.send(ThreadReport::Custom(LauncherReport::Counts(counts)));
        self.reporter.send(ThreadReport::Settled);
    }

    /// How long there is nothing to do, unless a process ends.
    fn wait_time(&mut self) -> Nanos {
        let now = self.now();
        let has_room = self.children.len() < self.task.max_children;
        let expiry = self.expiry.next_expiry(Nanos::MAX);
        if self.over {
            return expiry.map_or(POLL_INTERVAL, |at| (at - now).min(POLL_INTERVAL));
        }
        if has_room && !self.backlog.is_empty() {
            return Nanos::ZERO;
        }
        let load_ends = self.task.load_ends;
        let due = self.next_due(now);
        let end = if now < load_ends { load_ends } else { load_ends + self.task.drain };
        let backlog_expiry = self.backlog.next_expiry(Nanos::MAX);
        let deadlines = [due, Some(end), Some(self.recorder.slice_ends()), expiry, backlog_expiry];
        let next = deadlines.into_iter().flatten().min().unwrap_or(Nanos::MAX);
        (next - now).min(POLL_INTERVAL)
    }
}

/// Kills a process that was just started, and waits for it: it ends as soon as it runs.
fn kill_and_reap(pid: Pid, handle: &OwnedFd) {
    let _ = pidfd_send_signal(handle, Signal::KILL);
    let mut fds = [PollFd::new(handle, PollFlags::IN)];
    while matches!(sys::reap(pid), Ok(None)) {
        let _ = poll(&mut fds, None);
    }
}

/// The processor that a process last ran on (proc_pid_stat(5), field 39); readable until it is waited for.
fn last_cpu(pid: Pid) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    text.rsplit_once(')')?.1.split_ascii_whitespace().nth(36)?.parse().ok()
}

#[cfg(test)]
mod tests;
