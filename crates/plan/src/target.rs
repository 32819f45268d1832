use crate::{AnswerCheck, RenderContext, Template};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// The system under test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Target {
    /// The built-in service, started as a child process for the duration of the run; its origin is known only then.
    Demo,
    /// An HTTP service.
    Http(Origin),
    /// A PostgreSQL server.
    Sql(DatabaseAddress),
    /// No service: every request is answered at once inside the engine, which measures the engine.
    Null,
}

impl Target {
    /// Host name or address; none if the target has none.
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
    /// Whether requests use TLS.
    pub tls: bool,
    /// Host name or address as written, without the brackets of IPv6.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Connect to this Unix socket; `host` still goes into the request.
    pub unix_socket: Option<PathBuf>,
    /// Accept any certificate.
    pub insecure: bool,
    /// The HTTP version.
    pub http: HttpVersion,
    /// Maximum concurrent requests on one HTTP/2 connection.
    pub streams: u32,
}

/// The HTTP version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum HttpVersion {
    /// Over TLS, the server's choice (ALPN), else 1.1.
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
    /// Host name or address as written; a socket folder begins with `/`.
    pub host: String,
    /// Port.
    pub port: u16,
    /// The user that logs in.
    pub user: String,
    /// Never printed unless it is a placeholder.
    pub password: Option<Template>,
    /// The database's name.
    pub name: String,
    /// Whether the session is encrypted.
    pub tls: bool,
    /// Accept any certificate.
    pub insecure: bool,
}

impl Origin {
    /// Default streams per HTTP/2 connection: what servers commonly allow (RFC 9113, 6.5.2, advises no less).
    pub const DEFAULT_STREAMS: u32 = 100;

    /// Everything but the address at its default.
    pub fn new(tls: bool, host: impl Into<String>, port: u16) -> Self {
        let http = HttpVersion::default();
        Self {
            tls,
            host: host.into(),
            port,
            unix_socket: None,
            insecure: false,
            http,
            streams: Self::DEFAULT_STREAMS,
        }
    }

    /// The value of the `Host` header: the scheme's default port is left out.
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

/// The request that is sent repeatedly, and what is expected of its answer.
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
    /// Further conditions on an answer.
    pub checks: Vec<AnswerCheck>,
}

impl Request {
    /// Whether sending it twice is meant to have the effect of sending it once (RFC 9110 section 9.2.2).
    pub fn is_idempotent(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD" | "OPTIONS" | "TRACE" | "PUT" | "DELETE")
    }

    /// Appends this arrival's path.
    pub fn render_path(&self, context: &RenderContext<'_>, out: &mut Vec<u8>) {
        self.path.render(context, 0, out);
    }

    /// Appends this arrival's body.
    pub fn render_body(&self, context: &RenderContext<'_>, out: &mut Vec<u8>) {
        self.body.render(context, 1, out);
    }

    /// Appends this arrival's value of header number `index`.
    ///
    /// # Panics
    /// If there is no such header.
    pub fn render_header(&self, index: usize, context: &RenderContext<'_>, out: &mut Vec<u8>) {
        self.headers[index].1.render(context, 2 + index as u64, out);
    }
}

/// An inclusive range of statuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusRange(pub u16, pub u16);

impl StatusRange {
    /// The default, success and redirects.
    pub const DEFAULT: Self = Self(200, 399);

    /// Whether `status` is one of them.
    pub fn contains(self, status: u16) -> bool {
        (self.0..=self.1).contains(&status)
    }
}
