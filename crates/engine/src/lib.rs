//! Open-loop load whose timing can be trusted: schedule ▶ requests ▶ recorder.
//!
//! One loop per chosen processor, each on a thread of its own, over epoll. Due times come first: response time
//! counts from when a request was due, the generator's own delay is recorded beside it, and every arrival ends
//! in exactly one [`record::Outcome`].
//!
//! It never judges (that is `search`), never prints, never decides how long to go on.

mod arrival_source;
mod checks_and_takes;
mod connection_ceiling;
mod connections;
mod content;
mod cookie_date;
mod cookies;
mod error;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod idle_limit;
mod json_pointer;
mod load_generator;
mod load_loop;
mod once;
mod outstanding;
mod prepared_flows;
mod protocol;
mod recorder;
mod reports;
mod resolved_target;
mod reuse_limit;
mod slots;
mod stream;
mod timeout_queue;
mod wait_policy;
mod write_buffer;

pub use error::{CONNECT_LIMIT, Error, exhausted_resource, reason};
pub use load_generator::{ClockSample, ConnectionHolder, LoadCommand, LoadGenerator};
pub use once::{Exchange, connect_once, exchanges_once};
pub use recorder::{OpenCounts, OutstandingArrival, Recorder};
pub use reports::{LEAD, ReportCollector, Reporter, THREADS_MOST, ThreadReport, sleep_until};
pub use resolved_target::{ResolvedTarget, ca_certificates};
pub use schedule::OfferedLoad;
pub use slots::{SlotKey, Slots};
pub use timeout_queue::TimeoutQueue;
pub use wait_policy::to_timespec;

use arrival_source::ArrivalSource;
use load_loop::{
    LearnedLimits, LoadLoop, LoopCommand, LoopSetup, SharedActivity, Trial, delayed_acks, read_known,
};
use plan::{Flow, Generator, Redactor};
use prepared_flows::PreparedFlows;
use record::{Failure, MemberFigures, Slice, TrialCounts};
use rustix::event::{EventfdFlags, eventfd};
use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use units::Nanos;

/// The loops' nice value, if permitted.
const NICE: i32 = -10;

/// What stays the same over all trials of a run.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// Where requests go.
    pub endpoint: ResolvedTarget,
    /// What is sent: the flows.
    pub flows: Vec<Flow>,
    /// How many arrivals there is data for.
    pub arrivals_limit: Option<u64>,
    /// Settings of the generator.
    pub generator: Generator,
    /// The minimum number of loops.
    pub loops: u32,
    /// An answer with a longer response time is `late`.
    pub deadline: Option<Nanos>,
    /// Redacted from an [`Exchange`].
    pub secrets: Redactor,
}

/// The loops, with the connections they keep from trial to trial.
pub struct Engine {
    loops: Vec<LoopHandle>,
    collector: ReportCollector<HeldConnections>,
    deadline: Option<Nanos>,
    /// The most connections, over all loops.
    connections: u64,
    next_number: u64,
    /// Requests that one connection of a closed loop has in flight.
    streams: u32,
}

struct LoopHandle {
    commands: Sender<LoopCommand>,
    learned: Arc<LearnedLimits>,
    /// Shared with the loop, which has a descriptor table of its own: this one is closed last.
    wake: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

/// An engine's part of a trial: all of it, or its share in a fleet's.
#[derive(Debug, Clone, Copy)]
pub struct TrialPart<'a> {
    /// When the trial begins, on the monotonic clock.
    pub start_ns: u64,
    /// Number of its first arrival, counted over the whole run.
    pub first_number: u64,
    /// The numbers of this engine's loops: arrival k belongs to loop k mod `of`.
    pub loops: &'a [u32],
    /// How many loops there are in all.
    pub total_loops: u32,
    /// On a stop command the load ends at this moment of the trial, or as soon as all loops can have received
    /// it.
    pub stop_at: &'a Cell<Nanos>,
}

/// The result of holding connections open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeldConnections {
    /// Those that are open.
    pub open: u64,
    /// Why no more could be made.
    pub refused: Option<Failure>,
    /// The fleet member that could make no more: its number, and where it is.
    pub refused_by: Option<(u32, String)>,
}

impl Engine {
    /// Starts the loops; no connection is made yet.
    ///
    /// One loop on each processor of the plan; more if more are asked for, or if one loop's descriptor limit
    /// does not suffice for the plan's connections.
    ///
    /// Fails if the kernel refuses a thread, a descriptor, or a processor named in the plan.
    pub fn start(config: &EngineConfig) -> Result<Self, Error> {
        let cores = &config.generator.cores;
        sys::check_processors(cores).map_err(Error::Start)?;
        let count = loop_count(config, descriptors_per_loop());
        let (reporters, collector) = ReportCollector::channel(count as usize);
        let activity = SharedActivity::default();
        let mut loops = Vec::new();
        for (index, reporter) in (0..count).zip(reporters) {
            let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
                .map_err(|e| Error::Start(e.into()))?;
            let wake = Arc::new(wake);
            let loop_wake = Arc::clone(&wake);
            let (commands, receiver) = channel();
            let setup = LoopSetup::new(config, index, count, &activity)?;
            let learned = Arc::clone(&setup.learned);
            let core = cores.get(index as usize % cores.len().max(1)).copied();
            let (ready_sender, ready_receiver) = channel();
            let thread = std::thread::Builder::new()
                .name(format!("load-{index}"))
                .spawn(move || {
                    // Where this is forbidden, all loops share one table, and its limit.
                    let _ = sys::unshare_descriptors(&[loop_wake.as_fd()]);
                    // Keeps the load on time on a machine shared with a busy target. If refused, lateness is
                    // measured all the same.
                    let _ = rustix::process::setpriority_process(None, NICE);
                    let _ = sys::set_short_slice();
                    if let Some(core) = core {
                        // It was there a moment ago; if it is gone, any other will do.
                        let _ = sys::bind_to(&[core]);
                    }
                    match LoadLoop::new(setup, loop_wake, receiver, reporter) {
                        Ok(load_loop) => {
                            let _ = ready_sender.send(Ok(()));
                            load_loop.run().expect("epoll_wait only fails on our own mistakes");
                        }
                        Err(why) => {
                            let _ = ready_sender.send(Err(why));
                        }
                    }
                })
                .map_err(Error::Start)?;
            loops.push(LoopHandle { commands, learned, wake, thread: Some(thread) });
            let result =
                ready_receiver.recv().map_err(|_| Error::Start(io::ErrorKind::Interrupted.into()))?;
            result.map_err(Error::Start)?;
        }
        let streams = config.endpoint.streams() as u32;
        let connections = u64::from(config.generator.connections);
        Ok(Self { loops, collector, deadline: config.deadline, connections, next_number: 0, streams })
    }

    /// The number of loops.
    pub fn loops(&self) -> u32 {
        self.loops.len() as u32
    }

    /// As [`LoadGenerator::run_trial`], for a part that may begin further ahead: it sleeps until just before,
    /// as there is no time before a trial for the loops. If told to stop by then, nothing is sent.
    ///
    /// # Panics
    /// If a loop has panicked, or the part has another number of loops than there are.
    pub fn run_part(
        &mut self,
        offer: &OfferedLoad,
        part: &TrialPart<'_>,
        drain: Nanos,
        on_slice: &mut dyn FnMut(&Slice),
        next_command: &mut dyn FnMut(&Slice, Nanos) -> LoadCommand,
    ) -> TrialCounts {
        let Self { loops, collector, connections, .. } = self;
        let &TrialPart { start_ns, first_number, loops: numbers, total_loops, stop_at } = part;
        assert_eq!(numbers.len(), loops.len(), "each loop has its number");
        if !sleep_until(start_ns, &mut || {
            next_command(&Slice::default(), Nanos::ZERO) == LoadCommand::Continue
        }) {
            return TrialCounts::default();
        }
        let began = ClockSample::now();
        let gap = match offer {
            OfferedLoad::Open(schedule) => schedule.max_rate().mean_interval() * u64::from(total_loops),
            OfferedLoad::Closed { .. } => Nanos::ZERO,
        };
        for (index, each) in numbers.iter().zip(loops.iter()) {
            each.send(LoopCommand::Begin(Box::new(Trial {
                source: ArrivalSource::new(offer, *index, total_loops, self.streams),
                start_ns,
                load_ends: offer.latest_end(),
                drain,
                deadline: self.deadline,
                first_number,
                interval: gap,
            })));
        }
        // None counts for this trial yet: the first comes 40 ms after an answer.
        let acks_before = delayed_acks();
        let stop = |_, now: Nanos| {
            let at = stop_at.get().max(now + LEAD);
            loops.iter().for_each(|each| each.send(LoopCommand::Stop(at)));
        };
        let (limit, mut at_limit) = (*connections, false);
        let mut on_slice = |slice: &Slice| {
            at_limit |= slice.backlog > 0 && slice.in_flight >= limit;
            on_slice(slice);
        };
        // Open connections were reported to an earlier caller.
        let mut counted = collector.collect_trial(start_ns, &mut on_slice, next_command, stop, drop);
        let stolen = ClockSample::now().stolen_since(&began);
        // Each loop knows only its own part.
        let places = loops.iter().map(|each| read_known(&each.learned.places)).sum();
        let answers_each = loops.iter().filter_map(|each| read_known(&each.learned.answers_each)).min();
        let delayed_acks =
            acks_before.zip(delayed_acks()).map(|(before, after)| after.saturating_sub(before));
        let figures = MemberFigures::from_slice(&counted.total, stolen, at_limit.then_some(limit));
        let mut figures = MemberFigures { places, answers_each, delayed_acks, ..figures };
        loops.iter().for_each(|each| each.learned.pieces.add_to(&mut figures));
        counted.members.push(figures);
        counted
    }
}

impl LoadGenerator for Engine {
    /// Users who pause when the load ends go on: each of their requests has a drain of its own, from its due
    /// time. So it ends at the latest after the longest flow's pauses and a drain for each of its steps. After
    /// a stop command nobody pauses any longer, and there is one drain.
    fn run_trial(
        &mut self,
        offer: &OfferedLoad,
        drain: Nanos,
        on_begin: &mut dyn FnMut(ClockSample),
        on_slice: &mut dyn FnMut(&Slice),
        next_command: &mut dyn FnMut(&Slice, Nanos) -> LoadCommand,
    ) -> TrialCounts {
        let numbers: Vec<u32> = (0..self.loops()).collect();
        let (first_number, total_loops) = (self.next_number, self.loops());
        on_begin(ClockSample::now());
        let start_ns = sys::monotonic_ns() + LEAD.0;
        let part = TrialPart {
            start_ns,
            first_number,
            loops: &numbers,
            total_loops,
            stop_at: &Cell::new(Nanos::ZERO),
        };
        let counted = self.run_part(offer, &part, drain, on_slice, next_command);
        self.next_number += counted.total.due;
        counted
    }

    fn settle(&mut self, limit: Nanos, interrupted: &dyn Fn() -> bool) -> Option<Nanos> {
        let Self { loops, collector, .. } = self;
        let give_way = || loops.iter().for_each(|each| each.send(LoopCommand::GiveWay));
        let abandon = || loops.iter().for_each(|each| each.send(LoopCommand::Abandon));
        collector.settle(limit, interrupted, give_way, abandon, drop)
    }
}

impl ConnectionHolder for Engine {
    fn min_connections(&self) -> u32 {
        self.loops()
    }

    fn hold(&mut self, connections: u32, interrupted: &dyn Fn() -> bool) -> HeldConnections {
        let count = self.loops();
        for (index, each) in self.loops.iter().enumerate() {
            let share = connections / count + u32::from((index as u32) < connections % count);
            each.send(LoopCommand::Hold(share as usize));
        }
        let (mut held, mut pending, mut stopping) = (HeldConnections::default(), count, false);
        while pending > 0 {
            if let Some((_, ThreadReport::Custom(report))) = self.collector.next_report() {
                held.open += report.open;
                held.refused = held.refused.or(report.refused);
                pending -= 1;
            }
            if !stopping && interrupted() {
                stopping = true;
                self.loops.iter().for_each(|each| each.send(LoopCommand::HoldNoMore));
            }
        }
        held
    }

    fn release(&mut self) {
        self.loops.iter().for_each(|each| each.send(LoopCommand::Release));
    }
}

/// The most connections per loop, given what else it needs.
fn descriptors_per_loop() -> u64 {
    const SPARE_DESCRIPTORS: u64 = 16;
    sys::raise_nofile().0.saturating_sub(SPARE_DESCRIPTORS).max(1)
}

/// The most connections of all loops together.
pub fn max_connections() -> u64 {
    // Tried on a short-lived thread.
    let own_tables = std::thread::spawn(|| sys::unshare_descriptors(&[]).is_ok()).join().unwrap_or(false);
    descriptors_per_loop() * if own_tables { THREADS_MOST.into() } else { 1 }
}

/// How many loops the plan's connections need.
fn loop_count(config: &EngineConfig, connections_a_loop: u64) -> u32 {
    let EngineConfig { generator, loops, .. } = config;
    let needed = u64::from(generator.connections).div_ceil(connections_a_loop);
    (generator.cores.len() as u64).max(u64::from(*loops)).max(needed).clamp(1, THREADS_MOST.into()) as u32
}

impl EngineConfig {
    /// With one plain request: for tests of the engine itself.
    #[doc(hidden)]
    pub fn plain(endpoint: ResolvedTarget, path: &str, timeout: Nanos) -> Self {
        let request = plan::Request {
            method: "GET".to_owned(),
            path: plan::Template::parse(path).expect("a path of ours"),
            headers: Vec::new(),
            body: plan::Template::default(),
            expect: vec![plan::StatusRange::DEFAULT],
            checks: Vec::new(),
        };
        let payload = plan::Payload::Http(request);
        let step =
            plan::Step { name: path.to_owned(), think: None, ask: payload, timeout, takes: Vec::new() };
        let flow = Flow { name: path.to_owned(), weight: 1.0, cookies: false, steps: vec![step] };
        let generator = Generator::default();
        let secrets = Redactor::default();
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

impl LoopSetup {
    fn new(config: &EngineConfig, index: u32, count: u32, activity: &SharedActivity) -> Result<Self, Error> {
        let script = PreparedFlows::new(config)?;
        let min_timeout = script.steps().map(|step| step.timeout).min().unwrap_or(Nanos::MAX);
        Ok(Self {
            endpoint: config.endpoint.clone(),
            script,
            lateness: config.generator.lateness,
            connect_limit: min_timeout.min(CONNECT_LIMIT.into()),
            connections_limit: config.generator.connections.div_ceil(count) as usize,
            outstanding_limit: u64::from(config.generator.outstanding.div_ceil(count)),
            arrivals_limit: config.arrivals_limit.unwrap_or(u64::MAX),
            serial: (u64::from(index), u64::from(count)),
            activity: SharedActivity::clone(activity),
            learned: Arc::default(),
            resend: config.generator.resend,
        })
    }
}

impl LoopHandle {
    fn send(&self, command: LoopCommand) {
        // A loop that is gone shows when its reports end.
        let _ = self.commands.send(command);
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.loops.iter().for_each(|each| each.send(LoopCommand::Quit));
        // Nobody receives their last reports: this unblocks loops that wait to send one.
        self.collector = ReportCollector::channel(0).1;
        for each in &mut self.loops {
            if let Some(thread) = each.thread.take() {
                let _ = thread.join();
            }
        }
    }
}
