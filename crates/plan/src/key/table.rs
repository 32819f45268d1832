//! Every key: what it means, its name, the sections it may stand in, what it takes, an example, and what it means to leave it out. The
//! parser, its messages and the reference all read this table. Sections come in the order in which messages name them.

use super::DefaultValue::{Is, Means, Must};
use super::ValueKind::{Flag, List, Pairs, Text, Values, Words};
use super::{
    BYTES, FIND_SECTIONS, HEADER_SECTIONS, LIMIT_SECTIONS, NUMBER, PROGRAM_SECTIONS, RATE, REQUEST_SECTIONS,
    SHARE, TIME, TRY_SECTIONS, VARIANT_SECTIONS,
};

keys! {
    /// What is good enough: `zero-drop`, `loss<0.1%`, or `p99<50ms`, by which later answers are bad too; `max<1s` allows none.
    Goal: "goal", &[""], Text, "'p99<50ms'", Is("'zero-drop'");
    /// Where to: `http://`, `https://`, `postgres://`, `demo` (the built-in service) or `null` (nothing at all, to try torment itself).
    Url: "url", &["target"], Text, "'http://127.0.0.1:8080/owners/{1..1000}'", Must;
    /// Connect to this socket; the URL says only what is asked for.
    UnixSocket: "unix_socket", &["target"], Text, "'/run/app.sock'", Means("host and port of the URL");
    /// Accept any certificate.
    Insecure: "insecure", &["target"], Flag, "true", Is("false");
    /// The version of HTTP: 1 or 2.
    Http: "http", &["target"], NUMBER, "2", Means("over TLS what the server chooses, otherwise 1");
    /// The most requests at once on one connection of HTTP/2.
    Streams: "streams", &["target"], NUMBER, "16", Is("100");
    /// `user:password` for `Authorization: Basic`; in `[target]` for every request.
    Basic: "basic", HEADER_SECTIONS, Text, "'me:{env:PASSWORD}'", Means("none");
    /// The token for `Authorization: Bearer`; in `[target]` for every request.
    Bearer: "bearer", HEADER_SECTIONS, Text, "'{secret:token.txt}'", Means("none");
    /// Headers of the request; in `[target]` of every request that does not say them itself.
    Headers: "headers", HEADER_SECTIONS, Pairs(':'), "{ Accept = 'text/html' }", Means("none");
    /// The file of rows: `.csv` with names in its first line, or `.ndjson` or `.jsonl`, a JSON object on each line.
    DataFile: "file", &["data"], Text, "'users.csv'", Must;
    /// Which row is next: `cycle`, `random`, or `once`, after whose last row nothing is sent any more.
    Order: "order", &["data"], Text, "'random'", Is("'cycle'");
    /// What it is called in reports.
    Name: "name", &["request", "flow", "flow.step", "variant", "hypothesis"], Text, "'buy'", Means("what it asks; a variant must say it");
    /// How often it is chosen, against the weights of the others.
    Weight: "weight", &["request", "flow"], NUMBER, "9", Is("1");
    /// What answers set goes with later requests of the same user.
    Cookies: "cookies", &["flow"], Flag, "false", Is("true");
    /// A pause before it, from the second step on: a time, or any between two, equally likely.
    Think: "think", &["flow.step"], Text, "'1s..3s'", Means("none");
    /// A path, or a URL on the target.
    Path: "url", REQUEST_SECTIONS, Text, "'/owners/{1..1000}'", Means("the path of the target's URL");
    /// The statement; only and always for a `postgres://` target.
    Sql: "sql", REQUEST_SECTIONS, Text, "'select name from owners where id = {1..1000}'", Means("none");
    /// The method.
    Method: "method", REQUEST_SECTIONS, Text, "'PUT'", Means("GET, with a body POST");
    /// The body.
    Body: "body", REQUEST_SECTIONS, Text, "'{\"id\": {counter}}'", Means("none");
    /// A file that holds the body.
    BodyFile: "body_file", REQUEST_SECTIONS, Text, "'body.json'", Means("none");
    /// The body in Base64, for one that is not text.
    BodyBase64: "body_base64", REQUEST_SECTIONS, Text, "'AAEC'", Means("none");
    /// Fields of a form as the body, which also sets the content type.
    Form: "form", REQUEST_SECTIONS, Pairs('='), "{ name = 'anna' }", Means("none");
    /// From the due time to the last byte; a request that takes longer is given up.
    Timeout: "timeout", REQUEST_SECTIONS, TIME, "'2s'", Is("'10s'");
    /// Statuses that count as answered.
    ExpectStatus: "expect_status", REQUEST_SECTIONS, List, "[200, '3xx']", Is("'200-399'");
    /// Headers that the answer must have, and what each must contain.
    ExpectHeader: "expect_header", REQUEST_SECTIONS, Pairs(':'), "{ Content-Type = 'html' }", Means("none");
    /// Texts that the answer's body must contain.
    ExpectBody: "expect_body", REQUEST_SECTIONS, List, "['Welcome']", Means("none");
    /// Values that the answer's JSON must have, by JSON pointer (RFC 6901).
    ExpectJson: "expect_json", REQUEST_SECTIONS, Values, "{ '/user/name' = 'anna', '/ok' = true }", Means("none");
    /// Values of the answer for later steps, see [Flows](#flows).
    Take: "take", &["flow.step"], Pairs('='), "{ token = 'json:/access_token' }", Means("none");
    /// Arrivals a second.
    Rate: "rate", &["load"], RATE, "1000", Means("none: one of rate, stages, connections and requests must be said");
    /// How long the load lasts.
    Duration: "duration", &["load"], TIME, "'2min'", Is("'30s'");
    /// Straight lines to a rate, or to a share of `rate`, one after the other; `article` is `30s:1% 30s:10% 30s:50% 30s:100% 60s:100%`.
    Stages: "stages", &["load"], List, "['30s:100', '30s:500']", Means("one, at the rate");
    /// How arrivals are spaced, also by a search: `even`, or `poisson`, at random as many users make them.
    Arrivals: "arrivals", &["load"], Text, "'poisson'", Is("'even'");
    /// A closed loop of so many connections, each of which waits for its answer; it cannot show a limit.
    Connections: "connections", &["load"], NUMBER, "64", Means("none; 50 if only `requests` is said");
    /// Ends after so many requests.
    Requests: "requests", &["load"], NUMBER, "10000", Means("none");
    /// Lowest rate, where the search starts.
    From: "from", FIND_SECTIONS, RATE, "100", Is("10");
    /// Highest rate.
    Max: "max", FIND_SECTIONS, RATE, "20000", Is("1000000");
    /// How well the limit is to be known: how far apart its bounds may be.
    Width: "width", FIND_SECTIONS, SHARE, "'5%'", Is("'2%'");
    /// How long one trial lasts.
    Trial: "trial", FIND_SECTIONS, TIME, "'5s'", Is("'10s'");
    /// How long all trials that decide a rate last together.
    Sum: "sum", FIND_SECTIONS, TIME, "'60s'", Means("three trials");
    /// One trial of 60 s for each rate, and a width of 1 %.
    Careful: "careful", FIND_SECTIONS, Flag, "true", Is("false");
    /// No trial may be bad at the rate that is said to hold; otherwise one of ten may.
    Strict: "strict", FIND_SECTIONS, Flag, "true", Is("false");
    /// The search ends after this long, with what it has.
    Budget: "budget", &["find"], TIME, "'10min'", Means("none");
    /// The most connections of an open loop; of a database all of them, as `pool`.
    MaxConnections: "connections", &["generator"], NUMBER, "500", Is("10000");
    /// The most arrivals not answered yet; one more is refused.
    MaxOutstanding: "outstanding", &["generator"], NUMBER, "1000", Is("20000");
    /// Connections to a database, all of them; only for a `postgres://` target.
    Pool: "pool", &["generator"], NUMBER, "32", Is("16");
    /// How late a request may be sent to save processor time; 0: not at all.
    Lateness: "lateness", &["generator"], TIME, "0", Is("'50us'");
    /// Processors to run on, of whatever the section is about; of torment one loop on each.
    Cores: "cores", &["generator", "service", "need", "postgres", "variant"], List, "[0, '2-3']", Means("any; torment has one loop");
    /// Send a request once more if the server closed its connection without a byte of an answer.
    Resend: "resend", &["generator"], Flag, "false", Is("true");
    /// The seed of everything random.
    Seed: "seed", &["generator"], NUMBER, "7", Is("1");
    /// Where the load is made: `here`, by processes on this machine; `ssh:HOST,USER@HOST`, by one on each; `join` or `join:HOST:PORT`, by workers that others start; `k8s` or `k8s:CONTEXT/NAMESPACE`, by pods.
    FleetOn: "on", &["fleet"], Text, "'ssh:node2,node3'", Means("in this process");
    /// How many make it, here, by join or as pods; `4..16`: 4 at first, and more before they are the limit.
    Workers: "workers", &["fleet"], NUMBER, "'4..16'", Means("`2`");
    /// How many processors each of them uses, one loop on each.
    WorkerCpus: "worker_cpus", &["fleet"], NUMBER, "2", Means("as many as `cores` says; without it one");
    /// From where the target is watched: `ssh:HOST,USER@HOST`; `join`, by watchers that others start; `k8s` or `k8s:CONTEXT/NAMESPACE`, by a pod on each node of its pods; `inside` or `inside:CONTEXT`, in its pods themselves.
    WatchOn: "watch_on", &["fleet"], Text, "'ssh:root@web'", Means("from this machine");
    /// How many watchers of join there are.
    Watchers: "watchers", &["fleet"], NUMBER, "2", Means("`1`");
    /// How long workers and watchers of join, or pods, are waited for.
    Wait: "wait", &["fleet"], TIME, "'5min'", Means("`\"2min\"`");
    /// Where torment is on the hosts of ssh.
    RemoteBinary: "remote_binary", &["fleet"], Text, "'~/bin/torment'", Means("on their path; if it is not, it is copied for the run");
    /// Watch the target; `false`: nothing is watched.
    On: "on", &["watch"], Flag, "false", Is("true");
    /// These processes and their children.
    Pid: "pid", &["watch"], List, "[4711]", Means("whoever listens at the target");
    /// The processes of this control group, a path below its mount.
    Cgroup: "cgroup", &["watch"], Text, "'/system.slice/app.service'", Means("as of `pid`");
    /// The processes whose command line contains this.
    CommandText: "command", &["watch"], Text, "'app.jar'", Means("as of `pid`");
    /// Ask this database what its sessions do (role `pg_monitor`).
    Postgres: "postgres", &["watch"], Text, "'postgres://me:{env:PGPASSWORD}@127.0.0.1/clinic'", Means("the target, if it is a PostgreSQL");
    /// Read these metrics once a second.
    Metrics: "metrics", &["watch"], Text, "'http://127.0.0.1:8081/actuator/prometheus'", Means("none");
    /// Ask a Java virtual machine where its threads stand, three times at most.
    Attach: "attach", &["watch"], Flag, "false", Is("true");
    /// A command that is run once before, to its end.
    Prepare: "prepare", PROGRAM_SECTIONS, Words, "'mvn -q package'", Means("none");
    /// The command; of a variant the one instead.
    Program: "command", VARIANT_SECTIONS, Words, "['java', '-jar', 'app.jar']", Means("none: only a variant may leave it out");
    /// Words added to the command.
    Args: "args", &["variant"], Words, "['-v']", Means("none");
    /// Where the commands are run.
    Folder: "folder", PROGRAM_SECTIONS, Text, "'../targets/app'", Means("the plan's folder");
    /// Variables added to torment's own; of a variant added, or instead of what is there.
    Env: "env", VARIANT_SECTIONS, Values, "{ SERVER_PORT = '8080' }", Means("none");
    /// Files below the folder and what is in them; put back as they were at the end.
    Files: "files", VARIANT_SECTIONS, Pairs('='), "{ 'conf/app.yml' = 'log: off' }", Means("none");
    /// When it is ready: a URL that answers with a status below 400, `port 8080`, `log Started` (a line of its output), or `started`, at once.
    Ready: "ready", PROGRAM_SECTIONS, Text, "'http://127.0.0.1:8080/health'", Means("of the service the port of the target's URL; of others `started`");
    /// How long it may take until it is ready.
    Within: "within", &["service", "need", "postgres"], TIME, "'2min'", Is("'60s'");
    /// The signal that ends it: `TERM`, `INT`, `QUIT`, `HUP` or `KILL`.
    Stop: "stop", PROGRAM_SECTIONS, Text, "'INT'", Is("'TERM'");
    /// How long after that signal it is killed.
    Grace: "grace", PROGRAM_SECTIONS, TIME, "'30s'", Is("'10s'");
    /// The processors that it and its children may use, as a quota.
    Cpus: "cpus", LIMIT_SECTIONS, NUMBER, "1.5", Means("no limit");
    /// The memory that they may use.
    Memory: "memory", LIMIT_SECTIONS, BYTES, "'2GiB'", Means("no limit");
    /// How many processes and threads they may be.
    Pids: "pids", LIMIT_SECTIONS, NUMBER, "500", Means("no limit");
    /// What is done between two measurements of one start: `sql`, the file that `[postgres]` names; `restart` everything; or `none`.
    Reset: "reset", &["service"], Text, "'restart'", Means("`sql`, if there is such a file, otherwise `none`");
    /// Its port at 127.0.0.1; the superuser `postgres` needs no password.
    Port: "port", &["postgres"], NUMBER, "54329", Must;
    /// The database that is made.
    DatabaseName: "database", &["postgres"], Text, "'clinic'", Is("'torment'");
    /// Files of SQL that are run in it, in this order.
    SeedFiles: "seed", &["postgres"], List, "['schema.sql', 'rows.sql']", Means("none");
    /// A file of SQL that puts the state back.
    ResetFile: "reset", &["postgres"], Text, "'truncate.sql'", Means("none");
    /// Settings of the PostgreSQL.
    Settings: "settings", &["postgres", "variant"], Values, "{ shared_buffers = '128MB' }", Means("its own");
    /// An existing folder, in which the data folder is made.
    DataFolder: "data", &["postgres", "variant"], Text, "'/mnt/fast'", Means("a temporary one");
    /// It is a level of this factor, for `cross`.
    Factor: "factor", &["variant"], Text, "'threads'", Means("none");
    /// Causes that it is said to move further out, as a diagnosis names them.
    Relieves: "relieves", &["variant"], List, "['workers']", Means("none");
    /// The `[[variant]]` that it is about, or crossed ones: `400 threads + pool of 20`.
    Variant: "variant", &["hypothesis"], Text, "'400 threads'", Must;
    /// What that is compared with.
    Baseline: "baseline", &["hypothesis"], Text, "'pool of 20'", Is("'baseline'");
    /// The request or flow that it is about.
    OnWorkload: "on", &["hypothesis"], Text, "'all'", Means("each of `workloads`");
    /// Requests and flows that are measured one by one; `all`: together, by weight.
    Workloads: "workloads", TRY_SECTIONS, List, "['all']", Means("all together");
    /// Factors of which all combinations of levels are tried: their effects and interactions.
    Cross: "cross", TRY_SECTIONS, List, "['threads', 'pool']", Means("none");
    /// What is compared: `capacity`, `throughput`, `p50`, `p99`, `max`, `cpu` (for each request), `memory` or `threads`.
    Measure: "measure", &["hypothesis", "try", "quick"], Text, "'p99'", Is("'capacity'");
    /// The loads at which it is measured: a share of the baseline's capacity, a rate, of a hypothesis also `1000 connections`; not for the capacity.
    At: "at", &["hypothesis", "try", "quick"], List, "'50%'", Means("of a hypothesis half of the capacity, otherwise none");
    /// The smallest effect worth having.
    Effect: "effect", &["hypothesis", "try", "quick"], SHARE, "'15%'", Is("'10%'");
    /// Closed loops that are measured of every arm, for the table.
    TryConnections: "connections", TRY_SECTIONS, List, "[1000, 5000]", Means("none");
    /// Measure the capacity of every arm, for the table.
    Capacity: "capacity", TRY_SECTIONS, Flag, "true", Means("where a hypothesis needs it");
    /// Starts of the baseline before the first block.
    Pilot: "pilot", TRY_SECTIONS, NUMBER, "2", Is("3");
    /// Blocks, of one start of each arm, before the first look.
    Least: "least", TRY_SECTIONS, NUMBER, "3", Is("4");
    /// The most blocks.
    Most: "most", TRY_SECTIONS, NUMBER, "6", Is("10");
    /// The experiment ends before a block that would not fit into this.
    TryBudget: "budget", TRY_SECTIONS, TIME, "'2h'", Means("none");
    /// The confidence of all verdicts together.
    Confidence: "confidence", TRY_SECTIONS, SHARE, "'90%'", Is("'95%'");
    /// Load before the first measurement of a start, until what the service does is level: so long at the most; 0: none.
    Warm: "warm", TRY_SECTIONS, TIME, "'5s'", Is("'20s'");
    /// How long a load is held.
    Hold: "hold", TRY_SECTIONS, TIME, "'30s'", Is("'10s'");
    /// A search for a capacity ends after this long, with what it has.
    Search: "search", TRY_SECTIONS, TIME, "'5min'", Means("as `budget` of `[find]`");
}
