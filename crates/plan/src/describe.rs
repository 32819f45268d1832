use crate::{Arrivals, Find, Load, Objective, Plan, Stage, StatusRange, Target, Task};
use units::{Bytes, Nanos, Share, grouped};

impl Plan {
    /// The plan as understood, in a few lines for people.
    pub fn describe(&self) -> Vec<String> {
        let mut lines = vec![
            format!("target   {}", self.describe_target()),
            format!("request  {}", self.describe_request()),
        ];
        match &self.task {
            Task::Run(load) => lines.push(format!("load     {}", describe_load(load))),
            Task::Find(find) => lines.push(format!("search   {}", describe_find(find))),
        }
        lines.push(format!("goal     {}", describe_goal(&self.objective)));
        lines.push(format!("limits   {}", self.describe_limits()));
        lines
    }

    fn describe_target(&self) -> String {
        match &self.target {
            Target::Demo => "the built-in service, started for this run".to_owned(),
            Target::Null => {
                "none: every request is answered at once, which measures torment itself".to_owned()
            }
            Target::Sql(database) => format!("PostgreSQL {}:{}", database.host, database.port),
            Target::Http(origin) => {
                let socket =
                    origin.unix_socket.as_ref().map(|path| format!(" by the socket {}", path.display()));
                let insecure = if origin.tls && origin.insecure { ", any certificate accepted" } else { "" };
                format!("{origin}{}{insecure}", socket.unwrap_or_default())
            }
        }
    }

    fn describe_request(&self) -> String {
        let step = &self.flows[0].steps[0];
        let Some(request) = step.request() else { return String::new() };
        let mut text = format!("{} {}", request.method, request.path);
        match request.headers.len() {
            0 => {}
            1 => text += ", 1 header",
            n => text += &format!(", {n} headers"),
        }
        if !request.body.is_empty() {
            let about = if request.body.is_constant() { "" } else { "about " };
            text += &format!(", body of {about}{}", Bytes(request.body.to_bytes().len() as u64));
        }
        let expect: Vec<String> = request.expect.iter().map(StatusRange::to_string).collect();
        text + &format!("; answered means status {} within {}", expect.join(", "), step.timeout)
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
            let cores: Vec<String> = generator.cores.iter().map(u32::to_string).collect();
            let word = if cores.len() == 1 { "processor" } else { "processors" };
            text += &format!("on {word} {}; ", cores.join(", "));
        }
        text + &format!("seed {}", generator.seed)
    }
}

fn describe_load(load: &Load) -> String {
    match load {
        Load::Open { stages, arrivals } => {
            let count: f64 =
                stages.iter().map(|s| (s.from.0 + s.to.0) / 2.0 * s.duration.as_secs_f64()).sum();
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
            let who = match connections {
                1 => "1 connection that waits for its answer".to_owned(),
                n => format!("{} connections, each waiting for its answer", grouped((*n).into())),
            };
            let stop = stop.join(" or ");
            format!("closed loop: {who}, {stop}; it cannot show a limit, for a slow target slows it")
        }
    }
}

fn describe_stage(stage: &Stage) -> String {
    let Stage { duration, from, to } = stage;
    if from == to { format!("{to} for {duration}") } else { format!("{from} to {to} in {duration}") }
}

fn describe_find(find: &Find) -> String {
    let budget =
        find.budget.map_or_else(String::new, |budget| format!(", done after {budget} at the latest"));
    format!(
        "from {} up to {}, until the limit is known within {}; trials of {}, {} decide a rate{budget}; arrivals {}",
        find.from,
        find.max,
        find.width,
        find.trial,
        find.sum,
        spacing(find.arrivals)
    )
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
