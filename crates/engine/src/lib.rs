//! Open-loop load whose timing can be trusted: schedule ▶ requests ▶ recorder.
//!
//! One loop per chosen processor, each on a thread of its own, over the kernel's events. Due times
//! come first: response time counts from when a request was due, the generator's own delay is
//! recorded beside it, and every arrival ends in exactly one [`record::Outcome`].
//!
//! It never judges (that is `search`), never prints, never decides how long to go on.

mod carrier;
mod connections;
mod content;
mod cookie_date;
mod cookies;
mod crew;
mod endpoint;
mod error;
mod exchanges;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod growth;
mod idle;
mod json;
mod lanes;
mod once;
mod outbox;
mod pace;
mod protocol;
mod reading;
mod recorder;
mod reuse;
mod script;
mod slots;
mod source;
mod stream;
mod worker;

pub use carrier::{Carrier, Holder, Moment, Wish};
pub use crew::{Crew, LEAD, Report, THREADS_MOST, Teller, sleep_until};
pub use endpoint::{Endpoint, authorities};
pub use error::{CONNECT_LIMIT, Error, lack, reason};
pub use lanes::Lanes;
pub use once::{Exchange, connect_once, exchanges_once};
pub use pace::timespec;
pub use recorder::{Arrival, Open, Recorder};
pub use schedule::Offer;
pub use slots::{Key, Slots};

use plan::{Flow, Generator, Secrets};
use record::{Counted, Failure, Slice, Worked};
use rustix::event::{EventfdFlags, eventfd};
use script::Script;
use source::Source;
use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use units::Nanos;
use worker::{Command, LastWord, Learned, Setup, Trial, Worker, known};

/// The loops' nice value, where the user may have it.
const WEIGHT: i32 = -10;

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
    /// At least so many loops make it.
    pub loops: u32,
    /// An answer with a longer response time is `late`.
    pub deadline: Option<Nanos>,
    /// What is left out of an [`Exchange`].
    pub secrets: Secrets,
}

/// The loops, with the connections they keep from trial to trial.
pub struct Engine {
    loops: Vec<Loop>,
    crew: Crew<HeldConnections>,
    deadline: Option<Nanos>,
    /// How many connections all loops together may have.
    connections: u64,
    next_number: u64,
    /// Requests that one connection of a closed loop has in flight.
    streams: u32,
}

struct Loop {
    commands: Sender<Command>,
    learned: Arc<Learned>,
    /// Also the loop's, which has a table of descriptors of its own: this one is closed last.
    wake: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

/// An engine's part of a trial: all of it, or what a fleet leaves to it.
#[derive(Debug, Clone, Copy)]
pub struct TrialPart<'a> {
    /// When the trial begins, on the monotonic clock.
    pub start_ns: u64,
    /// Number of its first arrival, counted over the whole run.
    pub first_number: u64,
    /// The numbers that this engine's loops have: arrival k belongs to loop k mod `of`.
    pub loops: &'a [u32],
    /// How many loops there are in all.
    pub of: u32,
    /// Where its end is wished, the load ends at this moment of the trial, or as soon as all loops can have heard.
    pub stop_at: &'a Cell<Nanos>,
}

/// What became of connections that were to stand open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeldConnections {
    /// Those that do.
    pub open: u64,
    /// Why no more could be made.
    pub refused: Option<Failure>,
    /// Who could make no more, if several make them: its number, and where it is.
    pub by: Option<(u32, String)>,
}

impl Engine {
    /// Starts the loops; no connection is made yet.
    ///
    /// One loop on each processor of the plan; more if more are asked for, or where the descriptors that one loop may have do
    /// not suffice for the plan's connections.
    ///
    /// Fails if the kernel refuses a thread, a descriptor, or a processor named in the plan.
    pub fn start(job: &Job) -> Result<Self, Error> {
        let cores = &job.generator.cores;
        sys::check_processors(cores).map_err(Error::Start)?;
        let count = loops(job, descriptors_a_loop());
        let (tellers, crew) = Crew::of(count as usize);
        let last_word = LastWord::default();
        let mut loops = Vec::new();
        for (index, teller) in (0..count).zip(tellers) {
            let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
                .map_err(|e| Error::Start(e.into()))?;
            let wake = Arc::new(wake);
            let theirs = Arc::clone(&wake);
            let (commands, inbox) = channel();
            let setup = Setup::new(job, index, count, &last_word)?;
            let learned = Arc::clone(&setup.learned);
            let core = cores.get(index as usize % cores.len().max(1)).copied();
            let (started, has_started) = channel();
            let thread = std::thread::Builder::new()
                .name(format!("load-{index}"))
                .spawn(move || {
                    // Where this is forbidden all loops share one table, and its limit.
                    let _ = sys::own_descriptors(&[theirs.as_fd()]);
                    // On a machine that it shares with a busy target the load is still sent when it is due.
                    // Where that is refused, how late it was is measured as ever.
                    let _ = rustix::process::setpriority_process(None, WEIGHT);
                    let _ = sys::short_slice();
                    if let Some(core) = core {
                        // It was there a moment ago; if it is no longer, any other does.
                        let _ = sys::run_on(&[core]);
                    }
                    match Worker::new(setup, theirs, inbox, teller) {
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
            loops.push(Loop { commands, learned, wake, thread: Some(thread) });
            let result = has_started.recv().map_err(|_| Error::Start(io::ErrorKind::Interrupted.into()))?;
            result.map_err(Error::Start)?;
        }
        let streams = job.endpoint.streams() as u32;
        let connections = u64::from(job.generator.connections);
        Ok(Self { loops, crew, deadline: job.deadline, connections, next_number: 0, streams })
    }

    /// How many loops there are.
    pub fn loops(&self) -> u32 {
        self.loops.len() as u32
    }
}

impl Engine {
    /// As [`Carrier::trial`], of a part whose beginning may be further ahead: it is slept through before the loops hear of it,
    /// for there is no moment before a trial. If its end is wished by then, nothing is sent.
    ///
    /// # Panics
    /// If a loop has panicked, or the part has another number of loops than there are.
    pub fn part(
        &mut self,
        offer: &Offer,
        part: &TrialPart<'_>,
        drain: Nanos,
        on_slice: &mut dyn FnMut(&Slice),
        wish: &mut dyn FnMut(&Slice, Nanos) -> Wish,
    ) -> Counted {
        let Self { loops, crew, connections, .. } = self;
        let &TrialPart { start_ns, first_number, loops: numbers, of, stop_at } = part;
        assert_eq!(numbers.len(), loops.len(), "each loop has its number");
        if !sleep_until(start_ns, &mut || wish(&Slice::default(), Nanos::ZERO) == Wish::GoOn) {
            return Counted::default();
        }
        let began = Moment::now();
        let gap = match offer {
            Offer::Open(schedule) => schedule.max_rate().gap() * u64::from(of),
            Offer::Closed { .. } => Nanos::ZERO,
        };
        for (index, each) in numbers.iter().zip(loops.iter()) {
            each.tell(Command::Begin(Box::new(Trial {
                source: Source::of(offer, *index, of, self.streams),
                start_ns,
                load_ends: offer.ends(),
                drain,
                deadline: self.deadline,
                first_number,
                gap,
            })));
        }
        let stop = |_, now: Nanos| {
            let at = stop_at.get().max(now + LEAD);
            loops.iter().for_each(|each| each.tell(Command::Stop(at)));
        };
        let (limit, mut crowded) = (*connections, false);
        let mut on_slice = |slice: &Slice| {
            crowded |= slice.backlog > 0 && slice.in_flight >= limit;
            on_slice(slice);
        };
        // What stands was told to whoever asked before.
        let mut counted = crew.gather(start_ns, &mut on_slice, wish, stop, drop);
        let stolen = Moment::now().stolen_since(&began);
        // What one loop knows is its own part.
        let places = loops.iter().map(|each| known(&each.learned.places)).sum();
        let answers_each = loops.iter().filter_map(|each| known(&each.learned.answers_each)).min();
        let worked = Worked::of(&counted.total, stolen, crowded.then_some(limit));
        counted.members.push(Worked { places, answers_each, ..worked });
        counted
    }
}

impl Carrier for Engine {
    /// Those who pause when the load ends go on: each of their requests has a drain of its own, from when it is due. So it
    /// ends at the latest after the longest flow's pauses and a drain for each of its steps. Once its end is wished nobody
    /// pauses any longer, and one drain is all that is waited.
    fn trial(
        &mut self,
        offer: &Offer,
        drain: Nanos,
        on_begin: &mut dyn FnMut(Moment),
        on_slice: &mut dyn FnMut(&Slice),
        wish: &mut dyn FnMut(&Slice, Nanos) -> Wish,
    ) -> Counted {
        let numbers: Vec<u32> = (0..self.loops()).collect();
        let (first_number, of) = (self.next_number, self.loops());
        on_begin(Moment::now());
        let start_ns = sys::monotonic_ns() + LEAD.0;
        let part =
            TrialPart { start_ns, first_number, loops: &numbers, of, stop_at: &Cell::new(Nanos::ZERO) };
        let counted = self.part(offer, &part, drain, on_slice, wish);
        self.next_number += counted.total.due;
        counted
    }

    fn settle(&mut self, limit: Nanos, interrupted: &dyn Fn() -> bool) -> Option<Nanos> {
        let Self { loops, crew, .. } = self;
        let give_way = || loops.iter().for_each(|each| each.tell(Command::GiveWay));
        let abandon = || loops.iter().for_each(|each| each.tell(Command::Abandon));
        crew.settle(limit, interrupted, give_way, abandon, drop)
    }
}

impl Holder for Engine {
    fn connections_least(&self) -> u32 {
        self.loops()
    }

    fn hold(&mut self, connections: u32, interrupted: &dyn Fn() -> bool) -> HeldConnections {
        let count = self.loops.len() as u32;
        for (index, each) in self.loops.iter().enumerate() {
            let share = connections / count + u32::from((index as u32) < connections % count);
            each.tell(Command::Hold(share as usize));
        }
        let (mut held, mut left, mut enough) = (HeldConnections::default(), count, false);
        while left > 0 {
            if let Some((_, Report::Own(told))) = self.crew.next() {
                held.open += told.open;
                held.refused = held.refused.or(told.refused);
                left -= 1;
            }
            if !enough && interrupted() {
                enough = true;
                self.loops.iter().for_each(|each| each.tell(Command::HoldNoMore));
            }
        }
        held
    }

    fn release(&mut self) {
        self.loops.iter().for_each(|each| each.tell(Command::Release));
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
    descriptors_a_loop() * if own_tables { THREADS_MOST.into() } else { 1 }
}

/// How many loops carry the plan's connections.
fn loops(job: &Job, connections_a_loop: u64) -> u32 {
    let Job { generator, loops, .. } = job;
    let needed = u64::from(generator.connections).div_ceil(connections_a_loop);
    (generator.cores.len() as u64).max(u64::from(*loops)).max(needed).clamp(1, THREADS_MOST.into()) as u32
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
        let ask = plan::Payload::Http(request);
        let step = plan::Step { name: path.to_owned(), think: None, ask, timeout, takes: Vec::new() };
        let flow = Flow { name: path.to_owned(), weight: 1.0, cookies: false, steps: vec![step] };
        let generator = Generator::default();
        let secrets = Secrets::default();
        Self {
            endpoint,
            flows: vec![flow],
            arrivals_limit: None,
            generator,
            loops: 1,
            deadline: None,
            secrets,
        }
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
            learned: Arc::default(),
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
        self.crew = Crew::of(0).1;
        for each in &mut self.loops {
            if let Some(thread) = each.thread.take() {
                let _ = thread.join();
            }
        }
    }
}
