use super::ssh_stderr::SshStderr;
use fleet::ClockReading;
use rustix::process::Signal;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// From a worker's start until it is ready: it joins, resolves the target, and starts its loops.
pub(super) const READY_LIMIT: Duration = Duration::from_secs(30);
/// Time for a worker to exit by itself.
const LEAVE_LIMIT: Duration = Duration::from_secs(2);
/// Time for a disconnected process to be seen to have ended.
const EXIT_LIMIT: Duration = Duration::from_millis(300);
const EXIT_POLL: Duration = Duration::from_millis(5);

/// A member as the coordinator sees it; the default is one not started.
#[derive(Debug, Default)]
pub(super) struct MemberState {
    /// Its process, or the ssh to it.
    process: Option<Child>,
    /// That ssh's stderr.
    stderr: Option<SshStderr>,
    /// Where it runs, for people.
    pub place: String,
    /// Its own hostname.
    pub host: String,
    /// Its process ID there.
    pub pid: u32,
    /// It runs on another machine.
    pub is_elsewhere: bool,
    /// Number of its loops; 0 before it is ready.
    pub loops: u32,
    /// The most connections it can open.
    pub connections: u64,
    /// Its clock's offset from ours.
    pub clock: Option<ClockReading>,
    /// It is present, and preparing again, or idle.
    pub is_preparing: bool,
    /// It is present but could not do what it was told last.
    pub has_refused: bool,
    /// Its link is cut, and it may reconnect: since when, and the symptom.
    pub cut: Option<(Instant, String)>,
    /// Others asked it to leave, and it does.
    pub leaving: Option<String>,
    /// Why it is gone.
    pub gone_reason: Option<String>,
}

impl MemberState {
    /// Starts a local worker with `line` as its link. It dies with this process.
    pub fn start(program: &Path, line: OwnedFd) -> io::Result<Self> {
        let mut command = Command::new(program);
        let answers = line.try_clone()?;
        // Ctrl-C at the terminal is the coordinator's alone.
        command.arg("worker").process_group(0).stdin(line).stdout(answers).stderr(Stdio::null());
        sys::configure_child(&mut command, Signal::KILL, &[], Vec::new())?;
        Ok(Self { process: Some(command.spawn()?), ..Self::default() })
    }

    /// A member reached by this ssh.
    pub fn over_ssh(mut ssh: Child, host: &str) -> io::Result<Self> {
        let words = ssh.stderr.take().map(|from| SshStderr::new(host, from)).transpose()?;
        Ok(Self { process: Some(ssh), stderr: words, place: host.to_owned(), ..Self::default() })
    }

    /// It can take part in a trial.
    pub fn is_there(&self) -> bool {
        self.is_ready() && self.cut.is_none()
    }

    /// The same, or it is only out of reach for a while.
    pub fn is_ready(&self) -> bool {
        self.loops > 0 && self.clock.is_some() && self.gone_reason.is_none() && self.leaving.is_none()
    }

    /// Messages to it arrive.
    pub fn is_connected(&self) -> bool {
        let is_here = self.gone_reason.is_none() || self.has_refused;
        self.pid > 0 && is_here && self.cut.is_none() && self.leaving.is_none()
    }

    /// It was started, and may still get ready.
    pub fn is_pending(&self) -> bool {
        self.loops == 0 && self.gone_reason.is_none()
    }

    /// Its link is cut: what is known of its process explains more.
    pub fn mark_gone(&mut self, why: &str) {
        let ended = self.wait_exit(EXIT_LIMIT);
        let reason = match (&self.stderr, ended) {
            (Some(words), Some(_)) => Some(words.explain("", ended)),
            (None, Some(status)) => Some(format!("its process ended ({status})")),
            (_, None) => None,
        };
        self.gone_reason.get_or_insert(self.leaving.clone().or(reason).unwrap_or_else(|| why.to_owned()));
        self.end();
    }

    /// It did not join: because of `wrong`, or else of how its process ended.
    pub fn mark_failed(&mut self, wrong: &str) {
        let ended = if wrong.is_empty() { self.wait_exit(LEAVE_LIMIT) } else { None };
        let why = self.stderr.as_ref().map_or_else(|| wrong.to_owned(), |words| words.explain(wrong, ended));
        self.gone_reason.get_or_insert(why);
        self.end();
    }

    /// Kills it if it still runs.
    pub fn end(&mut self) {
        self.gone_reason.get_or_insert_with(|| "it was stopped, because it reported nothing".to_owned());
        if let Some(process) = &mut self.process {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Waits for it to exit, if it was told to, and kills it if it does not.
    pub fn leave(&mut self, was_there: bool) {
        if !was_there || self.wait_exit(LEAVE_LIMIT).is_none() {
            self.end();
        }
    }

    /// How it ended, if it does within `limit`.
    fn wait_exit(&mut self, limit: Duration) -> Option<ExitStatus> {
        let (process, until) = (self.process.as_mut()?, Instant::now() + limit);
        loop {
            match process.try_wait() {
                Ok(None) if Instant::now() < until => std::thread::sleep(EXIT_POLL),
                Ok(ended) => return ended,
                Err(_) => return None,
            }
        }
    }
}
