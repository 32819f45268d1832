//! Every word that a plan file may hold, and where.

/// Everything that can be said in a plan; most are an option of the command line too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "named as in the file; the crate's page describes each")]
pub enum Key {
    Goal,
    Url,
    UnixSocket,
    Insecure,
    Http,
    Streams,
    Basic,
    Bearer,
    Headers,
    DataFile,
    Order,
    Name,
    Weight,
    Cookies,
    Think,
    Path,
    Sql,
    Method,
    Body,
    BodyFile,
    BodyBase64,
    Form,
    Timeout,
    ExpectStatus,
    ExpectHeader,
    ExpectBody,
    ExpectJson,
    Take,
    Rate,
    Duration,
    Stages,
    Arrivals,
    Connections,
    Requests,
    From,
    Max,
    Width,
    Trial,
    Sum,
    Careful,
    Budget,
    MaxConnections,
    MaxOutstanding,
    Pool,
    Lateness,
    Cores,
    Seed,
    On,
    Pid,
    Cgroup,
    CommandText,
    Postgres,
    Metrics,
    Attach,
    Prepare,
    Program,
    Args,
    Folder,
    Env,
    Files,
    Ready,
    Within,
    Stop,
    Grace,
    Cpus,
    Memory,
    Pids,
    Reset,
    Port,
    DatabaseName,
    SeedFiles,
    ResetFile,
    Settings,
    DataFolder,
    Factor,
    Relieves,
    Variant,
    Baseline,
    OnWorkload,
    Measure,
    At,
    Effect,
    Workloads,
    Cross,
    TryConnections,
    Capacity,
    Pilot,
    Least,
    Most,
    TryBudget,
    Confidence,
    Warm,
    Hold,
    Search,
}

/// Which shapes of TOML values a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A string.
    Text,
    /// A string or a number.
    Quantity,
    /// A boolean.
    Flag,
    /// A string, a number, or an array of them.
    List,
    /// An array of strings, or one string that is split as a shell does.
    Words,
    /// A table of strings, or an array of strings with this between name and value.
    Pairs(char),
    /// As pairs with `=`, and values may be booleans.
    Values,
}

/// `[request]`, each `[[request]]` and each `[[flow.step]]` know the same words.
const ASKS: &[&str] = &["request", "flow.step"];
/// So do `[service]` and each `[need.NAME]`,
const PROGRAMS: &[&str] = &["service", "need"];
/// of which a `[[variant]]` changes some.
const CHANGED: &[&str] = &["service", "need", "variant"];
/// Whatever is started can be limited.
const LIMITED: &[&str] = &["service", "need", "postgres", "variant"];
/// `[quick]` says anew what `[try]` and `[find]` say.
const TRIES: &[&str] = &["try", "quick"];
const FINDS: &[&str] = &["find", "quick"];

impl Key {
    /// Key, sections of the file (the top has no name), name in it, shape. Sections come in the
    /// order in which messages name them.
    pub(crate) const ALL: [(Self, &'static [&'static str], &'static str, Kind); 94] = [
        (Self::Goal, &[""], "goal", Kind::Text),
        (Self::Url, &["target"], "url", Kind::Text),
        (Self::UnixSocket, &["target"], "unix_socket", Kind::Text),
        (Self::Insecure, &["target"], "insecure", Kind::Flag),
        (Self::Http, &["target"], "http", Kind::Quantity),
        (Self::Streams, &["target"], "streams", Kind::Quantity),
        (Self::Basic, &["target", "request", "flow.step"], "basic", Kind::Text),
        (Self::Bearer, &["target", "request", "flow.step"], "bearer", Kind::Text),
        (Self::Headers, &["target", "request", "flow.step"], "headers", Kind::Pairs(':')),
        (Self::DataFile, &["data"], "file", Kind::Text),
        (Self::Order, &["data"], "order", Kind::Text),
        (Self::Name, &["request", "flow", "flow.step", "variant", "hypothesis"], "name", Kind::Text),
        (Self::Weight, &["request", "flow"], "weight", Kind::Quantity),
        (Self::Cookies, &["flow"], "cookies", Kind::Flag),
        (Self::Think, &["flow.step"], "think", Kind::Text),
        (Self::Path, ASKS, "url", Kind::Text),
        (Self::Sql, ASKS, "sql", Kind::Text),
        (Self::Method, ASKS, "method", Kind::Text),
        (Self::Body, ASKS, "body", Kind::Text),
        (Self::BodyFile, ASKS, "body_file", Kind::Text),
        (Self::BodyBase64, ASKS, "body_base64", Kind::Text),
        (Self::Form, ASKS, "form", Kind::Pairs('=')),
        (Self::Timeout, ASKS, "timeout", Kind::Quantity),
        (Self::ExpectStatus, ASKS, "expect_status", Kind::List),
        (Self::ExpectHeader, ASKS, "expect_header", Kind::Pairs(':')),
        (Self::ExpectBody, ASKS, "expect_body", Kind::List),
        (Self::ExpectJson, ASKS, "expect_json", Kind::Values),
        (Self::Take, &["flow.step"], "take", Kind::Pairs('=')),
        (Self::Rate, &["load"], "rate", Kind::Quantity),
        (Self::Duration, &["load"], "duration", Kind::Quantity),
        (Self::Stages, &["load"], "stages", Kind::List),
        (Self::Arrivals, &["load"], "arrivals", Kind::Text),
        (Self::Connections, &["load"], "connections", Kind::Quantity),
        (Self::Requests, &["load"], "requests", Kind::Quantity),
        (Self::From, FINDS, "from", Kind::Quantity),
        (Self::Max, FINDS, "max", Kind::Quantity),
        (Self::Width, FINDS, "width", Kind::Quantity),
        (Self::Trial, FINDS, "trial", Kind::Quantity),
        (Self::Sum, FINDS, "sum", Kind::Quantity),
        (Self::Careful, FINDS, "careful", Kind::Flag),
        (Self::Budget, &["find"], "budget", Kind::Quantity),
        (Self::MaxConnections, &["generator"], "connections", Kind::Quantity),
        (Self::MaxOutstanding, &["generator"], "outstanding", Kind::Quantity),
        (Self::Pool, &["generator"], "pool", Kind::Quantity),
        (Self::Lateness, &["generator"], "lateness", Kind::Quantity),
        (Self::Cores, &["generator", "service", "need", "postgres", "variant"], "cores", Kind::List),
        (Self::Seed, &["generator"], "seed", Kind::Quantity),
        (Self::On, &["watch"], "on", Kind::Flag),
        (Self::Pid, &["watch"], "pid", Kind::List),
        (Self::Cgroup, &["watch"], "cgroup", Kind::Text),
        (Self::CommandText, &["watch"], "command", Kind::Text),
        (Self::Postgres, &["watch"], "postgres", Kind::Text),
        (Self::Metrics, &["watch"], "metrics", Kind::Text),
        (Self::Attach, &["watch"], "attach", Kind::Flag),
        (Self::Prepare, PROGRAMS, "prepare", Kind::Words),
        (Self::Program, CHANGED, "command", Kind::Words),
        (Self::Args, &["variant"], "args", Kind::Words),
        (Self::Folder, PROGRAMS, "folder", Kind::Text),
        (Self::Env, CHANGED, "env", Kind::Values),
        (Self::Files, CHANGED, "files", Kind::Pairs('=')),
        (Self::Ready, PROGRAMS, "ready", Kind::Text),
        (Self::Within, &["service", "need", "postgres"], "within", Kind::Quantity),
        (Self::Stop, PROGRAMS, "stop", Kind::Text),
        (Self::Grace, PROGRAMS, "grace", Kind::Quantity),
        (Self::Cpus, LIMITED, "cpus", Kind::Quantity),
        (Self::Memory, LIMITED, "memory", Kind::Quantity),
        (Self::Pids, LIMITED, "pids", Kind::Quantity),
        (Self::Reset, &["service"], "reset", Kind::Text),
        (Self::Port, &["postgres"], "port", Kind::Quantity),
        (Self::DatabaseName, &["postgres"], "database", Kind::Text),
        (Self::SeedFiles, &["postgres"], "seed", Kind::List),
        (Self::ResetFile, &["postgres"], "reset", Kind::Text),
        (Self::Settings, &["postgres", "variant"], "settings", Kind::Values),
        (Self::DataFolder, &["postgres", "variant"], "data", Kind::Text),
        (Self::Factor, &["variant"], "factor", Kind::Text),
        (Self::Relieves, &["variant"], "relieves", Kind::List),
        (Self::Variant, &["hypothesis"], "variant", Kind::Text),
        (Self::Baseline, &["hypothesis"], "baseline", Kind::Text),
        (Self::OnWorkload, &["hypothesis"], "on", Kind::Text),
        (Self::Workloads, TRIES, "workloads", Kind::List),
        (Self::Cross, TRIES, "cross", Kind::List),
        (Self::Measure, &["hypothesis", "try", "quick"], "measure", Kind::Text),
        (Self::At, &["hypothesis", "try", "quick"], "at", Kind::List),
        (Self::Effect, &["hypothesis", "try", "quick"], "effect", Kind::Quantity),
        (Self::TryConnections, TRIES, "connections", Kind::List),
        (Self::Capacity, TRIES, "capacity", Kind::Flag),
        (Self::Pilot, TRIES, "pilot", Kind::Quantity),
        (Self::Least, TRIES, "least", Kind::Quantity),
        (Self::Most, TRIES, "most", Kind::Quantity),
        (Self::TryBudget, TRIES, "budget", Kind::Quantity),
        (Self::Confidence, TRIES, "confidence", Kind::Quantity),
        (Self::Warm, TRIES, "warm", Kind::Quantity),
        (Self::Hold, TRIES, "hold", Kind::Quantity),
        (Self::Search, TRIES, "search", Kind::Quantity),
    ];

    /// The sections at the top of a file, in the order of its page.
    pub(crate) const SECTIONS: [&'static str; 15] = [
        "target",
        "data",
        "request",
        "flow",
        "load",
        "find",
        "generator",
        "watch",
        "service",
        "postgres",
        "need",
        "variant",
        "hypothesis",
        "try",
        "quick",
    ];

    /// The key of this name in a section, and the shape of its value.
    pub(crate) fn of(section: &str, name: &str) -> Option<(Self, Kind)> {
        let is_it =
            |(_, sections, n, _): &&(Self, &[&str], &str, Kind)| *n == name && sections.contains(&section);
        Self::ALL.iter().find(is_it).map(|(key, _, _, kind)| (*key, *kind))
    }

    /// The names of all keys of a section.
    pub(crate) fn names(section: &str) -> impl Iterator<Item = &'static str> + Clone {
        Self::ALL
            .iter()
            .filter(move |(_, sections, ..)| sections.contains(&section))
            .map(|(_, _, name, _)| *name)
    }

    /// The name in plan files.
    pub(crate) fn name(self) -> &'static str {
        let entry = Self::ALL.iter().find(|(key, ..)| *key == self);
        entry.map_or("", |(_, _, name, _)| name)
    }

    /// Whether it says something of a request or step.
    pub(crate) fn is_of_request(self) -> bool {
        self.is_of("flow.step")
    }

    /// Whether it may stand in this section.
    pub(crate) fn is_of(self, section: &str) -> bool {
        Self::ALL.iter().any(|(key, sections, ..)| *key == self && sections.contains(&section))
    }
}

/// A section as it is written.
pub(crate) fn bracketed(section: &str) -> String {
    match section {
        "" => "at the top".to_owned(),
        "flow" | "flow.step" | "variant" | "hypothesis" => format!("in [[{section}]]"),
        "data" | "need" => format!("in [{section}.NAME]"),
        _ => format!("in [{section}]"),
    }
}
