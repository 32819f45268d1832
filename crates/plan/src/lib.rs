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
//! # What a plan starts
//!
//! A plan may name the service under test, which is then started before the load and stopped after it, with all
//! that it needs: a PostgreSQL that is made for it, and other programs, in the order of the file. A command is a
//! list of words, or one text that is split at blanks with quotes as a shell does; no shell is used, and `torment`
//! is this program itself. In commands, `env` and `files` only `{env:NAME}` and `{secret:FILE}` are placeholders.
//! Values of variables whose names say so (`…PASSWORD`, `…TOKEN`, `…SECRET`, `…API_KEY`) and passwords in URLs are
//! secrets.
//!
//! ```toml
//! [target]
//! url = "http://127.0.0.1:8080/owners/{1..1000}"
//!
//! [postgres]                        # started from an empty folder
//! port = 54329                      # of 127.0.0.1; must be said. The superuser postgres needs no password
//! database = "clinic"               # is made; default "torment"
//! seed = ["schema.sql", "rows.sql"] # run in it, in this order
//! reset = "truncate.sql"            # puts the state back
//! settings = { shared_buffers = "128MB" }
//! data = "/mnt/fast"                # an existing folder, in which the data folder is made; default a temporary one
//! within = "60s"                    # how long start and seed may take
//! cpus = 2                          # limits as of [service]
//!
//! [need.cache]                      # any other program: every key of [service] but reset
//! command = "redis-server --port 6399" # is ready when it is started, if nothing else is said
//! ready = "port 6399"
//!
//! [service]
//! prepare = ["mvn", "-q", "package"] # run once before, to its end
//! command = ["java", "-jar", "target/app.jar"] # must be said
//! folder = "../targets/app"         # where both are run, from the plan's folder; default that folder
//! env = { SERVER_PORT = "8080", DB_PASSWORD = "{env:DB_PASSWORD}" } # added to torment's own
//! files = { "conf/app.yml" = "log: off" } # below folder, put back as they were at the end
//! ready = "http://127.0.0.1:8080/health" # answered with a status below 400; or "port 8080", "log Started" (a line
//!                                   # of its output), "started" (at once); default the port of the target's URL
//! within = "60s"                    # how long that may take
//! stop = "TERM"                     # or INT, QUIT, HUP, KILL
//! grace = "10s"                     # until it is killed
//! cpus = 1.5                        # limits of it and its children: processors,
//! memory = "2GiB"
//! pids = 500                        # processes and threads,
//! cores = [0, 1]                    # and on which processors; also "0-1"
//! reset = "sql"                     # between two measurements of one start: the file that [postgres] names (default,
//!                                   # if it names one), "restart" everything, or "none"
//!
//! [load]
//! rate = 100
//! ```
//!
//! # Experiments
//!
//! `torment try` asks whether a change of the service helps. The plan as it stands is the arm `baseline`, each
//! `[[variant]]` is another: the plan with that changed.
//!
//! ```toml
//! [target]
//! url = "http://127.0.0.1:8080/"
//!
//! [[request]]
//! name = "reads"
//! url = "/owners/{1..1000}"
//!
//! [[request]]
//! name = "writes"
//! url = "/visits"
//! method = "POST"
//!
//! [service]
//! command = "java -jar app.jar"
//! env = { THREADS = "200", POOL = "10" }
//!
//! [postgres]
//! port = 54329
//!
//! [[variant]]
//! name = "400 threads"              # must be said
//! factor = "threads"                # it is a level of this factor, for cross
//! relieves = ["workers"]            # causes that it is said to move further out, as a diagnosis names them
//! env = { THREADS = "400" }         # added, or instead of what is there; also files, and the limits;
//! args = ["-v"]                     # added to the command, which command = […] would replace;
//!
//! [[variant]]
//! name = "pool of 20"
//! factor = "pool"
//! env = { POOL = "20" }
//! settings = { max_connections = 200 } # of the [postgres]; also data
//!
//! [[hypothesis]]
//! name = "more threads help writes" # default "400 threads changes capacity"
//! variant = "400 threads"           # must be said: a [[variant]], or crossed ones, "400 threads + pool of 20"
//! baseline = "baseline"             # what it is compared with
//! on = "writes"                     # a workload; default each
//! measure = "p99"                   # capacity (default), throughput, p50, p99, max, cpu (for each request), memory, threads
//! at = "50%"                        # of the baseline's capacity, or "200/s", "1000 connections"; not for the capacity
//! effect = "10%"                    # the smallest effect worth having
//!
//! [try]
//! workloads = ["reads", "writes"]   # requests and flows measured one by one; default "all" together, by weight
//! cross = ["threads", "pool"]       # all combinations of the levels of these factors: their effects and interactions
//! measure = "capacity"              # what is asked of those, and by a [[hypothesis]] that does not say it,
//! effect = "10%"                    # and the smallest effect worth having
//! connections = [1000, 5000]        # closed loops measured of every arm, for the table; on workloads that no
//!                                   # hypothesis asks about only of the baseline, as all of the table
//! at = ["50%", "200/s"]             # loads measured of every arm, for the table
//! capacity = true                   # the capacity of every arm, for the table; default where a hypothesis needs it
//! pilot = 3                         # starts of the baseline before the first block
//! least = 4                         # blocks (one start of each arm) before the first look,
//! most = 10                         # and at most
//! budget = "2h"                     # ends the experiment before a block that would not fit
//! confidence = "95%"                # of all verdicts together
//! warm = "20s"                      # load before the first measurement of a start; 0: none
//! hold = "10s"                      # how long a load is held
//! search = "5m"                     # a search for a capacity ends after this long with what it has
//!
//! [find]                            # how capacities are searched for
//! trial = "5s"
//!
//! [quick]                           # with --quick: keys of [try] and [find] that it replaces
//! most = 4
//! trial = "2s"
//! ```
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
mod words;

pub use check::ReadFile;
pub use data::{Data, Order, Rows};
pub use draft::Draft;
pub use error::{Error, Place};
pub use experiment::{Arm, Asked, At, Change, Experiment, Hypothesis, Measure, Probe, Said, Workload};
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
