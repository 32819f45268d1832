//! The loop: one thread, one epoll, due times first.
//!
//! Each turn takes up the arrivals that are due, gives each to a connection with room or lets it wait
//! in the backlog with its due time, gives up on those that waited too long, and then sleeps until
//! the next moment that matters or the kernel has news.

use crate::connections::Connections;
use crate::cookies::Jar;
use crate::endpoint::Endpoint;
use crate::exchanges::{Exchange, Exchanges, Request, User, Users};
use crate::expiry::Expiry;
use crate::pace::Pace;
use crate::protocol::{Answer, Told};
use crate::recorder::{Arrival, Open, Recorder};
use crate::script::Script;
use crate::slots::Slots;
use crate::source::Source;
use crate::stream::Inbox;
use plan::Who;
use record::{Failure, Outcome, Slice};
use rustix::event::epoll;
use rustix::time::Timespec;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use units::Nanos;

/// An arrival taken up later than this was not sent in any useful sense: it is `unsent`.
const BEHIND_LIMIT: Nanos = Nanos::from_secs(1);
/// Arrivals taken up before the kernel's news are looked at again.
const ARRIVALS_A_TURN: usize = 64;
/// Connections being made at once; more would overflow a target's accept queue (128 in many
/// services) by our doing rather than by its own.
const CONNECTING_LIMIT: usize = 100;
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
    /// Mean gap between this loop's arrivals; zero of a closed loop.
    pub gap: Nanos,
}

/// What stays the same over all trials.
pub(crate) struct Setup {
    pub endpoint: Endpoint,
    pub script: Script,
    pub lateness: Nanos,
    /// How long a connection may take to be made.
    pub connect_limit: Nanos,
    pub connections_limit: usize,
    pub outstanding_limit: u64,
    /// Arrivals with this number or a higher one have no data.
    pub arrivals_limit: u64,
    /// Serial number of this loop's first connection, and the step to its next.
    pub serial: (u64, u64),
}

struct Present {
    trial: Trial,
    recorder: Recorder,
    pace: Pace,
    /// Users who think, by the end of their pause, and the step that they take next.
    thinking: BinaryHeap<Reverse<(Nanos, u32)>>,
}

pub(crate) struct Worker {
    setup: Setup,
    epoll: OwnedFd,
    wake: Arc<OwnedFd>,
    commands: Receiver<Command>,
    reports: Sender<(usize, Report)>,
    index: usize,
    connections: Connections,
    backlog: VecDeque<Request>,
    exchanges: Exchanges,
    users: Users,
    /// The next request of each user who thinks, by the user's number.
    paused: Vec<Option<Request>>,
    expiry: Expiry,
    orphans: usize,
    present: Option<Present>,
    unsettled: bool,
    inbox: Inbox,
    /// What the connection at hand has told; empty between events.
    told: Vec<Told>,
    /// Connections that were sent to and hold bytes back until the turn is over.
    unflushed: Vec<u32>,
    cookies: Vec<u8>,
}

impl Worker {
    pub fn new(
        setup: Setup,
        index: usize,
        wake: Arc<OwnedFd>,
        commands: Receiver<Command>,
        reports: Sender<(usize, Report)>,
    ) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &wake, epoll::EventData::new_u64(WAKE), epoll::EventFlags::IN)?;
        let connections = Connections::new(setup.serial);
        Ok(Self {
            setup,
            epoll,
            wake,
            commands,
            reports,
            index,
            connections,
            backlog: VecDeque::new(),
            exchanges: Slots::new(),
            users: Slots::new(),
            paused: Vec::new(),
            expiry: Expiry::new(),
            orphans: 0,
            present: None,
            unsettled: false,
            inbox: Inbox::new(),
            told: Vec::new(),
            unflushed: Vec::new(),
            cookies: Vec::new(),
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
            self.wake_users(now);
            let more = self.take_up();
            self.expire();
            self.dispatch();
            self.flush();
            self.end_if_over();
            let listen = if more { Some(Nanos::ZERO) } else { self.nap() };
            let began = sys::monotonic_ns();
            let (ready, _) = match epoll::wait(&self.epoll, &mut events, listen.map(timespec).as_ref()) {
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
        self.moment(sys::monotonic_ns())
    }

    /// A time of the monotonic clock as a moment of the present trial.
    fn moment(&self, monotonic_ns: u64) -> Nanos {
        Nanos(monotonic_ns.saturating_sub(self.present.as_ref().map_or(0, |p| p.trial.start_ns)))
    }

    fn obey(&mut self) -> bool {
        loop {
            match self.commands.try_recv() {
                Ok(Command::Begin(trial)) => {
                    // One step alone has its figures in the slice itself.
                    let parts = if self.setup.script.parts > 1 { self.setup.script.parts } else { 0 };
                    let recorder = Recorder::new(trial.load_ends, trial.deadline, parts);
                    let pace = Pace::new(self.setup.lateness, trial.gap);
                    self.present =
                        Some(Present { trial: *trial, recorder, pace, thinking: BinaryHeap::new() });
                    self.unsettled = true;
                }
                Ok(Command::Stop(at)) => {
                    if let Some(present) = &mut self.present {
                        present.trial.load_ends = present.trial.load_ends.min(at);
                        present.recorder.cut_load(at);
                    }
                }
                Ok(Command::Abandon) => {
                    self.abandon_orphans();
                    self.tell_if_settled();
                }
                Ok(Command::Quit) | Err(TryRecvError::Disconnected) => return false,
                Err(TryRecvError::Empty) => return true,
            }
        }
    }

    fn open(&self) -> Open {
        Open {
            in_flight: self.exchanges.len() as u64,
            backlog: self.backlog.len() as u64,
            connections: self.connections.len() as u64,
        }
    }

    fn cut_slices(&mut self, now: Nanos) {
        let open = self.open();
        let Some(present) = &mut self.present else { return };
        let bytes = std::mem::take(&mut self.inbox.count);
        present.recorder.received(bytes);
        while let Some(slice) = present.recorder.cut(now, open) {
            let _ = self.reports.send((self.index, Report::Slice(Box::new(slice))));
        }
    }

    /// Takes up arrivals that are due; true if more may be.
    fn take_up(&mut self) -> bool {
        for _ in 0..ARRIVALS_A_TURN {
            let now = self.now();
            let Some(present) = &mut self.present else { return false };
            if present.trial.source.next_due().is_none_or(|due| due >= present.trial.load_ends) {
                return false;
            }
            let Some((number, due)) = present.trial.source.take(now) else { return false };
            let number = present.trial.first_number + number;
            let outcome = if now - due > BEHIND_LIMIT || number >= self.setup.arrivals_limit {
                Some(Outcome::Unsent)
            } else if present.recorder.outstanding() >= self.setup.outstanding_limit {
                Some(Outcome::Refused)
            } else {
                None
            };
            if let Some(outcome) = outcome {
                present.recorder.not_started(outcome);
                present.trial.source.decided(now, true);
                continue;
            }
            present.recorder.taken(due, now);
            let arrival = Arrival { number, due, taken: now, paused: Nanos::ZERO };
            let flow = self.setup.script.choose(number);
            let user = self.new_user(flow);
            self.backlog.push_back(Request { arrival, due, flow: flow as u32, step: 0, user });
            self.dispatch();
        }
        true
    }

    /// Somebody to take this flow, if it needs somebody.
    fn new_user(&mut self, flow: usize) -> Option<u32> {
        let flow = &self.setup.script.flows[flow];
        let user = || User { taken: vec![Vec::new(); flow.takes], jar: Jar::default() };
        (!flow.plain).then(|| self.users.insert(user()).number)
    }

    /// Users whose pause is over go on.
    fn wake_users(&mut self, now: Nanos) {
        let Some(present) = &mut self.present else { return };
        while let Some(Reverse((at, user))) = present.thinking.peek().copied()
            && at <= now
        {
            present.thinking.pop();
            let Some(mut request) = self.paused[user as usize].take() else { continue };
            request.arrival.taken = now;
            present.recorder.resumed(now);
            self.backlog.push_back(request);
        }
    }

    /// Gives waiting requests to connections with room, and makes connections for those that remain.
    fn dispatch(&mut self) {
        while !self.backlog.is_empty() {
            let Some(slot) = self.connections.roomy() else { break };
            let Some(request) = self.backlog.pop_front() else { break };
            self.send(slot, request);
        }
        let a_time = self.setup.endpoint.streams();
        while self.connections.connecting() < self.backlog.len().div_ceil(a_time).min(CONNECTING_LIMIT)
            && self.connections.len() < self.setup.connections_limit
        {
            if let Err(why) = self.connect() {
                self.no_connection(&why);
            }
        }
    }

    fn connect(&mut self) -> io::Result<()> {
        let slot = self.connections.open(&self.setup.endpoint, &self.epoll)?;
        let at_once = self.connections.get(slot).is_some_and(|c| c.stream.answers_at_once());
        if at_once {
            self.establish(slot);
        }
        Ok(())
    }

    /// Carries the making of a connection on.
    fn establish(&mut self, slot: u32) {
        let Some(connection) = self.connections.get(slot) else { return };
        match connection.protocol.establish(
            &self.setup.endpoint,
            self.setup.script.session.as_ref(),
            &mut connection.stream,
            &mut self.inbox,
        ) {
            Ok(true) => {
                self.connections.made(slot);
                if let Some(present) = &mut self.present {
                    present.recorder.connected();
                }
            }
            Ok(false) => {}
            Err(why) => {
                self.connections.close(slot);
                self.no_connection(&why);
            }
        }
    }

    /// A connection could not be made: the request that has waited longest for one has failed.
    fn no_connection(&mut self, why: &io::Error) {
        if let Some(request) = self.backlog.pop_front() {
            self.failed(&request, Failure::Connect(crate::reason(why)), false);
        }
    }

    fn send(&mut self, slot: u32, request: Request) {
        let sent = self.now();
        let Self { setup, users, exchanges, connections, cookies, .. } = self;
        let flow = &mut setup.script.flows[request.flow as usize];
        let (has_cookies, step) = (flow.cookies, &mut flow.steps[request.step as usize]);
        let user = request.user.and_then(|user| users.get_mut(user));
        cookies.clear();
        if let Some(user) = &user
            && has_cookies
        {
            user.jar.header(&setup.script.site.visit(&step.path), cookies);
        }
        let taken = user.map_or(&[][..], |user| &user.taken);
        let who = Who { number: request.arrival.number, seed: setup.script.seed, taken };
        let key = exchanges.insert(Exchange { request, sent, connection: slot, orphan: false });
        self.expiry.push(request.due, step.timeout, key);
        let (part, is_first) = (step.part, request.step == 0);
        let Some(connection) = connections.get(slot) else { return };
        let result =
            connection.protocol.send(&mut connection.stream, &mut step.words, &who, cookies, key.number);
        let at_once = connection.stream.answers_at_once();
        if connection.protocol.holds_back() {
            self.unflushed.push(slot);
        }
        connections.list(slot);
        if let Some(present) = &mut self.present {
            present.recorder.part_sent(part);
            if is_first {
                present.recorder.sent(&request.arrival, sent);
            }
        }
        match result {
            Ok(()) if at_once => self.receive(slot, false),
            Ok(()) => {}
            Err(_) => self.lost(slot, Failure::Closed),
        }
    }

    /// Sends what connections have held back to send it together.
    fn flush(&mut self) {
        while let Some(slot) = self.unflushed.pop() {
            let Some(connection) = self.connections.get(slot) else { continue };
            if connection.protocol.flush(&mut connection.stream).is_err() {
                self.lost(slot, Failure::Closed);
            }
        }
    }

    fn ready(&mut self, slot: u32, ends: bool) {
        match self.connections.get(slot) {
            // Closed earlier in this very turn.
            None => {}
            Some(connection) if connection.is_being_made() => {
                self.establish(slot);
                self.dispatch();
            }
            Some(_) => self.receive(slot, ends),
        }
    }

    fn receive(&mut self, slot: u32, ends: bool) {
        let Some(connection) = self.connections.get(slot) else { return };
        let result =
            connection.protocol.receive(&mut connection.stream, &mut self.inbox, ends, &mut self.told);
        let mut told = std::mem::take(&mut self.told);
        told.drain(..).for_each(|told| self.told(told));
        self.told = told;
        match result {
            Ok(()) => self.connections.list(slot),
            Err(why) => self.lost(slot, why),
        }
    }

    /// An exchange has ended.
    fn told(&mut self, told: Told) {
        let Some(Exchange { request, sent, orphan, .. }) = self.exchanges.remove(told.exchange) else {
            return;
        };
        if orphan {
            self.orphans -= 1;
            return self.tell_if_settled();
        }
        match told.result {
            Ok(answer) => {
                let received = self.moment(told.received_ns).max(sent);
                self.answered(&request, sent, received, answer);
            }
            Err(why) => self.failed(&request, why, true),
        }
    }

    fn answered(&mut self, request: &Request, sent: Nanos, received: Nanos, answer: Answer) {
        let now = self.now();
        let Self { setup, users, present, .. } = self;
        let flow = &setup.script.flows[request.flow as usize];
        let step = &flow.steps[request.step as usize];
        let user = request.user.and_then(|user| users.get_mut(user));
        let Some(Present { recorder, pace, .. }) = present else { return };
        recorder.heard(answer.status);
        let judged = match answer.status {
            Some(status) if !step.expect.iter().any(|range| range.contains(status)) => {
                Err(Failure::Status(status))
            }
            _ => match (&answer.content, user) {
                (Some(content), Some(user)) => {
                    if flow.cookies {
                        let visit = setup.script.site.visit(&step.path);
                        content.header("set-cookie").for_each(|cookie| user.jar.set(cookie, &visit));
                    }
                    step.reading.read(content, &mut user.taken).map_err(Failure::Check)
                }
                _ => Ok(()),
            },
        };
        if let Err(why) = judged {
            return self.failed(request, why, true);
        }
        recorder.served(received - sent);
        recorder.part_ended(step.part, true, Some(received - request.due));
        pace.served(received - sent);
        match flow.steps.get(request.step as usize + 1) {
            None => {
                recorder.answered(&request.arrival, received, now);
                self.decided(request, now, true);
            }
            Some(next) => {
                let pause = setup.script.pause(next, request.arrival.number);
                self.go_on(request, received, pause, now);
            }
        }
    }

    /// The user of this request goes on to the next step of the flow.
    fn go_on(&mut self, request: &Request, received: Nanos, pause: Nanos, now: Nanos) {
        let Some(present) = &mut self.present else { return };
        let mut next = Request { due: received + pause, step: request.step + 1, ..*request };
        if pause == Nanos::ZERO {
            return self.backlog.push_back(next);
        }
        next.arrival.paused += pause;
        present.recorder.paused(&request.arrival, now);
        let Some(user) = request.user else { return };
        if self.paused.len() <= user as usize {
            self.paused.resize(user as usize + 1, None);
        }
        self.paused[user as usize] = Some(next);
        present.thinking.push(Reverse((next.due, user)));
    }

    /// The request has failed, and its arrival with it.
    fn failed(&mut self, request: &Request, why: Failure, connected: bool) {
        let now = self.now();
        let part = self.setup.script.flows[request.flow as usize].steps[request.step as usize].part;
        if let Some(present) = &mut self.present {
            if connected {
                present.recorder.part_ended(part, false, None);
            }
            present.recorder.failed(&request.arrival, why, now);
        }
        self.decided(request, now, connected);
    }

    fn give_up(&mut self, request: &Request, outcome: Outcome, sent: bool, now: Nanos) {
        let part = self.setup.script.flows[request.flow as usize].steps[request.step as usize].part;
        if let Some(present) = &mut self.present {
            if sent {
                present.recorder.part_ended(part, false, Some(now - request.due));
            }
            present.recorder.given_up(&request.arrival, outcome, now);
        }
        self.decided(request, now, true);
    }

    /// Nothing more will come of the request's arrival.
    fn decided(&mut self, request: &Request, now: Nanos, connected: bool) {
        if let Some(user) = request.user {
            self.users.remove(user);
        }
        if let Some(present) = &mut self.present {
            present.trial.source.decided(now, connected);
        }
        self.tell_if_settled();
    }

    /// The connection broke. What it carried has failed.
    fn lost(&mut self, slot: u32, why: Failure) {
        let Some(connection) = self.connections.get(slot) else { return };
        let mut open = Vec::new();
        connection.protocol.each_open(&mut |exchange| open.push(exchange));
        self.connections.close(slot);
        for exchange in open {
            self.told(Told { exchange, result: Err(why.clone()), received_ns: 0 });
        }
    }

    /// Gives up on requests that are older than their time-out.
    fn expire(&mut self) {
        let now = self.now();
        while let Some(key) = self.expiry.pop(now, |key| self.exchanges.holds(key)) {
            let Some(exchange) = self.exchanges.remove(key.number) else { continue };
            // Its answer may still come: unless that can be told from others, the connection is of no more use.
            self.cut_off(exchange.connection, key.number);
            self.give_up(&exchange.request, Outcome::Timeout, true, now);
        }
        while let Some(slot) = self.connections.overdue(self.setup.connect_limit) {
            self.connections.close(slot);
            self.no_connection(&io::ErrorKind::TimedOut.into());
        }
        while let Some(request) = self.backlog.front().copied()
            && request.due + self.timeout_of(&request) <= now
        {
            self.backlog.pop_front();
            self.give_up(&request, Outcome::Timeout, false, now);
        }
    }

    /// Nobody waits for this exchange any longer; others on its connection go on if the protocol can.
    fn cut_off(&mut self, slot: u32, exchange: u32) {
        let Some(connection) = self.connections.get(slot) else { return };
        if connection.protocol.cancel(exchange) {
            self.unflushed.push(slot);
            self.connections.list(slot);
        } else {
            self.connections.close(slot);
        }
    }

    fn timeout_of(&self, request: &Request) -> Nanos {
        self.setup.script.flows[request.flow as usize].steps[request.step as usize].timeout
    }

    /// Ends the trial once its load and its drain are over.
    fn end_if_over(&mut self) {
        let now = self.now();
        let Some(present) = &mut self.present else { return };
        let idle = present.recorder.outstanding() == 0 && present.thinking.is_empty();
        if present.trial.source.is_closed() && idle && present.trial.source.is_exhausted() {
            present.trial.load_ends = present.trial.load_ends.min(now);
            present.recorder.cut_load(now);
        }
        let ends = present.trial.load_ends;
        if now < ends || (now < ends + present.trial.drain && !idle) {
            return;
        }
        self.cut_slices(now);
        let open = self.open();
        let Some(Present { mut trial, mut recorder, thinking, .. }) = self.present.take() else { return };
        // Arrivals that came due and were never looked at: the generator was that far behind.
        while trial.source.next_due().is_some_and(|due| due < ends)
            && !trial.source.is_closed()
            && trial.source.take(Nanos::MAX).is_some()
        {
            recorder.not_started(Outcome::Unsent);
        }
        for request in std::mem::take(&mut self.backlog) {
            recorder.given_up(&request.arrival, Outcome::Unfinished, now);
        }
        for (_, exchange) in self.exchanges.iter_mut().filter(|(_, exchange)| !exchange.orphan) {
            let Request { arrival, due, flow, step, .. } = exchange.request;
            let part = self.setup.script.flows[flow as usize].steps[step as usize].part;
            recorder.part_ended(part, false, Some(now - due));
            recorder.given_up(&arrival, Outcome::Unfinished, now);
            exchange.orphan = true;
            self.orphans += 1;
        }
        thinking.into_iter().for_each(|_| recorder.never_resumed());
        self.users = Slots::new();
        self.paused.clear();
        self.expiry.clear();
        let slice = recorder.finish(now, open);
        let _ = self.reports.send((self.index, Report::Slice(Box::new(slice))));
        let _ = self.reports.send((self.index, Report::Over(ends)));
        self.tell_if_settled();
    }

    /// Nobody waits for orphans any longer.
    fn abandon_orphans(&mut self) {
        let orphans = self.exchanges.iter_mut().filter(|(_, exchange)| exchange.orphan);
        let orphans: Vec<(u32, u32)> =
            orphans.map(|(number, exchange)| (exchange.connection, number)).collect();
        for (slot, exchange) in orphans {
            self.exchanges.remove(exchange);
            self.cut_off(slot, exchange);
        }
        self.orphans = 0;
        self.flush();
    }

    fn tell_if_settled(&mut self) {
        if self.unsettled && self.present.is_none() && self.orphans == 0 {
            self.unsettled = false;
            let _ = self.reports.send((self.index, Report::Settled));
        }
    }

    /// Sleeps deaf to news as long as the pace says, and gives how long to listen then; none: until
    /// there is news.
    fn nap(&mut self) -> Option<Nanos> {
        let now = self.now();
        let timeout = self.backlog.front().map(|request| request.due + self.timeout_of(request));
        let present = self.present.as_mut()?;
        let load_ends = present.trial.load_ends;
        let due = present.trial.source.next_due().filter(|due| *due < load_ends);
        let over = if now < load_ends { load_ends } else { load_ends + present.trial.drain };
        let thinking = present.thinking.peek().map(|Reverse((at, _))| *at);
        let moments =
            [Some(present.recorder.slice_ends()), Some(over), thinking, self.expiry.next(), timeout];
        let rest = moments.into_iter().flatten().min().unwrap_or(Nanos::MAX) - now;
        let wait = present.pace.wait(due.map(|due| due - now), rest, self.exchanges.len() as u64);
        if wait.nap > Nanos::ZERO {
            // Woken early, it only looks early.
            let _ = rustix::thread::nanosleep(&timespec(wait.nap));
        }
        Some(wait.listen)
    }
}

fn timespec(time: Nanos) -> Timespec {
    Timespec { tv_sec: (time.0 / 1_000_000_000) as i64, tv_nsec: (time.0 % 1_000_000_000) as i64 }
}
