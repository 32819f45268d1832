//! From a due arrival to a sent request.

use super::LoadLoop;
use crate::error::connect_failure;
use crate::outstanding::{InFlightRequest, StepRequest, User};
use crate::protocol::Readiness;
use crate::recorder::OutstandingArrival;
use plan::RenderContext;
use record::{Failure, Outcome};
use std::cmp::Reverse;
use std::io;
use units::Nanos;

/// An arrival taken up later than this was not sent in any useful sense: it is `unsent`.
const BEHIND_LIMIT: Nanos = Nanos::from_secs(1);
/// Arrivals taken up before kernel events are handled again: as many as the events of one turn can free users
/// of a closed loop, so that neither falls behind the other.
const ARRIVALS_PER_TURN: usize = super::EVENTS_PER_TURN;
/// Connections being made at once; more would overflow a target's accept queue (128 in many services) by our
/// doing rather than by its own.
const CONNECTING_LIMIT: usize = 100;
/// The same where the plan sets the number of connections: they are wanted at once.
const CONNECTING_LIMIT_CLOSED: usize = 1000;

impl LoadLoop {
    /// Takes up due arrivals; true if there may be more.
    pub(super) fn take_arrivals(&mut self) -> bool {
        for _ in 0..ARRIVALS_PER_TURN {
            let now = self.now();
            let Some(running) = &mut self.running else { return false };
            if running.trial.source.next_due().is_none_or(|due| due >= running.trial.load_ends) {
                return false;
            }
            let Some((number, due)) = running.trial.source.take(now) else { return false };
            // A closed loop has no due times: its requests do not wait before they are sent.
            let due = if running.trial.source.is_closed_loop() { now } else { due };
            let number = running.trial.first_number + number;
            let outcome = if now - due > BEHIND_LIMIT || number >= self.setup.arrivals_limit {
                Some(Outcome::Unsent)
            } else if running.recorder.outstanding() + running.thinking.len() as u64
                >= self.setup.outstanding_limit
            {
                Some(Outcome::Refused)
            } else {
                None
            };
            if let Some(outcome) = outcome {
                running.recorder.not_started(outcome);
                running.trial.source.release_user(now, true);
                continue;
            }
            running.recorder.taken(due, now);
            let arrival = OutstandingArrival { number, due, taken: now, paused: Nanos::ZERO };
            let flow = self.setup.script.choose(number);
            let user = self.new_user(flow);
            self.enqueue(StepRequest { arrival, due, flow: flow as u32, step: 0, user, resends: 0 });
            self.dispatch();
        }
        true
    }

    /// A user for this flow, if it needs one.
    pub(super) fn new_user(&mut self, flow: usize) -> Option<u32> {
        let flow = &self.setup.script.flows[flow];
        (!flow.plain).then(|| self.users.insert(User::default()).number)
    }

    /// Resumes users whose pause is over.
    pub(super) fn wake_users(&mut self, now: Nanos) {
        while let Some(running) = &mut self.running
            && let Some(Reverse((at, user))) = running.thinking.peek().copied()
            && at <= now
        {
            running.thinking.pop();
            let next = self.users.get_mut(user).and_then(|user| user.next.take());
            let Some(mut request) = next else { continue };
            request.arrival.taken = now;
            running.recorder.resumed(now);
            self.enqueue(request);
        }
    }

    /// Adds a due request to the backlog.
    pub(super) fn enqueue(&mut self, request: StepRequest) {
        self.backlog.push(request.due, self.setup.script.step(&request).timeout, request);
    }

    /// Gives waiting requests to connections with room.
    pub(super) fn dispatch(&mut self) {
        while !self.backlog.is_empty() {
            let Some(slot) = self.connections.find_with_room() else { break };
            let Some(request) = self.backlog.pop() else { break };
            self.send(slot, request);
        }
    }

    /// Makes connections for requests that still wait. Arrivals come first: making one takes longer than
    /// sending a request, so while some are due, it is one per turn.
    pub(super) fn make_connections(&mut self) {
        if self.hold.is_some() {
            return;
        }
        let streams = self.setup.endpoint.streams();
        let closed = self.is_closed_loop();
        let limit = if closed { CONNECTING_LIMIT_CLOSED } else { CONNECTING_LIMIT };
        while self.connections.connecting() < limit
            && self.connections.len() < self.setup.connections_limit
            && (self.connections.connecting() < self.backlog.len().div_ceil(streams) || self.wants_more())
            && (closed || self.connections.may_grow())
        {
            if let Err(why) = self.connect() {
                self.connect_failed(&why);
            }
            if !closed && self.is_arrival_due() {
                break;
            }
        }
    }

    fn is_arrival_due(&mut self) -> bool {
        let now = self.now();
        let due = self.running.as_mut().and_then(|running| running.trial.source.next_due());
        due.is_some_and(|due| due <= now)
    }

    /// Whether a closed loop still lacks connections that nobody waits for: each user is to have one, even
    /// where others answer so fast that they could do the work.
    fn wants_more(&mut self) -> bool {
        let len = self.connections.len();
        let Some(running) = &mut self.running else { return false };
        running.eager_connections = running.eager_connections.filter(|wanted| len < *wanted);
        running.eager_connections.is_some()
    }

    pub(super) fn connect(&mut self) -> io::Result<()> {
        let slot = self.connections.open(&self.setup.endpoint, &self.epoll)?;
        let at_once = self.connections.get(slot).is_some_and(|c| c.stream.answers_at_once());
        if at_once {
            self.establish(slot);
        }
        Ok(())
    }

    /// Continues making a connection.
    pub(super) fn establish(&mut self, slot: u32) {
        let Some(connection) = self.connections.get(slot) else { return };
        match connection.protocol.establish(
            &self.setup.endpoint,
            self.setup.script.session.as_ref(),
            &mut connection.stream,
            &mut self.inbox,
        ) {
            Ok(true) => {
                self.connections.mark_made(slot);
                if let Some(running) = &mut self.running {
                    running.recorder.connected();
                }
                self.dispatch();
            }
            Ok(false) => {}
            Err(why) => {
                self.connections.close(slot);
                self.connect_failed(&why);
            }
        }
    }

    /// A connection could not be made: the request that has waited longest for one has failed.
    pub(super) fn connect_failed(&mut self, why: &io::Error) {
        if let Some(running) = &mut self.running {
            running.eager_connections = None;
        }
        if self.hold.is_some() {
            // Requests wait for one of those already open.
            return self.note_refused(connect_failure(why));
        }
        if let Some(request) = self.backlog.pop() {
            self.failed(&request, connect_failure(why), false);
        }
    }

    pub(super) fn is_closed_loop(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.trial.source.is_closed_loop())
    }

    pub(super) fn send(&mut self, slot: u32, mut request: StepRequest) {
        let sent = self.now();
        if request.step == 0 && request.resends == 0 && self.is_closed_loop() {
            (request.arrival.due, request.due) = (sent, sent);
        }
        let Self { setup, users, exchanges, connections, cookies, .. } = self;
        let flow = &mut setup.script.flows[request.flow as usize];
        let (has_cookies, step) = (flow.cookies, &mut flow.steps[request.step as usize]);
        let user = request.user.and_then(|user| users.get_mut(user));
        cookies.clear();
        if let Some(user) = &user
            && has_cookies
        {
            user.jar.header(&setup.script.cookie_origin.cookie_context(&step.path), cookies);
        }
        let taken = user.map_or(&[][..], |user| &user.taken);
        let context =
            RenderContext { number: request.arrival.number, seed: setup.script.seed, extracted: taken };
        let (step_index, is_first) = (step.index, request.step == 0);
        let Some(connection) = connections.get(slot) else { return };
        let used = connection.is_used();
        let key = exchanges.insert(InFlightRequest { request, sent, connection: slot, used, orphan: false });
        if request.resends > 0 {
            self.expiry.put_back(request.due, step.timeout, key);
        } else {
            self.expiry.push(request.due, step.timeout, key);
        }
        let result = connection.protocol.send(
            &mut connection.stream,
            &mut step.prepared,
            &context,
            cookies,
            key.number,
        );
        let at_once = connection.stream.answers_at_once();
        if connection.protocol.holds_back() {
            self.unflushed.push(slot);
        }
        connections.update_free_list(slot);
        if let Some(running) = &mut self.running
            && request.resends == 0
        {
            running.recorder.step_sent(step_index);
            if is_first {
                running.recorder.sent(&request.arrival, sent);
            }
        }
        if !used {
            self.note_first_request(key, sent);
        }
        match result {
            Ok(()) if at_once => self.receive(slot, Readiness::Bytes),
            Ok(()) => {}
            Err(_) => self.connection_lost(slot, Failure::Closed),
        }
    }

    /// Flushes the connections that have held back data.
    pub(super) fn flush(&mut self) {
        while let Some(slot) = self.unflushed.pop() {
            let Some(connection) = self.connections.get(slot) else { continue };
            if connection.protocol.flush(&mut connection.stream).is_err() {
                // A server that accepts no more may have said why, and what it has not processed.
                self.receive(slot, Readiness::End);
                self.connection_lost(slot, Failure::Closed);
            }
        }
    }
}
