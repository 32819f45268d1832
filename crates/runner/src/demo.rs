//! `demo`: this very program, started as the built-in service for the length of a run.

use crate::Error;
use plan::{Origin, Plan, Target};
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};

/// The child; it ends when this is dropped, and also if this process dies, for then its standard
/// input ends.
pub(crate) struct Demo {
    child: Child,
    stdin: Option<ChildStdin>,
}

/// What the child prints once it listens, before the address.
const LISTENS: &str = "listening on ";

/// The target that is there: the plan's own, or that of a child started for it.
pub(crate) fn start_if_asked(plan: &Plan) -> Result<(Option<Demo>, Target), Error> {
    if plan.target != Target::Demo {
        return Ok((None, plan.target.clone()));
    }
    let (demo, origin) = start()?;
    Ok((Some(demo), Target::Http(origin)))
}

fn start() -> Result<(Demo, Origin), Error> {
    let error = |why: String| Error::Demo(why);
    let program =
        std::env::current_exe().map_err(|e| error(format!("this program cannot be found again: {e}")))?;
    let mut child = Command::new(program)
        .args(["target", "--listen", "127.0.0.1:0", "--model", "async", "--while-stdin"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .map_err(|e| error(e.to_string()))?;
    let stdin = child.stdin.take();
    let stdout = child.stdout.take().expect("it was asked to be piped");
    let mut demo = Demo { child, stdin };
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).map_err(|e| error(e.to_string()))?;
    let address = line.trim().strip_prefix(LISTENS).and_then(|rest| rest.strip_prefix("http://"));
    let Some((host, port)) = address.and_then(|a| a.rsplit_once(':')) else {
        demo.stdin = None;
        let status = demo.child.wait().map_err(|e| error(e.to_string()))?;
        return Err(error(format!("it ended with {status} before it listened")));
    };
    let port = port.parse().map_err(|_| error(format!("it listens on '{}'", line.trim())))?;
    let origin = Origin::new(false, host, port);
    Ok((demo, origin))
}

impl Drop for Demo {
    fn drop(&mut self) {
        self.stdin = None;
        let _ = self.child.wait();
    }
}
