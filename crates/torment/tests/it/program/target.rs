//! `torment target` as a child, and a plain client to ask it what truly happened.

use super::{SOON, Sandbox, binary};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A target that has not ended by then is killed.
const ENDS_WITHIN: Duration = Duration::from_secs(2);

/// The built-in service; ended on drop, and it ends by itself if the test does.
pub struct TargetProcess {
    child: Child,
    /// `http://127.0.0.1:PORT`, or `unix:PATH`.
    pub address: String,
}

impl TargetProcess {
    /// On a free port, as the demo starts it, with further arguments.
    pub fn start(place: &Sandbox, arguments: &[&str]) -> Self {
        Self::listen(place, "127.0.0.1:0", arguments)
    }

    pub fn listen(place: &Sandbox, listen: &str, arguments: &[&str]) -> Self {
        let mut command = place.homed(Command::new(binary()));
        command.args(["target", "--while-stdin", "--listen", listen]).args(arguments);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the binary can be run");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it was asked to be piped");
        BufReader::new(stdout).read_line(&mut line).expect("a pipe can be read");
        let address = line.trim().strip_prefix("listening on ").unwrap_or_else(|| {
            let _ = child.kill();
            let _ = child.wait();
            panic!("torment target said '{line}'")
        });
        Self { address: address.to_owned(), child }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.address)
    }

    pub fn socket_address(&self) -> SocketAddr {
        self.address.strip_prefix("http://").and_then(|a| a.parse().ok()).expect("it listens on TCP")
    }

    pub fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.socket_address()).expect("it listens");
        stream.set_read_timeout(Some(SOON)).expect("not zero");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n").expect("it listens");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers in UTF-8");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer}"));
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        body.to_owned()
    }

    /// The service's own counts for a page.
    pub fn truth(&self, page: &str) -> Value {
        let truth: Value = serde_json::from_str(&self.get("/truth")).expect("JSON");
        truth["patterns"][page].clone()
    }

    /// Number of the clinic's owners.
    pub fn owners(&self) -> u64 {
        let count: Value = serde_json::from_str(&self.get("/owners/count")).expect("JSON");
        count["owners"].as_u64().expect("a count")
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
        rustix::process::kill_process(pid.expect("a process has an id"), signal).expect("it is our child");
    }

    /// Ends it as a crash would.
    pub fn kill(mut self) {
        self.child.kill().expect("it is our child");
        self.child.wait().expect("it is our child");
    }
}

impl Drop for TargetProcess {
    fn drop(&mut self) {
        // At the end of its input it ends by itself, with its database.
        drop(self.child.stdin.take());
        let until = Instant::now() + ENDS_WITHIN;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An unused port outside the ephemeral range.
pub fn free_port() -> u16 {
    static TRIED: AtomicU32 = AtomicU32::new(0);
    let next = || 20_000 + (std::process::id() * 61 + TRIED.fetch_add(1, Relaxed)) % 10_000;
    let mut ports = std::iter::repeat_with(next).take(10_000).map(|port| port as u16);
    ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).expect("a port is free")
}

/// `unix:PATH` for `--listen`.
pub fn unix(path: &Path) -> String {
    format!("unix:{}", path.display())
}
