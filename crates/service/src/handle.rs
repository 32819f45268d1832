//! torment's end of the guard: starts it, gives orders, hears what happens.

use crate::Error;
use crate::guard_protocol::{GuardReport, GuardRequest, LaunchError, LaunchSpec, ProgramEnd, User};
use crate::json_socket::{Incoming, JsonSocket};
use plan::ResourceLimits;
use record::ProgramLog;
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// For an answer of the guard, which only has to make a folder or a process for it. A busy machine takes its time.
const PATIENCE: Duration = Duration::from_secs(60);
/// For the end of everything, beside what the programs were granted.
const ENDING: Duration = Duration::from_secs(60);

/// Who needs what no program of a plan does.
const OWN: &str = "torment";

/// Whatever was started: it ends when this is dropped, and also when this process is killed.
///
/// What is started inherits the environment, the limits and the processors of the thread that calls [`Guard::start`]:
/// call it before these are changed for the load.
#[derive(Debug)]
pub struct Guard {
    /// What `torment` means in a command.
    pub(crate) program: PathBuf,
    process: Child,
    talk: JsonSocket,
    /// From whom everything descends.
    pub(crate) pid: u32,
    /// Name and process of what runs.
    pub(crate) running: Vec<(String, u32)>,
    /// What ended, and nobody has been told.
    ended: VecDeque<ProgramEnd>,
    /// Who printed what was waited for.
    said: Vec<String>,
    /// Commands that have built something, with their folders.
    pub(crate) prepared: Vec<(Vec<String>, String)>,
    /// How long everything may take to end.
    pub(crate) grace: Duration,
    /// Of what failed to start.
    pub(crate) logs: Vec<ProgramLog>,
}

impl From<ProgramEnd> for Error {
    fn from(ProgramEnd { name: program, status, last, .. }: ProgramEnd) -> Self {
        Self::Ended { program, status, last }
    }
}

impl Guard {
    /// Starts `program guard`, which is [`crate::guard`].
    ///
    /// # Errors
    /// When it does not start.
    pub fn start(program: &Path) -> Result<Self, Error> {
        let failed = |why: io::Error| Error::Guard(format!("{} does not start: {why}", program.display()));
        let (talk, theirs) = JsonSocket::pair().map_err(failed)?;
        let process = Command::new(program)
            .arg("guard")
            .stdin(theirs)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(failed)?;
        let mut this = Self {
            program: program.to_owned(),
            process,
            talk,
            pid: 0,
            running: Vec::new(),
            ended: VecDeque::new(),
            said: Vec::new(),
            prepared: Vec::new(),
            grace: Duration::ZERO,
            logs: Vec::new(),
        };
        match this.receive_answer(PATIENCE)? {
            GuardReport::Here { pid } => this.pid = pid,
            other => return Err(unexpected(&other)),
        }
        Ok(this)
    }

    /// A control group of ours with these limits, in each hierarchy that they need: the files to which a process writes
    /// itself to enter (`cgroup.procs`). They go, with all in them, in [`Guard::down`], when this is dropped, and when this
    /// process is killed.
    ///
    /// # Errors
    /// When groups with these limits cannot be made here: says why, and what would help.
    pub fn make_group(&mut self, limits: &ResourceLimits) -> Result<Vec<PathBuf>, Error> {
        self.send(&GuardRequest::Group(limits.clone()))?;
        match self.receive_answer(PATIENCE)? {
            GuardReport::Group(Ok(folders)) => {
                Ok(folders.into_iter().map(|folder| folder.join("cgroup.procs")).collect())
            }
            GuardReport::Group(Err(why)) => Err(Error::Limits { program: OWN.to_owned(), why }),
            other => Err(unexpected(&other)),
        }
    }

    /// A folder of ours, for this user alone: in `within`, or else among the temporary files. It goes, with all in it, when
    /// control groups go.
    ///
    /// # Errors
    /// When none can be made there.
    pub fn temporary_folder(&mut self, within: Option<PathBuf>) -> Result<PathBuf, Error> {
        self.folder(OWN, within, None)
    }

    /// A program that ended although nobody asked it to; each is told once.
    pub fn take_end_error(&mut self) -> Option<Error> {
        match self.receive(Duration::ZERO) {
            Ok(_) => self.ended.pop_front().map(Error::from),
            Err(why) => Some(why),
        }
    }

    /// Name and process of each program that runs, in the order of their start.
    pub fn pids(&self) -> Vec<(String, u32)> {
        self.running.clone()
    }

    /// Ends everything in the opposite order, and undoes what was done. The logs of all that was started since the last
    /// time, also of what failed to start.
    pub fn down(&mut self) -> Vec<ProgramLog> {
        self.end();
        std::mem::take(&mut self.logs)
    }

    /// Ends everything; the logs are added to those that are kept.
    pub(crate) fn end(&mut self) {
        let patience = ENDING + std::mem::take(&mut self.grace);
        if let Ok(GuardReport::Stopped(logs)) =
            self.send(&GuardRequest::Stop).and_then(|()| self.receive_answer(patience))
        {
            self.logs.extend(logs);
        }
        self.running.clear();
        self.ended.clear();
        self.said.clear();
    }

    pub(crate) fn send(&mut self, order: &GuardRequest) -> Result<(), Error> {
        self.talk.send(order).map_err(|e| match e.kind() {
            io::ErrorKind::InvalidData => {
                Error::Guard(format!("a path is not UTF-8, and cannot be passed on ({e})"))
            }
            _ => Error::Guard(format!("it has ended ({e})")),
        })
    }

    /// What it says to an order; what happens meanwhile is noted.
    pub(crate) fn receive_answer(&mut self, patience: Duration) -> Result<GuardReport, Error> {
        let until = Instant::now() + patience;
        loop {
            if let Some(told) = self.receive(until.saturating_duration_since(Instant::now()))? {
                return Ok(told);
            }
            if Instant::now() >= until {
                return Err(Error::Guard(format!("it does not answer within {} s", patience.as_secs())));
            }
        }
    }

    /// Takes what it has said, and waits this long for more. An answer, if there is one; no more than one event is
    /// noted, so that whoever waits for it can look.
    pub(crate) fn receive(&mut self, wait: Duration) -> Result<Option<GuardReport>, Error> {
        let until = Instant::now() + wait;
        loop {
            match self.talk.receive(until.saturating_duration_since(Instant::now())) {
                Ok(Incoming::Said(told)) => match self.note(told) {
                    None if wait.is_zero() => {}
                    answer => return Ok(answer),
                },
                Ok(Incoming::Nothing) => return Ok(None),
                Ok(Incoming::Gone) => {
                    let why = "it has ended, and everything it had started with it";
                    return Err(Error::Guard(why.to_owned()));
                }
                Err(why) => return Err(Error::Guard(format!("it cannot be read ({why})"))),
            }
        }
    }

    /// Keeps what happened; hands back what is an answer.
    fn note(&mut self, told: GuardReport) -> Option<GuardReport> {
        match told {
            GuardReport::Said(name) => self.said.push(name),
            GuardReport::Ended(end) => {
                self.running.retain(|(running, _)| *running != end.name);
                self.ended.push_back(end);
            }
            answer => return Some(answer),
        }
        None
    }

    /// Starts it; whether it stays is another question.
    pub(crate) fn launch(&mut self, start: LaunchSpec) -> Result<(), Error> {
        let name = start.name.clone();
        let (grace, task) = (start.grace.to_duration(), start.task);
        self.said.retain(|said| *said != name);
        self.send(&GuardRequest::Start(Box::new(start)))?;
        self.grace += grace;
        match self.receive_answer(PATIENCE)? {
            GuardReport::Started(Ok(pid)) => {
                // It may have ended before the answer: its end is then noted already.
                if !task && !self.ended.iter().any(|end| end.name == name) {
                    self.running.push((name, pid));
                }
                Ok(())
            }
            GuardReport::Started(Err(LaunchError::Start(why))) => Err(Error::start(&name, why)),
            GuardReport::Started(Err(LaunchError::Limits(why))) => Err(Error::Limits { program: name, why }),
            GuardReport::Started(Err(LaunchError::File(path, why))) => {
                Err(Error::file(&name, path, format!("cannot be written: {why}")))
            }
            other => Err(unexpected(&other)),
        }
    }

    /// What it printed last.
    pub(crate) fn last(&mut self, name: &str) -> Vec<String> {
        let asked =
            self.send(&GuardRequest::Last(name.to_owned())).and_then(|()| self.receive_answer(PATIENCE));
        if let Ok(GuardReport::Last(lines)) = asked { lines } else { Vec::new() }
    }

    /// A folder that is gone at the end.
    pub(crate) fn folder(
        &mut self,
        program: &str,
        within: Option<PathBuf>,
        user: Option<User>,
    ) -> Result<PathBuf, Error> {
        let place = within.as_ref().map_or("the temporary folder".to_owned(), |w| w.display().to_string());
        self.send(&GuardRequest::Folder { within, user })?;
        match self.receive_answer(PATIENCE)? {
            GuardReport::Folder(folder) => {
                folder.map_err(|e| Error::file(program, place, format!("no folder can be made in it: {e}")))
            }
            other => Err(unexpected(&other)),
        }
    }

    /// The end of any program that has ended.
    pub(crate) fn take_end(&mut self) -> Option<ProgramEnd> {
        self.ended.pop_front()
    }

    /// Whether it printed the line that was waited for.
    pub(crate) fn has_said(&self, name: &str) -> bool {
        self.said.iter().any(|said| said == name)
    }
}

fn unexpected(told: &GuardReport) -> Error {
    Error::Guard(format!("it says {told:?}, which is unexpected"))
}

impl Drop for Guard {
    fn drop(&mut self) {
        if !self.running.is_empty() {
            self.end();
        }
        // The guard takes this as the end, and undoes whatever is left.
        self.talk.close();
        let _ = self.process.wait();
    }
}
