//! The loop: one thread, one epoll, due times first.
//!
//! Each turn takes up due arrivals, gives each to a connection with room or puts it into the backlog with its
//! due time, gives up on those that waited too long, and then sleeps until the next relevant moment or event.

mod holding;
mod outcomes;
mod pieces;
mod pool;
mod resending;
mod sending;
mod silence;

use crate::HeldConnections;
use crate::arrival_source::ArrivalSource;
use crate::connections::Connections;
use crate::outstanding::{InFlightRequests, StepRequest, Users};
use crate::prepared_flows::PreparedFlows;
use crate::protocol::{Completion, Readiness};
use crate::recorder::{OpenCounts, Recorder};
use crate::reports::{Reporter, ThreadReport};
use crate::resolved_target::ResolvedTarget;
use crate::slots::{SlotKey, Slots};
use crate::stream::ReadBuffer;
use crate::timeout_queue::TimeoutQueue;
use crate::wait_policy::{WaitPolicy, to_timespec};
use holding::HoldState;
use pieces::PieceCounts;
pub(crate) use pieces::delayed_acks;
use pool::Pool;
use record::{Outcome, SteadyResponse};
use rustix::event::epoll;
pub(crate) use silence::SharedActivity;
use silence::SilenceDetector;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError};
use units::Nanos;

/// Kernel events handled before due arrivals are checked again.
const EVENTS_PER_TURN: usize = 256;
const WAKE_TOKEN: u64 = u64::MAX;

pub(crate) enum LoopCommand {
    Begin(Box<Trial>),
    /// The load ends at this moment of the trial.
    Stop(Nanos),
    /// If nothing is answered any more, closes idle connections, and the others as soon as their answer has
    /// arrived.
    GiveWay,
    /// Closes connections that still wait for an answer nobody counts.
    Abandon,
    /// Holds this many connections open.
    Hold(usize),
    /// Those that are open are enough.
    HoldNoMore,
    /// No longer holds connections open.
    Release,
    Quit,
}

pub(crate) struct Trial {
    pub source: ArrivalSource,
    /// On the monotonic clock.
    pub start_ns: u64,
    pub load_ends: Nanos,
    pub drain: Nanos,
    pub deadline: Option<Nanos>,
    /// Number of the first arrival, counted over the whole run.
    pub first_number: u64,
    /// Mean gap between this loop's arrivals; zero in a closed loop.
    pub interval: Nanos,
}

pub(crate) struct LoopSetup {
    pub endpoint: ResolvedTarget,
    pub script: PreparedFlows,
    pub lateness: Nanos,
    /// How long making a connection may take.
    pub connect_limit: Nanos,
    pub connections_limit: usize,
    pub outstanding_limit: u64,
    /// Arrivals from this number on have no data.
    pub arrivals_limit: u64,
    /// Serial number of this loop's first connection, and the step to its next.
    pub serial: (u64, u64),
    pub activity: SharedActivity,
    pub learned: Arc<LearnedLimits>,
    /// Whether a request may be resent.
    pub resend: bool,
}

/// What a loop has learned about the target's connections; zero if unknown.
#[derive(Default)]
pub(super) struct LearnedLimits {
    /// How many connections the target serves at once.
    pub places: AtomicU64,
    /// After how many answers it closes each, unannounced.
    pub answers_each: AtomicU64,
    /// How answers arrived in this trial.
    pub pieces: PieceCounts,
}

pub(super) fn read_known(of: &AtomicU64) -> Option<u64> {
    Some(of.load(Ordering::Relaxed)).filter(|learned| *learned > 0)
}

struct RunningTrial {
    trial: Trial,
    recorder: Recorder,
    wait_policy: WaitPolicy,
    /// How many connections a closed loop opens in advance, until one cannot be made.
    eager_connections: Option<usize>,
    /// Pausing users, by the end of their pause.
    thinking: BinaryHeap<Reverse<(Nanos, u32)>>,
    /// The load was stopped: pauses no longer count.
    stopped: bool,
    activity: SharedActivity,
    steady: SteadyResponse,
}

impl RunningTrial {
    /// How long the load drains, as far as is known `now`: longer after a silence.
    fn drain(&self, now: Nanos) -> Nanos {
        let (start, load_end) = (self.trial.start_ns, self.trial.load_ends);
        match self.stopped || now < load_end {
            true => self.trial.drain,
            false => self.activity.drain(self.trial.drain, [start, start + load_end.0, start + now.0]),
        }
    }

    /// How long a request may be open at `now`, whatever its own timeout: after the drain of the load, as long
    /// as a drain of its own; after a load that was stopped, no longer.
    fn max_request_age(&self, now: Nanos) -> Nanos {
        let drain = self.drain(now);
        let drained = now >= self.trial.load_ends + drain;
        match (drained, self.stopped) {
            (false, _) => Nanos::MAX,
            (true, false) => drain,
            (true, true) => Nanos::ZERO,
        }
    }
}

pub(crate) struct LoadLoop {
    setup: LoopSetup,
    epoll: OwnedFd,
    wake: Arc<OwnedFd>,
    commands: Receiver<LoopCommand>,
    reporter: Reporter<HeldConnections>,
    connections: Connections,
    /// Requests due but not sent.
    backlog: TimeoutQueue<StepRequest>,
    exchanges: InFlightRequests,
    users: Users,
    /// Exchanges that are waited for; those that are over are skipped.
    expiry: TimeoutQueue<SlotKey>,
    orphans: usize,
    running: Option<RunningTrial>,
    /// Connections to be held open.
    hold: Option<HoldState>,
    silence_detector: SilenceDetector,
    unsettled: bool,
    /// What the current or last trial leaves for the next.
    pool: Pool,
    inbox: ReadBuffer,
    /// Completions of the current connection; empty between events.
    completions: Vec<Completion>,
    /// Connections that hold back sent bytes until the end of the turn.
    unflushed: Vec<u32>,
    cookies: Vec<u8>,
}

impl LoadLoop {
    pub fn new(
        setup: LoopSetup,
        wake: Arc<OwnedFd>,
        commands: Receiver<LoopCommand>,
        reporter: Reporter<HeldConnections>,
    ) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &wake, epoll::EventData::new_u64(WAKE_TOKEN), epoll::EventFlags::IN)?;
        let connections = Connections::new(setup.serial);
        let silence_detector = SilenceDetector::new(SharedActivity::clone(&setup.activity));
        Ok(Self {
            setup,
            epoll,
            wake,
            commands,
            reporter,
            connections,
            backlog: TimeoutQueue::default(),
            exchanges: Slots::default(),
            users: Slots::default(),
            expiry: TimeoutQueue::default(),
            orphans: 0,
            running: None,
            hold: None,
            silence_detector,
            unsettled: false,
            pool: Pool::default(),
            inbox: ReadBuffer::new(),
            completions: Vec::new(),
            unflushed: Vec::new(),
            cookies: Vec::new(),
        })
    }

    /// Runs until told to quit, or until the sender is gone.
    pub fn run(mut self) -> io::Result<()> {
        // The kernel may round timers up by the slack, 50 µs by default (prctl(2)).
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        let mut events = [MaybeUninit::<epoll::Event>::uninit(); EVENTS_PER_TURN];
        loop {
            if !self.handle_commands() {
                return Ok(());
            }
            let turn_ns = sys::monotonic_ns();
            self.begin_turn(turn_ns);
            let now = self.trial_time(turn_ns);
            self.cut_slices(now);
            self.wake_users(now);
            let more_due = self.take_arrivals();
            self.expire();
            self.dispatch();
            self.make_connections();
            self.hold_open();
            self.flush();
            self.end_if_over();
            let timeout = if more_due { Some(Nanos::ZERO) } else { self.nap() };
            let began = sys::monotonic_ns();
            self.silence_detector.note_sleep(began, timeout);
            let (ready, _) = match epoll::wait(&self.epoll, &mut events, timeout.map(to_timespec).as_ref()) {
                Ok(ready) => ready,
                Err(rustix::io::Errno::INTR) => continue,
                Err(errno) => return Err(errno.into()),
            };
            if ready.is_empty()
                && !more_due
                && timeout == Some(Nanos::ZERO)
                && let Some(running) = &mut self.running
            {
                running.recorder.spun(Nanos(sys::monotonic_ns() - began));
            }
            for event in ready.iter() {
                match event.data.u64() {
                    WAKE_TOKEN => {
                        let mut count = [0u8; 8];
                        let _ = rustix::io::read(&self.wake, &mut count);
                    }
                    token => {
                        // Near the peer's end no further event follows: read up to it.
                        let ends = epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR;
                        let flags = event.flags;
                        let readiness =
                            if flags.intersects(ends) { Readiness::End } else { Readiness::Bytes };
                        self.handle_event(token as u32, readiness);
                    }
                }
            }
        }
    }

    /// Now, as a moment of the current trial.
    fn now(&self) -> Nanos {
        self.trial_time(sys::monotonic_ns())
    }

    /// A time of the monotonic clock as a moment of the current trial.
    fn trial_time(&self, monotonic_ns: u64) -> Nanos {
        Nanos(monotonic_ns.saturating_sub(self.running.as_ref().map_or(0, |p| p.trial.start_ns)))
    }

    fn handle_commands(&mut self) -> bool {
        loop {
            match self.commands.try_recv() {
                Ok(LoopCommand::Begin(trial)) => {
                    // The figures of a single step are in the slice itself.
                    let step_count =
                        if self.setup.script.step_count > 1 { self.setup.script.step_count } else { 0 };
                    let recorder = Recorder::new(trial.load_ends, trial.deadline, step_count);
                    let wait_policy = WaitPolicy::new(self.setup.lateness, trial.interval);
                    let streams = self.setup.endpoint.streams();
                    let eager_connections = trial.source.users().map(|users| users.div_ceil(streams));
                    let activity = SharedActivity::clone(&self.setup.activity);
                    activity.begin();
                    self.setup.learned.pieces.clear();
                    self.pool = Pool::new(self.connections.len());
                    self.connections.trial_begins();
                    self.running = Some(RunningTrial {
                        trial: *trial,
                        recorder,
                        wait_policy,
                        eager_connections,
                        thinking: BinaryHeap::new(),
                        stopped: false,
                        activity,
                        steady: SteadyResponse::default(),
                    });
                    self.unsettled = true;
                }
                Ok(LoopCommand::Stop(at)) => self.stop(at),
                Ok(LoopCommand::GiveWay) => self.give_way(),
                Ok(LoopCommand::Abandon) => {
                    self.abandon_orphans();
                    self.report_if_settled();
                }
                Ok(LoopCommand::Hold(wanted)) => self.hold(wanted),
                Ok(LoopCommand::HoldNoMore) => self.hold_no_more(),
                Ok(LoopCommand::Release) => self.release(),
                Ok(LoopCommand::Quit) | Err(TryRecvError::Disconnected) => return false,
                Err(TryRecvError::Empty) => return true,
            }
        }
    }

    fn open_counts(&self) -> OpenCounts {
        OpenCounts {
            in_flight: self.exchanges.len() as u64,
            backlog: self.backlog.len() as u64,
            connections: self.connections.len() as u64,
        }
    }

    fn cut_slices(&mut self, now: Nanos) {
        let open = self.open_counts();
        let Some(running) = &mut self.running else { return };
        let bytes = std::mem::take(&mut self.inbox.count);
        running.recorder.received(bytes);
        while let Some(slice) = running.recorder.cut(now, open) {
            running.steady.add_slice(&slice, running.trial.load_ends);
            if running.recorder.slice_ends() > running.trial.load_ends {
                running.activity.raise_drain(running.steady.drain(running.trial.drain));
            }
            self.pool.had_failures |= slice.outcomes.bad() > 0;
            self.reporter.send(ThreadReport::Slice(Box::new(slice)));
        }
    }

    /// Ends the load early; now, if the order came late.
    fn stop(&mut self, at: Nanos) {
        let at = at.max(self.now());
        let Some(running) = self.running.as_mut().filter(|running| !running.stopped) else { return };
        running.trial.load_ends = running.trial.load_ends.min(at);
        running.recorder.cut_load(at);
        running.stopped = true;
        for Reverse((_, user)) in running.thinking.drain() {
            running.recorder.never_resumed();
            self.users.remove(user);
        }
    }

    /// Ends the trial once its load and everything that it started are over.
    fn end_if_over(&mut self) {
        let now = self.now();
        let Some(running) = &mut self.running else { return };
        let idle = running.recorder.outstanding() == 0 && running.thinking.is_empty();
        if idle && running.trial.source.is_exhausted() {
            running.trial.load_ends = running.trial.load_ends.min(now);
            running.recorder.cut_load(now);
        }
        let load_end = running.trial.load_ends;
        if now < load_end || !idle {
            if now >= load_end {
                self.make_way();
            }
            return;
        }
        self.close_silence(now);
        self.cut_slices(now);
        let open = self.open_counts();
        let Some(RunningTrial { mut trial, mut recorder, .. }) = self.running.take() else { return };
        // Arrivals that came due and were never taken up: the generator was that far behind.
        while trial.source.next_due().is_some_and(|due| due < load_end)
            && !trial.source.is_closed_loop()
            && trial.source.take(Nanos::MAX).is_some()
        {
            recorder.not_started(Outcome::Unsent);
        }
        let LearnedLimits { places, answers_each, .. } = &*self.setup.learned;
        places.store(self.connections.places().unwrap_or(0) as u64, Ordering::Relaxed);
        answers_each.store(self.connections.answers_each().unwrap_or(0).into(), Ordering::Relaxed);
        self.users = Slots::default();
        self.expiry = TimeoutQueue::default();
        let slice = recorder.finish(now, open);
        self.pool.had_failures |= slice.outcomes.bad() > 0;
        self.pool.answered_ns = sys::monotonic_ns();
        self.pool.load_ended_ns = (!trial.source.is_closed_loop()).then_some(trial.start_ns + load_end.0);
        self.reporter.send(ThreadReport::Slice(Box::new(slice)));
        self.reporter.send(ThreadReport::Over(load_end));
        self.report_if_settled();
    }

    fn report_if_settled(&mut self) {
        if self.unsettled && self.running.is_none() && self.orphans == 0 {
            self.unsettled = false;
            self.pool.gives_way = false;
            self.trim_pool();
            self.reporter.send(ThreadReport::Settled);
        }
    }

    /// Sleeps without listening for as long as the wait policy says, and returns how long to listen then;
    /// `None`: until there is an event.
    fn nap(&mut self) -> Option<Nanos> {
        let now = self.now();
        if self.running.is_none() && self.connections.connecting() > 0 {
            return Some(holding::POLL_INTERVAL);
        }
        let running = self.running.as_mut()?;
        let load_ends = running.trial.load_ends;
        let due = running.trial.source.next_due().filter(|due| *due < load_ends);
        let next_end = [load_ends, load_ends + running.drain(now)].into_iter().find(|end| now < *end);
        let thinking = running.thinking.peek().map(|Reverse((at, _))| *at);
        let max_age = running.max_request_age(now);
        let (sent, waiting) = (self.expiry.next_expiry(max_age), self.backlog.next_expiry(max_age));
        let silence_check = (!self.exchanges.is_empty()).then(|| now + silence::CHECK_INTERVAL);
        let deadlines =
            [Some(running.recorder.slice_ends()), next_end, thinking, sent, waiting, silence_check];
        let until_next = deadlines.into_iter().flatten().min().unwrap_or(Nanos::MAX) - now;
        let wait =
            running.wait_policy.plan_wait(due.map(|due| due - now), until_next, self.exchanges.len() as u64);
        if wait.nap > Nanos::ZERO {
            // Woken early, it only checks early.
            let _ = rustix::thread::nanosleep(&to_timespec(wait.nap));
        }
        Some(wait.poll)
    }
}
