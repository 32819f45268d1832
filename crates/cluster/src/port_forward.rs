//! Forwards a local port to a pod, through kubectl.

use crate::error::{Error, last};
use crate::kubectl::Kubectl;
use rustix::process::Signal;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// Timeout for the forwarding to start.
const LEADS: Duration = Duration::from_secs(20);
/// What kubectl prints once it forwards.
const SAYS: &str = "Forwarding from ";

/// A local port that leads to a pod's, until this is dropped or the cluster ends it.
#[derive(Debug)]
pub struct PortForward {
    process: Child,
    at: String,
}

impl PortForward {
    /// To a port of the job's pod. It ends with the thread that calls this.
    pub(crate) fn start(kubectl: &Kubectl, job: &str, port: u16) -> Result<Self, Error> {
        let mut command = Command::new("kubectl");
        command.args(["--context", &kubectl.context, "--namespace", &kubectl.namespace, "port-forward"]);
        command.args(["--address", "127.0.0.1", &format!("job/{job}"), &format!(":{port}")]);
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        sys::configure_child(&mut command, Signal::KILL, &[], Vec::new()).map_err(Error::Start)?;
        let mut process = command.spawn().map_err(Error::Start)?;
        let (tell, told) = channel();
        if let Some(from) = process.stdout.take() {
            thread::spawn(move || {
                // Drains its output: it would block on a full pipe.
                for line in BufReader::new(from).lines().map_while(Result::ok) {
                    let at = line.strip_prefix(SAYS).and_then(|rest| rest.split(" -> ").next());
                    let _ = at.map(|at| tell.send(at.to_owned()));
                }
            });
        }
        match told.recv_timeout(LEADS) {
            Ok(at) => {
                if let Some(mut from) = process.stderr.take() {
                    thread::spawn(move || std::io::copy(&mut from, &mut std::io::sink()));
                }
                Ok(Self { process, at })
            }
            Err(_) => {
                let _ = process.kill();
                let mut said = String::new();
                let _ = process.stderr.take().map(|mut from| from.read_to_string(&mut said));
                let _ = process.wait();
                Err(Error::from_kubectl(
                    "making a way to the coordinator",
                    &last(&said),
                    &kubectl.context,
                    &kubectl.namespace,
                ))
            }
        }
    }

    /// `HOST:PORT` on this machine.
    pub fn at(&self) -> &str {
        &self.at
    }
}

impl Drop for PortForward {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
