//! Every noun that goes in: target, request, load, goal; text to a checked plan.
//!
//! Pure: it never opens a file, resolves a name or asks for the time.
//!
//! # Plan files
//!
//! A plan file is TOML. Every key may be left out but `url`; options of the command line win over
//! the file. Files named in it are looked for next to it.
//!
//! ```toml
//! goal = "p99<50ms"                 # zero-drop, loss<0.1%, p99<50ms; default zero-drop
//!
//! [target]
//! url = "http://127.0.0.1:8080/owners/{1..1000}" # or https://, "demo", "demo/path", "null", postgres://
//! unix_socket = "/run/app.sock"     # connect here; the URL says only what is asked for
//! insecure = false                  # accept any certificate
//! http = "2"                        # "1", "2"; default: over TLS what the server chooses, else 1
//! streams = 100                     # most requests at once on one connection of HTTP/2
//! basic = "user:{env:PASSWORD}"     # Authorization: Basic on every request,
//! # bearer = "{secret:token.txt}"   # or Bearer
//! headers = { Accept-Language = "en" } # on every request that does not say it itself
//!
//! [data.users]                      # rows for {users.name}, see below
//! file = "users.csv"                # or .ndjson, .jsonl: a JSON object on each line
//! order = "cycle"                   # or "random", or "once": then there is nothing left to send
//!
//! [request]
//! method = "POST"                   # default GET, with a body POST
//! headers = { Accept = "text/html", Cookie = "id={uuid}" } # or ["Accept: text/html", …]
//! body = '{"id": {counter}}'        # or body_file = "body.json", or body_base64,
//! # form = { name = "{users.name}" } # which also sets the content type
//! timeout = "10s"                   # from the due time to the last byte
//! expect_status = [200, "3xx"]      # what counts as answered; default 200-399
//! expect_header = { Content-Type = "html" } # it is there, and contains this
//! expect_body = ["Welcome"]         # the body contains each of these
//! expect_json = { "/user/name" = "anna", "/ok" = true } # JSON pointer = value
//!
//! [load]                            # torment run
//! rate = 1000                       # arrivals a second, for
//! duration = "30s"
//! # stages = ["30s:10%", "30s:500"] # or straight lines to a share of the rate, or to a rate; or "article"
//! arrivals = "even"                 # or "poisson"; also for find
//! # connections = 64                # or a closed loop of so many connections,
//! # requests = 10000                # until so many are answered or the duration is over
//!
//! [find]                            # torment find
//! from = 10                         # lowest and highest rate
//! max = 100000
//! width = "2%"                      # how well the limit is to be known
//! trial = "10s"                     # one trial; sum = "30s": all trials that decide a rate
//! careful = false                   # trials of 60 s and a width of 1 %
//! budget = "10m"                    # ends the search
//!
//! [generator]
//! connections = 10000               # most of an open loop; for a database pool = 16, all of them
//! outstanding = 20000               # most arrivals not answered yet; one more is refused
//! lateness = "50us"                 # how late a request may be sent to save processor time; 0: not at all
//! cores = [0, 1]                    # processors to run on
//! seed = 1                          # of everything random
//!
//! [watch]                           # beside the load; by default whatever of the target is on this machine
//! on = true                         # false: watch nothing
//! pid = [4711]                      # these processes and their children, instead of whoever listens at the target;
//! # cgroup = "/system.slice/app.service" # or those of a control group, a path below its mount,
//! # command = "app.jar"             # or those whose command line contains this
//! postgres = "postgres://me:{env:PGPASSWORD}@127.0.0.1/clinic" # ask it what its sessions do (role pg_monitor);
//!                                   # default: the target, if it is a PostgreSQL
//! metrics = "http://127.0.0.1:8081/actuator/prometheus" # read this once a second
//! attach = true                     # false: never ask a Java virtual machine where its threads stand
//! ```
//!
//! # Several requests, and flows
//!
//! `[request]` may stand several times, as `[[request]]`: each arrival is then one of them, chosen at
//! random by weight. A `[[flow]]` is one user who makes several requests in a row; an arrival is
//! then the whole flow. Both may stand in one plan, and weights are over all of them. A `[[flow.step]]`
//! takes every key of a request but `weight`.
//!
//! ```toml
//! [target]
//! url = "http://127.0.0.1:8080/"
//!
//! [data.users]
//! file = "users.csv"
//!
//! [[request]]
//! name = "read"                     # in reports; default method and path
//! weight = 9                        # default 1; any number above 0
//! url = "/owners/{1..1000}"         # a path, or a URL on the target; default the path of the target's url
//!
//! [[flow]]
//! name = "buy"
//! weight = 1
//! cookies = true                    # default: what answers set goes with later requests of this user
//!
//! [[flow.step]]
//! name = "login"
//! url = "/login"
//! form = { user = "{users.name}", password = "{env:PASSWORD}" }
//! take = { token = "json:/access_token" } # for later steps, see below
//!
//! [[flow.step]]
//! name = "cart"
//! think = "1s..3s"                  # a pause before: a time, or each between two equally likely
//! url = "/cart/{token}"
//! expect_status = 200
//!
//! [load]
//! rate = 100
//! ```
//!
//! `take` names values of an answer: `json:/access_token` (a JSON pointer, RFC 6901), `regex:id=(\d+)` (the
//! first group, or all that matches; the `regex` crate's syntax), `header:Location`, `cookie:session`. A `url`
//! may begin with such a value: of a full URL, as in a `Location` header, the path is used.
//!
//! # Databases
//!
//! The target `postgres://user:{env:PASSWORD}@host:5432/name` takes statements instead of HTTP requests, in
//! all three places. A folder of sockets is the host `%2Frun%2Fpostgresql`. `sslmode=disable`, `require` (any
//! certificate) and `verify-full` are understood as libpq does; `prefer` is taken for `disable`.
//!
//! ```toml
//! [target]
//! url = "postgres://me@127.0.0.1/clinic"
//!
//! [[request]]
//! sql = "select name from owners where id = {random:1..100000}"
//! weight = 9
//!
//! [[request]]
//! sql = "insert into visits (owner, note) values ({random:1..100000}, 'visit {counter}')"
//!
//! [load]
//! rate = 100
//! ```
//!
//! Statements are prepared, and placeholders are their parameters: the first becomes `$1`. A placeholder
//! inside a quoted text makes all of the text a parameter, the second of the insert above `'visit {counter}'`.
//! A value that needs a type is cast, `'2024-01-{10..28}'::date`.
//!
//! # Placeholders
//!
//! In the path, in headers, in the body and in statements: `{1..1000}` counts, `{random:1..1000}` draws,
//! `{uuid}`, `{counter}` is the number of the arrival, `{file:names.csv:column}` takes one line after the other,
//! `{users.name}` is a column of a data set (all columns are of the same row within one arrival), `{token}` was
//! taken by an earlier step. Any other braces are text.
//!
//! `{env:NAME}` is a variable of the environment, `{secret:FILE}` what is in a file, without the line end
//! after it. Neither is ever stored or printed. What is written out of basic, bearer, passwords in URLs, and
//! headers such as Authorization, Cookie and X-Api-Key is kept as `{redacted}`: such a plan must be given its
//! secrets again.

mod bind;
mod check;
mod csv;
mod data;
mod database;
mod describe;
mod draft;
mod error;
mod experiment;
mod file;
mod fit;
mod flow;
mod form;
mod goal;
mod key;
mod load;
mod ndjson;
mod placeholder;
mod print;
mod secret;
mod service;
mod sql;
mod status;
mod target;
mod template;
mod url;
mod watch;

pub use check::ReadFile;
pub use data::{Data, Order, Rows};
pub use draft::Draft;
pub use error::{Error, Place};
pub use experiment::{Arm, At, Change, Experiment, Hypothesis, Measure, Probe, Workload};
pub use fit::Fit;
pub use flow::{Ask, Check, Flow, Statement, Step, Take, TakeFrom};
pub use goal::{Goal, Objective};
pub use key::Key;
pub use load::{Arrivals, Find, Generator, Load, Stage, parse_cores};
pub use secret::{Hidden, SecretFrom};
pub use service::{Limits, Need, Postgres, Program, Ready, Reset, Setup};
pub use target::{Database, HttpVersion, Origin, Request, StatusRange, Target};
pub use template::{Piece, Template, Who};
pub use watch::{Endpoint, Watch};

use serde::{Deserialize, Serialize};

/// One run as understood: everything is checked and every default is filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The system under test.
    pub target: Target,
    /// Files of rows that requests use.
    pub data: Vec<Data>,
    /// What is sent to it: each arrival is one of these, by weight. At least one.
    pub flows: Vec<Flow>,
    /// What is good enough.
    pub objective: Objective,
    /// What is done.
    pub task: Task,
    /// How the load is made.
    pub generator: Generator,
    /// What is watched beside it.
    #[serde(default)]
    pub watch: Watch,
    /// What is started before and stopped after; none if the target runs already.
    #[serde(default)]
    pub setup: Option<Setup>,
}

/// What is done with the target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Task {
    /// One load with a verdict on the goal.
    Run(Load),
    /// A search for the highest rate that meets the goal.
    Find(Find),
    /// Hypotheses about the service that the plan starts, as experiments.
    Try(Box<Experiment>),
}

/// What a plan is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// One load with a verdict: the plan's `[load]`.
    Run,
    /// A search: the plan's `[find]`.
    Find,
    /// An experiment: the plan's `[try]`, variants and hypotheses.
    Try,
}

impl Command {
    /// The word on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Find => "find",
            Self::Try => "try",
        }
    }
}

#[cfg(test)]
mod tests;
