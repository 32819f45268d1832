//! torment's end of the guard: starts it, sends requests, receives reports.

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

/// Timeout of a guard's answer, which only takes making a folder or a process. A busy machine takes its time.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// Timeout of ending everything, beyond the grace of the programs.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);

/// Named in errors that concern no program of the plan.
const OWN_NAME: &str = "torment";

/// Owns everything that was started: it ends when this is dropped, and when this process is killed.
///
/// Started programs inherit the environment, limits and processor affinity of the thread that calls [`Guard::start`]:
/// call it before these change for the load.
#[derive(Debug)]
pub struct Guard {
    /// What `torment` means in a command.
    pub(crate) program: PathBuf,
    process: Child,
    socket: JsonSocket,
    /// The process from which everything descends.
    pub(crate) pid: u32,
    /// Name and process id of what runs.
    pub(crate) running: Vec<(String, u32)>,
    /// Unreported ends.
    ended: VecDeque<ProgramEnd>,
    /// Programs that printed the awaited line.
    printed: Vec<String>,
    /// Build commands that have succeeded, with their folders.
    pub(crate) prepared: Vec<(Vec<String>, String)>,
    /// How long everything may take to end.
    pub(crate) grace: Duration,
    /// Of programs that failed to start.
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
    /// If it does not start.
    pub fn start(program: &Path) -> Result<Self, Error> {
        let failed = |why: io::Error| Error::Guard(format!("{} does not start: {why}", program.display()));
        let (socket, theirs) = JsonSocket::pair().map_err(failed)?;
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
            socket,
            pid: 0,
            running: Vec::new(),
            ended: VecDeque::new(),
            printed: Vec::new(),
            prepared: Vec::new(),
            grace: Duration::ZERO,
            logs: Vec::new(),
        };
        match this.receive_answer(ANSWER_TIMEOUT)? {
            GuardReport::Here { pid } => this.pid = pid,
            other => return Err(unexpected(&other)),
        }
        Ok(this)
    }

    /// Makes a control group with these limits, in each hierarchy they need: returns the files to which a process
    /// writes itself to enter (`cgroup.procs`). The groups, with all in them, end in [`Guard::down`], when this is
    /// dropped, and when this process is killed.
    ///
    /// # Errors
    /// If groups with these limits cannot be made here: why, and what would help.
    pub fn make_group(&mut self, limits: &ResourceLimits) -> Result<Vec<PathBuf>, Error> {
        self.send(&GuardRequest::Group(limits.clone()))?;
        match self.receive_answer(ANSWER_TIMEOUT)? {
            GuardReport::Group(Ok(folders)) => {
                Ok(folders.into_iter().map(|folder| folder.join("cgroup.procs")).collect())
            }
            GuardReport::Group(Err(why)) => Err(Error::Limits { program: OWN_NAME.to_owned(), why }),
            other => Err(unexpected(&other)),
        }
    }

    /// Makes a folder for this user alone: in `within`, or else among the temporary files. It is removed when control
    /// groups are.
    ///
    /// # Errors
    /// If none can be made there.
    pub fn temporary_folder(&mut self, within: Option<PathBuf>) -> Result<PathBuf, Error> {
        self.folder(OWN_NAME, within, None)
    }

    /// A program that ended although nobody asked it to; each is returned once.
    pub fn take_end_error(&mut self) -> Option<Error> {
        match self.receive(Duration::ZERO) {
            Ok(_) => self.ended.pop_front().map(Error::from),
            Err(why) => Some(why),
        }
    }

    /// Name and process id of each running program, in the order of their start.
    pub fn pids(&self) -> Vec<(String, u32)> {
        self.running.clone()
    }

    /// Ends everything in reverse order, and undoes what was done. Returns the logs of everything started since the
    /// last call, including what failed to start.
    pub fn down(&mut self) -> Vec<ProgramLog> {
        self.end();
        std::mem::take(&mut self.logs)
    }

    /// Ends everything; its logs are added to those kept.
    pub(crate) fn end(&mut self) {
        let timeout = STOP_TIMEOUT + std::mem::take(&mut self.grace);
        if let Ok(GuardReport::Stopped(logs)) =
            self.send(&GuardRequest::Stop).and_then(|()| self.receive_answer(timeout))
        {
            self.logs.extend(logs);
        }
        self.running.clear();
        self.ended.clear();
        self.printed.clear();
    }

    pub(crate) fn send(&mut self, request: &GuardRequest) -> Result<(), Error> {
        self.socket.send(request).map_err(|e| match e.kind() {
            io::ErrorKind::InvalidData => {
                Error::Guard(format!("a path is not UTF-8, and cannot be passed on ({e})"))
            }
            _ => Error::Guard(format!("it has ended ({e})")),
        })
    }

    /// The answer to a request; events meanwhile are noted.
    pub(crate) fn receive_answer(&mut self, timeout: Duration) -> Result<GuardReport, Error> {
        let until = Instant::now() + timeout;
        loop {
            if let Some(answer) = self.receive(until.saturating_duration_since(Instant::now()))? {
                return Ok(answer);
            }
            if Instant::now() >= until {
                return Err(Error::Guard(format!("it does not answer within {} s", timeout.as_secs())));
            }
        }
    }

    /// Reads what has arrived, and waits this long for more. Returns an answer, if there is one; a wait ends after
    /// one event, so that the caller can check it.
    pub(crate) fn receive(&mut self, wait: Duration) -> Result<Option<GuardReport>, Error> {
        let until = Instant::now() + wait;
        loop {
            match self.socket.receive(until.saturating_duration_since(Instant::now())) {
                Ok(Incoming::Message(report)) => match self.note(report) {
                    None if wait.is_zero() => {}
                    answer => return Ok(answer),
                },
                Ok(Incoming::Nothing) => return Ok(None),
                Ok(Incoming::Closed) => {
                    let why = "it has ended, and everything it had started with it";
                    return Err(Error::Guard(why.to_owned()));
                }
                Err(why) => return Err(Error::Guard(format!("it cannot be read ({why})"))),
            }
        }
    }

    /// Stores an event; returns anything else, which is an answer.
    fn note(&mut self, report: GuardReport) -> Option<GuardReport> {
        match report {
            GuardReport::Said(name) => self.printed.push(name),
            GuardReport::Ended(end) => {
                self.running.retain(|(running, _)| *running != end.name);
                self.ended.push_back(end);
            }
            answer => return Some(answer),
        }
        None
    }

    /// Starts it; does not wait to see whether it stays.
    pub(crate) fn launch(&mut self, spec: LaunchSpec) -> Result<(), Error> {
        let name = spec.name.clone();
        let (grace, task) = (spec.grace.to_duration(), spec.task);
        self.printed.retain(|program| *program != name);
        self.send(&GuardRequest::Start(Box::new(spec)))?;
        self.grace += grace;
        match self.receive_answer(ANSWER_TIMEOUT)? {
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

    /// The last lines it printed.
    pub(crate) fn last_lines(&mut self, name: &str) -> Vec<String> {
        let answer = self
            .send(&GuardRequest::Last(name.to_owned()))
            .and_then(|()| self.receive_answer(ANSWER_TIMEOUT));
        if let Ok(GuardReport::Last(lines)) = answer { lines } else { Vec::new() }
    }

    /// Makes a folder that is removed at the end.
    pub(crate) fn folder(
        &mut self,
        program: &str,
        within: Option<PathBuf>,
        user: Option<User>,
    ) -> Result<PathBuf, Error> {
        let parent = within.as_ref().map_or("the temporary folder".to_owned(), |w| w.display().to_string());
        self.send(&GuardRequest::Folder { within, user })?;
        match self.receive_answer(ANSWER_TIMEOUT)? {
            GuardReport::Folder(folder) => {
                folder.map_err(|e| Error::file(program, parent, format!("no folder can be made in it: {e}")))
            }
            other => Err(unexpected(&other)),
        }
    }

    /// The next unreported end of any program.
    pub(crate) fn take_end(&mut self) -> Option<ProgramEnd> {
        self.ended.pop_front()
    }

    /// Whether it printed the awaited line.
    pub(crate) fn has_printed(&self, name: &str) -> bool {
        self.printed.iter().any(|program| program == name)
    }
}

fn unexpected(report: &GuardReport) -> Error {
    Error::Guard(format!("it says {report:?}, which is unexpected"))
}

impl Drop for Guard {
    fn drop(&mut self) {
        if !self.running.is_empty() {
            self.end();
        }
        // For the guard this is the end: it undoes whatever is left.
        self.socket.close();
        let _ = self.process.wait();
    }
}
