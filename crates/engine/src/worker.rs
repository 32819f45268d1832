//! The loop: one thread, one epoll, due times first.
//!
//! Each turn takes up the arrivals that are due, gives each to an idle connection or lets it wait
//! in the backlog with its due time, gives up on those that waited too long, and then sleeps until
//! the next moment that matters or the kernel has news.

use crate::answer::Progress;
use crate::connections::{Connections, State};
use crate::endpoint::Endpoint;
use crate::recorder::{Arrival, Open, Recorder};
use crate::request::RequestWriter;
use crate::source::Source;
use plan::StatusRange;
use record::{Failure, Outcome, Slice};
use rustix::event::epoll;
use rustix::time::Timespec;
use std::collections::VecDeque;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use units::Nanos;

/// An arrival taken up later than this was not sent in any useful sense: it is `unsent`.
const BEHIND_LIMIT: Nanos = Nanos::from_secs(1);
/// Arrivals taken up before the kernel's news are looked at again.
const ARRIVALS_A_TURN: usize = 64;
/// Connections being made at once; more would overflow a target's accept queue (128 in many
/// services) by our doing rather than by its own.
const CONNECTING_LIMIT: usize = 100;
/// The last stretch before a due time is spun: sleeping wakes some 40 µs late on a virtual machine.
const SPIN: Nanos = Nanos::from_micros(60);
/// Spinning is worth its processor time only where it is a small part of the gap between arrivals.
const SPIN_GAP: Nanos = Nanos::from_micros(300);
/// The part of a sleep that it may end late, doubled for safety.
const TIMER_COARSENESS: u64 = 500;
/// One read takes at most this much.
const READ_SIZE: usize = 64 * 1024;
const WAKE: u64 = u64::MAX;

/// What the loop is told.
pub(crate) enum Command {
    Begin(Box<Trial>),
    /// The load ends at this moment of the trial.
    Stop(Nanos),
    /// Closes connections that still wait for an answer nobody counts any more.
    Abandon,
    Quit,
}

/// What the loop tells.
pub(crate) enum Report {
    Slice(Box<Slice>),
    /// The trial is over, its load ended at this moment; what is open is no longer counted.
    Over(Nanos),
    /// Nothing is open any more.
    Settled,
}

/// One trial as one loop sees it.
pub(crate) struct Trial {
    pub source: Source,
    /// On the monotonic clock.
    pub start_ns: u64,
    pub load_ends: Nanos,
    pub drain: Nanos,
    pub deadline: Option<Nanos>,
    /// Number of the first arrival, counted over the whole run.
    pub first_number: u64,
    /// Mean gap between this loop's arrivals.
    pub gap: Nanos,
}

/// What stays the same over all trials.
pub(crate) struct Setup {
    pub endpoint: Endpoint,
    pub writer: RequestWriter,
    pub expect: Vec<StatusRange>,
    pub timeout: Nanos,
    pub head_only: bool,
    pub connections_limit: usize,
    pub outstanding_limit: u64,
    /// Serial number of this loop's first connection, and the step to its next.
    pub serial: (u64, u64),
}

struct Present {
    trial: Trial,
    recorder: Recorder,
    spin: bool,
}

pub(crate) struct Worker {
    setup: Setup,
    epoll: OwnedFd,
    wake: OwnedFd,
    commands: Receiver<Command>,
    reports: Sender<(usize, Report)>,
    index: usize,
    connections: Connections,
    backlog: VecDeque<Arrival>,
    /// Arrivals in flight in the order of their due times; those decided meanwhile are passed over.
    expiry: VecDeque<(Arrival, u32)>,
    present: Option<Present>,
    unsettled: bool,
    request: Vec<u8>,
    buffer: Box<[u8]>,
}

impl Worker {
    pub fn new(
        setup: Setup,
        index: usize,
        wake: OwnedFd,
        commands: Receiver<Command>,
        reports: Sender<(usize, Report)>,
    ) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &wake, epoll::EventData::new_u64(WAKE), epoll::EventFlags::IN)?;
        let connections = Connections::new(setup.serial, setup.head_only);
        Ok(Self {
            setup,
            epoll,
            wake,
            commands,
            reports,
            index,
            connections,
            backlog: VecDeque::new(),
            expiry: VecDeque::new(),
            present: None,
            unsettled: false,
            request: Vec::new(),
            buffer: vec![0; READ_SIZE].into_boxed_slice(),
        })
    }

    /// Works until told to quit, or until nobody listens any more.
    pub fn run(mut self) -> io::Result<()> {
        // The kernel may round timers up by the slack, 50 µs unless told otherwise (prctl(2)).
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        let mut events = [MaybeUninit::<epoll::Event>::uninit(); 256];
        loop {
            if !self.obey() {
                return Ok(());
            }
            let now = self.now();
            self.cut_slices(now);
            let more = self.take_up();
            self.expire();
            self.dispatch();
            self.end_if_over();
            let timeout = if more { Some(Nanos::ZERO) } else { self.sleep() };
            let began = sys::monotonic_ns();
            let spec = timeout.map(|t| Timespec {
                tv_sec: (t.0 / 1_000_000_000) as i64,
                tv_nsec: (t.0 % 1_000_000_000) as i64,
            });
            let (ready, _) = match epoll::wait(&self.epoll, &mut events, spec.as_ref()) {
                Ok(ready) => ready,
                Err(rustix::io::Errno::INTR) => continue,
                Err(errno) => return Err(errno.into()),
            };
            if ready.is_empty()
                && !more
                && timeout == Some(Nanos::ZERO)
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
                        // With the peer's end of the connection comes no further event: read up to it.
                        let ends = epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR;
                        let flags = event.flags;
                        self.ready(token as u32, flags.intersects(ends));
                    }
                }
            }
        }
    }

    /// Now, as a moment of the present trial.
    fn now(&self) -> Nanos {
        Nanos(sys::monotonic_ns().saturating_sub(self.present.as_ref().map_or(0, |p| p.trial.start_ns)))
    }

    fn obey(&mut self) -> bool {
        loop {
            match self.commands.try_recv() {
                Ok(Command::Begin(trial)) => {
                    let recorder = Recorder::new(trial.load_ends, trial.deadline);
                    let spin = trial.gap >= SPIN_GAP;
                    self.present = Some(Present { trial: *trial, recorder, spin });
                    self.unsettled = true;
                }
                Ok(Command::Stop(at)) => {
                    if let Some(present) = &mut self.present {
                        present.trial.load_ends = present.trial.load_ends.min(at);
                        present.recorder.cut_load(at);
                    }
                }
                Ok(Command::Abandon) => {
                    self.connections.close_orphans();
                    self.tell_if_settled();
                }
                Ok(Command::Quit) | Err(TryRecvError::Disconnected) => return false,
                Err(TryRecvError::Empty) => return true,
            }
        }
    }

    fn open(&self) -> Open {
        Open {
            in_flight: self.connections.in_flight() as u64,
            backlog: self.backlog.len() as u64,
            connections: self.connections.len() as u64,
        }
    }

    fn cut_slices(&mut self, now: Nanos) {
        let open = self.open();
        let Some(present) = &mut self.present else { return };
        while let Some(slice) = present.recorder.cut(now, open) {
            let _ = self.reports.send((self.index, Report::Slice(Box::new(slice))));
        }
    }

    /// Takes up arrivals that are due; true if more may be.
    fn take_up(&mut self) -> bool {
        for _ in 0..ARRIVALS_A_TURN {
            let now = self.now();
            let outstanding_limit = self.setup.outstanding_limit;
            let Some(present) = &mut self.present else { return false };
            if present.trial.source.next_due().is_none_or(|due| due >= present.trial.load_ends) {
                return false;
            }
            let Some((number, due)) = present.trial.source.take(now) else { return false };
            if now - due > BEHIND_LIMIT {
                present.recorder.not_started(Outcome::Unsent);
                present.trial.source.decided(now, true);
            } else if present.recorder.outstanding() >= outstanding_limit {
                present.recorder.not_started(Outcome::Refused);
                present.trial.source.decided(now, true);
            } else {
                present.recorder.taken(due, now);
                let number = present.trial.first_number + number;
                self.backlog.push_back(Arrival { number, due, taken: now });
                self.dispatch();
            }
        }
        true
    }

    /// Gives waiting arrivals to idle connections, and makes connections for those that remain.
    fn dispatch(&mut self) {
        while let Some(arrival) = self.backlog.front().copied() {
            let Some(slot) = self.connections.take_idle() else { break };
            self.backlog.pop_front();
            self.send(slot, arrival);
        }
        while self.connections.connecting() < self.backlog.len().min(CONNECTING_LIMIT)
            && self.connections.len() < self.setup.connections_limit
        {
            if let Err(why) = self.connect() {
                self.no_connection(&why);
            }
        }
    }

    fn connect(&mut self) -> io::Result<()> {
        let slot = self.connections.open(&self.setup.endpoint, &self.epoll)?;
        if self.connections.get(slot).stream.answers_at_once() {
            self.connected(slot);
        }
        Ok(())
    }

    fn connected(&mut self, slot: u32) {
        self.connections.made(slot);
        if let Some(present) = &mut self.present {
            present.recorder.connected();
        }
    }

    /// A connection could not be made: the arrival that has waited longest for one has failed.
    fn no_connection(&mut self, why: &io::Error) {
        let now = self.now();
        if let Some(arrival) = self.backlog.pop_front()
            && let Some(present) = &mut self.present
        {
            present.recorder.failed(&arrival, Failure::Connect(crate::reason(why)), now);
            present.trial.source.decided(now, false);
        }
    }

    fn send(&mut self, slot: u32, arrival: Arrival) {
        self.request.clear();
        self.setup.writer.write(arrival.number, &mut self.request);
        let sent = self.now();
        let connection = self.connections.carry(slot, arrival, sent);
        self.expiry.push_back((arrival, slot));
        if let Some(present) = &mut self.present {
            present.recorder.sent(&arrival, sent);
        }
        match connection.stream.write(&self.request) {
            Ok(count) => {
                if count < self.request.len() {
                    connection.unwritten.extend_from_slice(&self.request[count..]);
                }
                if connection.stream.answers_at_once() {
                    self.receive(slot, false);
                }
            }
            Err(_) => self.lost(slot, Failure::Closed),
        }
    }

    fn ready(&mut self, slot: u32, ends: bool) {
        match self.connections.state(slot) {
            // Closed earlier in this very turn.
            None => {}
            Some(State::Connecting { .. }) => match self.connections.get(slot).stream.established() {
                Ok(true) => {
                    self.connected(slot);
                    self.dispatch();
                }
                Ok(false) => {}
                Err(why) => {
                    self.connections.close(slot);
                    self.no_connection(&why);
                }
            },
            Some(State::Idle | State::Busy { .. }) if self.write_rest(slot) => self.receive(slot, ends),
            Some(State::Idle | State::Busy { .. }) => {}
        }
    }

    /// Writes on; false if the connection broke.
    fn write_rest(&mut self, slot: u32) -> bool {
        let connection = self.connections.get(slot);
        let mut result = connection.stream.flush().map(|_| ());
        if result.is_ok() && !connection.unwritten.is_empty() {
            result = connection.stream.write(&connection.unwritten).map(|count| {
                connection.unwritten.drain(..count);
            });
        }
        if result.is_err() {
            self.lost(slot, Failure::Closed);
        }
        result.is_ok()
    }

    fn receive(&mut self, slot: u32, ends: bool) {
        loop {
            let connection = self.connections.get(slot);
            let read = connection.stream.read(&mut self.buffer);
            let last = connection.stream.short_read_is_last() && !ends;
            match read {
                Ok(None) => return,
                Ok(Some(0)) => {
                    return match (connection.state, connection.reader.closed()) {
                        (State::Busy { .. }, Some(answer)) => self.answered(slot, answer.status, false),
                        _ => self.lost(slot, Failure::Closed),
                    };
                }
                Ok(Some(count)) => {
                    if let Some(present) = &mut self.present {
                        present.recorder.received(count);
                    }
                    if !matches!(connection.state, State::Busy { .. }) {
                        // Nobody asked: a 408 before closing, or no HTTP at all.
                        return self.connections.close(slot);
                    }
                    match connection.reader.feed(&self.buffer[..count]) {
                        Ok(Progress::Done(answer)) => return self.answered(slot, answer.status, answer.keep),
                        Ok(Progress::More) if last && count < self.buffer.len() => return,
                        Ok(Progress::More) => {}
                        Err(why) => return self.lost(slot, Failure::Protocol(why)),
                    }
                }
                Err(_) => return self.lost(slot, Failure::Closed),
            }
        }
    }

    fn answered(&mut self, slot: u32, status: u16, keep: bool) {
        let now = self.now();
        let Some(State::Busy { arrival, sent, orphan }) = self.connections.state(slot) else {
            unreachable!("only a busy connection is answered")
        };
        self.connections.done(slot, keep);
        if let (false, Some(present)) = (orphan, &mut self.present) {
            let expected = self.setup.expect.iter().any(|range| range.contains(status));
            present.recorder.answered(&arrival, sent, status, expected, now);
            present.trial.source.decided(now, true);
        }
        self.tell_if_settled();
    }

    /// The connection broke. What it carried has failed, unless it carried nothing.
    fn lost(&mut self, slot: u32, why: Failure) {
        let now = self.now();
        let carried = self.connections.state(slot);
        self.connections.close(slot);
        if let (Some(State::Busy { arrival, orphan: false, .. }), Some(present)) =
            (carried, &mut self.present)
        {
            present.recorder.failed(&arrival, why, now);
            present.trial.source.decided(now, true);
        }
        self.tell_if_settled();
    }

    /// Gives up on arrivals that are older than the time-out.
    fn expire(&mut self) {
        let now = self.now();
        let timeout = self.setup.timeout;
        let expired = |arrival: &Arrival| arrival.due + timeout <= now;
        while let Some((arrival, slot)) = self.expiry.front().copied() {
            let waiting = matches!(self.connections.state(slot), Some(State::Busy { arrival: a, orphan: false, .. }) if a == arrival);
            if waiting && !expired(&arrival) {
                break;
            }
            self.expiry.pop_front();
            if waiting {
                // Its answer may still come: the connection is of no more use.
                self.connections.close(slot);
                self.give_up(&arrival, Outcome::Timeout, now);
            }
        }
        let connect_limit = timeout.min(crate::CONNECT_LIMIT.into());
        while let Some(slot) = self.connections.overdue(connect_limit) {
            self.connections.close(slot);
            self.no_connection(&io::ErrorKind::TimedOut.into());
        }
        while self.backlog.front().is_some_and(expired) {
            let arrival = self.backlog.pop_front().expect("there is a front");
            self.give_up(&arrival, Outcome::Timeout, now);
        }
    }

    fn give_up(&mut self, arrival: &Arrival, outcome: Outcome, now: Nanos) {
        if let Some(present) = &mut self.present {
            present.recorder.given_up(arrival, outcome, now);
            present.trial.source.decided(now, true);
        }
    }

    /// Ends the trial once its load and its drain are over.
    fn end_if_over(&mut self) {
        let now = self.now();
        let Some(present) = &mut self.present else { return };
        let idle = present.recorder.outstanding() == 0;
        if present.trial.source.is_closed() && idle && present.trial.source.is_exhausted() {
            present.trial.load_ends = present.trial.load_ends.min(now);
            present.recorder.cut_load(now);
        }
        let ends = present.trial.load_ends;
        if now < ends || (now < ends + present.trial.drain && !idle) {
            return;
        }
        self.cut_slices(now);
        let Some(mut present) = self.present.take() else { return };
        // Arrivals that came due and were never looked at: the generator was that far behind.
        while present.trial.source.next_due().is_some_and(|due| due < ends)
            && !present.trial.source.is_closed()
            && present.trial.source.take(Nanos::MAX).is_some()
        {
            present.recorder.not_started(Outcome::Unsent);
        }
        for arrival in std::mem::take(&mut self.backlog) {
            present.recorder.given_up(&arrival, Outcome::Unfinished, now);
        }
        let recorder = &mut present.recorder;
        self.connections.orphan_all(|arrival| recorder.given_up(arrival, Outcome::Unfinished, now));
        self.expiry.clear();
        let slice = present.recorder.finish(now, self.open());
        let _ = self.reports.send((self.index, Report::Slice(Box::new(slice))));
        let _ = self.reports.send((self.index, Report::Over(ends)));
        self.tell_if_settled();
    }

    fn tell_if_settled(&mut self) {
        if self.unsettled && self.present.is_none() && self.connections.orphans() == 0 {
            self.unsettled = false;
            let _ = self.reports.send((self.index, Report::Settled));
        }
    }

    /// How long nothing can happen by itself.
    fn sleep(&mut self) -> Option<Nanos> {
        let now = self.now();
        let timeout = self.setup.timeout;
        let present = self.present.as_mut()?;
        let load_ends = present.trial.load_ends;
        let due = present.trial.source.next_due().filter(|due| *due < load_ends);
        let over = if now < load_ends { load_ends } else { load_ends + present.trial.drain };
        let moments = [
            Some(present.recorder.slice_ends()),
            Some(over),
            self.expiry.front().map(|(a, _)| a.due + timeout),
            self.backlog.front().map(|a| a.due + timeout),
        ];
        let rest = moments.into_iter().flatten().min().unwrap_or(Nanos::MAX) - now;
        let Some(until_due) = due.map(|due| due - now) else { return Some(rest) };
        // Long sleeps end late by up to a thousandth of their length (the kernel's estimate of how
        // exact a poll must be, fs/select.c): wake before that, and sleep the rest anew.
        let until_due = until_due - until_due / TIMER_COARSENESS;
        let until_due = match present.spin {
            true if until_due <= SPIN => Nanos::ZERO,
            true => until_due - SPIN,
            false => until_due,
        };
        Some(rest.min(until_due))
    }
}
