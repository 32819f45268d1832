use super::AutoMode;
use super::fleet::FleetArgs;
use super::label::KeepArgs;
use super::other_limit::OtherLimit;
use super::request::{GeneratorArgs, RequestArgs, TargetArg, option_error, set};
use super::search::SearchArgs;
use super::storm::StormArgs;
use super::watch_options::WatchOptions;
use clap::Args;
use plan::{Draft, Error, Key, Plan, PlanCommand, ReadFile};
use runner::Profiling;

/// Find the highest rate that meets the goal
///
/// Raises the request rate until the goal fails, then narrows the limit down between the highest rate that met the
/// goal and the lowest that did not. Requests are sent when they are due, whether or not the target keeps up, and
/// response times count from then.
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
#[command(after_help = "\
Examples:
  torment find demo
  torment find 'http://127.0.0.1:8080/owners/{1..1000}' --goal 'p99<50ms' --max 20k
  torment find https://host/login --form 'user={file:users.csv:name}' --expect-status 302
  torment find postgres://me@host/clinic --sql 'select name from owners where id = {random:1..1000}'
  torment find plans/demo.toml --careful --budget 10m
  torment find threads                     or processes, connections, working-set")]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct FindArgs {
    /// What is found, if it is not the rate of requests.
    #[command(subcommand)]
    pub level: Option<OtherLimit>,
    #[command(flatten)]
    target: TargetArg,
    #[command(flatten)]
    search: SearchArgs,
    /// What is sent, and by whom.
    #[command(flatten)]
    pub traffic: TrafficArgs,
    /// After the search, sample the target's stacks under two short loads, well below the limit and just above: which code
    /// runs; auto: where processors gave first
    #[arg(long, value_enum, default_value_t, value_name = "WHEN", help_heading = "Watch")]
    profile: AutoMode,
    /// What to do with the plan.
    #[command(flatten)]
    pub how: ModeArgs,
}

/// Offer one load and say whether the goal was met
///
/// With a rate, requests are sent when they are due, whether or not the target keeps up, and response times count
/// from then. With --connections alone, each connection sends its next request when the last is answered.
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
#[command(after_help = "\
Examples:
  torment run http://127.0.0.1:8080/ -r 500 -d 20s
  torment run http://127.0.0.1:8080/ -r 2000 --stages article
  torment run http://127.0.0.1:8080/ -s 10s:100 -s 1m:100 -s 10s:0
  torment run http://127.0.0.1:8080/ -c 64 -n 100000
  torment run http://127.0.0.1:8080/api -r 50 -H 'Content-Type: text/plain' -b 'number {counter}'
  torment run --once http://127.0.0.1:8080/
  torment run --processes 10000 --parallel 100 -- true")]
pub struct RunArgs {
    /// A URL, `demo`, `null` or a plan file, as for `torment find`
    #[arg(value_name = "TARGET", required_unless_present_any = ["processes", "program"])]
    target: Option<String>,
    /// The goal to meet: zero-drop, loss<0.1%, p99<50ms [default: zero-drop]
    #[arg(long, help_heading = "Load")]
    goal: Option<String>,
    /// Requests a second: 500, 2.5k, 90/min
    #[arg(short, long, help_heading = "Load")]
    rate: Option<String>,
    /// How long the load lasts [default: 30s]
    #[arg(short, long, value_name = "TIME", help_heading = "Load")]
    duration: Option<String>,
    /// Ramp to this rate, or percentage of --rate, in this time: 30s:500, 30s:10%. May be repeated; the first starts
    /// at 0
    #[arg(short, long = "stage", value_name = "TIME:RATE", help_heading = "Load")]
    stage: Vec<String>,
    /// Several stages at once, or `article`: 30s:1% 30s:10% 30s:50% 30s:100% 60s:100%
    #[arg(long, conflicts_with = "stage", help_heading = "Load")]
    stages: Option<String>,
    /// Use this many connections, each waiting for its answer, instead of a rate
    #[arg(short, long, value_name = "COUNT", help_heading = "Load")]
    connections: Option<String>,
    /// Stop after this many requests
    #[arg(short = 'n', long, value_name = "COUNT", help_heading = "Load")]
    requests: Option<String>,
    /// What is sent, and by whom.
    #[command(flatten)]
    pub traffic: TrafficArgs,
    /// Sample the target's stacks during the load: which code runs, and what a request costs in it (see torment profile)
    #[arg(long, help_heading = "Watch")]
    profile: bool,
    /// Programs that are started instead of sending requests.
    #[command(flatten)]
    pub storm: StormArgs,
    /// What to do with the plan.
    #[command(flatten)]
    pub how: ModeArgs,
}

/// What `find`, `find connections` and `run` have in common: what is sent, who sends it, and what is watched meanwhile.
#[derive(Debug, Args)]
pub struct TrafficArgs {
    #[command(flatten)]
    request: RequestArgs,
    #[command(flatten)]
    generator: GeneratorArgs,
    /// Who makes the load.
    #[command(flatten)]
    pub fleet: FleetArgs,
    #[command(flatten)]
    watch: WatchOptions,
}

impl TrafficArgs {
    pub(super) fn set(&self, draft: &mut Draft) {
        self.request.set(draft);
        self.generator.set(draft);
        self.fleet.set(draft);
        self.watch.set(draft);
    }
}

/// What to do with the plan instead of, or beside, carrying it out.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Mode")]
pub struct ModeArgs {
    /// Print the plan as understood, and stop
    #[arg(long)]
    pub dry_run: bool,
    /// Send one request, print it and its answer in full, and stop
    #[arg(long, conflicts_with = "dry_run")]
    pub once: bool,
    /// What becomes of the run.
    #[command(flatten)]
    pub keep: KeepArgs,
}

impl FindArgs {
    /// Whether the target is sampled.
    pub fn profiling(&self) -> Profiling {
        match self.profile {
            AutoMode::Auto => Profiling::IfProcessors,
            AutoMode::Always => Profiling::Always,
            AutoMode::Never => Profiling::Never,
        }
    }

    /// The plan: the file's, if the target is one, with these options over it.
    ///
    /// # Errors
    /// With one message about the first thing that is wrong.
    pub fn plan(&self, read: ReadFile<'_>) -> Result<Plan, Error> {
        let mut draft = Draft::default();
        self.search.set(&mut draft);
        self.traffic.set(&mut draft);
        plan_from(PlanCommand::Find, self.target.text(), draft, read)
    }
}

impl RunArgs {
    /// Whether the target is sampled.
    pub fn profiling(&self) -> Profiling {
        if self.profile { Profiling::Always } else { Profiling::Never }
    }

    /// The plan: the file's, if the target is one, with these options over it.
    ///
    /// # Errors
    /// With one message about the first thing that is wrong.
    pub fn plan(&self, read: ReadFile<'_>) -> Result<Plan, Error> {
        let mut draft = self.load();
        self.traffic.set(&mut draft);
        // One request needs no load to be named.
        if self.how.once
            && [Key::Rate, Key::Stages, Key::Connections].iter().all(|&key| draft.text(key).is_none())
        {
            draft.set(Key::Requests, "--once", "1");
        }
        plan_from(PlanCommand::Run, self.target.as_deref().unwrap_or_default(), draft, read)
    }

    /// What was said of the load and its goal.
    fn load(&self) -> Draft {
        let mut draft = Draft::default();
        set(&mut draft, Key::Goal, "--goal", &self.goal);
        set(&mut draft, Key::Rate, "--rate", &self.rate);
        set(&mut draft, Key::Duration, "--duration", &self.duration);
        set(&mut draft, Key::Stages, "--stage", &self.stage);
        set(&mut draft, Key::Stages, "--stages", &self.stages);
        set(&mut draft, Key::Connections, "--connections", &self.connections);
        set(&mut draft, Key::Requests, "--requests", &self.requests);
        draft
    }

    /// The load of programs that are started.
    pub fn programs(&self) -> Draft {
        let mut draft = self.load();
        self.traffic.request.set_timeout(&mut draft);
        draft
    }
}

/// Of a load of so little that any machine makes it, for a moment, against nothing, by such a fleet.
///
/// # Errors
/// If that is none.
pub fn null_plan(on: &str) -> Result<Plan, Error> {
    let mut draft = Draft::default();
    draft.set(Key::Rate, "--rate", "1000");
    draft.set(Key::Duration, "--duration", "10s");
    draft.set(Key::FleetOn, "--on", on);
    plan_from(PlanCommand::Run, "null", draft, &mut |path| Err(format!("no file is read here, not '{path}'")))
}

pub(super) fn plan_from(
    command: PlanCommand,
    target: &str,
    mut options: Draft,
    read: ReadFile<'_>,
) -> Result<Plan, Error> {
    let is_file = target.ends_with(".toml") && !target.contains("://");
    let draft = if is_file {
        let toml = text(read(target), target).map_err(|message| option_error("TARGET", message))?;
        Draft::from_toml(target, &toml)?.overlaid_by(options)
    } else {
        options.set(Key::Url, "TARGET", target);
        options
    };
    let mut plan = draft.check(command, read)?;
    plan.bind(|file| text(read(file), file), env_variable)?;
    Ok(plan)
}

/// The value of a variable of the environment.
///
/// # Errors
/// If it is not set, or no text.
pub fn env_variable(name: &str) -> Result<String, String> {
    std::env::var(name).map_err(|why| match why {
        std::env::VarError::NotPresent => {
            format!("the environment variable {name} is not set; set it: {name}=… torment …")
        }
        std::env::VarError::NotUnicode(_) => format!("the value of {name} is not UTF-8"),
    })
}

/// A text from the bytes of a file.
///
/// # Errors
/// If they could not be read, or are no text.
pub fn text(bytes: Result<Vec<u8>, String>, file: &str) -> Result<String, String> {
    let place = |e: std::string::FromUtf8Error| e.utf8_error().valid_up_to();
    String::from_utf8(bytes?).map_err(|e| format!("'{file}' is not UTF-8 from byte {} on", place(e)))
}
