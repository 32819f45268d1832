use crate::{AnswerCheck, RenderContext, Template};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// The system under test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Target {
    /// The built-in service, started as a child process for the length of the run; the origin is
    /// known only then.
    Demo,
    /// A service that answers HTTP.
    Http(Origin),
    /// A PostgreSQL server.
    Sql(DatabaseAddress),
    /// No service at all: every request is answered at once inside the engine, which measures the engine.
    Null,
}

impl Target {
    /// Host name or address; none of what has none to be known by.
    pub fn host(&self) -> Option<&str> {
        match self {
            Self::Http(origin) => Some(&origin.host),
            Self::Sql(database) => Some(&database.host),
            Self::Demo | Self::Null => None,
        }
    }
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
    /// Which HTTP is spoken.
    pub http: HttpVersion,
    /// Most requests at once on one HTTP/2 connection.
    pub streams: u32,
}

/// Which HTTP is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum HttpVersion {
    /// Over TLS whatever the server chooses (ALPN), else 1.1.
    #[default]
    Either,
    /// HTTP/1.1.
    One,
    /// HTTP/2: over TLS by ALPN, else with prior knowledge.
    Two,
}

/// Where statements go.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatabaseAddress {
    /// Host name or address as written; a folder of sockets begins with `/`.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Who logs in.
    pub user: String,
    /// With what; never printed unless it is a placeholder.
    pub password: Option<Template>,
    /// Which database.
    pub name: String,
    /// Whether the session is encrypted.
    pub tls: bool,
    /// Accept any certificate.
    pub insecure: bool,
}

impl Origin {
    /// Streams of one HTTP/2 connection if the plan says nothing: what servers commonly allow
    /// (RFC 9113, 6.5.2, advises no less).
    pub const STREAMS: u32 = 100;

    /// With everything but its place as by default.
    pub fn new(tls: bool, host: impl Into<String>, port: u16) -> Self {
        let http = HttpVersion::default();
        Self {
            tls,
            host: host.into(),
            port,
            unix_socket: None,
            insecure: false,
            http,
            streams: Self::STREAMS,
        }
    }

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
    /// What else must be true of an answer.
    pub checks: Vec<AnswerCheck>,
}

impl Request {
    /// Whether to send it twice is meant to have the effect of sending it once (RFC 9110 section 9.2.2).
    pub fn is_idempotent(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD" | "OPTIONS" | "TRACE" | "PUT" | "DELETE")
    }

    /// Appends the path that this arrival asks for.
    pub fn render_path(&self, who: &RenderContext<'_>, out: &mut Vec<u8>) {
        self.path.render(who, 0, out);
    }

    /// Appends the body that this arrival sends.
    pub fn render_body(&self, who: &RenderContext<'_>, out: &mut Vec<u8>) {
        self.body.render(who, 1, out);
    }

    /// Appends the value of header number `index` that this arrival sends.
    ///
    /// # Panics
    /// If there is no such header.
    pub fn render_header(&self, index: usize, who: &RenderContext<'_>, out: &mut Vec<u8>) {
        self.headers[index].1.render(who, 2 + index as u64, out);
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
