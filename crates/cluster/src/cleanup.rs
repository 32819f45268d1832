//! Removes a run's objects from a cluster once torment is gone, however it ended: a process that waits for that.

use crate::error::Error;
use crate::kubectl::Kubectl;
use rustix::process::setsid;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// Hidden command of the process.
const COMMAND: &str = "sweeper";
/// This program, even if its file was renamed.
const PROGRAM: &str = "/proc/self/exe";
/// Last input if it is to remove nothing.
const DISARM_LINE: &str = "leave\n";
const PURPOSE: &str = "removing the workers";

/// The waiting process; it removes the objects when this is dropped, or this process is gone.
#[derive(Debug)]
pub(crate) struct CleanupProcess {
    process: Child,
}

impl CleanupProcess {
    /// For the job `name` and what it owns, whether it exists yet or not.
    pub fn start(kubectl: &Kubectl, name: &str) -> Result<Self, Error> {
        let mut command = Command::new(PROGRAM);
        command.arg0("torment").arg(COMMAND).process_group(0);
        // Not our standard output: its reader would wait for this process, too.
        let process = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut process = process.map_err(Error::Start)?;
        let order = format!("{}\n{}\n{name}\n", kubectl.context, kubectl.namespace);
        let written = process.stdin.as_mut().map_or(Ok(()), |to| to.write_all(order.as_bytes()));
        written.map_err(Error::Start)?;
        Ok(Self { process })
    }

    /// Leaves the objects: somebody else takes care of them.
    pub fn disarm(&mut self) {
        if let Some(mut to) = self.process.stdin.take() {
            let _ = to.write_all(DISARM_LINE.as_bytes());
        }
        let _ = self.process.wait();
    }

    /// Removes them now, and waits for that.
    pub fn finish(&mut self) {
        // Closing its input triggers it.
        if self.process.stdin.take().is_some() {
            let _ = self.process.wait();
        }
    }
}

/// The hidden command: reads from standard input what to remove, and does so at its end.
///
/// # Errors
/// If started by hand, or if the cluster refuses.
pub fn run_cleanup(from: impl Read) -> io::Result<()> {
    let mut lines = BufReader::new(from);
    let mut line = || {
        let mut line = String::new();
        lines.read_line(&mut line).map(|_| line.trim_end().to_owned())
    };
    let (context, namespace, name) = (line()?, line()?, line()?);
    if name.is_empty() {
        return Err(io::Error::other("it is not told what to remove"));
    }
    // Neither Ctrl-C at torment's terminal nor a hangup is for it. Fails if it is a session leader already.
    let _ = setsid();
    let mut last = String::new();
    lines.read_to_string(&mut last)?;
    if last == DISARM_LINE {
        return Ok(());
    }
    remove(&Kubectl { context, namespace }, &name).map_err(|why| io::Error::other(why.to_string()))
}

/// Removes the job `name` and what it owns; does nothing if it does not exist.
pub(crate) fn remove(kubectl: &Kubectl, name: &str) -> Result<(), Error> {
    let arguments = ["delete", "job", name, "--ignore-not-found", "--cascade=background", "--wait=false"];
    kubectl.ask(PURPOSE, &arguments, "").map(drop)
}
