//! A torment that serves its page, and a plain client for it.

use super::Sandbox;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, ChildStdout, Stdio};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

/// A torment that prints its page's address; killed on drop.
pub struct ServingTorment {
    child: Child,
    /// Not read any further, but kept open: writes must not fail.
    _said: (Option<BufReader<ChildStdout>>, Option<BufReader<ChildStderr>>),
    at: String,
}

impl ServingTorment {
    /// The page's address is in a line of its output.
    pub fn start(place: &Sandbox, arguments: &[&str], on_stderr: bool) -> Self {
        let mut command = place.command(arguments.iter().copied());
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs");
        let mut stdout = child.stdout.take().map(BufReader::new);
        let mut stderr = child.stderr.take().map(BufReader::new);
        let mut said = String::new();
        let at = loop {
            let before = said.len();
            let read = match (&mut stdout, &mut stderr) {
                (_, Some(stderr)) if on_stderr => stderr.read_line(&mut said),
                (Some(stdout), _) => stdout.read_line(&mut said),
                _ => unreachable!("both were piped"),
            };
            assert!(read.expect("a pipe can be read") > 0, "no address: {said}");
            if let Some((_, rest)) = said[before..].split_once("http://127.0.0.1:") {
                break format!("127.0.0.1:{}", rest.split('/').next().unwrap_or_default());
            }
        };
        Self { child, _said: (stdout, stderr), at }
    }

    pub fn get(&self, path: &str) -> String {
        let answer = self.try_get(path).expect("it answers in UTF-8");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer}"));
        assert!(head.contains(" 200 "), "{path}: {answer}");
        body.to_owned()
    }

    /// Head and body of an answer; `None` if it has ended by now.
    pub fn try_get(&self, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect(&self.at).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        (!answer.is_empty()).then_some(answer)
    }

    pub fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.get(path)).expect("JSON")
    }

    pub fn ask(&self, path: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.at).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("not zero");
        write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").expect("it listens");
        stream
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("it is our child").is_none()
    }

    pub fn wait(mut self) -> i32 {
        self.child.wait().expect("it is our child").code().expect("no signal ended it")
    }
}

impl Drop for ServingTorment {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
