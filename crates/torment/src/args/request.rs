//! The options that `find` and `run` share: what is sent, and how the load is made.

use clap::Args;
use plan::{Draft, Error, Key, SourceLocation};

#[derive(Debug, Args)]
pub(super) struct TargetArg {
    /// A URL (http, https, postgres), `demo` (the built-in service), `null` (torment itself), or a plan file ending
    /// in .toml. The path, headers, body and statements may hold {1..1000}, {random:1..1000}, {uuid}, {counter},
    /// {file:names.csv:column}, and secrets as {env:NAME} or {secret:FILE}; quote them, or the shell expands them
    #[arg(value_name = "TARGET", required = true)]
    target: Option<String>,
}

impl TargetArg {
    /// What was typed; nothing where something else is found than what a target takes.
    pub(super) fn text(&self) -> &str {
        self.target.as_deref().unwrap_or_default()
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Request")]
pub(super) struct RequestArgs {
    /// GET, POST, … [default: GET; with a body POST]
    #[arg(short, long)]
    method: Option<String>,
    /// Add a header, 'Name: value'; may be repeated
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    headers: Vec<String>,
    /// Send this body
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    body: Option<String>,
    /// Send the content of this file
    #[arg(long, value_name = "FILE")]
    body_file: Option<String>,
    /// Send a form with this field; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    form: Vec<String>,
    /// Send these credentials with every request, best as 'user:{env:PASSWORD}'
    #[arg(long, value_name = "USER:PASSWORD")]
    basic: Option<String>,
    /// Send this token with every request, best as {env:TOKEN} or {secret:FILE}
    #[arg(long, value_name = "TOKEN", conflicts_with = "basic")]
    bearer: Option<String>,
    /// Send this statement to a database; its placeholders become parameters. May be repeated, each with a weight in
    /// front: '3: select …'
    #[arg(long, value_name = "STATEMENT")]
    sql: Vec<String>,
    /// Time allowed, from when a request is due to the last byte of its answer [default: 10s]
    #[arg(long, value_name = "TIME")]
    timeout: Option<String>,
    /// Statuses that count as answered: 200, 2xx, 200-204, or several with commas [default: 200-399]
    #[arg(long, value_name = "STATUS")]
    expect_status: Option<String>,
    /// The answer must have this header, containing the value; may be repeated
    #[arg(long, value_name = "HEADER")]
    expect_header: Vec<String>,
    /// The answer's body must contain this; may be repeated
    #[arg(long, value_name = "TEXT")]
    expect_body: Vec<String>,
    /// The answer must be JSON with this value at this place, /user/name=anna; may be repeated
    #[arg(long, value_name = "POINTER=VALUE")]
    expect_json: Vec<String>,
    /// Accept any certificate
    #[arg(short = 'k', long)]
    insecure: bool,
    /// Connect to this socket instead of the URL's host
    #[arg(long, value_name = "PATH")]
    unix_socket: Option<String>,
    /// Speak HTTP/1.1 only [default: over TLS what the server chooses, else HTTP/1.1]
    #[arg(long, conflicts_with = "http2")]
    http1: bool,
    /// Speak HTTP/2 only
    #[arg(long)]
    http2: bool,
    /// Most requests at once on one HTTP/2 connection [default: 100]
    #[arg(long, value_name = "COUNT")]
    streams: Option<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Generator")]
pub(super) struct GeneratorArgs {
    /// How requests are spaced: even, or poisson (at random) [default: even]
    #[arg(long, value_name = "HOW")]
    arrivals: Option<String>,
    /// Seed for everything random [default: 1]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<String>,
    /// Processors to send from, such as 0,2 or 0-3 [default: one, whichever is free]
    #[arg(long, value_name = "LIST")]
    cores: Option<String>,
    /// How late a request may be sent, to save processor time; 0: never late [default: 50us]
    #[arg(long, value_name = "TIME")]
    lateness: Option<String>,
    /// Most connections to open to keep up a rate [default: 10000]
    #[arg(long, value_name = "COUNT")]
    max_connections: Option<String>,
    /// Connections to a database [default: 16]
    #[arg(long, value_name = "COUNT")]
    pool: Option<String>,
    /// Most requests outstanding; any more are not sent, and counted as refused [default: 20000]
    #[arg(long, value_name = "COUNT")]
    max_outstanding: Option<String>,
    /// Count a request as failed if the server was closing its connection, instead of resending it
    #[arg(long)]
    no_resend: bool,
}

impl RequestArgs {
    /// When a request, or a program, is given up.
    pub(super) fn set_timeout(&self, draft: &mut Draft) {
        set(draft, Key::Timeout, "--timeout", &self.timeout);
    }

    pub(super) fn set(&self, draft: &mut Draft) {
        set(draft, Key::Method, "--method", &self.method);
        set(draft, Key::Headers, "--header", &self.headers);
        set(draft, Key::Body, "--body", &self.body);
        set(draft, Key::BodyFile, "--body-file", &self.body_file);
        set(draft, Key::Form, "--form", &self.form);
        set(draft, Key::Basic, "--basic", &self.basic);
        set(draft, Key::Bearer, "--bearer", &self.bearer);
        set(draft, Key::Sql, "--sql", &self.sql);
        self.set_timeout(draft);
        set(draft, Key::ExpectStatus, "--expect-status", &self.expect_status);
        set(draft, Key::ExpectHeader, "--expect-header", &self.expect_header);
        set(draft, Key::ExpectBody, "--expect-body", &self.expect_body);
        set(draft, Key::ExpectJson, "--expect-json", &self.expect_json);
        flag(draft, Key::Insecure, "--insecure", self.insecure, "true");
        set(draft, Key::UnixSocket, "--unix-socket", &self.unix_socket);
        flag(draft, Key::Http, "--http1", self.http1, "1");
        flag(draft, Key::Http, "--http2", self.http2, "2");
        set(draft, Key::Streams, "--streams", &self.streams);
    }
}

impl GeneratorArgs {
    pub(super) fn set(&self, draft: &mut Draft) {
        set(draft, Key::Arrivals, "--arrivals", &self.arrivals);
        set(draft, Key::Seed, "--seed", &self.seed);
        set(draft, Key::Cores, "--cores", &self.cores);
        set(draft, Key::Lateness, "--lateness", &self.lateness);
        set(draft, Key::MaxConnections, "--max-connections", &self.max_connections);
        set(draft, Key::Pool, "--pool", &self.pool);
        set(draft, Key::MaxOutstanding, "--max-outstanding", &self.max_outstanding);
        flag(draft, Key::Resend, "--no-resend", self.no_resend, "false");
    }
}

pub(super) fn set<'a>(
    draft: &mut Draft,
    key: Key,
    option: &'static str,
    texts: impl IntoIterator<Item = &'a String>,
) {
    texts.into_iter().for_each(|text| draft.set(key, option, text));
}

/// What an option without a value means, if it was given.
pub(super) fn flag(draft: &mut Draft, key: Key, option: &'static str, on: bool, meaning: &str) {
    if on {
        draft.set(key, option, meaning);
    }
}

pub(super) fn option_error(option: &'static str, message: String) -> Error {
    Error { location: Some(SourceLocation::Option(option)), message }
}
