mod exact;
mod experiment;
mod load;
mod setup;

use crate::error::Error;
use crate::{Ask, check};
use crate::{
    Check, Command, Draft, Flow, Generator, HttpVersion, Origin, Piece, Plan, Request, Step, TakeFrom,
    Target, Task, Template, Watch,
};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use exact::{exact_goal, exact_time, quoted};
use std::fmt::Write as _;

impl Plan {
    /// Reads a plan that needs no other file, such as one printed by [`Plan::to_toml`].
    ///
    /// # Errors
    /// As [`Draft::from_toml`] and [`Draft::check`].
    pub fn from_toml(text: &str, command: Command) -> Result<Self, Error> {
        let refuse = &mut |file: &str| Err(format!("'{file}' cannot be read here"));
        Draft::from_toml("plan", text)?.check(command, refuse)
    }

    /// Which command does this.
    pub fn command(&self) -> Command {
        match self.task {
            Task::Run(_) => Command::Run,
            Task::Find(_) => Command::Find,
            Task::Try(_) => Command::Try,
        }
    }

    /// The target as it is typed, without a password; with the path, if there is one request only.
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

    /// The plan as understood, with every default filled in; [`Plan::from_toml`] reads it back as it was.
    /// A body file is in it; data files, secrets and values of the environment are not.
    pub fn to_toml(&self) -> String {
        let mut out = Lines(String::new());
        out.text("goal", &exact_goal(&self.objective));

        out.section("[target]");
        out.text("url", &self.target_url(true));
        if let Target::Http(origin) = &self.target {
            out.origin(origin);
        }
        for data in &self.data {
            out.section(&format!("[data.{}]", data.name));
            out.text("file", &data.file);
            out.text("order", data.order.name());
        }
        match (self.single(), &self.flows[..]) {
            (Some(step), [flow]) => {
                out.section("[request]");
                if flow.name != check::default_name(&step.ask) {
                    out.text("name", &flow.name);
                }
                if flow.weight != 1.0 {
                    out.raw("weight", flow.weight);
                }
                // The target's URL says where, unless it cannot.
                let path = step.request().map(|request| request.path.to_string());
                out.step(step, path.filter(|path| path.starts_with('{')).as_deref());
            }
            (_, flows) => flows.iter().for_each(|flow| out.flow(flow)),
        }
        match &self.task {
            Task::Run(load) => out.load(load),
            Task::Try(experiment) => out.find(&experiment.find),
            Task::Find(find) => out.find(find),
        }
        out.generator(&self.generator);
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
    /// User and password of basic authorization, if it is said as such: it is the last header then.
    fn basic(&self) -> Option<&Template> {
        let (name, value) = self.headers.last()?;
        match value.pieces.as_slice() {
            [Piece::Literal(scheme), Piece::Base64(basic)]
                if name == "Authorization" && scheme == b"Basic " =>
            {
                Some(basic)
            }
            _ => None,
        }
    }
}

struct Lines(String);

impl Lines {
    fn section(&mut self, name: &str) {
        let _ = writeln!(self.0, "\n{name}");
    }

    fn raw(&mut self, key: &str, value: impl std::fmt::Display) {
        let _ = writeln!(self.0, "{key} = {value}");
    }

    fn text(&mut self, key: &str, value: &str) {
        self.raw(key, quoted(value));
    }

    fn list(&mut self, key: &str, values: impl Iterator<Item = String>) {
        self.raw(key, format_args!("[{}]", values.collect::<Vec<_>>().join(", ")));
    }

    /// A list, if there is anything in it.
    fn texts(&mut self, key: &str, values: impl Iterator<Item = String>) {
        let values: Vec<String> = values.map(|value| quoted(&value)).collect();
        if !values.is_empty() {
            self.list(key, values.into_iter());
        }
    }

    fn origin(&mut self, origin: &Origin) {
        if let Some(socket) = &origin.unix_socket {
            self.text("unix_socket", &socket.to_string_lossy());
        }
        if origin.insecure {
            self.raw("insecure", "true");
        }
        match origin.http {
            HttpVersion::Either => {}
            HttpVersion::One => self.text("http", "1"),
            HttpVersion::Two => self.text("http", "2"),
        }
        if origin.streams != Origin::STREAMS {
            self.raw("streams", origin.streams);
        }
    }

    fn flow(&mut self, flow: &Flow) {
        let is_request = flow.is_request();
        self.section(if is_request { "[[request]]" } else { "[[flow]]" });
        self.text("name", &flow.name);
        self.raw("weight", flow.weight);
        if !is_request {
            self.raw("cookies", flow.cookies);
        }
        for step in &flow.steps {
            if !is_request {
                self.section("[[flow.step]]");
                self.text("name", &step.name);
            }
            match step.think {
                None => {}
                Some((least, most)) if least == most => self.text("think", &exact_time(least)),
                Some((least, most)) => {
                    self.text("think", &format!("{}..{}", exact_time(least), exact_time(most)));
                }
            }
            let path = step.request().map(|request| request.path.to_string());
            self.step(step, path.as_deref());
        }
    }

    fn step(&mut self, step: &Step, path: Option<&str>) {
        if let Some(path) = path {
            self.text("url", path);
        }
        match &step.ask {
            Ask::Http(request) => self.request(request),
            Ask::Sql(statement) => self.text("sql", &statement.to_text()),
        }
        self.texts("take", step.takes.iter().map(|take| format!("{}={}", take.name, take.from)));
        self.text("timeout", &exact_time(step.timeout));
        if let Some(request) = step.request() {
            self.expected(request);
        }
    }

    fn request(&mut self, request: &Request) {
        self.text("method", &request.method);
        let basic = request.basic();
        let headers = &request.headers[..request.headers.len() - usize::from(basic.is_some())];
        self.texts("headers", headers.iter().map(|(name, value)| format!("{name}: {value}")));
        if let Some(basic) = basic {
            self.text("basic", &basic.to_string());
        }
        match String::from_utf8(request.body.to_bytes()) {
            Ok(text) if text.is_empty() => {}
            Ok(text) => self.text("body", &text),
            Err(bytes) => self.text("body_base64", &BASE64_STANDARD.encode(bytes.as_bytes())),
        }
    }

    fn expected(&mut self, request: &Request) {
        self.list("expect_status", request.expect.iter().map(|range| quoted(&range.to_string())));
        let checks = |text: fn(&Check) -> Option<String>| request.checks.iter().filter_map(text);
        self.texts(
            "expect_header",
            checks(|check| match check {
                Check::Header(name, value) => Some(format!("{name}: {value}")),
                _ => None,
            }),
        );
        self.texts(
            "expect_body",
            checks(|check| if let Check::Body(text) = check { Some(text.clone()) } else { None }),
        );
        self.texts(
            "expect_json",
            checks(|check| match check {
                Check::Json(pointer, value) => Some(format!("{pointer}={value}")),
                _ => None,
            }),
        );
    }

    fn generator(&mut self, generator: &Generator) {
        self.section("[generator]");
        let Generator { connections, outstanding, cores, lateness, resend, seed } = generator;
        self.raw("connections", connections);
        self.raw("outstanding", outstanding);
        self.text("lateness", &exact_time(*lateness));
        if !cores.is_empty() {
            self.list("cores", cores.iter().map(u32::to_string));
        }
        if !resend {
            self.raw("resend", false);
        }
        // TOML's whole numbers end at 2⁶³.
        match i64::try_from(*seed) {
            Ok(seed) => self.raw("seed", seed),
            Err(_) => self.text("seed", &seed.to_string()),
        }
    }
}

impl Lines {
    /// What is not as by default.
    fn watch(&mut self, watch: &Watch, target: &Target) {
        let Watch { on, pids, cgroup, command, postgres, metrics, attach } = watch;
        let own = if let Target::Sql(database) = target { Some(database) } else { None };
        let postgres = postgres.as_ref().filter(|database| own != Some(*database));
        if *watch == (Watch { postgres: watch.postgres.clone(), ..Watch::default() }) && postgres.is_none() {
            return;
        }
        self.section("[watch]");
        if !on {
            self.raw("on", "false");
        }
        if !pids.is_empty() {
            self.list("pid", pids.iter().map(u32::to_string));
        }
        if let Some(cgroup) = cgroup {
            self.text("cgroup", cgroup);
        }
        if let Some(command) = command {
            self.text("command", command);
        }
        if let Some(database) = postgres {
            self.text("postgres", &database.url(true));
        }
        if let Some(endpoint) = metrics {
            self.text("metrics", &endpoint.to_string());
        }
        if !attach {
            self.raw("attach", "false");
        }
    }
}

/// As it is read.
impl std::fmt::Display for TakeFrom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Json(pointer) => write!(f, "json:{pointer}"),
            Self::Regex(pattern) => write!(f, "regex:{pattern}"),
            Self::Header(name) => write!(f, "header:{name}"),
            Self::Cookie(name) => write!(f, "cookie:{name}"),
        }
    }
}
