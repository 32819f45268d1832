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
    Sampled(Activity),
    Failed(String),
    CounterGrowth([Option<f64>; COUNTERS]),
    CloserLook(CloserLook),
    /// Reconnected.
    Reconnected(ServerDescription),
}

/// What is known after connecting.
pub(super) type ServerDescription = (PostgresServer, Vec<MissingMeasure>);

pub(super) struct Sampler {
    address: Address,
    commands: Receiver<SamplerCommand>,
    events: Sender<SamplerEvent>,
    session: Option<PostgresConnection>,
    /// When to sample or reconnect next.
    due: Instant,
    back_off: Duration,
    /// The last counters; none after reconnecting: the server may have restarted.
    before: Option<[Option<f64>; COUNTERS]>,
    last_counters: Instant,
    last_cut: Instant,
    /// During a trial; with the statement costs at its start.
    trial: Option<Option<StatementSnapshot>>,
    trigger: LockWaitTrigger,
}

impl Sampler {
    /// Connects, reports how that went, and samples until `commands` is closed.
    pub fn run(
        address: Address,
        opened: &Sender<Result<ServerDescription, String>>,
        commands: Receiver<SamplerCommand>,
        events: Sender<SamplerEvent>,
    ) {
        let session = match PostgresConnection::open(&address) {
            Ok(session) => session,
            Err(e) => {
                let _ = opened.send(Err(super::format_error(&e)));
                return;
            }
        };
        // The receiver may have given up; then there are no commands either.
        let _ = opened.send(Ok((session.info.clone(), session.missing.clone())));
        let now = Instant::now();
        let sampler = Self {
            address,
            commands,
            events,
            session: Some(session),
            due: now,
            back_off: BACK_OFF.0,
            before: None,
            last_counters: now,
            last_cut: now,
            trial: None,
            trigger: LockWaitTrigger::default(),
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
            match self.commands.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(SamplerCommand::Begin) => self.begin(),
                Ok(SamplerCommand::End) => self.end(),
                Ok(SamplerCommand::Cut) => self.last_cut = Instant::now(),
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
        let due = self.last_counters + COUNTERS_EVERY;
        match self.last_cut > self.last_counters {
            true => due.min(self.last_cut + COUNTERS_AFTER_CUT),
            false => due,
        }
    }

    fn send(&self, event: SamplerEvent) {
        // The receiver may be gone; then so are the commands, and the thread ends.
        let _ = self.events.send(event);
    }

    /// A query failed. A refusal is evidence too: the message has the SQLSTATE.
    fn handle_failure(&mut self, error: &Error) {
        self.send(SamplerEvent::Failed(super::format_error(error)));
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
                    self.send(SamplerEvent::Reconnected((session.info.clone(), session.missing.clone())));
                    self.session = Some(session);
                    self.back_off = BACK_OFF.0;
                }
                Err(e) => return self.handle_failure(&e),
            }
        }
        let Some(session) = &mut self.session else { return };
        let activity = match session.activity() {
            Ok(activity) => activity,
            Err(e) => return self.handle_failure(&e),
        };
        let ring = self.trigger.should_query(Instant::now(), activity.active_and_locked());
        self.send(SamplerEvent::Sampled(activity));
        if ring && self.trial.is_some() {
            self.query_blockers();
        }
    }

    fn query_blockers(&mut self) {
        let Some(session) = &mut self.session else { return };
        match session.blocked() {
            // They may be gone by now.
            Ok(blocked) if blocked.is_empty() => {}
            Ok(blocked) => self.send(SamplerEvent::CloserLook(CloserLook::Blockers { blocked })),
            Err(e) => self.report_refusal("who blocks whom", &e),
        }
    }

    fn report_refusal(&mut self, what: &str, error: &Error) {
        let of = format!("PostgreSQL: {what}");
        self.send(SamplerEvent::CloserLook(CloserLook::Refused { of, why: super::format_error(error) }));
        if super::is_lost(error) {
            self.handle_failure(error);
        }
    }

    /// Reads the counters; reports their growth since the last reading.
    fn read_counters(&mut self) {
        self.last_counters = Instant::now();
        let Some(session) = &mut self.session else { return };
        match session.counters() {
            Ok(now) => {
                if let Some(before) = self.before.replace(now) {
                    self.send(SamplerEvent::CounterGrowth(growth(&before, &now)));
                }
            }
            Err(e) => self.handle_failure(&e),
        }
    }

    fn begin(&mut self) {
        // Earlier counts belong to no trial.
        self.before = None;
        self.read_counters();
        self.last_cut = Instant::now();
        self.trigger = LockWaitTrigger::default();
        self.trial = Some(None);
        let Some(PostgresConnection { client, stats: Some(costs), .. }) = &mut self.session else { return };
        match costs.snapshot(client) {
            Ok(snapshot) => self.trial = Some(Some(snapshot)),
            Err(e) => self.report_refusal("what statements cost", &e),
        }
    }

    fn end(&mut self) {
        self.query_costs();
        self.trial = None;
    }

    /// Statement costs of the trial so far.
    fn query_costs(&mut self) {
        let Some(Some(before)) = &self.trial else { return };
        let Some(PostgresConnection { client, stats: Some(costs), .. }) = &mut self.session else { return };
        match costs.since(client, before) {
            Ok(statements) if statements.is_empty() => {}
            Ok(statements) => self.send(SamplerEvent::CloserLook(CloserLook::Statements { statements })),
            Err(e) => self.report_refusal("what statements cost", &e),
        }
    }
}
