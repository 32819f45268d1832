use crate::{
    Arrivals, Command, Draft, Error, Generator, Load, Objective, Plan, Stage, Target, Task, Template,
};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use std::fmt::Write as _;
use units::{Nanos, Rate, Share};

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
        }
    }

    /// The target with its path, as it is typed.
    pub fn url(&self) -> String {
        let path = self.flows[0].steps[0].request().map(|r| r.path.to_string()).unwrap_or_default();
        match &self.target {
            Target::Demo => format!("demo{path}"),
            Target::Null => format!("null{path}"),
            Target::Http(origin) => format!("{origin}{path}"),
            Target::Sql(_) => String::new(),
        }
    }

    /// The plan as understood, with every default filled in; [`Plan::from_toml`] reads it back as it was.
    /// A body file is in it, CSV files are not.
    pub fn to_toml(&self) -> String {
        let mut out = Lines(String::new());
        out.text("goal", &exact_goal(&self.objective));

        out.section("target");
        out.text("url", &self.url());
        if let Target::Http(origin) = &self.target {
            if let Some(socket) = &origin.unix_socket {
                out.text("unix_socket", &socket.to_string_lossy());
            }
            if origin.insecure {
                out.raw("insecure", "true");
            }
        }

        out.section("request");
        let step = &self.flows[0].steps[0];
        let request = step.request().expect("HTTP");
        out.text("method", &request.method);
        if !request.headers.is_empty() {
            let line = |(name, value): &(String, Template)| quoted(&format!("{name}: {value}"));
            out.list("headers", request.headers.iter().map(line));
        }
        match String::from_utf8(request.body.to_bytes()) {
            Ok(text) if text.is_empty() => {}
            Ok(text) => out.text("body", &text),
            Err(bytes) => out.text("body_base64", &BASE64_STANDARD.encode(bytes.as_bytes())),
        }
        out.text("timeout", &exact_time(step.timeout));
        out.list("expect_status", request.expect.iter().map(|range| quoted(&range.to_string())));

        match &self.task {
            Task::Run(load) => out.load(load),
            Task::Find(find) => {
                out.section("load");
                out.arrivals(find.arrivals);
                out.section("find");
                out.raw("from", exact_rate(find.from));
                out.raw("max", exact_rate(find.max));
                out.raw("width", exact_share(find.width));
                out.text("trial", &exact_time(find.trial));
                out.text("sum", &exact_time(find.sum));
                if let Some(budget) = find.budget {
                    out.text("budget", &exact_time(budget));
                }
            }
        }

        out.section("generator");
        let Generator { connections, outstanding, cores, lateness: _, seed } = &self.generator;
        out.raw("connections", connections);
        out.raw("outstanding", outstanding);
        if !cores.is_empty() {
            out.list("cores", cores.iter().map(u32::to_string));
        }
        // TOML's whole numbers end at 2⁶³.
        match i64::try_from(*seed) {
            Ok(seed) => out.raw("seed", seed),
            Err(_) => out.text("seed", &seed.to_string()),
        }
        out.0
    }
}

struct Lines(String);

impl Lines {
    fn section(&mut self, name: &str) {
        let _ = writeln!(self.0, "\n[{name}]");
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

    fn arrivals(&mut self, arrivals: Arrivals) {
        self.text("arrivals", arrivals.name());
    }

    fn load(&mut self, load: &Load) {
        self.section("load");
        match load {
            Load::Open { stages, arrivals } => {
                match stages.as_slice() {
                    [Stage { duration, from, to }] if from == to => {
                        self.raw("rate", exact_rate(*from));
                        self.text("duration", &exact_time(*duration));
                    }
                    stages => self.list("stages", stage_texts(stages).iter().map(|stage| quoted(stage))),
                }
                self.arrivals(*arrivals);
            }
            Load::Closed { connections, requests, duration } => {
                self.raw("connections", connections);
                if let Some(requests) = requests {
                    self.raw("requests", requests);
                }
                if let Some(duration) = duration {
                    self.text("duration", &exact_time(*duration));
                }
            }
        }
    }
}

/// A stage that does not start where the last one ended needs a jump before it.
fn stage_texts(stages: &[Stage]) -> Vec<String> {
    let (mut texts, mut level) = (Vec::new(), Rate::ZERO);
    for stage in stages {
        if stage.from != level {
            texts.push(format!("0s:{}", exact_rate(stage.from)));
        }
        texts.push(format!("{}:{}", exact_time(stage.duration), exact_rate(stage.to)));
        level = stage.to;
    }
    texts
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// In the largest unit that holds it without a fraction.
fn exact_time(time: Nanos) -> String {
    let units = [
        ("h", 3_600_000_000_000),
        ("m", 60_000_000_000),
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
        ("us", 1_000),
    ];
    // One minute reads better as 60s.
    let fits = |&&(_, size): &&(&str, u64)| {
        time.0 >= 2 * size && time.0.is_multiple_of(size) || size == 1_000_000_000 && time.0 == size
    };
    match units.iter().find(fits) {
        Some((unit, size)) => format!("{}{unit}", time.0 / size),
        None => format!("{}ns", time.0),
    }
}

fn exact_rate(rate: Rate) -> String {
    rate.0.to_string()
}

fn exact_share(share: Share) -> String {
    share.0.to_string()
}

fn exact_goal(goal: &Objective) -> String {
    let shown = goal.to_string();
    if shown.parse().as_ref() == Ok(goal) {
        return shown;
    }
    match goal.deadline {
        None => format!("loss<{}", exact_share(goal.loss)),
        Some(deadline) => {
            let percentile = format!("{:.6}", 100.0 - goal.loss.0 * 100.0);
            let percentile = percentile.trim_end_matches('0').trim_end_matches('.');
            format!("p{percentile}<{}", exact_time(deadline))
        }
    }
}
