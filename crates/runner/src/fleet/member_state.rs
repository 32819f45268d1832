use super::ssh_stderr::SshStderr;
use fleet::ClockReading;
use rustix::process::Signal;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// From a worker's start until it is ready: it joins, looks the target up, and starts its loops.
pub(super) const READY_LIMIT: Duration = Duration::from_secs(30);
/// What a worker may use to go home by itself.
const LEAVING: Duration = Duration::from_secs(2);
/// A process whose line is cut is known to have ended soon after, if it has.
const ENDING: Duration = Duration::from_millis(300);
const LOOK: Duration = Duration::from_millis(5);

/// One member, as the coordinator knows it; by default one that was not started.
#[derive(Debug, Default)]
pub(super) struct MemberState {
    /// Its process, or the ssh by which it is reached.
    process: Option<Child>,
    /// What that says, if it is ssh.
    words: Option<SshStderr>,
    /// Where it is.
    pub place: String,
    /// What that is called by itself.
    pub host: String,
    /// Its process there.
    pub pid: u32,
    /// That is another machine than this.
    pub is_elsewhere: bool,
    /// How many loops it has; none before it could begin.
    pub loops: u32,
    /// The most connections that it can make.
    pub connections: u64,
    /// How far its clock is from ours.
    pub clock: Option<ClockReading>,
    /// It is there, and gets ready once more, or rests until it is told for what.
    pub shares: bool,
    /// It cannot do what it was told last, and is there.
    pub has_refused: bool,
    /// Its line is cut, and it may make another: since when, and how that showed.
    pub cut: Option<(Instant, String)>,
    /// It was asked to go by others, and goes.
    pub leaves: Option<String>,
    /// Why it is no longer there.
    pub gone: Option<String>,
}

impl MemberState {
    /// Starts a worker on this machine, which is told what to do over this line. It does not outlive whoever starts it.
    pub fn start(program: &Path, line: OwnedFd) -> io::Result<Self> {
        let mut command = Command::new(program);
        let answers = line.try_clone()?;
        // Ctrl-C at the terminal is the coordinator's alone.
        command.arg("worker").process_group(0).stdin(line).stdout(answers).stderr(Stdio::null());
        sys::configure_child(&mut command, Signal::KILL, &[], Vec::new())?;
        Ok(Self { process: Some(command.spawn()?), ..Self::default() })
    }

    /// One that is reached by this ssh.
    pub fn over_ssh(mut ssh: Child, host: &str) -> io::Result<Self> {
        let words = ssh.stderr.take().map(|from| SshStderr::new(host, from)).transpose()?;
        Ok(Self { process: Some(ssh), words, place: host.to_owned(), ..Self::default() })
    }

    /// It can take part in a trial.
    pub fn is_there(&self) -> bool {
        self.is_ready() && self.cut.is_none()
    }

    /// The same, or it is only out of reach for a while.
    pub fn is_ready(&self) -> bool {
        self.loops > 0 && self.clock.is_some() && self.gone.is_none() && self.leaves.is_none()
    }

    /// What it is told arrives.
    pub fn is_connected(&self) -> bool {
        let is_here = self.gone.is_none() || self.has_refused;
        self.pid > 0 && is_here && self.cut.is_none() && self.leaves.is_none()
    }

    /// It was started, and may still get ready.
    pub fn is_pending(&self) -> bool {
        self.loops == 0 && self.gone.is_none()
    }

    /// Its line is cut: what is known of its process says more than that.
    pub fn mark_gone(&mut self, why: &str) {
        let ended = self.wait_exit(ENDING);
        let said = match (&self.words, ended) {
            (Some(words), Some(_)) => Some(words.explain("", ended)),
            (None, Some(status)) => Some(format!("its process ended ({status})")),
            (_, None) => None,
        };
        self.gone.get_or_insert(self.leaves.clone().or(said).unwrap_or_else(|| why.to_owned()));
        self.end();
    }

    /// It did not come: `wrong` says why, or else its process.
    pub fn mark_failed(&mut self, wrong: &str) {
        let ended = if wrong.is_empty() { self.wait_exit(LEAVING) } else { None };
        let why = self.words.as_ref().map_or_else(|| wrong.to_owned(), |words| words.explain(wrong, ended));
        self.gone.get_or_insert(why);
        self.end();
    }

    /// Ends it at once, if it goes on.
    pub fn end(&mut self) {
        self.gone.get_or_insert_with(|| "it was ended, because it told nothing".to_owned());
        if let Some(process) = &mut self.process {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// It was told to go home, if it was there: waits until it has, and ends it if it does not.
    pub fn leave(&mut self, was_there: bool) {
        if !was_there || self.wait_exit(LEAVING).is_none() {
            self.end();
        }
    }

    /// How it ended, if it does within this time.
    fn wait_exit(&mut self, limit: Duration) -> Option<ExitStatus> {
        let (process, until) = (self.process.as_mut()?, Instant::now() + limit);
        loop {
            match process.try_wait() {
                Ok(None) if Instant::now() < until => std::thread::sleep(LOOK),
                Ok(ended) => return ended,
                Err(_) => return None,
            }
        }
    }
}
