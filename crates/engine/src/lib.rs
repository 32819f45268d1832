//! Open-loop load whose timing can be trusted: schedule ▶ requests ▶ recorder.
//!
//! One loop per chosen processor, each on a thread of its own, over the kernel's events. Due times
//! come first: response time counts from when a request was due, the generator's own delay is
//! recorded beside it, and every arrival ends in exactly one [`record::Outcome`].
//!
//! It never judges (that is `search`), never prints, never decides how long to go on.

mod connections;
mod content;
mod cookie_date;
mod cookies;
mod endpoint;
mod exchanges;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod idle;
mod json;
mod lanes;
mod once;
mod outbox;
mod pace;
mod protocol;
mod reading;
mod recorder;
mod script;
mod slots;
mod source;
mod stream;
mod worker;

pub use endpoint::Endpoint;
pub use once::{Exchange, connect_once, exchanges_once};
pub use recorder::{Arrival, Open, Recorder};
pub use source::Offer;

use plan::{Flow, Generator, Secrets};
use record::{Counted, Failure, Gather, Lack, Slice};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use script::Script;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;
use units::Nanos;
use worker::{Command, LastWord, Report, Setup, Trial, Worker};

/// How long a first connection may take before the target is called unreachable.
pub const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// More loops than this only take processor time from each other.
const LOOPS_LIMIT: u64 = 64;
/// How often the caller is asked whether to stop.
const ASK: Duration = Duration::from_millis(50);
/// Reports of the loops that wait to be heard; each makes one a second, some 20 KiB. Whoever is told must not take long, so
/// that there are few. Should that hang all the same, a minute at the least, then the loops wait for it: nothing they counted
/// is lost, and what came due meanwhile is `unsent`, which voids the trial.
const REPORTS: usize = 60 * LOOPS_LIMIT as usize;
/// The loops' nice value, where the user may have it.
const WEIGHT: i32 = -10;
/// From the order to start until the first arrival can be due: every loop must have heard by then.
const LEAD: Nanos = Nanos::from_millis(2);

/// Why there is no load, before there is any.
#[derive(Debug)]
pub enum Error {
    /// A name has no address.
    Resolve {
        /// The name.
        host: String,
        /// What the resolver said.
        why: String,
    },
    /// No connection.
    Connect {
        /// Address or path.
        to: String,
        /// What the kernel said.
        why: io::Error,
    },
    /// No TLS session.
    Tls {
        /// The origin.
        to: String,
        /// What was wrong.
        why: String,
    },
    /// No session with a database, or a statement that it does not take.
    Session {
        /// Address or path.
        to: String,
        /// What the server says, and what to do.
        why: String,
    },
    /// Bytes came, but no HTTP.
    NotHttp {
        /// The origin.
        to: String,
        /// What was wrong.
        why: String,
    },
    /// Nothing came in time.
    NoAnswer {
        /// The origin.
        to: String,
        /// How long was waited.
        waited: Nanos,
    },
    /// The machine does not let the loops start.
    Start(io::Error),
    /// Something in the plan cannot be made ready.
    Plan(String),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Resolve { host, why } => {
                write!(
                    f,
                    "the name '{host}' does not resolve: {why}; check the spelling, or give the address"
                )
            }
            Self::Connect { to, why } if why.kind() == io::ErrorKind::ConnectionRefused => {
                write!(
                    f,
                    "{to} refuses connections: nothing listens there; start the service, or check host and port"
                )
            }
            Self::Connect { to, why } if why.kind() == io::ErrorKind::NotFound => {
                write!(f, "{to}: there is no such socket; start the service, or check the path")
            }
            Self::Connect { to, why } if why.kind() == io::ErrorKind::TimedOut => write!(
                f,
                "{to} does not answer within {} s; check the address, the route and the firewall",
                CONNECT_LIMIT.as_secs()
            ),
            Self::Connect { to, why } if let Some(lack) = lack(why) => {
                write!(
                    f,
                    "cannot connect to {to}: torment has no {lack} left; see ulimit -n and ip_local_port_range"
                )
            }
            Self::Connect { to, why } => {
                write!(f, "cannot connect to {to}: {}; check host and port", reason(why))
            }
            Self::Tls { to, why } => write!(
                f,
                "no TLS session with {to}: {why}; give the right name, name the authority's file in SSL_CERT_FILE, \
                 or accept any certificate with --insecure"
            ),
            Self::Session { to, why } => write!(f, "{to}: {why}"),
            Self::NotHttp { to, why } => {
                write!(f, "{to} does not speak HTTP as asked: {why}; check the port, and http or https")
            }
            Self::NoAnswer { to, waited } => {
                write!(
                    f,
                    "{to} accepts connections but did not answer within {waited}; raise --timeout, or look at the service"
                )
            }
            Self::Start(why) => write!(f, "cannot start the load engine: {why}"),
            Self::Plan(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Error {}

/// The kernel's reason without Rust's error number.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

/// Why a request failed that got no connection.
pub(crate) fn no_connection(why: &io::Error) -> Failure {
    match lack(why) {
        Some(lack) => Failure::Lacking(lack),
        // So says a login that the database has no session for.
        None if why.kind() == io::ErrorKind::ResourceBusy => Failure::Full(reason(why)),
        None => Failure::Connect(reason(why)),
    }
}

/// What this machine has no more of for who loads, if that is what the kernel says.
pub fn lack(error: &io::Error) -> Option<Lack> {
    match Errno::from_io_error(error)? {
        Errno::MFILE | Errno::NFILE => Some(Lack::Descriptor),
        Errno::ADDRNOTAVAIL => Some(Lack::Port),
        Errno::NOSPC => Some(Lack::Watch),
        Errno::NOBUFS | Errno::NOMEM => Some(Lack::Memory),
        _ => None,
    }
}

/// What stays the same over all trials of a run.
#[derive(Debug, Clone)]
pub struct Job {
    /// Where requests go.
    pub endpoint: Endpoint,
    /// What is sent.
    pub flows: Vec<Flow>,
    /// How many arrivals there is data for.
    pub arrivals_limit: Option<u64>,
    /// How.
    pub generator: Generator,
    /// An answer with a longer response time is `late`.
    pub deadline: Option<Nanos>,
    /// What is left out of an [`Exchange`].
    pub secrets: Secrets,
}

/// The loops, with the connections they keep from trial to trial.
pub struct Engine {
    loops: Vec<Loop>,
    reports: Receiver<(usize, Report)>,
    deadline: Option<Nanos>,
    next_number: u64,
    /// Loops that have nothing open since their last trial.
    settled: Vec<bool>,
    /// Requests that one connection of a closed loop has in flight.
    streams: u32,
}

struct Loop {
    commands: Sender<Command>,
    /// Also the loop's, which has a table of descriptors of its own: this one is closed last.
    wake: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

/// What became of connections that were to stand open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Held {
    /// Those that do.
    pub open: u64,
    /// Why no more could be made.
    pub refused: Option<Failure>,
}

impl Engine {
    /// Starts the loops; no connection is made yet.
    ///
    /// One loop on each processor of the plan; more where the descriptors that one loop may have do
    /// not suffice for the plan's connections.
    ///
    /// Fails if the kernel refuses a thread, a descriptor, or a processor named in the plan.
    pub fn start(job: &Job) -> Result<Self, Error> {
        let cores = &job.generator.cores;
        sys::check_processors(cores).map_err(Error::Start)?;
        let count = loops(&job.generator, descriptors_a_loop());
        let (send, reports) = sync_channel(REPORTS);
        let last_word = LastWord::default();
        let mut loops = Vec::new();
        for index in 0..count {
            let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
                .map_err(|e| Error::Start(e.into()))?;
            let wake = Arc::new(wake);
            let theirs = Arc::clone(&wake);
            let (commands, inbox) = channel();
            let setup = Setup::new(job, index, count, &last_word)?;
            let core = cores.get(index as usize % cores.len().max(1)).copied();
            let (send, (started, has_started)) = (send.clone(), channel());
            let thread = std::thread::Builder::new()
                .name(format!("load-{index}"))
                .spawn(move || {
                    // Where this is forbidden all loops share one table, and its limit.
                    let _ = sys::own_descriptors(&[theirs.as_fd()]);
                    // On a machine that it shares with a busy target the load is still sent when it is due.
                    // Where that is refused, how late it was is measured as ever.
                    let _ = rustix::process::setpriority_process(None, WEIGHT);
                    if let Some(core) = core {
                        // It was there a moment ago; if it is no longer, any other does.
                        let _ = sys::run_on(&[core]);
                    }
                    match Worker::new(setup, index as usize, theirs, inbox, send) {
                        Ok(worker) => {
                            let _ = started.send(Ok(()));
                            worker.run().expect("epoll_wait only fails on our own mistakes");
                        }
                        Err(why) => {
                            let _ = started.send(Err(why));
                        }
                    }
                })
                .map_err(Error::Start)?;
            loops.push(Loop { commands, wake, thread: Some(thread) });
            let result = has_started.recv().map_err(|_| Error::Start(io::ErrorKind::Interrupted.into()))?;
            result.map_err(Error::Start)?;
        }
        let settled = vec![true; loops.len()];
        let streams = job.endpoint.streams() as u32;
        Ok(Self { loops, reports, deadline: job.deadline, next_number: 0, settled, streams })
    }

    /// Offers one load, then waits at most `drain` for what is open, and lets those who pause go on: each of their requests
    /// has a drain of its own, from when it is due. So it ends at the latest after the longest flow's pauses and a drain for
    /// each of its steps. Each second all loops' slices, merged, go to `on_slice`; `stop` is asked some twenty times a
    /// second whether to end the load now, and told what has been counted so far. Then nobody pauses any longer, and one
    /// drain is all that is waited.
    ///
    /// # Panics
    /// If a loop has panicked.
    pub fn trial(
        &mut self,
        offer: &Offer,
        drain: Nanos,
        on_slice: &mut dyn FnMut(&Slice),
        stop: &mut dyn FnMut(&Slice) -> bool,
    ) -> Counted {
        let start_ns = sys::monotonic_ns() + LEAD.0;
        let count = self.loops.len() as u32;
        self.settled.fill(false);
        let gap = match offer {
            Offer::Open(schedule) => schedule.max_rate().gap() * u64::from(count),
            Offer::Closed { .. } => Nanos::ZERO,
        };
        for (index, each) in self.loops.iter().enumerate() {
            each.tell(Command::Begin(Box::new(Trial {
                source: offer.source(index as u32, count, self.streams),
                start_ns,
                load_ends: offer.ends(),
                drain,
                deadline: self.deadline,
                first_number: self.next_number,
                gap,
            })));
        }
        let (mut gather, mut stopped) = (Gather::of(self.loops.len()), false);
        while !gather.is_over() {
            match self.reports.recv_timeout(ASK) {
                Ok((_, Report::Slice(slice))) => gather.add(&slice),
                Ok((index, Report::Over(at))) => gather.over(index, at),
                Ok((index, Report::Settled)) => self.settled[index] = true,
                // Told to whoever asked before.
                Ok((_, Report::Held { .. })) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => panic!("an engine loop has ended by itself"),
            }
            while let Some(slice) = gather.next_whole() {
                on_slice(&slice);
            }
            if !stopped && stop(gather.total()) {
                stopped = true;
                let now = Nanos(sys::monotonic_ns().saturating_sub(start_ns));
                self.loops.iter().for_each(|each| each.tell(Command::Stop(now + LEAD)));
            }
        }
        let counted = gather.end();
        self.next_number += counted.total.due;
        counted
    }

    /// Opens connections until so many stand, or closes some; from then on they are kept, requests go to them in turn, and
    /// no other is made but for one that the target closed behind an answer. Each is made or given up within a bound, so
    /// that this ends; `interrupted` is asked some twenty times a second whether those that stand by then are enough. There
    /// must be no trial meanwhile.
    ///
    /// # Panics
    /// If a loop has panicked.
    pub fn hold(&mut self, connections: u32, interrupted: &dyn Fn() -> bool) -> Held {
        let count = self.loops.len() as u32;
        for (index, each) in self.loops.iter().enumerate() {
            let share = connections / count + u32::from((index as u32) < connections % count);
            each.tell(Command::Hold(share as usize));
        }
        let (mut held, mut left, mut enough) = (Held::default(), count, false);
        while left > 0 {
            match self.reports.recv_timeout(ASK) {
                Ok((_, Report::Held { open, refused })) => {
                    held.open += open;
                    held.refused = held.refused.or(refused);
                    left -= 1;
                }
                Ok((index, Report::Settled)) => self.settled[index] = true,
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => panic!("an engine loop has ended by itself"),
            }
            if !enough && interrupted() {
                enough = true;
                self.loops.iter().for_each(|each| each.tell(Command::HoldNoMore));
            }
        }
        held
    }

    /// How many loops there are: each needs a connection for its share of the requests.
    pub fn loops(&self) -> u32 {
        self.loops.len() as u32
    }

    /// Closes all connections; from now on they are made when they are needed.
    pub fn release(&mut self) {
        self.loops.iter().for_each(|each| each.tell(Command::Release));
    }

    /// Waits until the last request of the trial before is answered, at most for `limit`; then open
    /// ones are cut off. Returns how long it took, or none if it was over the limit.
    pub fn settle(&mut self, limit: Nanos, interrupted: &dyn Fn() -> bool) -> Option<Nanos> {
        let began = sys::monotonic_ns();
        let mut in_time = true;
        while self.settled.contains(&false) {
            match self.reports.recv_timeout(ASK) {
                Ok((index, Report::Settled)) => self.settled[index] = true,
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => {
                    let passed = sys::monotonic_ns() - began;
                    if in_time && (passed > limit.0 || interrupted()) {
                        in_time = false;
                        self.loops.iter().for_each(|each| each.tell(Command::Abandon));
                    }
                }
                Err(RecvTimeoutError::Disconnected) => panic!("an engine loop has ended by itself"),
            }
        }
        in_time.then(|| Nanos(sys::monotonic_ns() - began))
    }
}

/// How many connections each loop can have, with what else it needs.
fn descriptors_a_loop() -> u64 {
    const SPARE: u64 = 16;
    sys::raise_nofile().0.saturating_sub(SPARE).max(1)
}

/// How many connections all loops together can have.
pub fn connections_room() -> u64 {
    // Tried out on a thread that is over at once.
    let own_tables = std::thread::spawn(|| sys::own_descriptors(&[]).is_ok()).join().unwrap_or(false);
    descriptors_a_loop() * if own_tables { LOOPS_LIMIT } else { 1 }
}

/// How many loops carry the plan's connections.
fn loops(generator: &Generator, connections_a_loop: u64) -> u32 {
    let needed = u64::from(generator.connections).div_ceil(connections_a_loop);
    (generator.cores.len() as u64).max(needed).clamp(1, LOOPS_LIMIT) as u32
}

impl Job {
    /// With one request of the plainest kind: for tests of the engine itself.
    #[doc(hidden)]
    pub fn plain(endpoint: Endpoint, path: &str, timeout: Nanos) -> Self {
        let request = plan::Request {
            method: "GET".to_owned(),
            path: plan::Template::parse(path).expect("a path of ours"),
            headers: Vec::new(),
            body: plan::Template::default(),
            expect: vec![plan::StatusRange::DEFAULT],
            checks: Vec::new(),
        };
        let ask = plan::Ask::Http(request);
        let step = plan::Step { name: path.to_owned(), think: None, ask, timeout, takes: Vec::new() };
        let flow = Flow { name: path.to_owned(), weight: 1.0, cookies: false, steps: vec![step] };
        let generator = Generator::default();
        let secrets = Secrets::default();
        Self { endpoint, flows: vec![flow], arrivals_limit: None, generator, deadline: None, secrets }
    }
}

impl Setup {
    fn new(job: &Job, index: u32, count: u32, last_word: &LastWord) -> Result<Self, Error> {
        let script = Script::new(job)?;
        let shortest = script.steps().map(|step| step.timeout).min().unwrap_or(Nanos::MAX);
        Ok(Self {
            endpoint: job.endpoint.clone(),
            script,
            lateness: job.generator.lateness,
            connect_limit: shortest.min(CONNECT_LIMIT.into()),
            connections_limit: job.generator.connections.div_ceil(count) as usize,
            outstanding_limit: u64::from(job.generator.outstanding.div_ceil(count)),
            arrivals_limit: job.arrivals_limit.unwrap_or(u64::MAX),
            serial: (u64::from(index), u64::from(count)),
            last_word: LastWord::clone(last_word),
            resend: job.generator.resend,
        })
    }
}

impl Loop {
    fn tell(&self, command: Command) {
        // A loop that is gone shows when its reports end.
        let _ = self.commands.send(command);
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.loops.iter().for_each(|each| each.tell(Command::Quit));
        // Nobody hears what they still have to say: whoever waits for that does so no longer.
        self.reports = sync_channel(0).1;
        for each in &mut self.loops {
            if let Some(thread) = each.thread.take() {
                let _ = thread.join();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lacking_is_told_by_the_kernels_number() {
        let of = |errno: Errno| no_connection(&io::Error::from(errno));
        for (errno, expected) in [
            (Errno::MFILE, Failure::Lacking(Lack::Descriptor)),
            (Errno::NFILE, Failure::Lacking(Lack::Descriptor)),
            (Errno::ADDRNOTAVAIL, Failure::Lacking(Lack::Port)),
            (Errno::NOSPC, Failure::Lacking(Lack::Watch)),
            (Errno::NOBUFS, Failure::Lacking(Lack::Memory)),
            (Errno::NOMEM, Failure::Lacking(Lack::Memory)),
            (Errno::CONNREFUSED, Failure::Connect("connection refused".to_owned())),
        ] {
            assert_eq!(of(errno), expected);
        }
        let full = io::Error::new(io::ErrorKind::ResourceBusy, "Sorry, too many clients");
        assert_eq!(no_connection(&full), Failure::Full("sorry, too many clients".to_owned()));
        let other = io::Error::other("too many open files, says a proxy");
        assert_eq!(no_connection(&other), Failure::Connect("too many open files, says a proxy".to_owned()));
    }
}
