use crate::Template;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use units::Nanos;

/// The system under test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Target {
    /// The built-in service, started as a child process for the length of the run; the origin is
    /// known only then.
    Demo,
    /// A service that answers HTTP.
    Http(Origin),
    /// No service at all: every request is answered at once inside the engine, which measures the engine.
    Null,
}

/// Where HTTP requests go.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// Whether requests go through TLS.
    pub tls: bool,
    /// Host name or address as written, without the brackets of IPv6.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Connect to this Unix socket; `host` is still what the request says.
    pub unix_socket: Option<PathBuf>,
    /// Accept any certificate.
    pub insecure: bool,
}

impl Origin {
    /// The value of the `Host` header: the port is left out where it is the scheme's own.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match (self.tls, self.port) {
            (false, 80) | (true, 443) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.tls { "https" } else { "http" }, self.authority())
    }
}

/// The request that is sent again and again, and what is expected of its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// `GET`, `POST`, …
    pub method: String,
    /// Path and query, with placeholders.
    pub path: Template,
    /// Headers in the order given; `Host`, `User-Agent`, `Content-Length` are added unless given.
    pub headers: Vec<(String, Template)>,
    /// Body, with placeholders; empty for none.
    pub body: Template,
    /// Statuses that count as answered.
    pub expect: Vec<StatusRange>,
    /// From the due time to the last byte of the answer.
    pub timeout: Nanos,
}

impl Request {
    /// Appends the path that the `k`-th arrival asks for.
    pub fn render_path(&self, k: u64, seed: u64, out: &mut Vec<u8>) {
        self.path.render(k, seed, 0, out);
    }

    /// Appends the body that the `k`-th arrival sends.
    pub fn render_body(&self, k: u64, seed: u64, out: &mut Vec<u8>) {
        self.body.render(k, seed, 1, out);
    }

    /// Appends the value of header number `index` that the `k`-th arrival sends.
    ///
    /// # Panics
    /// If there is no such header.
    pub fn render_header(&self, index: usize, k: u64, seed: u64, out: &mut Vec<u8>) {
        self.headers[index].1.render(k, seed, 2 + index as u64, out);
    }
}

/// Statuses from the first to the last, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusRange(pub u16, pub u16);

impl StatusRange {
    /// What counts as answered if the plan says nothing: success and redirects.
    pub const DEFAULT: Self = Self(200, 399);

    /// Whether `status` is one of them.
    pub fn contains(self, status: u16) -> bool {
        (self.0..=self.1).contains(&status)
    }
}
