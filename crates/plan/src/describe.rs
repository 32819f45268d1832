mod experiment;

use crate::bind::planned_arrivals;
use crate::load::numbered;
use crate::{
    Arrivals, DataSet, FleetPlace, FleetPlan, Flow, HttpVersion, Load, LoadLevel, Objective, Payload, Plan,
    Request, RowOrder, SearchPlan, Stage, StatusRange,
};
use crate::{Origin, Step, Target, Task, WatchPlan};
use experiment::{describe_experiment, describe_held, describe_setup};
use units::{Bytes, Nanos, Share, grouped};

/// More requests than these are only counted: `to_toml` has them all.
const MAX_LINES: usize = 8;

impl Plan {
    /// The checked plan, in a few lines for people.
    pub fn describe(&self) -> Vec<String> {
        let mut lines = vec![format!("target   {}", self.describe_target())];
        lines.extend(self.setup.iter().flat_map(describe_setup));
        match self.single() {
            Some(step) => {
                lines.push(format!("request  {}{}", describe_payload(step), describe_answered(step)))
            }
            None => lines.extend(self.describe_flows()),
        }
        lines.extend(self.data.iter().map(|data| format!("data     {}", describe_data(data))));
        match &self.task {
            Task::Run(load) => lines.push(format!("load     {}", describe_load(load, self.streams()))),
            Task::Try(experiment) => {
                lines.extend(describe_experiment(experiment));
                if experiment.probes.iter().any(|probe| probe.at == LoadLevel::Limit) {
                    lines.push(format!("search   {}", self.describe_find(&experiment.find)));
                }
                if experiment.probes.iter().any(|probe| probe.at != LoadLevel::Limit) {
                    lines.push(format!("load     {}", describe_held(experiment)));
                }
            }
            Task::Find(find) => lines.push(format!("search   {}", self.describe_find(find))),
        }
        lines.push(format!("goal     {}", describe_goal(&self.objective)));
        lines.push(format!("limits   {}", self.describe_limits()));
        lines.extend(
            self.fleet.on.as_ref().map(|on| format!("fleet    {}", describe_workers(on, &self.fleet))),
        );
        let from = self.fleet.watch_on.as_ref().map(|on| format!("from {on}"));
        let watch: Vec<String> = from.into_iter().chain(describe_watch(&self.watch, &self.target)).collect();
        lines.extend((!watch.is_empty()).then(|| format!("watch    {}", watch.join(": "))));
        lines
    }

    /// Concurrent requests on each connection of a closed loop.
    pub fn streams(&self) -> u32 {
        match &self.target {
            Target::Http(Origin { http: HttpVersion::Two, streams, .. }) => *streams,
            _ => 1,
        }
    }

    fn describe_find(&self, find: &SearchPlan) -> String {
        let budget =
            find.budget.map_or_else(String::new, |budget| format!(", done after {budget} at the latest"));
        let least = self.least_trial();
        let pauses =
            if least > Nanos::ZERO { format!(", none below {least} for users pause") } else { String::new() };
        let decides = match find.strict {
            true => format!("none of {} at a rate may be bad", find.sum.max(least)),
            false => "one of ten may be bad".to_owned(),
        };
        format!(
            "from {} up to {}, until the limit is known within {}; trials of {}{pauses}, {decides}{budget}; arrivals {}",
            find.from,
            find.max,
            find.width,
            find.trial.max(least),
            spacing(find.arrivals)
        )
    }

    fn describe_target(&self) -> String {
        match &self.target {
            Target::Demo => "the built-in service, started for this run".to_owned(),
            Target::Null => {
                "none: every request is answered at once, which measures torment itself".to_owned()
            }
            Target::Sql(database) => {
                let session = match (database.tls, database.insecure) {
                    (false, _) if database.is_socket() => "",
                    (false, _) => ", not encrypted",
                    (true, false) => ", encrypted",
                    (true, true) => ", encrypted, any certificate accepted",
                };
                format!("PostgreSQL, {}{session}", database.url(false))
            }
            Target::Http(origin) => {
                let socket =
                    origin.unix_socket.as_ref().map(|path| format!(" by the socket {}", path.display()));
                let insecure = if origin.tls && origin.insecure { ", any certificate accepted" } else { "" };
                let http = match origin.http {
                    HttpVersion::Either => String::new(),
                    HttpVersion::One => ", HTTP/1.1".to_owned(),
                    HttpVersion::Two => {
                        format!(", HTTP/2 with at most {} streams", grouped(origin.streams.into()))
                    }
                };
                format!("{origin}{}{insecure}{http}", socket.unwrap_or_default())
            }
        }
    }

    /// One line per flow, with its share of the arrivals.
    fn describe_flows(&self) -> Vec<String> {
        if let [flow] = self.flows.as_slice() {
            return vec![format!("flow     {}", describe_flow(flow))];
        }
        let sum: f64 = self.flows.iter().map(|flow| flow.weight).sum();
        let text = |flow: &Flow| {
            let share = Share(flow.weight / sum).to_string();
            format!("{share:>6}  {}", describe_flow(flow))
        };
        labelled_lines("requests", self.flows.iter().map(text).collect())
    }

    fn describe_limits(&self) -> String {
        let generator = &self.generator;
        let mut text = match &self.task {
            Task::Run(Load::Closed { .. }) => String::new(),
            _ => format!(
                "at most {} connections, {} arrivals outstanding; ",
                grouped(generator.connections.into()),
                grouped(generator.outstanding.into())
            ),
        };
        if !generator.cores.is_empty() {
            text += &format!("on {}; ", numbered("processor", "processors", &generator.cores));
        }
        if !generator.resend {
            text += "nothing is resent; ";
        }
        text + &format!("seed {}", generator.seed)
    }
}

/// `4 to 16 processes on this machine`.
fn describe_workers(on: &FleetPlace, fleet: &FleetPlan) -> String {
    let count = match fleet.workers.unwrap_or((FleetPlan::DEFAULT_WORKERS, FleetPlan::DEFAULT_WORKERS)) {
        (1, 1) => "1 process".to_owned(),
        (least, most) if least == most => format!("{least} processes"),
        (least, most) => format!("{least} to {most} processes"),
    };
    let each = match fleet.worker_cpus {
        None => String::new(),
        Some(1) => ", with 1 processor each".to_owned(),
        Some(cpus) => format!(", with {cpus} processors each"),
    };
    let workers = match on {
        FleetPlace::Here => format!("{count} on this machine"),
        FleetPlace::Ssh(hosts) => format!("one process on each of {}", hosts.join(", ")),
        FleetPlace::Join(_) => format!("{count} that others start"),
        FleetPlace::Pods(None) | FleetPlace::Inside(_) => format!("{count} as pods of a cluster"),
        FleetPlace::Pods(Some(place)) => format!("{count} as pods of {place}"),
    };
    workers + &each
}

/// What differs from the defaults.
fn describe_watch(watch: &WatchPlan, target: &Target) -> Option<String> {
    if !watch.on {
        return Some("nothing".to_owned());
    }
    let mut parts = Vec::new();
    if !watch.pids.is_empty() {
        parts.push(numbered("process", "processes", &watch.pids));
    }
    parts.extend(watch.cgroup.as_ref().map(|path| format!("processes of the control group {path}")));
    parts
        .extend(watch.command.as_ref().map(|text| format!("processes whose command line contains '{text}'")));
    let own = if let Target::Sql(database) = target { Some(database) } else { None };
    let other = watch.postgres.as_ref().filter(|database| own != Some(*database));
    parts.extend(other.map(|database| format!("the sessions of {}", database.url(false))));
    parts.extend(watch.metrics.as_ref().map(|endpoint| format!("the metrics at {endpoint}")));
    if !watch.attach {
        parts.push("no Java virtual machine is asked".to_owned());
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// `1 step`, `2 steps`.
fn pluralized(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// At most as many lines as people read, the first with a label.
fn labelled_lines(label: &str, texts: Vec<String>) -> Vec<String> {
    let more = texts.len().saturating_sub(MAX_LINES);
    let labels = std::iter::once(label).chain(std::iter::repeat(""));
    let shown = labels.zip(texts.iter().take(MAX_LINES));
    let mut lines: Vec<String> = shown.map(|(label, text)| format!("{label:8} {text}")).collect();
    if more > 0 {
        lines.push(format!("         and {more} more"));
    }
    lines
}

fn describe_flow(flow: &Flow) -> String {
    let named = |name: &str, what: &str| {
        if what.starts_with(name) { what.to_owned() } else { format!("{name}: {what}") }
    };
    if flow.is_request() {
        return named(&flow.name, &describe_payload(&flow.steps[0]));
    }
    let names: Vec<&str> = flow.steps.iter().take(MAX_LINES).map(|step| step.name.as_str()).collect();
    let more = flow.steps.len().saturating_sub(MAX_LINES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let cookies = if flow.cookies { ", with cookies" } else { "" };
    let count = pluralized(flow.steps.len(), "step");
    format!("{}: {count}{cookies}: {}{more}", flow.name, names.join(" ▸ "))
}

fn describe_payload(step: &Step) -> String {
    match &step.ask {
        Payload::Http(request) => describe_request(request),
        Payload::Sql(statement) => {
            let text = statement.to_text();
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        }
    }
}

fn describe_request(request: &Request) -> String {
    let mut text = format!("{} {}", request.method, request.path);
    if !request.headers.is_empty() {
        text += &format!(", {}", pluralized(request.headers.len(), "header"));
    }
    if !request.body.is_empty() {
        let about = if request.body.is_constant() { "" } else { "about " };
        text += &format!(", body of {about}{}", Bytes(request.body.to_bytes().len() as u64));
    }
    text
}

fn describe_answered(step: &Step) -> String {
    let Payload::Http(request) = &step.ask else {
        return format!("; answered means within {}", step.timeout);
    };
    let expect: Vec<String> = request.expect.iter().map(StatusRange::to_string).collect();
    let checks = match request.checks.len() {
        0 => String::new(),
        n => format!(" and {}", pluralized(n, "check")),
    };
    format!("; answered means status {}{checks} within {}", expect.join(", "), step.timeout)
}

fn describe_data(data: &DataSet) -> String {
    let order = match data.order {
        RowOrder::Cycle => "one row after the other, again and again",
        RowOrder::Random => "rows at random",
        RowOrder::Once => "each row once",
    };
    format!("{} from {}, {order}", data.name, data.file)
}

fn describe_load(load: &Load, streams: u32) -> String {
    match load {
        Load::Open { stages, arrivals } => {
            let count = planned_arrivals(stages);
            let about = if *arrivals == Arrivals::Even { "" } else { "about " };
            let count = format!("{about}{} arrivals {}", grouped(count.round() as u64), spacing(*arrivals));
            match stages.as_slice() {
                [Stage { duration, from, to }] if from == to => format!("{from} for {duration}: {count}"),
                stages => {
                    let steps: Vec<String> = stages.iter().map(describe_stage).collect();
                    format!("{}: {count}", steps.join(", "))
                }
            }
        }
        Load::Closed { connections, requests, duration } => {
            let stop: Vec<String> = [
                requests.map(|n| format!("until {} requests", grouped(n))),
                duration.map(|d| format!("for {d}")),
            ]
            .into_iter()
            .flatten()
            .collect();
            let clients = match connections {
                n if streams > 1 => format!(
                    "{} connections of {} requests at once, each waiting for its answer",
                    grouped((*n).into()),
                    grouped(streams.into())
                ),
                1 => "1 connection that waits for its answer".to_owned(),
                n => format!("{} connections, each waiting for its answer", grouped((*n).into())),
            };
            let stop = stop.join(" or ");
            format!(
                "closed loop: {clients}, {stop}; it cannot show a limit, because a slow target slows it down"
            )
        }
    }
}

fn describe_stage(stage: &Stage) -> String {
    let Stage { duration, from, to } = stage;
    if from == to { format!("{to} for {duration}") } else { format!("{from} to {to} in {duration}") }
}

fn spacing(arrivals: Arrivals) -> &'static str {
    match arrivals {
        Arrivals::Even => "evenly spaced",
        Arrivals::Poisson => "at random (Poisson)",
    }
}

fn describe_goal(goal: &Objective) -> String {
    let Objective { loss, deadline } = goal;
    let within = |deadline: &Nanos| format!(" within {deadline} of their due times");
    let deadline = deadline.as_ref().map(within).unwrap_or_default();
    if *loss == Share::ZERO {
        format!("{goal}: all requests are answered{deadline}")
    } else {
        format!("{goal}: all but {loss} of the requests are answered{deadline}")
    }
}
