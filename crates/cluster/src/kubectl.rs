//! Runs the user's own kubectl as a child, with a timeout.

use crate::error::{Error, last};
use rustix::process::Signal;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// kubectl may have to sign in first, perhaps in a browser.
const PATIENCE: Duration = Duration::from_secs(60);
/// A server that takes longer for one request counts as unreachable.
const REQUEST: &str = "--request-timeout=20s";
const LOOK: Duration = Duration::from_millis(5);

/// A cluster and a namespace in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kubectl {
    /// One of the user's contexts.
    pub context: String,
    pub namespace: String,
}

pub(crate) struct KubectlOutput {
    pub fine: bool,
    pub out: String,
    pub err: String,
}

impl Kubectl {
    /// Asks the cluster. `doing` describes the purpose, as in "asking for pods".
    ///
    /// Fails with what is wrong and what helps.
    pub fn ask(&self, doing: &str, arguments: &[&str], input: &str) -> Result<String, Error> {
        let said = self.said(doing, arguments, input, PATIENCE)?;
        if said.fine {
            return Ok(said.out);
        }
        Err(Error::from_kubectl(doing, &said.err, &self.context, &self.namespace))
    }

    /// The same, whatever the exit status, within `limit`.
    pub fn said(
        &self,
        doing: &str,
        arguments: &[&str],
        input: &str,
        limit: Duration,
    ) -> Result<KubectlOutput, Error> {
        let place = ["--context", &self.context, "--namespace", &self.namespace, REQUEST];
        run(doing, &[&place, arguments].concat(), input, limit)
    }
}

/// Runs kubectl for something that needs no server.
pub(crate) fn alone(doing: &str, arguments: &[&str]) -> Result<KubectlOutput, Error> {
    run(doing, arguments, "", PATIENCE)
}

fn run(doing: &str, arguments: &[&str], input: &str, limit: Duration) -> Result<KubectlOutput, Error> {
    let mut command = Command::new("kubectl");
    // Ctrl-C and the terminal are torment's alone.
    command.args(arguments).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    sys::configure_child(&mut command, Signal::KILL, &[], Vec::new()).map_err(Error::Start)?;
    let mut child = command.spawn().map_err(|why| match why.kind() {
        io::ErrorKind::NotFound => Error::Missing,
        _ => Error::Start(why),
    })?;
    let (out, err) = (reader(child.stdout.take()), reader(child.stderr.take()));
    if let Some(mut to) = child.stdin.take() {
        // If it ends without reading, its own error says why.
        let _ = to.write_all(input.as_bytes());
    }
    let fine = within(&mut child, limit).map_err(Error::Start)?;
    let text = |reader: JoinHandle<String>| reader.join().unwrap_or_default();
    let Some(fine) = fine else {
        return Err(Error::Slow { doing: doing.to_owned(), limit, said: last(&text(err)) });
    };
    Ok(KubectlOutput { fine, out: text(out), err: text(err) })
}

/// Whether it succeeded; `None` if it had to be killed.
fn within(child: &mut Child, limit: Duration) -> io::Result<Option<bool>> {
    let until = Instant::now() + limit;
    loop {
        match child.try_wait()? {
            Some(status) => return Ok(Some(status.success())),
            None if Instant::now() < until => thread::sleep(LOOK),
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
