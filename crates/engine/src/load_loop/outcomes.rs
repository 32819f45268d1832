//! From a kernel event or a timeout to the outcome of a request and its arrival.

use super::{LoadLoop, RunningTrial};
use crate::outstanding::{InFlightRequest, StepRequest};
use crate::protocol::{Answer, Completion, Readiness, ServerHandling};
use record::{Failure, Outcome};
use std::cmp::Reverse;
use std::io;
use units::Nanos;

impl LoadLoop {
    pub(super) fn handle_event(&mut self, slot: u32, readiness: Readiness) {
        match self.connections.get(slot) {
            // Closed earlier in this very turn.
            None => {}
            Some(connection) if connection.is_being_made() => {
                self.establish(slot);
                // What arrived right behind the handshake, the end included, causes no further event; and an
                // answer that is already there is not covered by this one.
                if self.connections.get(slot).is_some_and(|connection| !connection.is_being_made()) {
                    self.receive(slot, if readiness == Readiness::End { readiness } else { Readiness::None });
                }
            }
            Some(_) => self.receive(slot, readiness),
        }
    }

    pub(super) fn receive(&mut self, slot: u32, readiness: Readiness) {
        let Some(connection) = self.connections.get(slot) else { return };
        let result = connection.protocol.receive(
            &mut connection.stream,
            &mut self.inbox,
            readiness,
            &mut self.completions,
        );
        let mut completions = std::mem::take(&mut self.completions);
        let answered = !completions.is_empty();
        let answers = completions.iter().filter(|completion| completion.result.is_ok()).count();
        if answers > 0 {
            self.connections.note_answers(slot, answers, self.inbox.received_ns);
        }
        completions.drain(..).for_each(|completion| self.complete_exchange(completion));
        self.completions = completions;
        match result {
            Ok(()) if self.pool.gives_way || answered && self.is_place_wanted() => {
                self.connections.close_if_idle(slot);
            }
            Ok(()) => self.connections.update_free_list(slot),
            Err(why) => {
                if !answered {
                    self.note_dropped();
                }
                self.connection_lost(slot, why);
            }
        }
    }

    pub(super) fn complete_exchange(&mut self, completion: Completion) {
        let Some(InFlightRequest { request, sent, orphan, used, .. }) =
            self.exchanges.remove(completion.exchange)
        else {
            return;
        };
        self.note_activity(completion.received_ns, (!orphan).then_some([request.due, sent]));
        if orphan {
            self.orphans -= 1;
            self.pool.answered_ns = sys::monotonic_ns();
            return self.report_if_settled();
        }
        match completion.result {
            Ok(answer) => {
                if completion.begun_ns > 0 {
                    self.setup.learned.pieces.note(completion.begun_ns, completion.received_ns);
                }
                let received = self.trial_time(completion.received_ns).max(sent);
                match used {
                    true => self.pool.served(sent, received - sent),
                    false => self.pool.served_first(received),
                }
                self.answered(&request, sent, received, answer);
            }
            Err(why) => {
                if let Err(why) = self.resend(&request, used, completion.handling, why) {
                    self.failed(&request, why, true);
                }
            }
        }
    }

    pub(super) fn answered(&mut self, request: &StepRequest, sent: Nanos, received: Nanos, answer: Answer) {
        let now = self.now();
        let Self { setup, users, running, .. } = self;
        let flow = &setup.script.flows[request.flow as usize];
        let step = &flow.steps[request.step as usize];
        let user = request.user.and_then(|user| users.get_mut(user));
        let Some(RunningTrial { recorder, wait_policy, .. }) = running else { return };
        recorder.count_status(answer.status);
        let cookie_origin = flow.cookies.then_some(&setup.script.cookie_origin);
        if let Err(why) = step.check_answer(&answer, user, cookie_origin) {
            return self.failed(request, why, true);
        }
        recorder.record_service(received - sent);
        recorder.step_ended(step.index, true, Some(received - request.due));
        wait_policy.served(received - sent);
        match flow.steps.get(request.step as usize + 1) {
            None => {
                recorder.answered(&request.arrival, received, now);
                self.finish_arrival(request, now, true);
            }
            Some(next) => {
                let pause = setup.script.pause(next, request.arrival.number);
                self.start_next_step(request, received, pause, now);
            }
        }
    }

    /// Starts the next step of this request's flow.
    pub(super) fn start_next_step(
        &mut self,
        request: &StepRequest,
        received: Nanos,
        pause: Nanos,
        now: Nanos,
    ) {
        let mut next = StepRequest { due: received + pause, step: request.step + 1, resends: 0, ..*request };
        if pause == Nanos::ZERO {
            return self.enqueue(next);
        }
        next.arrival.paused += pause;
        let (Some(running), Some(user)) = (&mut self.running, request.user) else { return };
        running.recorder.paused(&request.arrival, now);
        if running.stopped {
            running.recorder.never_resumed();
            return self.finish_arrival(request, now, true);
        }
        running.thinking.push(Reverse((next.due, user)));
        self.users.get_mut(user).into_iter().for_each(|user| user.next = Some(next));
    }

    /// The request has failed, and its arrival with it.
    pub(super) fn failed(&mut self, request: &StepRequest, why: Failure, connected: bool) {
        let now = self.now();
        let step_index = self.setup.script.step(request).index;
        if let Some(running) = &mut self.running {
            if connected || request.resends > 0 {
                running.recorder.step_ended(step_index, false, None);
            }
            running.recorder.failed(&request.arrival, why, now);
        }
        self.finish_arrival(request, now, connected);
    }

    pub(super) fn give_up(&mut self, request: &StepRequest, outcome: Outcome, sent: bool, now: Nanos) {
        let step_index = self.setup.script.step(request).index;
        if let Some(running) = &mut self.running {
            if sent || request.resends > 0 {
                running.recorder.step_ended(step_index, false, Some(now - request.due));
            }
            running.recorder.given_up(&request.arrival, outcome, now);
        }
        self.finish_arrival(request, now, true);
    }

    /// Ends the request's arrival.
    pub(super) fn finish_arrival(&mut self, request: &StepRequest, now: Nanos, connected: bool) {
        if let Some(user) = request.user {
            self.users.remove(user);
        }
        if let Some(running) = &mut self.running {
            running.trial.source.release_user(now, connected);
        }
        self.report_if_settled();
    }

    /// The connection broke. What it carried has failed, or is resent on another.
    pub(super) fn connection_lost(&mut self, slot: u32, why: Failure) {
        let Some(connection) = self.connections.get(slot) else { return };
        let mut open = Vec::new();
        connection.protocol.each_open(&mut |exchange, handling| open.push((exchange, handling)));
        let closed = why == Failure::Closed;
        if closed {
            self.note_closed(slot, &open);
        }
        self.connections.close(slot);
        for (exchange, handling) in open {
            // In any other case the failure is explicit.
            let handling = if closed { handling } else { ServerHandling::Answered };
            self.complete_exchange(Completion {
                exchange,
                result: Err(why.clone()),
                received_ns: 0,
                begun_ns: 0,
                handling,
            });
        }
    }

    /// The server has closed a connection that carries these: notes how long nothing had been asked on it.
    fn note_closed(&mut self, slot: u32, open: &[(u32, ServerHandling)]) {
        let Self { connections, exchanges, running, .. } = self;
        let start_ns = running.as_ref().map_or(0, |running| running.trial.start_ns);
        let of = |exchange: &InFlightRequest| (!exchange.orphan).then_some(start_ns + exchange.sent.0);
        let earliest =
            open.iter().filter_map(|(number, _)| exchanges.get_mut(*number).map(|open| of(open))).min();
        // What was sent in an earlier trial, by another clock, precedes everything.
        if let Some(sent_ns) = earliest.unwrap_or_else(|| Some(sys::monotonic_ns())) {
            connections.note_closed(slot, sent_ns);
        }
    }

    /// Gives up on requests older than their timeout, and on those no longer waited for after the load.
    pub(super) fn expire(&mut self) {
        let now = self.now();
        let max_age = self.running.as_ref().map_or(Nanos::MAX, |running| running.max_request_age(now));
        while let Some(key) = self.expiry.pop_expired(now, max_age, |key| self.exchanges.get(*key).is_some())
        {
            let Some(exchange) = self.exchanges.get_mut(key.number) else { continue };
            let (request, connection) = (exchange.request, exchange.connection);
            let start = self.running.as_ref().map_or(0, |running| running.trial.start_ns);
            self.silence_detector.note_given_up(start + exchange.sent.0);
            let outcome = self.outcome_of(&request, now);
            if outcome == Outcome::Unfinished {
                self.orphan(key.number);
            } else {
                // Its answer may still come: unless the protocol can tell it apart, the connection is of no
                // more use.
                self.exchanges.remove(key.number);
                self.cancel_exchange(connection, key.number);
            }
            self.give_up(&request, outcome, true, now);
        }
        while let Some(slot) = self.connections.overdue(self.setup.connect_limit) {
            self.connections.close(slot);
            self.connect_failed(&io::ErrorKind::TimedOut.into());
        }
        while let Some(request) = self.backlog.pop_expired(now, max_age, |_| true) {
            self.give_up(&request, self.outcome_of(&request, now), false, now);
        }
    }

    /// The outcome of a request that is given up.
    fn outcome_of(&self, request: &StepRequest, now: Nanos) -> Outcome {
        let timed_out = request.due + self.setup.script.step(request).timeout <= now;
        if timed_out { Outcome::Timeout } else { Outcome::Unfinished }
    }

    /// Has the answer read and discarded.
    pub(super) fn orphan(&mut self, exchange: u32) {
        if let Some(exchange) = self.exchanges.get_mut(exchange) {
            exchange.orphan = true;
            self.orphans += 1;
        }
    }

    /// Nobody waits for this exchange any longer; others on its connection go on if the protocol can.
    pub(super) fn cancel_exchange(&mut self, slot: u32, exchange: u32) {
        let Some(connection) = self.connections.get(slot) else { return };
        if connection.protocol.cancel(exchange) {
            self.unflushed.push(slot);
            self.connections.update_free_list(slot);
        } else {
            self.connections.close(slot);
        }
    }

    /// Closes the connections that still wait for orphans.
    pub(super) fn abandon_orphans(&mut self) {
        let orphans = self.exchanges.iter_mut().filter(|(_, exchange)| exchange.orphan);
        let orphans: Vec<(u32, u32)> =
            orphans.map(|(key, exchange)| (exchange.connection, key.number)).collect();
        for (slot, exchange) in orphans {
            self.exchanges.remove(exchange);
            self.cancel_exchange(slot, exchange);
        }
        self.orphans = 0;
        self.flush();
    }
}
