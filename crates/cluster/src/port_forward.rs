//! Forwards a local port to a pod, through kubectl.

use crate::error::{Error, last_line};
use crate::kubectl::Kubectl;
use rustix::process::Signal;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// Timeout for the forwarding to start.
const START_LIMIT: Duration = Duration::from_secs(20);
/// What kubectl prints once it forwards.
const FORWARDING_PREFIX: &str = "Forwarding from ";

/// A local port that leads to a pod's, until this is dropped or the cluster ends it.
#[derive(Debug)]
pub struct PortForward {
    process: Child,
    address: String,
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
        let (sender, address_receiver) = channel();
        if let Some(from) = process.stdout.take() {
            thread::spawn(move || {
                // Drains its output: it would block on a full pipe.
                for line in BufReader::new(from).lines().map_while(Result::ok) {
                    let at = line.strip_prefix(FORWARDING_PREFIX).and_then(|rest| rest.split(" -> ").next());
                    let _ = at.map(|at| sender.send(at.to_owned()));
                }
            });
        }
        match address_receiver.recv_timeout(START_LIMIT) {
            Ok(at) => {
                if let Some(mut from) = process.stderr.take() {
                    thread::spawn(move || std::io::copy(&mut from, &mut std::io::sink()));
                }
                Ok(Self { process, address: at })
            }
            Err(_) => {
                let _ = process.kill();
                let mut output = String::new();
                let _ = process.stderr.take().map(|mut from| from.read_to_string(&mut output));
                let _ = process.wait();
                Err(Error::from_kubectl(
                    "making a way to the coordinator",
                    &last_line(&output),
                    &kubectl.context,
                    &kubectl.namespace,
                ))
            }
        }
    }

    /// `HOST:PORT` on this machine.
    pub fn at(&self) -> &str {
        &self.address
    }
}

impl Drop for PortForward {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
