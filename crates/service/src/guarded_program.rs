//! A program started by the guard.

use crate::group::{self, GroupParent};
use crate::guard_protocol::{LaunchError, LaunchSpec, User};
use crate::output::{CapturedOutput, LineMatcher};
use crate::process_tree;
use crate::undo::UndoJournal;
use plan::ResourceLimits;
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use rustix::process::{Pid, Signal, WaitStatus, kill_process_group};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How much a program may print before it has to wait for the guard: the maximum for an ordinary user.
const PIPE_BYTES: usize = 1 << 20;
/// With less than this in a pipe, it is left alone for a while, so that a program that prints a line per request does
/// not wake the guard as often.
const LITTLE_BYTES: usize = PIPE_BYTES / 4;
/// For this long.
const READ_PAUSE: Duration = Duration::from_millis(250);
/// Set in the environment of the guard's second process, but not of what it starts.
pub const FOLDER_ENV: &str = "TORMENT_GUARD_FOLDER";

/// A started program.
#[derive(Debug)]
pub struct GuardedProgram {
    pub name: String,
    pub pid: u32,
    /// How it ended, once it has.
    pub status: Option<WaitStatus>,
    pub captured: CapturedOutput,
    pub task: bool,
    pub stop_signal: Signal,
    pub grace: Duration,
    line_matcher: Option<LineMatcher>,
    pipe: Option<OwnedFd>,
    paused_until: Option<Instant>,
    groups: Vec<PathBuf>,
}

impl GuardedProgram {
    /// Writes its files, makes its control groups and executes it.
    pub fn start(spec: LaunchSpec, group: &str, journal: &mut UndoJournal) -> Result<Self, LaunchError> {
        for (path, content) in &spec.files {
            let refused = |e: io::Error| LaunchError::File(path.display().to_string(), e.to_string());
            journal.write_file(path, content).map_err(refused)?;
        }
        let (groups, procs) = make_groups(&spec.limits, group, journal).map_err(LaunchError::Limits)?;
        let refused = |e: io::Error| LaunchError::Start(format!("{}: {e}", spec.program.display()));
        let (pipe, write_end) = pipe_with(PipeFlags::CLOEXEC).map_err(|e| refused(e.into()))?;
        fcntl_setfl(&pipe, OFlags::NONBLOCK).map_err(|e| refused(e.into()))?;
        // A smaller one works too; the program only blocks earlier.
        let _ = fcntl_setpipe_size(&pipe, PIPE_BYTES);
        let mut command = Command::new(&spec.program);
        if let Some((word, arguments)) = spec.words.split_first() {
            command.arg0(word).args(arguments);
        }
        command.current_dir(&spec.folder).env_remove(FOLDER_ENV).envs(spec.env);
        command
            .stdin(Stdio::null())
            .stdout(write_end.try_clone().map_err(refused)?)
            .stderr(write_end)
            .process_group(0);
        if let Some(User { uid, gid }) = spec.user {
            command.uid(uid).gid(gid);
        }
        let death = parse_signal(&spec.death);
        sys::configure_child(&mut command, death, &spec.limits.cores, procs)
            .map_err(|e| LaunchError::Limits(e.to_string()))?;
        // Reaped with all others, whoever started them.
        let pid = command
            .spawn()
            .map_err(|e| LaunchError::Start(describe_spawn_error(&spec.program, &spec.folder, &e)))?
            .id();
        Ok(Self {
            name: spec.name,
            pid,
            status: None,
            captured: CapturedOutput::default(),
            task: spec.task,
            stop_signal: parse_signal(&spec.stop),
            grace: spec.grace.to_duration(),
            line_matcher: spec.line.map(LineMatcher::new),
            pipe: Some(pipe),
            paused_until: None,
            groups,
        })
    }

    /// Its output, or else the time until which to leave it alone.
    pub fn output(&self, now: Instant) -> (Option<&OwnedFd>, Option<Instant>) {
        match self.paused_until {
            Some(until) if until > now && self.pipe.is_some() => (None, Some(until)),
            _ => (self.pipe.as_ref(), None),
        }
    }

    /// Reads what it has printed. Returns whether that contains the awaited line.
    pub fn read(&mut self) -> bool {
        let mut buffer = [0; 32 << 10];
        let mut found = false;
        let mut total = 0;
        // At most a pipe's capacity at once: there are others.
        while let Some(pipe) = self.pipe.as_ref().filter(|_| total < PIPE_BYTES) {
            match rustix::io::read(pipe, &mut buffer) {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                // All writers have ended.
                Ok(0) | Err(_) => self.pipe = None,
                Ok(length) => {
                    total += length;
                    self.captured.append(&buffer[..length]);
                    if self.line_matcher.as_mut().is_some_and(|matcher| matcher.matches(&buffer[..length])) {
                        self.line_matcher = None;
                        found = true;
                    }
                }
            }
        }
        // After no output, the next line may wake the guard at once.
        let rests = (1..LITTLE_BYTES).contains(&total) && self.line_matcher.is_none();
        self.paused_until = rests.then(|| Instant::now() + READ_PAUSE);
        found
    }

    /// Whether it, or another process in its process group, still runs.
    pub fn is_running(&self) -> bool {
        self.status.is_none() || process_tree::has_group(self.pid)
    }

    /// To its whole process group: a shell does not pass signals on to what it runs.
    pub fn signal(&self, signal: Signal) {
        if let Some(group) = self.group() {
            // All may be gone already.
            let _ = kill_process_group(group, signal);
        }
    }

    /// Kills it, and everything in its control groups.
    pub fn kill(&self) {
        // If all of them have ended, the number may have been reused.
        if self.is_running() {
            self.signal(Signal::KILL);
        }
        self.groups.iter().for_each(|group| group::kill(group));
    }

    fn group(&self) -> Option<Pid> {
        i32::try_from(self.pid).ok().and_then(Pid::from_raw)
    }
}

/// Makes groups, after writing them to the journal: their folders, and their open `cgroup.procs`.
pub fn make_groups(
    limits: &ResourceLimits,
    name: &str,
    journal: &mut UndoJournal,
) -> Result<(Vec<PathBuf>, Vec<OwnedFd>), String> {
    let parents: Vec<GroupParent> =
        if limits.need_group() { group::group_parents(limits)? } else { Vec::new() };
    let mut groups = (Vec::new(), Vec::new());
    for parent in parents {
        let group = parent.group(name);
        journal.note_group(&group).map_err(|e| format!("the guard's journal: {e}"))?;
        groups.1.push(parent.make(name, limits)?);
        groups.0.push(group);
    }
    Ok(groups)
}

/// Why an existing program cannot be executed.
fn describe_spawn_error(program: &std::path::Path, folder: &std::path::Path, error: &io::Error) -> String {
    let found = program.display();
    match error.kind() {
        io::ErrorKind::NotFound if !folder.is_dir() => {
            format!("its folder '{}' is not there", folder.display())
        }
        io::ErrorKind::NotFound if program.exists() => format!(
            "'{found}' is there, but what executes it is not: the interpreter that its first line names, or the loader of another system"
        ),
        io::ErrorKind::PermissionDenied => format!("'{found}' may not be executed by this user ({error})"),
        _ => format!("'{found}' cannot be executed: {error}"),
    }
}

/// A signal by its name in a plan.
fn parse_signal(name: &str) -> Signal {
    match name {
        "INT" => Signal::INT,
        "QUIT" => Signal::QUIT,
        "HUP" => Signal::HUP,
        "KILL" => Signal::KILL,
        _ => Signal::TERM,
    }
}

/// How a program ended, in words.
pub fn describe_status(status: WaitStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => {
            let name = match Signal::from_named_raw(signal) {
                Some(Signal::KILL) => " (KILL: by hand, or for lack of memory)",
                Some(Signal::TERM) => " (TERM)",
                Some(Signal::INT) => " (INT)",
                Some(Signal::SEGV) => " (SEGV)",
                Some(Signal::ABORT) => " (ABRT)",
                Some(Signal::ILL) => " (ILL)",
                Some(Signal::BUS) => " (BUS)",
                _ => "",
            };
            format!("signal {signal}{name}")
        }
        (None, None) => "an unknown status".to_owned(),
    }
}
