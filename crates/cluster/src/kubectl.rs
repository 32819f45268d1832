//! Runs the user's own kubectl as a child, with a timeout.

use crate::error::{Error, last_line};
use rustix::process::Signal;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// kubectl may have to sign in first, perhaps in a browser.
const TIMEOUT: Duration = Duration::from_secs(60);
/// A server that takes longer for one request counts as unreachable.
const REQUEST_TIMEOUT: &str = "--request-timeout=20s";
const POLL: Duration = Duration::from_millis(5);

/// A cluster and a namespace in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kubectl {
    /// One of the user's contexts.
    pub context: String,
    pub namespace: String,
}

pub(crate) struct KubectlOutput {
    pub succeeded: bool,
    pub stdout: String,
    pub stderr: String,
}

impl Kubectl {
    /// Asks the cluster. `doing` describes the purpose, as in "asking for pods".
    ///
    /// Fails with what is wrong and what helps.
    pub fn ask(&self, purpose: &str, arguments: &[&str], input: &str) -> Result<String, Error> {
        let output = self.output_within(purpose, arguments, input, TIMEOUT)?;
        if output.succeeded {
            return Ok(output.stdout);
        }
        Err(Error::from_kubectl(purpose, &output.stderr, &self.context, &self.namespace))
    }

    /// The same, whatever the exit status, within `limit`.
    pub fn output_within(
        &self,
        purpose: &str,
        arguments: &[&str],
        input: &str,
        limit: Duration,
    ) -> Result<KubectlOutput, Error> {
        let place = ["--context", &self.context, "--namespace", &self.namespace, REQUEST_TIMEOUT];
        run(purpose, &[&place, arguments].concat(), input, limit)
    }
}

/// Runs kubectl for something that needs no server.
pub(crate) fn run_without_server(purpose: &str, arguments: &[&str]) -> Result<KubectlOutput, Error> {
    run(purpose, arguments, "", TIMEOUT)
}

fn run(purpose: &str, arguments: &[&str], input: &str, limit: Duration) -> Result<KubectlOutput, Error> {
    let mut command = Command::new("kubectl");
    // Ctrl-C and the terminal are torment's alone.
    command.args(arguments).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    sys::configure_child(&mut command, Signal::KILL, &[], Vec::new()).map_err(Error::Start)?;
    let mut child = command.spawn().map_err(|why| match why.kind() {
        io::ErrorKind::NotFound => Error::NoKubectl,
        _ => Error::Start(why),
    })?;
    let (out, err) = (reader(child.stdout.take()), reader(child.stderr.take()));
    if let Some(mut to) = child.stdin.take() {
        // If it ends without reading, its own error says why.
        let _ = to.write_all(input.as_bytes());
    }
    let fine = wait_within(&mut child, limit).map_err(Error::Start)?;
    let text = |reader: JoinHandle<String>| reader.join().unwrap_or_default();
    let Some(fine) = fine else {
        return Err(Error::TimedOut { purpose: purpose.to_owned(), limit, output: last_line(&text(err)) });
    };
    Ok(KubectlOutput { succeeded: fine, stdout: text(out), stderr: text(err) })
}

/// Whether it succeeded; `None` if it had to be killed.
fn wait_within(child: &mut Child, limit: Duration) -> io::Result<Option<bool>> {
    let until = Instant::now() + limit;
    loop {
        match child.try_wait()? {
            Some(status) => return Ok(Some(status.success())),
            None if Instant::now() < until => thread::sleep(POLL),
            None => {
                // Together with what it has started to sign in.
                if let Some(group) = rustix::process::Pid::from_raw(child.id() as i32) {
                    let _ = rustix::process::kill_process_group(group, Signal::KILL);
                }
                child.wait()?;
                return Ok(None);
            }
        }
    }
}

fn reader(from: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.map(|mut from| from.read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
