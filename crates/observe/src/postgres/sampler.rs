//! The thread that queries the server.

use super::address::Address;
use super::connection::{Activity, PostgresConnection};
use super::lock_wait_trigger::LockWaitTrigger;
use super::queries::COUNTERS;
use super::statements::StatementSnapshot;
use super::totals::growth;
use postgres::Error;
use record::watch::{CloserLook, MissingMeasure, PostgresServer};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// Interval between activity samples. Ten a second would show no more of a one-second window.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Delay after a cut, so that counters are read once per window, shortly before its end. More often is
/// pointless: from 15 on, a busy session reports its counts once a second.
const COUNTERS_AFTER_CUT: Duration = Duration::from_millis(850);
/// Interval between counters without cuts, or with too many.
const COUNTERS_EVERY: Duration = Duration::from_millis(1500);
/// Delay before reconnecting: initial and maximum.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

pub(super) enum SamplerCommand {
    /// A trial begins.
    Begin,
    /// Its load ends.
    End,
    /// A window was cut.
    Cut,
    /// Take a closer look now.
    Look,
}

pub(super) enum SamplerEvent {
    Looked(Activity),
    Failed(String),
    Grown([Option<f64>; COUNTERS]),
    Closer(CloserLook),
    /// Reconnected.
    Opened(ServerDescription),
}

/// What is known after connecting.
pub(super) type ServerDescription = (PostgresServer, Vec<MissingMeasure>);

pub(super) struct Sampler {
    address: Address,
    orders: Receiver<SamplerCommand>,
    heard: Sender<SamplerEvent>,
    session: Option<PostgresConnection>,
    /// When to sample or reconnect next.
    due: Instant,
    back_off: Duration,
    /// The last counters; none after reconnecting: the server may have restarted.
    before: Option<[Option<f64>; COUNTERS]>,
    counted: Instant,
    cut: Instant,
    /// During a trial; with the statement costs at its start.
    trial: Option<Option<StatementSnapshot>>,
    alarm: LockWaitTrigger,
}

impl Sampler {
    /// Connects, reports how that went, and samples until `orders` is closed.
    pub fn run(
        address: Address,
        opened: &Sender<Result<ServerDescription, String>>,
        orders: Receiver<SamplerCommand>,
        heard: Sender<SamplerEvent>,
    ) {
        let session = match PostgresConnection::open(&address) {
            Ok(session) => session,
            Err(e) => {
                let _ = opened.send(Err(super::format_error(&e)));
                return;
            }
        };
        // The receiver may have given up; then there are no orders either.
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
            alarm: LockWaitTrigger::default(),
        };
        sampler.work();
    }

    fn work(mut self) {
        loop {
            let now = Instant::now();
            if self.due <= now {
                // Does not catch up on samples missed in a delay.
                self.due = (self.due + LOOK_EVERY).max(now);
                self.sample_activity();
            }
            if self.counters_due() <= now {
                self.read_counters();
            }
            let next = self.due.min(self.counters_due());
            match self.orders.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(SamplerCommand::Begin) => self.begin(),
                Ok(SamplerCommand::End) => self.end(),
                Ok(SamplerCommand::Cut) => self.cut = Instant::now(),
                Ok(SamplerCommand::Look) => {
                    self.query_blockers();
                    self.query_costs();
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

    fn tell(&self, heard: SamplerEvent) {
        // The receiver may be gone; then so are the orders, and the thread ends.
        let _ = self.heard.send(heard);
    }

    /// A query failed. A refusal is evidence too: the message has the SQLSTATE.
    fn failed(&mut self, error: &Error) {
        self.tell(SamplerEvent::Failed(super::format_error(error)));
        if super::is_lost(error) || self.session.as_ref().is_none_or(|s| s.client.is_closed()) {
            self.session = None;
            self.before = None;
            self.due = Instant::now() + self.back_off;
            self.back_off = (self.back_off * 2).min(BACK_OFF.1);
        }
    }

    fn sample_activity(&mut self) {
        if self.session.is_none() {
            match PostgresConnection::open(&self.address) {
                Ok(session) => {
                    self.tell(SamplerEvent::Opened((session.info.clone(), session.missing.clone())));
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
        let ring = self.alarm.should_query(Instant::now(), activity.active_and_locked());
        self.tell(SamplerEvent::Looked(activity));
        if ring && self.trial.is_some() {
            self.query_blockers();
        }
    }

    fn query_blockers(&mut self) {
        let Some(session) = &mut self.session else { return };
        match session.blocked() {
            // They may be gone by now.
            Ok(blocked) if blocked.is_empty() => {}
            Ok(blocked) => self.tell(SamplerEvent::Closer(CloserLook::Blockers { blocked })),
            Err(e) => self.refused("who blocks whom", &e),
        }
    }

    fn refused(&mut self, what: &str, error: &Error) {
        let of = format!("PostgreSQL: {what}");
        self.tell(SamplerEvent::Closer(CloserLook::Refused { of, why: super::format_error(error) }));
        if super::is_lost(error) {
            self.failed(error);
        }
    }

    /// Reads the counters; reports their growth since the last reading.
    fn read_counters(&mut self) {
        self.counted = Instant::now();
        let Some(session) = &mut self.session else { return };
        match session.counters() {
            Ok(now) => {
                if let Some(before) = self.before.replace(now) {
                    self.tell(SamplerEvent::Grown(growth(&before, &now)));
                }
            }
            Err(e) => self.failed(&e),
        }
    }

    fn begin(&mut self) {
        // Earlier counts belong to no trial.
        self.before = None;
        self.read_counters();
        self.cut = Instant::now();
        self.alarm = LockWaitTrigger::default();
        self.trial = Some(None);
        let Some(PostgresConnection { client, costs: Some(costs), .. }) = &mut self.session else { return };
        match costs.snapshot(client) {
            Ok(snapshot) => self.trial = Some(Some(snapshot)),
            Err(e) => self.refused("what statements cost", &e),
        }
    }

    fn end(&mut self) {
        self.query_costs();
        self.trial = None;
    }

    /// Statement costs of the trial so far.
    fn query_costs(&mut self) {
        let Some(Some(before)) = &self.trial else { return };
        let Some(PostgresConnection { client, costs: Some(costs), .. }) = &mut self.session else { return };
        match costs.since(client, before) {
            Ok(statements) if statements.is_empty() => {}
            Ok(statements) => self.tell(SamplerEvent::Closer(CloserLook::Statements { statements })),
            Err(e) => self.refused("what statements cost", &e),
        }
    }
}
