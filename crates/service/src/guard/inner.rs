//! The second process: one thread that waits for requests, output and exits, and is idle meanwhile.

use super::{KILL_TIMEOUT, random_digits};
use crate::guard_protocol::{GuardReport, GuardRequest, LaunchError, LaunchSpec, ProgramEnd, User};
use crate::guarded_program::{GuardedProgram, describe_status, make_groups};
use crate::json_socket::{Incoming, JsonSocket};
use crate::process_tree;
use crate::undo::UndoJournal;
use record::ProgramLog;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{getpid, set_child_subreaper};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use std::collections::VecDeque;
use std::fs::DirBuilder;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, chown};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Grace of all programs together, once torment is gone.
const GRACE_WHEN_GONE: Duration = Duration::from_secs(2);
/// Lines of a program's output in a message.
const LAST_LINES: usize = 10;
/// Between two checks whether a process group is empty, which has no notification.
const PAUSE: Duration = Duration::from_millis(10);

/// Starts and ends programs until torment says so or is gone, then undoes everything.
pub fn run_inner(folder: &Path) -> io::Result<()> {
    set_child_subreaper(Some(getpid()))?;
    let socket = JsonSocket::from_stdin()?;
    let (wake, woken) = UnixStream::pair()?;
    wake.set_nonblocking(true)?;
    signal_hook::low_level::pipe::register(SIGCHLD, woken.try_clone()?)?;
    let terminate = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&terminate))?;
        signal_hook::low_level::pipe::register(signal, woken.try_clone()?)?;
    }
    let mut state = GuardState {
        socket,
        wake,
        terminate,
        ending_since: None,
        requests: VecDeque::new(),
        children: Vec::new(),
        journal: UndoJournal::new(folder),
        folder: folder.to_owned(),
        group_count: 0,
        stopping: false,
    };
    state.send(&GuardReport::Here { pid: std::process::id() });
    while state.ending_since.is_none() {
        state.wait_event(None);
        while let Some(request) = state.requests.pop_front() {
            state.handle(request);
        }
    }
    state.stop();
    super::clean_up(folder);
    Ok(())
}

struct GuardState {
    socket: JsonSocket,
    wake: UnixStream,
    /// A terminating signal arrived.
    terminate: Arc<AtomicBool>,
    /// Since when torment is gone or has asked to end.
    ending_since: Option<Instant>,
    /// Unhandled requests of torment.
    requests: VecDeque<GuardRequest>,
    children: Vec<GuardedProgram>,
    journal: UndoJournal,
    folder: PathBuf,
    /// How many so far: part of their groups' names.
    group_count: u64,
    stopping: bool,
}

impl GuardState {
    /// Waits for the next event, at most for this time, and handles it.
    fn wait_event(&mut self, at_most: Option<Duration>) {
        let now = Instant::now();
        let mut until = at_most.map(|time| now + time);
        let mut fds = vec![PollFd::new(&self.wake, PollFlags::IN)];
        // A socket whose other end is closed would wake poll again and again.
        if self.ending_since.is_none() {
            fds.push(PollFd::new(&self.socket, PollFlags::IN));
        }
        for child in &self.children {
            let (output, paused_until) = child.output(now);
            fds.extend(output.map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)));
            until = [until, paused_until].into_iter().flatten().min();
        }
        let wait = until.map(|until| until.saturating_duration_since(now));
        let wait = wait.and_then(|wait| Timespec::try_from(wait).ok());
        // An interrupting signal is itself the event.
        let _ = poll(&mut fds, wait.as_ref());
        drop(fds);
        let mut buffer = [0; 256];
        while matches!((&self.wake).read(&mut buffer), Ok(1..)) {}
        if self.terminate.load(Ordering::Relaxed) {
            self.leave();
        }
        self.read_requests();
        self.read_output();
        self.reap();
    }

    fn leave(&mut self) {
        self.ending_since.get_or_insert_with(Instant::now);
    }

    /// Reads torment's requests. An unparsable one is not from the torment that started this.
    fn read_requests(&mut self) {
        while self.ending_since.is_none() {
            match self.socket.receive(Duration::ZERO) {
                Ok(Incoming::Message(request)) => self.requests.push_back(request),
                Ok(Incoming::Nothing) => return,
                Ok(Incoming::Closed) | Err(_) => self.leave(),
            }
        }
    }

    fn send(&mut self, report: &GuardReport) {
        // If nobody listens, the next read shows it.
        let _ = self.socket.send(report);
    }

    fn handle(&mut self, request: GuardRequest) {
        if self.ending_since.is_some() {
            return;
        }
        let report = match request {
            GuardRequest::Folder { within, user } => {
                GuardReport::Folder(self.make_folder(within, user).map_err(|e| e.to_string()))
            }
            GuardRequest::Group(limits) => {
                let name = self.group_name();
                GuardReport::Group(make_groups(&limits, &name, &mut self.journal).map(|(folders, _)| folders))
            }
            GuardRequest::Start(spec) => GuardReport::Started(self.start(*spec)),
            GuardRequest::Last(name) => {
                self.read_output();
                let child = self.children.iter().rev().find(|child| child.name == name);
                GuardReport::Last(child.map(|child| child.captured.last(LAST_LINES)).unwrap_or_default())
            }
            GuardRequest::Stop => GuardReport::Stopped(self.stop()),
        };
        self.send(&report);
    }

    fn make_folder(&mut self, within: Option<PathBuf>, user: Option<User>) -> io::Result<PathBuf> {
        let folder = match within {
            Some(within) => within.join(format!("torment-{}", random_digits()?)),
            None => self.folder.join(format!("data-{}", random_digits()?)),
        };
        self.journal.note_folder(&folder)?;
        DirBuilder::new().mode(0o700).create(&folder)?;
        if let Some(User { uid, gid }) = user {
            chown(&folder, Some(uid), Some(gid))?;
        }
        Ok(folder)
    }

    /// The name of the next control group.
    fn group_name(&mut self) -> String {
        self.group_count += 1;
        format!("torment-{}-{}", std::process::id(), self.group_count)
    }

    fn start(&mut self, spec: LaunchSpec) -> Result<u32, LaunchError> {
        self.children.retain(|child| !child.task || child.status.is_none());
        let group = self.group_name();
        let child = GuardedProgram::start(spec, &group, &mut self.journal)?;
        let pid = child.pid;
        self.children.push(child);
        Ok(pid)
    }

    /// Reads what was printed.
    fn read_output(&mut self) {
        let now = Instant::now();
        let mut reports = Vec::new();
        for child in &mut self.children {
            if child.output(now).0.is_some() && child.read() {
                reports.push(GuardReport::Said(child.name.clone()));
            }
        }
        reports.iter().for_each(|report| self.send(report));
    }

    /// Reaps children that have ended.
    fn reap(&mut self) {
        let mut ends = Vec::new();
        process_tree::reap(&mut |pid, status| ends.push((pid, status)));
        for (pid, status) in ends {
            let found = self.children.iter_mut().find(|child| child.pid == pid && child.status.is_none());
            let Some(child) = found else { continue };
            child.status = Some(status);
            let line_report = child.read().then(|| GuardReport::Said(child.name.clone()));
            let end_report = GuardReport::Ended(ProgramEnd {
                name: child.name.clone(),
                status: describe_status(status),
                well: status.exit_status() == Some(0),
                last: child.captured.last(LAST_LINES),
            });
            if !self.stopping {
                line_report.iter().chain([&end_report]).for_each(|report| self.send(report));
            }
        }
    }

    /// Ends everything in reverse order, and undoes what was done.
    fn stop(&mut self) -> Vec<ProgramLog> {
        self.stopping = true;
        for at in (0..self.children.len()).rev() {
            let child = &self.children[at];
            let until = Instant::now() + child.grace;
            if child.is_running() {
                child.signal(child.stop_signal);
            }
            while self.children[at].is_running() {
                let until = self.ending_since.map_or(until, |since| until.min(since + GRACE_WHEN_GONE));
                if Instant::now() >= until {
                    break;
                }
                self.wait_event(Some(PAUSE));
            }
            self.children[at].kill();
        }
        let mut ends = Vec::new();
        process_tree::kill_all(KILL_TIMEOUT, &mut |pid, status| ends.push((pid, status)));
        for child in &mut self.children {
            child.read();
        }
        let logs =
            self.children.iter().filter(|child| !child.task).map(|child| child.captured.log(&child.name));
        let logs = logs.collect();
        self.children.clear();
        self.journal.undo();
        self.stopping = false;
        logs
    }
}
