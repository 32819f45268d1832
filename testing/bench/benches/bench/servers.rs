//! Servers under load, each on the servers' processor, stopped when dropped.

use anyhow::{Context, bail};
use serde_json::Value;
use std::cell::Cell;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use testbed::{Nginx, TestPostgres};
use torment_bench::cases::ServiceUnderLoad;
use torment_bench::child::on_processor;
use torment_bench::generators::{find_program, output_of};
use torment_bench::load_run::ServerUnderLoad;

/// A server that does not answer this soon has died.
const PATIENCE: Duration = Duration::from_secs(10);
/// pgbench's scale: a million accounts.
const SCALE: &str = "10";

/// The server of a case.
pub enum CaseServer {
    /// With its counts of connections and requests when the record began.
    Nginx { nginx: Nginx, url: String, before: Cell<(u64, u64)> },
    /// `torment target`.
    Target { child: Child, address: String },
    /// With its accounts.
    Postgres(TestPostgres),
}

/// What to do where a server cannot be started.
pub fn install_hint(service: ServiceUnderLoad) -> &'static str {
    match service {
        ServiceUnderLoad::Nginx => "nginx is not installed (`apt-get install nginx-light`)",
        ServiceUnderLoad::NginxHttp2 => {
            "nginx is not installed, or was built without HTTP/2 (`apt-get install nginx-light`)"
        }
        ServiceUnderLoad::Target => "the built torment has no `torment target`",
        ServiceUnderLoad::Postgres => {
            "PostgreSQL with pgbench is not installed (`apt-get install postgresql`)"
        }
    }
}

impl CaseServer {
    /// Starts it. `None` if it is not installed.
    pub fn start(service: ServiceUnderLoad, cpu: u32, torment: &Path) -> anyhow::Result<Option<Self>> {
        let start = || match service {
            ServiceUnderLoad::Nginx => Ok(Nginx::start_for_load().map(|nginx| {
                let url = nginx.url();
                Self::Nginx { nginx, url, before: Cell::default() }
            })),
            ServiceUnderLoad::NginxHttp2 => Ok(Nginx::start_for_load().and_then(|nginx| {
                let url = nginx.http2_url()?;
                Some(Self::Nginx { nginx, url, before: Cell::default() })
            })),
            ServiceUnderLoad::Target => target(torment).map(Some),
            ServiceUnderLoad::Postgres => postgres(),
        };
        on_processor(cpu, start).context("cannot bind a server to its processor")?
    }

    /// The record that `torment target` keeps of the page under load.
    fn truth_record(&self) -> Option<Value> {
        let Self::Target { address, .. } = self else { return None };
        let truth: Value = serde_json::from_str(&get(address, "/truth").ok()?).ok()?;
        Some(truth["patterns"]["/json"].clone())
    }
}

impl ServerUnderLoad for CaseServer {
    fn url(&self) -> String {
        match self {
            Self::Nginx { url, .. } => url.clone(),
            Self::Target { address, .. } => format!("{address}/json"),
            Self::Postgres(postgres) => postgres.url(),
        }
    }

    fn reset_record(&self) {
        match self {
            Self::Nginx { nginx, before, .. } => before.set((nginx.connections(), nginx.requests())),
            Self::Target { address, .. } => {
                get(address, "/truth?reset=1").expect("torment target answers");
            }
            Self::Postgres(_) => {}
        }
    }

    fn answered(&self) -> Option<u64> {
        match self {
            // The query itself is counted after it was answered: one more.
            Self::Nginx { nginx, before, .. } => Some(nginx.requests().saturating_sub(before.get().1 + 1)),
            Self::Target { .. } => self.truth_record()?["answered"].as_u64(),
            Self::Postgres(_) => None,
        }
    }

    fn accepted(&self) -> Option<u64> {
        match self {
            // Two queries came in between.
            Self::Nginx { nginx, before, .. } => Some(nginx.connections().saturating_sub(before.get().0 + 3)),
            Self::Target { .. } | Self::Postgres(_) => None,
        }
    }

    fn p50_us(&self) -> Option<f64> {
        self.truth_record()?["service_us"]["p50"].as_f64()
    }
}

impl Drop for CaseServer {
    fn drop(&mut self) {
        if let Self::Target { child, .. } = self {
            // It may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn target(torment: &Path) -> anyhow::Result<CaseServer> {
    let mut child = Command::new(torment)
        .args(["target", "--while-stdin", "--listen", "127.0.0.1:0", "--model", "async"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| torment.display().to_string())?;
    let mut line = String::new();
    let stdout = child.stdout.take().context("it was asked to be piped")?;
    BufReader::new(stdout).read_line(&mut line)?;
    let Some(address) = line.trim().strip_prefix("listening on ") else {
        child.kill()?;
        child.wait()?;
        bail!("torment target said '{}', expected 'listening on ADDRESS'", line.trim());
    };
    Ok(CaseServer::Target { address: address.to_owned(), child })
}

fn get(address: &str, path: &str) -> anyhow::Result<String> {
    let host = address.strip_prefix("http://").context("it listens on TCP")?;
    let mut stream = TcpStream::connect(host)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("no answer")?;
    if !head.starts_with("HTTP/1.1 200 ") {
        bail!("{path}: {head}");
    }
    Ok(body.to_owned())
}

fn postgres() -> anyhow::Result<Option<CaseServer>> {
    let Some(pgbench) = find_program("pgbench") else { return Ok(None) };
    let Some(postgres) = TestPostgres::start() else { return Ok(None) };
    let words = output_of(&pgbench, &["-i", "-q", "-s", SCALE, &postgres.url()]);
    if !words.contains("done in") {
        bail!("pgbench -i failed: {words}");
    }
    Ok(Some(CaseServer::Postgres(postgres)))
}
