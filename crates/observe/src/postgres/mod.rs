//! A PostgreSQL server's own account: what its sessions do and wait for, and its counters.
//!
//! A thread with its own connection queries; the source takes its results and never waits for it.

mod address;
mod connection;
mod lock_wait_trigger;
mod queries;
mod redaction;
mod sampler;
mod statements;
#[cfg(test)]
mod tests;
mod totals;

use crate::watch_scope::WatchScope;
use address::Address;
use record::watch::{CloserLook, MissingMeasure, PostgresServer, WatchCoverage, Window};
use sampler::{Sampler, SamplerCommand, SamplerEvent};
use std::error::Error as _;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use totals::WindowTotals;

/// Time limit for opening the first connection, from name resolution to prepared statements.
const OPENING: Duration = Duration::from_secs(8);
/// How long no results may arrive before this is reported. Attempts to connect end sooner.
const SILENCE: Duration = Duration::from_secs(3);

pub(crate) struct PostgresSource {
    events: Receiver<SamplerEvent>,
    commands: Sender<SamplerCommand>,
    totals: WindowTotals,
    looks: Vec<CloserLook>,
    /// When the last result arrived.
    last: Instant,
    info: PostgresServer,
    missing: Vec<MissingMeasure>,
}

impl PostgresSource {
    /// Connects to the database of a URL and starts sampling. Call before the load: if that takes all
    /// connections, this one is among them.
    ///
    /// Fails, with the missing measure, if there is no connection within a few seconds.
    pub fn open(url: &str) -> Result<Self, MissingMeasure> {
        let missing = |why| MissingMeasure::new("PostgreSQL", why);
        let address =
            Address::parse(url).map_err(|why| missing(format!("the address of PostgreSQL: {why}")))?;
        let place = address.location.clone();
        let (answer, opened) = channel();
        let (event_sender, events) = channel();
        let (commands, inbox) = channel();
        let work = move || Sampler::run(address, &answer, inbox, event_sender);
        // Not joined: it may be waiting for a server that does not answer. It ends when `commands` is
        // dropped.
        let thread = std::thread::Builder::new().name("watch-postgres".to_owned()).spawn(work);
        thread.map_err(|e| missing(format!("no thread could be started to ask PostgreSQL: {e}")))?;
        let opened = opened.recv_timeout(OPENING).unwrap_or_else(|_| Err("it takes too long".to_owned()));
        let refused = |why| missing(format!("PostgreSQL at {place} cannot be asked: {why}"));
        let (info, missing) = opened.map_err(refused)?;
        let totals = WindowTotals::default();
        Ok(Self { events, commands, totals, looks: Vec::new(), last: Instant::now(), info, missing })
    }

    fn send(&self, order: SamplerCommand) {
        // If the thread has ended, its silence is reported.
        let _ = self.commands.send(order);
    }
}

impl crate::source::Source for PostgresSource {
    fn interval(&self) -> Duration {
        Duration::from_millis(500)
    }

    /// Drains the channel, so that results do not pile up without cuts.
    fn read(&mut self, _: &WatchScope) {
        for event in self.events.try_iter() {
            self.last = Instant::now();
            match event {
                SamplerEvent::Sampled(activity) => self.totals.add_activity(activity),
                SamplerEvent::Failed(why) => self.totals.add_failure(why),
                SamplerEvent::CounterGrowth(by) => self.totals.add_growth(by),
                SamplerEvent::CloserLook(look) => self.looks.push(look),
                SamplerEvent::Reconnected((info, missing)) => (self.info, self.missing) = (info, missing),
            }
        }
    }

    fn cut(&mut self, scope: &WatchScope, window: &mut Window) {
        self.read(scope);
        let silence = self.last.elapsed();
        if silence >= SILENCE {
            self.totals.add_failure(format!("it has not answered for {} s", silence.as_secs()));
        }
        window.postgres = Some(self.totals.cut());
        self.send(SamplerCommand::Cut);
    }

    fn begin(&mut self) {
        self.send(SamplerCommand::Begin);
    }

    fn end(&mut self) {
        self.send(SamplerCommand::End);
    }

    fn start_closer_look(&mut self, _: &WatchScope) {
        self.send(SamplerCommand::Look);
    }

    fn closer_looks(&mut self) -> Vec<CloserLook> {
        std::mem::take(&mut self.looks)
    }

    /// What the server does not tell us.
    fn missing(&self) -> Vec<MissingMeasure> {
        self.missing.clone()
    }

    fn describe(&self, coverage: &mut WatchCoverage) {
        coverage.postgres = Some(self.info.clone());
    }
}

/// An error with its SQLSTATE and causes.
fn format_error(error: &postgres::Error) -> String {
    if let Some(answer) = error.as_db_error() {
        return format!("{}: {}", answer.code().code(), answer.message());
    }
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let words = cause.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        source = cause.source();
    }
    text
}

/// Whether the connection is useless: closed, or about to be.
fn is_lost(error: &postgres::Error) -> bool {
    let ends = |code: &str| code.starts_with("57P") || code.starts_with("08");
    error.is_closed()
        || error.code().is_some_and(|code| ends(code.code()))
        || error.source().is_some_and(|cause| cause.is::<std::io::Error>())
}
