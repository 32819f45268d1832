//! A worker: an engine that does what a coordinator tells it, and is loaded by nobody else.

mod line;

use crate::build::{VERSION, stamp};
use crate::{Error, machine, preflight};
use engine::{Carrier, Engine, HeldConnections, Holder, TrialPart, Wish};
use fleet::{Duty, FirstTry, FleetRole, Hello, Instruction, PROTOCOL, Tidings};
use line::Line;
use link::{Duplex, JoinFile, Wire};
use plan::{Parcel, Target};
use record::{Caveat, Slice};
use std::cell::{Cell, RefCell};
use std::io;
use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use units::Nanos;

/// Between two looks whether it was asked to go.
const LOOK: Duration = Duration::from_millis(50);
/// Who has heard nothing for so long ends its load: no service is loaded when nobody could stop it.
pub(crate) const SILENT: Nanos = Nanos::from_secs(6);

/// Works for whoever is at the other end of these two, until told to go home, or `asked` to by others.
///
/// # Errors
/// If nobody is there any more.
pub fn work(from: OwnedFd, to: OwnedFd, asked: &Arc<AtomicBool>) -> io::Result<()> {
    let hello = hello(FleetRole::Worker);
    let wire = Wire::over(Duplex::pipes(from, to), hello, &[]).map_err(io::Error::other)?;
    obey(Line::of(wire, None), asked).map_err(io::Error::other)
}

/// The same for the coordinator that a join file names. `joined` is told where that is, once it has let this in.
///
/// # Errors
/// In words: if the file is none, nobody is there, or it is not let in.
pub fn join(file: &str, asked: &Arc<AtomicBool>, joined: &mut dyn FnMut(&str)) -> Result<(), String> {
    let file: JoinFile = file.parse().map_err(words)?;
    let wire = Wire::join(&file, hello(FleetRole::Worker), &[]).map_err(words)?;
    joined(&file.at);
    obey(Line::of(wire, Some(file)), asked).map_err(|why| why.to_string())
}

fn obey(line: Line, asked: &Arc<AtomicBool>) -> Result<(), link::Error> {
    let (line, asked) = (RefCell::new(line), Arc::clone(asked));
    Worker { line, engine: None, asked, trial: 0, later: None }.obey()
}

/// Why somebody does not come in by a file.
pub(crate) fn words(why: link::Error) -> String {
    match why {
        link::Error::Gone(why) => format!("{why}; a join file lets in as long as its run goes on"),
        why => why.to_string(),
    }
}

/// Who this is.
pub(crate) fn hello(role: FleetRole) -> Hello {
    Hello {
        protocol: PROTOCOL,
        build: VERSION.to_owned(),
        stamp: stamp().clone(),
        role,
        member: None,
        place: machine::describe().host,
        machine: machine::start(),
        pid: std::process::id(),
    }
}

/// What was heard while something went on.
#[derive(Default)]
struct Heard {
    ends: Cell<bool>,
    gone: RefCell<Option<link::Error>>,
    later: RefCell<Option<Instruction>>,
}

struct Worker {
    line: RefCell<Line>,
    engine: Option<Engine>,
    asked: Arc<AtomicBool>,
    /// The trial that was begun last.
    trial: u64,
    /// What came in a trial and is for when it is over.
    later: Option<Instruction>,
}

impl Worker {
    fn obey(&mut self) -> Result<(), link::Error> {
        loop {
            let later = self.later.take();
            let heard = if later.is_some() { later } else { self.hear(LOOK)? };
            match heard {
                Some(Instruction::Leave) => return Ok(()),
                Some(Instruction::Welcome { share, parcel, cores, tries, .. }) => {
                    let answer = self.ready(share, *parcel, cores, tries);
                    self.tell(answer);
                }
                Some(Instruction::Hold { connections }) => self.hold(connections)?,
                Some(Instruction::Release) => self.engine.iter_mut().for_each(Holder::release),
                Some(Instruction::Rest) => self.engine = None,
                Some(Instruction::Arm(duty)) => self.carry(&duty)?,
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
            if self.is_asked() {
                self.tell(leaving());
                return Ok(());
            }
        }
    }

    fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    fn hear(&self, within: Duration) -> Result<Option<Instruction>, link::Error> {
        self.line.borrow_mut().next(within)
    }

    fn tell(&self, tidings: Tidings) {
        self.line.borrow_mut().send(tidings);
    }

    /// Makes ready for the plan.
    fn ready(&mut self, share: u64, parcel: Parcel, cores: Vec<u32>, tries: FirstTry) -> Tidings {
        match prepared(parcel, cores, tries) {
            Ok(Prepared { engine, connections, caveats, beside }) => {
                let loops = engine.loops();
                self.engine = Some(engine);
                Tidings::Ready { share, loops, connections, caveats, beside }
            }
            Err((why, unreached)) => Tidings::Refused { share, why: why.to_string(), unreached },
        }
    }

    /// Its part of a trial, from the order to begin it until all is told.
    fn carry(&mut self, duty: &Duty) -> Result<(), link::Error> {
        let Some(mut engine) = self.engine.take() else { return Ok(()) };
        let trial = duty.trial;
        self.trial = trial;
        self.tell(Tidings::Armed { trial });
        let (stop_at, gone, left) = (Cell::new(Nanos::ZERO), RefCell::new(None), Cell::new(false));
        let (told, ended, cancelled) = (Cell::new(0), Cell::new(false), Cell::new(false));
        let later = RefCell::new(None);
        let part = TrialPart {
            start_ns: duty.start.0,
            first_number: duty.first_number,
            loops: &duty.loops,
            of: duty.of,
            stop_at: &stop_at,
        };
        let mut on_slice = |slice: &Slice| {
            told.set(told.get() + 1);
            self.tell(Tidings::Slice { trial, slice: Box::new(slice.clone()) });
        };
        let mut wish = |_: &Slice, _| {
            // What comes behind that is for the next trial.
            while gone.borrow().is_none() && !cancelled.get() {
                match self.hear(Duration::ZERO) {
                    Ok(Some(Instruction::Stop { trial: which, at })) if which == trial => {
                        stop_at.set(at);
                        ended.set(true);
                    }
                    Ok(Some(Instruction::Cancel { trial: which })) if which == trial => cancelled.set(true),
                    // Who is welcomed once more was given up: what it does counts for nothing.
                    Ok(Some(said @ (Instruction::Leave | Instruction::Welcome { .. }))) => {
                        *later.borrow_mut() = Some(said);
                        ended.set(true);
                    }
                    Ok(Some(_)) => {}
                    Ok(None) => break,
                    Err(why) => *gone.borrow_mut() = Some(why),
                }
            }
            if self.is_asked() && !left.replace(true) {
                self.tell(leaving());
            }
            let line = self.line.borrow();
            let silent = line.silent_for() > SILENT || line.is_full();
            let ends = ended.get() || cancelled.get() || left.get() || silent || gone.borrow().is_some();
            if ends { Wish::Stop } else { Wish::GoOn }
        };
        let counted = engine.part(&duty.offer, &part, duty.drain, &mut on_slice, &mut wish);
        self.engine = Some(engine);
        self.later = later.take();
        if let Some(gone) = gone.take() {
            return Err(gone);
        }
        let worked = counted.members.into_iter().next();
        if !cancelled.get() || worked.is_some() {
            // Of one that was stopped before it began there is nothing. Whoever heard too late that it was not to begin has made a load.
            let worked = Box::new(worked.unwrap_or_default());
            self.tell(Tidings::Over { trial, at: counted.loaded, slices: told.get(), worked });
        }
        Ok(())
    }

    /// Waits until the target has answered everything.
    fn settle(&mut self, limit: Nanos) -> Result<(), link::Error> {
        let heard = Heard::default();
        if let Some(mut engine) = self.engine.take() {
            engine.settle(limit, &|| self.is_to_end(&Instruction::Abandon, &heard));
            self.engine = Some(engine);
        }
        self.later = heard.later.take();
        self.tell(Tidings::Settled { trial: self.trial });
        heard.gone.take().map_or(Ok(()), Err)
    }

    /// Makes its part of the connections that are to stand.
    fn hold(&mut self, connections: u32) -> Result<(), link::Error> {
        let (heard, mut held) = (Heard::default(), HeldConnections::default());
        if let Some(mut engine) = self.engine.take() {
            held = engine.hold(connections, &|| self.is_to_end(&Instruction::HoldNoMore, &heard));
            self.engine = Some(engine);
        }
        self.later = heard.later.take();
        self.tell(Tidings::Held { open: held.open, refused: held.refused });
        heard.gone.take().map_or(Ok(()), Err)
    }

    /// Whether what goes on is to end: this is said, or there is something else to do, or nobody any more.
    fn is_to_end(&self, word: &Instruction, heard: &Heard) -> bool {
        match self.hear(Duration::ZERO) {
            Ok(Some(said @ (Instruction::Leave | Instruction::Welcome { .. }))) => {
                *heard.later.borrow_mut() = Some(said);
                heard.ends.set(true);
            }
            Ok(said) => heard.ends.set(heard.ends.get() || said.as_ref() == Some(word)),
            Err(why) => *heard.gone.borrow_mut() = Some(why),
        }
        heard.ends.get() || self.is_asked() || heard.gone.borrow().is_some()
    }
}

/// That it goes before the run is over.
pub(crate) fn leaving() -> Tidings {
    Tidings::Leaving { why: "it was told to end (SIGTERM)".to_owned() }
}

/// What is ready for a plan.
struct Prepared {
    engine: Engine,
    /// The most that it makes.
    connections: u64,
    caveats: Vec<Caveat>,
    /// The target's address is one of this machine.
    beside: bool,
}

/// The engine for the plan; else why not, and whether that is because the target is out of reach.
fn prepared(parcel: Parcel, cores: Vec<u32>, tries: FirstTry) -> Result<Prepared, (Error, bool)> {
    let Parcel { mut plan, authorities } = parcel;
    let secrets = plan.secrets();
    plan.generator.cores = cores;
    let prepare = || {
        let mut job = preflight::job_trusting(&plan, &plan.target, authorities.as_deref())?;
        let caveats = preflight::fit_connections(&mut job)?;
        match tries {
            _ if plan.target == Target::Null => {}
            FirstTry::Nothing => {}
            FirstTry::Connection => engine::connect_once(&job)?,
            FirstTry::Request => preflight::first_answer(&job)?,
        }
        let beside = job.endpoint.path().is_some()
            || job.endpoint.address().is_some_and(|at| {
                // Whoever may bind to an address has it.
                at.ip().is_loopback() || UdpSocket::bind((at.ip(), 0)).is_ok()
            });
        let connections = u64::from(job.generator.connections);
        Ok(Prepared { engine: Engine::start(&job)?, connections, caveats, beside })
    };
    prepare().map_err(|error: Error| {
        use engine::Error::{Connect, NoAnswer, Resolve};
        let unreached = matches!(error, Error::Engine(Resolve { .. } | Connect { .. } | NoAnswer { .. }));
        (error.without(&secrets), unreached)
    })
}
