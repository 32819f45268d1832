//! Removes what a run has in a cluster as soon as torment is gone, however it went: a process that waits for that.

use crate::error::Error;
use crate::kubectl::Kubectl;
use rustix::process::setsid;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// The hidden command that is this.
const COMMAND: &str = "sweeper";
/// This program, whatever its file is called by now.
const PROGRAM: &str = "/proc/self/exe";
/// What it is told last, if it is to do nothing.
const LEAVE: &str = "leave\n";
const DOING: &str = "removing the workers";

/// The process that waits; what it has to remove is removed when this is dropped, or its process gone.
#[derive(Debug)]
pub(crate) struct CleanupProcess {
    process: Child,
}

impl CleanupProcess {
    /// Of the job with this name, and what it owns: whether it is there yet or not.
    pub fn start(kubectl: &Kubectl, name: &str) -> Result<Self, Error> {
        let mut command = Command::new(PROGRAM);
        command.arg0("torment").arg(COMMAND).process_group(0);
        // Not our standard output: whoever reads that would wait for this one, too.
        let process = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut process = process.map_err(Error::Start)?;
        let order = format!("{}\n{}\n{name}\n", kubectl.context, kubectl.namespace);
        let told = process.stdin.as_mut().map_or(Ok(()), |to| to.write_all(order.as_bytes()));
        told.map_err(Error::Start)?;
        Ok(Self { process })
    }

    /// Leaves what there is: somebody else takes care of it.
    pub fn disarm(&mut self) {
        if let Some(mut to) = self.process.stdin.take() {
            let _ = to.write_all(LEAVE.as_bytes());
        }
        let _ = self.process.wait();
    }

    /// Has it done now, and waits for that.
    pub fn finish(&mut self) {
        // By this it knows.
        if self.process.stdin.take().is_some() {
            let _ = self.process.wait();
        }
    }
}

/// The hidden command: it is told by its standard input what to remove, and does so when that is closed.
///
/// # Errors
/// If it was started by hand, or the cluster does not do it.
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
    // Neither Ctrl-C at torment's terminal nor the end of that terminal is for it. It fails if this is a session of its own already.
    let _ = setsid();
    let mut last = String::new();
    lines.read_to_string(&mut last)?;
    if last == LEAVE {
        return Ok(());
    }
    remove(&Kubectl { context, namespace }, &name).map_err(|why| io::Error::other(why.to_string()))
}

/// Removes the job with this name, and so what it owns; nothing if it is not there.
pub(crate) fn remove(kubectl: &Kubectl, name: &str) -> Result<(), Error> {
    let arguments = ["delete", "job", name, "--ignore-not-found", "--cascade=background", "--wait=false"];
    kubectl.ask(DOING, &arguments, "").map(drop)
}
