mod experiment;
mod load;
mod setup;
mod toml_value;

use crate::error::Error;
use crate::{
    AnswerCheck, Draft, FleetPlan, Flow, Generator, HttpVersion, Key, Origin, Payload, Plan, PlanCommand,
    TemplatePiece,
};
use crate::{ExtractionSource, Request, StatusRange, Step, Target, Task, Template, WatchPlan, check};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use std::fmt::Write as _;
use toml_value::{ToToml, exact_goal, exact_time};

impl Plan {
    /// Parses a plan that needs no other file, such as one printed by [`Plan::to_toml`].
    ///
    /// # Errors
    /// As [`Draft::from_toml`] and [`Draft::check`].
    pub fn from_toml(text: &str, command: PlanCommand) -> Result<Self, Error> {
        let refuse = &mut |file: &str| Err(format!("'{file}' cannot be read here"));
        Draft::from_toml("plan", text)?.check(command, refuse)
    }

    /// The command that carries it out.
    pub fn command(&self) -> PlanCommand {
        match self.task {
            Task::Run(_) => PlanCommand::Run,
            Task::Find(_) => PlanCommand::Find,
            Task::Try(_) => PlanCommand::Try,
        }
    }

    /// The target as typed, without a password; with the path, if there is only one request.
    pub fn url(&self) -> String {
        self.target_url(false)
    }

    fn target_url(&self, with_password: bool) -> String {
        let single = self.single().and_then(Step::request).map(|request| request.path.to_string());
        // A path that begins with a placeholder cannot follow a host.
        let path = single.as_deref().filter(|path| path.starts_with('/')).unwrap_or("");
        match &self.target {
            Target::Demo => format!("demo{path}"),
            Target::Null => format!("null{path}"),
            Target::Http(origin) => format!("{origin}{}", if path.is_empty() { "/" } else { path }),
            Target::Sql(database) => database.url(with_password),
        }
    }

    /// The only request, if nothing else is sent.
    pub(crate) fn single(&self) -> Option<&Step> {
        match self.flows.as_slice() {
            [flow] if flow.is_request() => flow.steps.first(),
            _ => None,
        }
    }

    /// The checked plan with every default filled in; [`Plan::from_toml`] parses it back to the same plan. It
    /// contains body files, but no data files, secrets or environment values.
    pub fn to_toml(&self) -> String {
        let mut out = TomlWriter(String::new());
        out.put(Key::Goal, exact_goal(&self.objective));

        out.section("[target]");
        out.put(Key::Url, self.target_url(true));
        if let Target::Http(origin) = &self.target {
            out.origin(origin);
        }
        for data in &self.data {
            out.section(&format!("[data.{}]", data.name));
            out.put(Key::DataFile, &data.file);
            out.put(Key::Order, data.order.name());
        }
        match (self.single(), &self.flows[..]) {
            (Some(step), [flow]) => {
                out.section("[request]");
                out.put(Key::Name, Some(&flow.name).filter(|name| **name != check::default_name(&step.ask)));
                out.put(Key::Weight, Some(flow.weight).filter(|weight| *weight != 1.0));
                // The path is in the target's URL, unless it cannot be.
                let path = step.request().map(|request| request.path.to_string());
                out.step(step, path.filter(|path| path.starts_with('{')));
            }
            (_, flows) => flows.iter().for_each(|flow| out.flow(flow)),
        }
        match &self.task {
            Task::Run(load) => out.load(load),
            Task::Try(experiment) => out.find(&experiment.find),
            Task::Find(find) => out.find(find),
        }
        out.generator(&self.generator);
        out.fleet(&self.fleet);
        out.watch(&self.watch, &self.target);
        if let Some(setup) = &self.setup {
            out.setup(setup);
        }
        if let Task::Try(experiment) = &self.task {
            out.experiment(experiment);
        }
        out.0
    }
}

impl Flow {
    /// Whether it can be written as a `[[request]]`.
    pub(crate) fn is_request(&self) -> bool {
        self.is_plain() && self.name == self.steps[0].name
    }
}

impl Request {
    /// User and password of basic authorization, if given as such: it is then the last header.
    fn basic(&self) -> Option<&Template> {
        let (name, value) = self.headers.last()?;
        match value.pieces.as_slice() {
            [TemplatePiece::Literal(scheme), TemplatePiece::Base64(basic)]
                if name == "Authorization" && scheme == b"Basic " =>
            {
                Some(basic)
            }
            _ => None,
        }
    }
}

struct TomlWriter(String);

impl TomlWriter {
    fn section(&mut self, name: &str) {
        let _ = writeln!(self.0, "\n{name}");
    }

    /// Writes a key with its value, if it has one.
    fn put(&mut self, key: Key, value: impl ToToml) {
        if let Some(value) = value.to_toml() {
            let _ = writeln!(self.0, "{} = {value}", key.name());
        }
    }

    fn texts(&mut self, key: Key, values: impl Iterator<Item = String>) {
        self.put(key, values.collect::<Vec<_>>());
    }

    fn origin(&mut self, origin: &Origin) {
        self.put(Key::UnixSocket, origin.unix_socket.as_ref().map(|socket| socket.to_string_lossy()));
        self.put(Key::Insecure, origin.insecure.then_some(true));
        let version = match origin.http {
            HttpVersion::Either => None,
            HttpVersion::One => Some("1"),
            HttpVersion::Two => Some("2"),
        };
        self.put(Key::Http, version);
        self.put(Key::Streams, Some(origin.streams).filter(|streams| *streams != Origin::DEFAULT_STREAMS));
    }

    fn flow(&mut self, flow: &Flow) {
        let is_request = flow.is_request();
        self.section(if is_request { "[[request]]" } else { "[[flow]]" });
        self.put(Key::Name, &flow.name);
        self.put(Key::Weight, flow.weight);
        self.put(Key::Cookies, (!is_request).then_some(flow.cookies));
        for step in &flow.steps {
            if !is_request {
                self.section("[[flow.step]]");
                self.put(Key::Name, &step.name);
            }
            let think = step.think.map(|(least, most)| match (exact_time(least), exact_time(most)) {
                (least, most) if least == most => most,
                (least, most) => format!("{least}..{most}"),
            });
            self.put(Key::Think, think);
            self.step(step, step.request().map(|request| request.path.to_string()));
        }
    }

    fn step(&mut self, step: &Step, path: Option<String>) {
        self.put(Key::Path, path);
        match &step.ask {
            Payload::Http(request) => self.request(request),
            Payload::Sql(statement) => self.put(Key::Sql, statement.to_text()),
        }
        self.texts(Key::Take, step.takes.iter().map(|take| format!("{}={}", take.name, take.from)));
        self.put(Key::Timeout, step.timeout);
        if let Some(request) = step.request() {
            self.expected(request);
        }
    }

    fn request(&mut self, request: &Request) {
        self.put(Key::Method, &request.method);
        let basic = request.basic();
        let headers = &request.headers[..request.headers.len() - usize::from(basic.is_some())];
        self.texts(Key::Headers, headers.iter().map(|(name, value)| format!("{name}: {value}")));
        self.put(Key::Basic, basic);
        match String::from_utf8(request.body.to_bytes()) {
            Ok(text) => self.put(Key::Body, Some(text).filter(|text| !text.is_empty())),
            Err(bytes) => self.put(Key::BodyBase64, BASE64_STANDARD.encode(bytes.as_bytes())),
        }
    }

    fn expected(&mut self, request: &Request) {
        self.texts(Key::ExpectStatus, request.expect.iter().map(StatusRange::to_string));
        let (mut headers, mut bodies, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for check in &request.checks {
            match check {
                AnswerCheck::Header(name, value) => headers.push(format!("{name}: {value}")),
                AnswerCheck::Body(text) => bodies.push(text.clone()),
                AnswerCheck::Json(pointer, value) => values.push(format!("{pointer}={value}")),
            }
        }
        self.put(Key::ExpectHeader, headers);
        self.put(Key::ExpectBody, bodies);
        self.put(Key::ExpectJson, values);
    }

    fn generator(&mut self, generator: &Generator) {
        self.section("[generator]");
        let Generator { connections, outstanding, cores, lateness, resend, seed } = generator;
        self.put(Key::MaxConnections, connections);
        self.put(Key::MaxOutstanding, outstanding);
        self.put(Key::Lateness, lateness);
        self.put(Key::Cores, cores);
        self.put(Key::Resend, (!resend).then_some(false));
        // TOML integers end at 2⁶³.
        match i64::try_from(*seed) {
            Ok(_) => self.put(Key::Seed, seed),
            Err(_) => self.put(Key::Seed, seed.to_string()),
        }
    }

    /// Writes only what was given.
    fn fleet(&mut self, fleet: &FleetPlan) {
        if *fleet == FleetPlan::default() {
            return;
        }
        self.section("[fleet]");
        let FleetPlan { on, workers, worker_cpus, watch_on, watchers, wait, remote_binary } = fleet;
        self.put(Key::FleetOn, on.as_ref().map(ToString::to_string));
        match *workers {
            Some((least, most)) if least == most => self.put(Key::Workers, least),
            workers => self.put(Key::Workers, workers.map(|(least, most)| format!("{least}..{most}"))),
        }
        self.put(Key::WorkerCpus, *worker_cpus);
        self.put(Key::WatchOn, watch_on.as_ref().map(ToString::to_string));
        self.put(Key::Watchers, *watchers);
        self.put(Key::Wait, *wait);
        self.put(Key::RemoteBinary, remote_binary);
    }

    /// Writes what differs from the defaults.
    fn watch(&mut self, watch: &WatchPlan, target: &Target) {
        let WatchPlan { on, pids, cgroup, command, postgres, metrics, attach } = watch;
        let own = if let Target::Sql(database) = target { Some(database) } else { None };
        let postgres = postgres.as_ref().filter(|database| own != Some(*database));
        if *watch == (WatchPlan { postgres: watch.postgres.clone(), ..WatchPlan::default() })
            && postgres.is_none()
        {
            return;
        }
        self.section("[watch]");
        self.put(Key::On, (!on).then_some(false));
        self.put(Key::Pid, pids);
        self.put(Key::Cgroup, cgroup);
        self.put(Key::CommandText, command);
        self.put(Key::Postgres, postgres.map(|database| database.url(true)));
        self.put(Key::Metrics, metrics.as_ref().map(ToString::to_string));
        self.put(Key::Attach, (!attach).then_some(false));
    }
}

/// In the syntax of plan files.
impl std::fmt::Display for ExtractionSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Json(pointer) => write!(f, "json:{pointer}"),
            Self::Regex(pattern) => write!(f, "regex:{pattern}"),
            Self::Header(name) => write!(f, "header:{name}"),
            Self::Cookie(name) => write!(f, "cookie:{name}"),
        }
    }
}
