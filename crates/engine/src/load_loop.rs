//! The loop: one thread, one epoll, due times first.
//!
//! Each turn takes up due arrivals, gives each to a connection with room or puts it into the backlog with its
//! due time, gives up on those that waited too long, and then sleeps until the next relevant moment or event.

mod holding;
mod outcomes;
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
const EVENTS_A_TURN: usize = 256;
const WAKE: u64 = u64::MAX;

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
    pub gap: Nanos,
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
    pub last_word: SharedActivity,
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
}

pub(super) fn read_known(of: &AtomicU64) -> Option<u64> {
    Some(of.load(Ordering::Relaxed)).filter(|learned| *learned > 0)
}

struct RunningTrial {
    trial: Trial,
    recorder: Recorder,
    pace: WaitPolicy,
    /// How many connections a closed loop opens in advance, until one cannot be made.
    eager_for: Option<usize>,
    /// Pausing users, by the end of their pause.
    thinking: BinaryHeap<Reverse<(Nanos, u32)>>,
    /// The load was stopped: pauses no longer count.
    stopped: bool,
    heard: SharedActivity,
    steady: SteadyResponse,
}

impl RunningTrial {
    /// How long the load drains, as far as is known `now`: longer after a silence.
    fn drain(&self, now: Nanos) -> Nanos {
        let (start, ends) = (self.trial.start_ns, self.trial.load_ends);
        match self.stopped || now < ends {
            true => self.trial.drain,
            false => self.heard.drain(self.trial.drain, [start, start + ends.0, start + now.0]),
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
    teller: Reporter<HeldConnections>,
    connections: Connections,
    /// Requests due but not sent.
    backlog: TimeoutQueue<StepRequest>,
    exchanges: InFlightRequests,
    users: Users,
    /// Exchanges that are waited for; those that are over are skipped.
    expiry: TimeoutQueue<SlotKey>,
    orphans: usize,
    present: Option<RunningTrial>,
    /// Connections to be held open.
    hold: Option<HoldState>,
    hush: SilenceDetector,
    unsettled: bool,
    /// What the current or last trial leaves for the next.
    pool: Pool,
    inbox: ReadBuffer,
    /// Completions of the current connection; empty between events.
    told: Vec<Completion>,
    /// Connections that hold back sent bytes until the end of the turn.
    unflushed: Vec<u32>,
    cookies: Vec<u8>,
}

impl LoadLoop {
    pub fn new(
        setup: LoopSetup,
        wake: Arc<OwnedFd>,
        commands: Receiver<LoopCommand>,
        teller: Reporter<HeldConnections>,
    ) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &wake, epoll::EventData::new_u64(WAKE), epoll::EventFlags::IN)?;
        let connections = Connections::new(setup.serial);
        let hush = SilenceDetector::new(SharedActivity::clone(&setup.last_word));
        Ok(Self {
            setup,
            epoll,
            wake,
            commands,
            teller,
            connections,
            backlog: TimeoutQueue::default(),
            exchanges: Slots::default(),
            users: Slots::default(),
            expiry: TimeoutQueue::default(),
            orphans: 0,
            present: None,
            hold: None,
            hush,
            unsettled: false,
            pool: Pool::default(),
            inbox: ReadBuffer::new(),
            told: Vec::new(),
            unflushed: Vec::new(),
            cookies: Vec::new(),
        })
    }

    /// Runs until told to quit, or until the sender is gone.
    pub fn run(mut self) -> io::Result<()> {
        // The kernel may round timers up by the slack, 50 µs by default (prctl(2)).
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        let mut events = [MaybeUninit::<epoll::Event>::uninit(); EVENTS_A_TURN];
        loop {
            if !self.handle_commands() {
                return Ok(());
            }
            let turn = sys::monotonic_ns();
            self.begin_turn(turn);
            let now = self.trial_time(turn);
            self.cut_slices(now);
            self.wake_users(now);
            let more = self.take_up();
            self.expire();
            self.dispatch();
            self.make_connections();
            self.hold_open();
            self.flush();
            self.end_if_over();
            let listen = if more { Some(Nanos::ZERO) } else { self.nap() };
            let began = sys::monotonic_ns();
            self.hush.sleeps(began, listen);
            let (ready, _) = match epoll::wait(&self.epoll, &mut events, listen.map(to_timespec).as_ref()) {
                Ok(ready) => ready,
                Err(rustix::io::Errno::INTR) => continue,
                Err(errno) => return Err(errno.into()),
            };
            if ready.is_empty()
                && !more
                && listen == Some(Nanos::ZERO)
                && let Some(present) = &mut self.present
            {
                present.recorder.spun(Nanos(sys::monotonic_ns() - began));
            }
            for event in ready.iter() {
                match event.data.u64() {
                    WAKE => {
                        let mut count = [0u8; 8];
                        let _ = rustix::io::read(&self.wake, &mut count);
                    }
                    token => {
                        // Near the peer's end no further event follows: read up to it.
                        let ends = epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR;
                        let flags = event.flags;
                        let news = if flags.intersects(ends) { Readiness::End } else { Readiness::Bytes };
                        self.handle_event(token as u32, news);
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
        Nanos(monotonic_ns.saturating_sub(self.present.as_ref().map_or(0, |p| p.trial.start_ns)))
    }

    fn handle_commands(&mut self) -> bool {
        loop {
            match self.commands.try_recv() {
                Ok(LoopCommand::Begin(trial)) => {
                    // The figures of a single step are in the slice itself.
                    let parts = if self.setup.script.parts > 1 { self.setup.script.parts } else { 0 };
                    let recorder = Recorder::new(trial.load_ends, trial.deadline, parts);
                    let pace = WaitPolicy::new(self.setup.lateness, trial.gap);
                    let streams = self.setup.endpoint.streams();
                    let eager_for = trial.source.users().map(|users| users.div_ceil(streams));
                    let heard = SharedActivity::clone(&self.setup.last_word);
                    heard.begin();
                    self.pool = Pool::new(self.connections.len());
                    self.connections.trial_begins();
                    self.present = Some(RunningTrial {
                        trial: *trial,
                        recorder,
                        pace,
                        eager_for,
                        thinking: BinaryHeap::new(),
                        stopped: false,
                        heard,
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
        let Some(present) = &mut self.present else { return };
        let bytes = std::mem::take(&mut self.inbox.count);
        present.recorder.received(bytes);
        while let Some(slice) = present.recorder.cut(now, open) {
            present.steady.take(&slice, present.trial.load_ends);
            if present.recorder.slice_ends() > present.trial.load_ends {
                present.heard.raise_drain(present.steady.drain(present.trial.drain));
            }
            self.pool.bad |= slice.outcomes.bad() > 0;
            self.teller.send(ThreadReport::Slice(Box::new(slice)));
        }
    }

    /// Ends the load early; now, if the order came late.
    fn stop(&mut self, at: Nanos) {
        let at = at.max(self.now());
        let Some(present) = self.present.as_mut().filter(|present| !present.stopped) else { return };
        present.trial.load_ends = present.trial.load_ends.min(at);
        present.recorder.cut_load(at);
        present.stopped = true;
        for Reverse((_, user)) in present.thinking.drain() {
            present.recorder.never_resumed();
            self.users.remove(user);
        }
    }

    /// Ends the trial once its load and everything that it started are over.
    fn end_if_over(&mut self) {
        let now = self.now();
        let Some(present) = &mut self.present else { return };
        let idle = present.recorder.outstanding() == 0 && present.thinking.is_empty();
        if idle && present.trial.source.is_exhausted() {
            present.trial.load_ends = present.trial.load_ends.min(now);
            present.recorder.cut_load(now);
        }
        let ends = present.trial.load_ends;
        if now < ends || !idle {
            if now >= ends {
                self.make_way();
            }
            return;
        }
        self.close_silence(now);
        self.cut_slices(now);
        let open = self.open_counts();
        let Some(RunningTrial { mut trial, mut recorder, .. }) = self.present.take() else { return };
        // Arrivals that came due and were never taken up: the generator was that far behind.
        while trial.source.next_due().is_some_and(|due| due < ends)
            && !trial.source.is_closed_loop()
            && trial.source.take(Nanos::MAX).is_some()
        {
            recorder.not_started(Outcome::Unsent);
        }
        let LearnedLimits { places, answers_each } = &*self.setup.learned;
        places.store(self.connections.places().unwrap_or(0) as u64, Ordering::Relaxed);
        answers_each.store(self.connections.answers_each().unwrap_or(0).into(), Ordering::Relaxed);
        self.users = Slots::default();
        self.expiry = TimeoutQueue::default();
        let slice = recorder.finish(now, open);
        self.pool.bad |= slice.outcomes.bad() > 0;
        self.pool.answered_ns = sys::monotonic_ns();
        self.pool.load_ended_ns = (!trial.source.is_closed_loop()).then_some(trial.start_ns + ends.0);
        self.teller.send(ThreadReport::Slice(Box::new(slice)));
        self.teller.send(ThreadReport::Over(ends));
        self.report_if_settled();
    }

    fn report_if_settled(&mut self) {
        if self.unsettled && self.present.is_none() && self.orphans == 0 {
            self.unsettled = false;
            self.pool.gives_way = false;
            self.trim_pool();
            self.teller.send(ThreadReport::Settled);
        }
    }

    /// Sleeps without listening for as long as the wait policy says, and returns how long to listen then;
    /// `None`: until there is an event.
    fn nap(&mut self) -> Option<Nanos> {
        let now = self.now();
        if self.present.is_none() && self.connections.connecting() > 0 {
            return Some(holding::LOOK);
        }
        let present = self.present.as_mut()?;
        let load_ends = present.trial.load_ends;
        let due = present.trial.source.next_due().filter(|due| *due < load_ends);
        let ends = [load_ends, load_ends + present.drain(now)].into_iter().find(|end| now < *end);
        let thinking = present.thinking.peek().map(|Reverse((at, _))| *at);
        let patience = present.max_request_age(now);
        let (sent, waiting) = (self.expiry.next_expiry(patience), self.backlog.next_expiry(patience));
        let look = (!self.exchanges.is_empty()).then(|| now + silence::LOOK);
        let moments = [Some(present.recorder.slice_ends()), ends, thinking, sent, waiting, look];
        let rest = moments.into_iter().flatten().min().unwrap_or(Nanos::MAX) - now;
        let wait = present.pace.plan_wait(due.map(|due| due - now), rest, self.exchanges.len() as u64);
        if wait.nap > Nanos::ZERO {
            // Woken early, it only checks early.
            let _ = rustix::thread::nanosleep(&to_timespec(wait.nap));
        }
        Some(wait.listen)
    }
}
