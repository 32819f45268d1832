//! The thread that asks.

use super::address::Address;
use super::alarm::Alarm;
use super::queries::COUNTERS;
use super::session::{Activity, Session};
use super::statements::Snapshot;
use super::tally::growth;
use postgres::Error;
use record::watch::{Look, Missing, PostgresInfo};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// Between looks at the sessions. Ten a second would show no more of a window of a second.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// After a cut, so that counters are read once for each window, shortly before its end. They are not worth
/// more: from 15 on, a busy session reports what it counted once a second.
const COUNTERS_AFTER_CUT: Duration = Duration::from_millis(850);
/// Between counters where there are no cuts, or too many.
const COUNTERS_EVERY: Duration = Duration::from_millis(1500);
/// Before the next attempt to connect: first, and at most.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

/// What the thread is told.
pub(super) enum Order {
    /// A trial begins.
    Begin,
    /// Its load is over.
    End,
    /// A window was cut.
    Cut,
    /// A closer look is wanted now.
    Look,
}

/// What the thread says.
pub(super) enum Heard {
    Looked(Activity),
    Failed(String),
    Grown([Option<f64>; COUNTERS]),
    Closer(Look),
    /// A connection was made anew.
    Opened(Opened),
}

/// What is known once a connection is made.
pub(super) type Opened = (PostgresInfo, Vec<Missing>);

pub(super) struct Sampler {
    address: Address,
    orders: Receiver<Order>,
    heard: Sender<Heard>,
    session: Option<Session>,
    /// When to look next, or to connect anew.
    due: Instant,
    back_off: Duration,
    /// Counters as they were, and when; none after a new connection: the server may have begun anew.
    before: Option<[Option<f64>; COUNTERS]>,
    counted: Instant,
    cut: Instant,
    /// In a trial; with what statements had cost at its begin.
    trial: Option<Option<Snapshot>>,
    alarm: Alarm,
}

impl Sampler {
    /// Connects, says how that went, and asks until nobody gives orders any more.
    pub fn run(
        address: Address,
        opened: &Sender<Result<Opened, String>>,
        orders: Receiver<Order>,
        heard: Sender<Heard>,
    ) {
        let session = match Session::open(&address) {
            Ok(session) => session,
            Err(e) => {
                let _ = opened.send(Err(super::words(&e)));
                return;
            }
        };
        // Whoever waited for it may have given up; then there are no orders either.
        let _ = opened.send(Ok((session.info.clone(), session.missing.clone())));
        let now = Instant::now();
        let sampler = Self {
            address,
            orders,
            heard,
            session: Some(session),
            due: now,
            back_off: BACK_OFF.0,
            before: None,
            counted: now,
            cut: now,
            trial: None,
            alarm: Alarm::default(),
        };
        sampler.work();
    }

    fn work(mut self) {
        loop {
            let now = Instant::now();
            if self.due <= now {
                // Without haste after a delay: looks that were not made are not made up for.
                self.due = (self.due + LOOK_EVERY).max(now);
                self.connected_or_not();
            }
            if self.counters_due() <= now {
                self.count();
            }
            let next = self.due.min(self.counters_due());
            match self.orders.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(Order::Begin) => self.begin(),
                Ok(Order::End) => self.end(),
                Ok(Order::Cut) => self.cut = Instant::now(),
                Ok(Order::Look) => {
                    self.ask_for_blockers();
                    self.ask_for_costs();
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn counters_due(&self) -> Instant {
        let due = self.counted + COUNTERS_EVERY;
        match self.cut > self.counted {
            true => due.min(self.cut + COUNTERS_AFTER_CUT),
            false => due,
        }
    }

    fn tell(&self, heard: Heard) {
        // Whoever listened may have gone; then so are the orders, and the thread ends.
        let _ = self.heard.send(heard);
    }

    /// Something could not be asked. Being refused is evidence too: the words have the SQLSTATE.
    fn failed(&mut self, error: &Error) {
        self.tell(Heard::Failed(super::words(error)));
        if super::is_lost(error) || self.session.as_ref().is_none_or(|s| s.client.is_closed()) {
            self.session = None;
            self.before = None;
            self.due = Instant::now() + self.back_off;
            self.back_off = (self.back_off * 2).min(BACK_OFF.1);
        }
    }

    fn connected_or_not(&mut self) {
        if self.session.is_none() {
            match Session::open(&self.address) {
                Ok(session) => {
                    self.tell(Heard::Opened((session.info.clone(), session.missing.clone())));
                    self.session = Some(session);
                    self.back_off = BACK_OFF.0;
                }
                Err(e) => return self.failed(&e),
            }
        }
        let Some(session) = &mut self.session else { return };
        let activity = match session.activity() {
            Ok(activity) => activity,
            Err(e) => return self.failed(&e),
        };
        let ring = self.alarm.looked(Instant::now(), activity.active_and_locked());
        self.tell(Heard::Looked(activity));
        if ring && self.trial.is_some() {
            self.ask_for_blockers();
        }
    }

    fn ask_for_blockers(&mut self) {
        let Some(session) = &mut self.session else { return };
        match session.blocked() {
            // They may have gone in between.
            Ok(blocked) if blocked.is_empty() => {}
            Ok(blocked) => self.tell(Heard::Closer(Look::Blockers { blocked })),
            Err(e) => self.refused("who blocks whom", &e),
        }
    }

    fn refused(&mut self, what: &str, error: &Error) {
        let of = format!("PostgreSQL: {what}");
        self.tell(Heard::Closer(Look::Refused { of, why: super::words(error) }));
        if super::is_lost(error) {
            self.failed(error);
        }
    }

    /// Reads the counters; says how they grew since they were read last.
    fn count(&mut self) {
        self.counted = Instant::now();
        let Some(session) = &mut self.session else { return };
        match session.counters() {
            Ok(now) => {
                if let Some(before) = self.before.replace(now) {
                    self.tell(Heard::Grown(growth(&before, &now)));
                }
            }
            Err(e) => self.failed(&e),
        }
    }

    fn begin(&mut self) {
        // What was counted until now belongs to no trial.
        self.before = None;
        self.count();
        self.cut = Instant::now();
        self.alarm = Alarm::default();
        self.trial = Some(None);
        let Some(Session { client, costs: Some(costs), .. }) = &mut self.session else { return };
        match costs.snapshot(client) {
            Ok(snapshot) => self.trial = Some(Some(snapshot)),
            Err(e) => self.refused("what statements cost", &e),
        }
    }

    fn end(&mut self) {
        self.ask_for_costs();
        self.trial = None;
    }

    /// Of the trial so far.
    fn ask_for_costs(&mut self) {
        let Some(Some(before)) = &self.trial else { return };
        let Some(Session { client, costs: Some(costs), .. }) = &mut self.session else { return };
        match costs.since(client, before) {
            Ok(statements) if statements.is_empty() => {}
            Ok(statements) => self.tell(Heard::Closer(Look::Statements { statements })),
            Err(e) => self.refused("what statements cost", &e),
        }
    }
}
