//! Conducts a run: starts the load engine, runs the trials the search asks for, watches over each, and emits events.
//!
//! It never prints and never stores: observers implement [`Sink`].

mod build;
mod connections;
mod coordinator;
mod demo;
mod experiment_run;
mod find;
mod fleet;
mod id;
mod load;
mod machine;
mod preflight;
mod probe;
mod profile;
mod remote_run;
mod run_observer;
mod secret_filter;
mod service_process;
mod setup;
#[cfg(test)]
#[path = "tests/simulated.rs"]
mod simulated;
mod stop_flag;
mod storm;
mod threads;
mod trial_runner;
mod watcher;
mod worker;
mod working_set;

pub use crate::fleet::{FleetConfig, JoinListener, JoinRoute, WatchersConfig};
pub use ::fleet::FleetRole;
pub use build::version_and_build;
pub use connections::{ConnectionsRequest, connections};
pub use coordinator::coordinate;
pub use experiment_run::{design, run_experiment};
pub use machine::describe as machine;
pub use preflight::preview;
pub use probe::{ProbeRequest, probe};
pub use profile::{ProfileRequest, profile};
pub use record::exit;
pub use remote_run::{RemoteRunRequest, attach, conduct_remotely};
pub use service_process::ServiceProcess;
pub use stop_flag::StopFlag;
pub use storm::{StormRequest, storm};
pub use threads::{ThreadsRequest, threads};
pub use watcher::{WatchOverride, watch_joined, watch_over_pipes};
pub use worker::{work_joined, work_over_pipes};
pub use working_set::{CacheKind, WorkingSetRequest, working_set};

use crate::fleet::{Fleet, Watchers};
use engine::LoadGenerator;
use plan::{Plan, Redactor, Target, Task};
use record::{Event, Failure, Figure, LimitUnit, METHOD, MachineCosts, RunId, RunKind, Verdict};
use run_observer::RunObserver;
use secret_filter::SecretFilter;
use trial_runner::{ReadyGenerator, TrialRunner};
use units::Nanos;

/// Receives events in order.
pub trait Sink {
    /// The next event. Must return quickly: the load goes on, the search waits.
    fn event(&mut self, event: &Event);

    /// The next event of a measurement within an experiment, which is a run of its own: from its [`Event::RunStarted`]
    /// to its [`Event::RunEnded`].
    fn measurement_event(&mut self, _event: &Event) {}
}

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The load engine cannot reach the target or cannot start.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// The first request was not answered as the plan expects.
    #[error("{}", unexpected(.request, *.status, .why, .says))]
    Unexpected {
        /// Method and path as sent.
        request: String,
        /// Status of the answer, if it has one.
        status: Option<u16>,
        /// What is wrong with it.
        why: Failure,
        /// Start of the answer's body.
        says: String,
    },
    /// The built-in service could not be started.
    #[error("the built-in service did not start: {0}")]
    Demo(String),
    /// The guard of the plan's programs could not be started.
    #[error("{0}")]
    Setup(String),
    /// A program of the plan failed.
    #[error(transparent)]
    Service(#[from] service::Error),
    /// The experiment cannot be made as planned.
    #[error("{0}")]
    Experiment(String),
    /// The machine itself cannot be measured.
    #[error("{0}")]
    Machine(String),
    /// Any other error whose message held a secret; without it.
    #[error("{0}")]
    Redacted(String),
    /// A worker cannot do its part.
    #[error("{0}")]
    Fleet(String),
    /// This process may open too few files.
    #[error(
        "this process may open only {allowed} files, and needs at least {}; raise the limit with ulimit -n",
        sys::DESCRIPTORS_LEAST
    )]
    Descriptors {
        /// The limit.
        allowed: u64,
    },
}

/// What became of the first request, and what to do about it.
fn unexpected(request: &str, status: Option<u16>, why: &Failure, body_start: &str) -> String {
    let what = match status {
        Some(status) if *why == Failure::Status(status) => {
            format!("answered {status}, which the plan does not expect")
        }
        _ => format!("not answered as the plan expects: {why}"),
    };
    let body_start = if body_start.is_empty() { String::new() } else { format!(" (\"{body_start}\")") };
    let or = status.map_or(String::new(), |status| format!(", or give --expect-status {status}"));
    format!(
        "the first request, {request}, was {what}{body_start}; fix the request (--once prints it in full){or}"
    )
}

impl From<link::Error> for Error {
    fn from(error: link::Error) -> Self {
        Self::Fleet(error.to_string())
    }
}

impl From<cluster::Error> for Error {
    fn from(error: cluster::Error) -> Self {
        Self::Fleet(error.to_string())
    }
}

/// Result of a run.
#[derive(Debug)]
pub struct RunExit {
    /// Name of the run.
    pub id: RunId,
    /// Exit code of the command.
    pub exit_code: u8,
    /// Why nothing was measured, if so; also sent to the sink.
    pub error: Option<Error>,
}

/// A run's inputs besides its plan.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunOptions<'a> {
    /// Measured costs of the machine, if any.
    pub costs: Option<&'a MachineCosts>,
    /// Who makes the load; `None`: this process.
    pub fleet: Option<&'a FleetConfig>,
    /// Who watches the target; `None`: this process.
    pub watchers: Option<&'a WatchersConfig>,
    /// Whether to sample the target.
    pub profile: Profiling,
}

/// When to sample the target: a single load while it lasts, a search by two loads after it, on either side of its
/// limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profiling {
    /// Never.
    #[default]
    Never,
    /// After a search in which processors gave first.
    IfProcessors,
    /// Whatever gave first.
    Always,
}

/// Conducts the plan, from the first event to the last. Every run that began ends with [`Event::RunEnded`], even if it
/// fails or is interrupted. For an experiment see [`run_experiment()`].
pub fn conduct(plan: &Plan, run_options: RunOptions<'_>, sink: &mut dyn Sink, stop: &StopFlag) -> RunExit {
    record_run(RunHeader::from_plan(plan), sink, |sink| {
        setup::with_started_plan(plan, sink, stop, |plan, sink, reset| {
            let RunOptions { costs, fleet, watchers, profile } = run_options;
            let mut fleet = fleet.map(|config| Fleet::new(config, plan, stop)).transpose()?;
            let fleet = fleet.as_mut();
            let options =
                MeasureOptions { reset, curve: true, costs, fleet, profile, ..MeasureOptions::default() };
            measure(plan, watchers, sink, stop, options)
        })
    })
}

/// How a run is described.
pub(crate) struct RunHeader {
    pub id: RunId,
    pub command: RunKind,
    /// The target, as shown to people.
    pub target: String,
    /// The goal in words.
    pub goal: String,
    /// The plan, as it could be given again.
    pub plan: String,
    /// Names of the steps of all flows, if there are several.
    pub parts: Vec<String>,
    /// The experiment that it is a measurement of.
    pub part_of: Option<RunId>,
    /// Removes secrets from all output.
    pub secrets: Redactor,
}

impl RunHeader {
    fn from_plan(plan: &Plan) -> Self {
        let command = match plan.task {
            Task::Run(_) => RunKind::Run,
            Task::Find(_) => RunKind::Find,
            Task::Try(_) => RunKind::Try,
        };
        Self {
            id: id::new_id(),
            command,
            target: describe(plan),
            goal: plan.objective.to_string(),
            plan: plan.to_toml(),
            parts: parts(plan),
            part_of: None,
            secrets: plan.redactor(),
        }
    }

    /// For a run on the machine itself, not a service: its kind, and the words it was given.
    pub fn for_machine(command: RunKind, words: &str) -> Self {
        Self {
            id: id::new_id(),
            command,
            target: "this machine".to_owned(),
            goal: String::new(),
            plan: words.to_owned(),
            parts: Vec::new(),
            part_of: None,
            secrets: Redactor::default(),
        }
    }
}

/// Records a run from beginning to end around `work`.
pub(crate) fn record_run(
    header: RunHeader,
    sink: &mut dyn Sink,
    work: impl FnOnce(&mut dyn Sink) -> Result<(Verdict, u8), Error>,
) -> RunExit {
    let RunHeader { id, command, target, goal, plan, parts, part_of, secrets } = header;
    sink.event(&Event::RunStarted(Box::new(record::RunStart {
        id: id.clone(),
        at_unix_ms: sys::now().unix_ms(),
        version: build::VERSION.to_owned(),
        method: METHOD,
        command,
        target,
        goal,
        plan,
        parts,
        machine: machine::describe(),
        part_of,
        // The label is known to whoever starts a run, not to its conductor.
        label: record::Label::default(),
    })));
    finish_run(id, &secrets, sink, work)
}

/// From the result of a run to its last event.
fn finish_run(
    id: RunId,
    secrets: &Redactor,
    sink: &mut dyn Sink,
    work: impl FnOnce(&mut dyn Sink) -> Result<(Verdict, u8), Error>,
) -> RunExit {
    let sink: &mut dyn Sink = &mut SecretFilter::new(sink, secrets);
    let (verdict, exit_code, error) = match work(sink) {
        Ok((verdict, exit_code)) => (Some(verdict), exit_code, None),
        Err(error) => (None, exit::ERROR, Some(error.without_secrets(secrets))),
    };
    sink.event(&Event::RunEnded(Box::new(record::RunEnd {
        at_unix_ms: sys::now().unix_ms(),
        verdict,
        exit_code,
        error: error.as_ref().map(ToString::to_string),
    })));
    RunExit { id, exit_code, error }
}

/// Restores the target's state before a trial.
pub(crate) type ResetFn<'a> = Box<dyn FnMut(&mut dyn Sink) -> Result<(), Error> + 'a>;

/// What becomes of outstanding requests when a load ends.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DrainPolicy {
    /// How long to wait for them; `None`: for their timeout.
    pub drain: Option<Nanos>,
    /// The target is stopped then: nobody waits until it is done with them.
    pub skips_recovery: bool,
}

/// How a run of its own and a measurement within an experiment differ.
#[derive(Default)]
pub(crate) struct MeasureOptions<'a> {
    pub reset: Option<ResetFn<'a>>,
    /// After a search: response times at fixed shares of the capacity.
    pub curve: bool,
    /// Measured costs of the machine.
    pub costs: Option<&'a MachineCosts>,
    /// Who makes the load, if not this process.
    pub fleet: Option<&'a mut Fleet>,
    /// Who watches the target, if not this process.
    pub watchers: Option<Watchers>,
    /// As in [`RunOptions`].
    pub profile: Profiling,
    /// What becomes of outstanding requests at its end.
    pub drain_policy: DrainPolicy,
}

/// One load or one search, against an existing target or the built-in service.
fn measure(
    plan: &Plan,
    watchers: Option<&WatchersConfig>,
    sink: &mut dyn Sink,
    stop: &StopFlag,
    options: MeasureOptions<'_>,
) -> Result<(Verdict, u8), Error> {
    let (_demo, target) = demo::start_if_asked(plan)?;
    let watchers = watchers.map(|config| Watchers::start(plan, &target, config, stop)).transpose()?;
    let mut options = MeasureOptions { watchers, ..options };
    let Some(fleet) = options.fleet.take() else {
        return carry_out(plan, ReadyGenerator::here(plan, &target)?, sink, stop, options);
    };
    let ready = fleet.assign(plan, &target);
    let result = ready.and_then(|ready| carry_out(plan, ready, sink, stop, options));
    fleet.release_plan();
    result
}

/// The same with this load generator.
fn carry_out<C: LoadGenerator>(
    plan: &Plan,
    ready: ReadyGenerator<C>,
    sink: &mut dyn Sink,
    stop: &StopFlag,
    options: MeasureOptions<'_>,
) -> Result<(Verdict, u8), Error> {
    let MeasureOptions { curve, profile, .. } = options;
    let mut runner = TrialRunner::prepare(plan, ready, sink, stop, options);
    let began = runner.now();
    let result = match &plan.task {
        Task::Find(find) => {
            find::find(&mut runner, plan, find, LimitUnit::Requests, (curve, find::reserved(profile)))
        }
        Task::Run(load) => load::run(&mut runner, plan, load),
        Task::Try(_) => return Err(Error::Experiment("an experiment is no single measurement".to_owned())),
    };
    runner.observer.conclude(&result.0);
    if let Task::Find(search_plan) = &plan.task {
        let took = runner.now() - began;
        find::profile_loads(&mut runner, plan, search_plan, (&result.0, took), profile);
    }
    Ok(result)
}

/// Method and address as shown to people.
fn describe(plan: &Plan) -> String {
    let (method, path) = match plan.flows.as_slice() {
        [flow] if flow.steps.len() == 1 => match flow.steps[0].request() {
            Some(request) => (request.method.as_str(), request.path.to_string()),
            None => ("GET", String::new()),
        },
        [flow] => ("GET", format!(" ({}: {} steps)", flow.name, flow.steps.len())),
        flows if flows.iter().all(|flow| flow.steps.len() == 1) => {
            ("GET", format!(" ({} requests)", flows.len()))
        }
        flows => ("GET", format!(" ({} flows)", flows.len())),
    };
    let place = match &plan.target {
        Target::Demo => format!("demo{path}"),
        Target::Http(origin) => format!("{origin}{path}"),
        Target::Null => "null".to_owned(),
        Target::Sql(database) => format!("postgres://{}:{}/{}", database.host, database.port, database.name),
    };
    match method {
        "GET" => place,
        method => format!("{method} {place}"),
    }
}

/// Names of the steps of all flows; empty if there is only one.
fn parts(plan: &Plan) -> Vec<String> {
    let steps = plan.flows.iter().flat_map(|flow| {
        flow.steps.iter().map(move |step| match flow.steps.len() {
            1 => step.name.clone(),
            _ => format!("{} / {}", flow.name, step.name),
        })
    });
    let names: Vec<String> = steps.collect();
    if names.len() > 1 { names } else { Vec::new() }
}

/// Emits figures of the machine.
pub(crate) fn emit_figures(figures: impl IntoIterator<Item = Figure>, sink: &mut dyn Sink) {
    for figure in figures {
        sink.event(&Event::Measured { figure: Box::new(figure) });
    }
}
