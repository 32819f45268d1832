//! A worker: an engine that does what its coordinator says, and nothing else.

mod reconnecting_link;

use crate::build::{VERSION, build_stamp};
use crate::{Error, machine, preflight};
use engine::{ConnectionHolder, Engine, HeldConnections, LoadCommand, LoadGenerator, TrialPart};
use fleet::{FleetRole, Hello, Instruction, MemberReport, PROTOCOL, TargetCheck, TrialAssignment};
use link::{Duplex, JoinFile, MemberLink};
use plan::{PortablePlan, Target};
use reconnecting_link::ReconnectingLink;
use record::Slice;
use std::cell::{Cell, RefCell};
use std::io;
use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use units::Nanos;

/// How often to check whether it was asked to exit.
const STOP_POLL: Duration = Duration::from_millis(50);
/// A worker that has heard nothing for this long ends its load: no service is loaded while nobody could stop it.
pub(crate) const SILENCE_LIMIT: Nanos = Nanos::from_secs(6);

/// Works for the coordinator at the other end of these pipes, until told to exit, or by others (`stop`).
///
/// # Errors
/// If the coordinator is gone.
pub fn work_over_pipes((from, to): (OwnedFd, OwnedFd), stop: &Arc<AtomicBool>) -> io::Result<()> {
    let hello = hello(FleetRole::Worker);
    let link = MemberLink::connect(Duplex::pipes(from, to), hello, &[]).map_err(io::Error::other)?;
    run_worker(ReconnectingLink::new(link, None), stop).map_err(io::Error::other)
}

/// The same for the coordinator that a join file names. `joined` gets its address, once it has admitted this worker.
///
/// # Errors
/// If the file is invalid, nobody is there, or it is not admitted; in words.
pub fn work_joined(file: &str, stop: &Arc<AtomicBool>, joined: &mut dyn FnMut(&str)) -> Result<(), String> {
    let file: JoinFile = file.parse().map_err(describe_join_error)?;
    let link = MemberLink::join(&file, hello(FleetRole::Worker), &[]).map_err(describe_join_error)?;
    joined(&file.address);
    run_worker(ReconnectingLink::new(link, Some(file)), stop).map_err(|why| why.to_string())
}

fn run_worker(line: ReconnectingLink, stop: &Arc<AtomicBool>) -> Result<(), link::Error> {
    let (line, stop) = (RefCell::new(line), Arc::clone(stop));
    Worker { link: line, engine: None, stop, trial: 0, deferred: None }.run()
}

/// Why joining by a file failed.
pub(crate) fn describe_join_error(why: link::Error) -> String {
    match why {
        link::Error::Gone(why) => format!("{why}; a join file lets in as long as its run goes on"),
        why => why.to_string(),
    }
}

/// This process's request to join.
pub(crate) fn hello(role: FleetRole) -> Hello {
    Hello {
        protocol: PROTOCOL,
        build: VERSION.to_owned(),
        stamp: build_stamp().clone(),
        role,
        member: None,
        place: machine::describe().host,
        machine: machine::boot_id(),
        pid: std::process::id(),
    }
}

/// What was received while something else went on.
#[derive(Default)]
struct ControlState {
    ends: Cell<bool>,
    gone: RefCell<Option<link::Error>>,
    deferred: RefCell<Option<Instruction>>,
}

struct Worker {
    link: RefCell<ReconnectingLink>,
    engine: Option<Engine>,
    stop: Arc<AtomicBool>,
    /// Number of the latest trial.
    trial: u64,
    /// An instruction received during a trial, for after it.
    deferred: Option<Instruction>,
}

impl Worker {
    fn run(&mut self) -> Result<(), link::Error> {
        loop {
            let deferred = self.deferred.take();
            let instruction = if deferred.is_some() { deferred } else { self.receive(STOP_POLL)? };
            match instruction {
                Some(Instruction::Leave) => return Ok(()),
                Some(Instruction::Welcome { share, parcel, cores, tries, .. }) => {
                    let answer = self.prepare(share, *parcel, cores, tries);
                    self.send(answer);
                }
                Some(Instruction::Hold { connections }) => self.hold(connections)?,
                Some(Instruction::Release) => self.engine.iter_mut().for_each(ConnectionHolder::release),
                Some(Instruction::Rest) => self.engine = None,
                Some(Instruction::Arm(assignment)) => self.run_trial(&assignment)?,
                Some(Instruction::Settle { limit }) => self.settle(limit)?,
                // Of a trial that is over, or did not begin.
                Some(
                    Instruction::Cancel { .. }
                    | Instruction::Stop { .. }
                    | Instruction::Abandon
                    | Instruction::HoldNoMore
                    | Instruction::Heard { .. }
                    // For watchers.
                    | Instruction::Watch(_)
                    | Instruction::WatchFrom { .. }
                    | Instruction::WatchUntil { .. }
                    | Instruction::LookCloser
                    | Instruction::Owner(_),
                )
                | None => {}
            }
            if self.is_stop_requested() {
                self.send(leaving_report());
                return Ok(());
            }
        }
    }

    fn is_stop_requested(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn receive(&self, within: Duration) -> Result<Option<Instruction>, link::Error> {
        self.link.borrow_mut().next(within)
    }

    fn send(&self, report: MemberReport) {
        self.link.borrow_mut().send(report);
    }

    /// Prepares for the plan, and reports that; else why not, and whether because the target is unreachable.
    fn prepare(
        &mut self,
        share: u64,
        parcel: PortablePlan,
        cores: Vec<u32>,
        tries: TargetCheck,
    ) -> MemberReport {
        let PortablePlan { mut plan, authorities } = parcel;
        plan.generator.cores = cores;
        let mut prepare = || {
            let mut config = preflight::engine_config_trusting(&plan, &plan.target, authorities.as_deref())?;
            let caveats = preflight::fit_connections(&mut config)?;
            match tries {
                _ if plan.target == Target::Null => {}
                TargetCheck::Nothing => {}
                TargetCheck::Connection => engine::connect_once(&config)?,
                TargetCheck::Request => preflight::check_first_answer(&config)?,
            }
            let beside = config.endpoint.path().is_some()
                || config.endpoint.address().is_some_and(|at| {
                    // An address that can be bound is this machine's.
                    at.ip().is_loopback() || UdpSocket::bind((at.ip(), 0)).is_ok()
                });
            let connections = u64::from(config.generator.connections);
            let engine = self.engine.insert(Engine::start(&config)?);
            Ok(MemberReport::Ready { share, loops: engine.loops(), connections, caveats, beside })
        };
        prepare().unwrap_or_else(|error: Error| {
            use engine::Error::{Connect, NoAnswer, Resolve};
            let unreached = matches!(error, Error::Engine(Resolve { .. } | Connect { .. } | NoAnswer { .. }));
            let why = error.without_secrets(&plan.redactor()).to_string();
            MemberReport::Refused { share, why, unreached }
        })
    }

    /// Its part of a trial, from the order to begin until all is reported.
    fn run_trial(&mut self, assignment: &TrialAssignment) -> Result<(), link::Error> {
        let Some(mut engine) = self.engine.take() else { return Ok(()) };
        let trial = assignment.trial;
        self.trial = trial;
        self.send(MemberReport::Armed { trial });
        let (stop_at, gone, has_left) = (Cell::new(Nanos::ZERO), RefCell::new(None), Cell::new(false));
        let (slices_sent, ended, cancelled) = (Cell::new(0), Cell::new(false), Cell::new(false));
        let deferred = RefCell::new(None);
        let part = TrialPart {
            start_ns: assignment.start.0,
            first_number: assignment.first_number,
            loops: &assignment.loops,
            total_loops: assignment.of,
            stop_at: &stop_at,
        };
        let mut on_slice = |slice: &Slice| {
            slices_sent.set(slices_sent.get() + 1);
            self.send(MemberReport::Slice { trial, slice: Box::new(slice.clone()) });
        };
        let mut next_command = |_: &Slice, _| {
            // Anything after that is for the next trial.
            while gone.borrow().is_none() && !cancelled.get() {
                match self.receive(Duration::ZERO) {
                    Ok(Some(Instruction::Stop { trial: which, at })) if which == trial => {
                        stop_at.set(at);
                        ended.set(true);
                    }
                    Ok(Some(Instruction::Cancel { trial: which })) if which == trial => cancelled.set(true),
                    // A worker welcomed again was given up: what it does no longer counts.
                    Ok(Some(instruction @ (Instruction::Leave | Instruction::Welcome { .. }))) => {
                        *deferred.borrow_mut() = Some(instruction);
                        ended.set(true);
                    }
                    Ok(Some(_)) => {}
                    Ok(None) => break,
                    Err(why) => *gone.borrow_mut() = Some(why),
                }
            }
            if self.is_stop_requested() && !has_left.replace(true) {
                self.send(leaving_report());
            }
            let line = self.link.borrow();
            let silent = line.silent_for() > SILENCE_LIMIT || line.is_full();
            let ends = ended.get() || cancelled.get() || has_left.get() || silent || gone.borrow().is_some();
            if ends { LoadCommand::Stop } else { LoadCommand::Continue }
        };
        let counted =
            engine.run_part(&assignment.offer, &part, assignment.drain, &mut on_slice, &mut next_command);
        self.engine = Some(engine);
        self.deferred = deferred.take();
        if let Some(gone) = gone.take() {
            return Err(gone);
        }
        let worked = counted.members.into_iter().next();
        if !cancelled.get() || worked.is_some() {
            // A trial cancelled before its start has no figures. A worker that learned of the cancellation too late has
            // made a load.
            let worked = Box::new(worked.unwrap_or_default());
            self.send(MemberReport::Over { trial, at: counted.loaded, slices: slices_sent.get(), worked });
        }
        Ok(())
    }

    /// Waits until the target has answered everything.
    fn settle(&mut self, limit: Nanos) -> Result<(), link::Error> {
        let instruction = ControlState::default();
        if let Some(mut engine) = self.engine.take() {
            engine.settle(limit, &|| self.should_end(&Instruction::Abandon, &instruction));
            self.engine = Some(engine);
        }
        self.deferred = instruction.deferred.take();
        self.send(MemberReport::Settled { trial: self.trial });
        instruction.gone.take().map_or(Ok(()), Err)
    }

    /// Opens its share of the connections to hold.
    fn hold(&mut self, connections: u32) -> Result<(), link::Error> {
        let (instruction, mut held) = (ControlState::default(), HeldConnections::default());
        if let Some(mut engine) = self.engine.take() {
            held = engine.hold(connections, &|| self.should_end(&Instruction::HoldNoMore, &instruction));
            self.engine = Some(engine);
        }
        self.deferred = instruction.deferred.take();
        self.send(MemberReport::Held { open: held.open, refused: held.refused });
        instruction.gone.take().map_or(Ok(()), Err)
    }

    /// Whether to end what is under way: `expected` arrived, or another instruction, or the coordinator is gone.
    fn should_end(&self, expected: &Instruction, instruction: &ControlState) -> bool {
        match self.receive(Duration::ZERO) {
            Ok(Some(received @ (Instruction::Leave | Instruction::Welcome { .. }))) => {
                *instruction.deferred.borrow_mut() = Some(received);
                instruction.ends.set(true);
            }
            Ok(received) => {
                instruction.ends.set(instruction.ends.get() || received.as_ref() == Some(expected))
            }
            Err(why) => *instruction.gone.borrow_mut() = Some(why),
        }
        instruction.ends.get() || self.is_stop_requested() || instruction.gone.borrow().is_some()
    }
}

/// Reports that it leaves before the run is over.
pub(crate) fn leaving_report() -> MemberReport {
    MemberReport::Leaving { why: "it was told to end (SIGTERM)".to_owned() }
}
