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
//! url = "http://127.0.0.1:8080/owners/{1..1000}" # or https://, "demo", "demo/path", "null"
//! unix_socket = "/run/app.sock"     # connect here; the URL says only what is asked for
//! insecure = false                  # accept any certificate
//!
//! [request]
//! method = "POST"                   # default GET, with a body POST
//! headers = { Accept = "text/html", Cookie = "id={uuid}" } # or ["Accept: text/html", …]
//! body = '{"id": {counter}}'        # or body_file = "body.json", or body_base64,
//! # form = { name = "{file:names.csv:name}" } # which also sets the content type
//! timeout = "10s"                   # from the due time to the last byte
//! expect_status = [200, "3xx"]      # what counts as answered; default 200-399
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
//! connections = 10000               # most of an open loop
//! outstanding = 20000               # most arrivals not answered yet; one more is refused
//! cores = [0, 1]                    # processors to run on
//! seed = 1                          # of everything random
//! ```
//!
//! # Placeholders
//!
//! In the path, in headers and in the body: `{1..1000}` counts, `{random:1..1000}` draws, `{uuid}`,
//! `{counter}` is the number of the arrival, `{file:names.csv:column}` takes one line after the other.
//! Any other braces are text.

mod bind;
mod check;
mod csv;
mod describe;
mod draft;
mod error;
mod file;
mod flow;
mod form;
mod goal;
mod load;
mod print;
mod status;
mod target;
mod template;
mod url;

pub use check::ReadFile;
pub use draft::{Draft, Key};
pub use error::{Error, Place};
pub use flow::{Ask, Check, Flow, Statement, Step, Take, TakeFrom};
pub use goal::{Goal, Objective};
pub use load::{Arrivals, Find, Generator, Load, Stage, parse_cores};
pub use target::{Database, HttpVersion, Origin, Request, StatusRange, Target};
pub use template::{Fit, Piece, Template, Who};

use serde::{Deserialize, Serialize};

/// One run as understood: everything is checked and every default is filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The system under test.
    pub target: Target,
    /// What is sent to it: each arrival is one of these, by weight. At least one.
    pub flows: Vec<Flow>,
    /// What is good enough.
    pub objective: Objective,
    /// What is done.
    pub task: Task,
    /// How the load is made.
    pub generator: Generator,
}

/// What is done with the target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Task {
    /// One load with a verdict on the goal.
    Run(Load),
    /// A search for the highest rate that meets the goal.
    Find(Find),
}

/// What a plan is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// One load with a verdict: the plan's `[load]`.
    Run,
    /// A search: the plan's `[find]`.
    Find,
}

impl Command {
    /// The word on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Find => "find",
        }
    }
}

#[cfg(test)]
mod tests;
