use crate::{Setup, Template};
use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos, Rate, Share};

/// What `torment try` does: arms, what is measured of each, and what is asked of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentPlan {
    /// The first is the plan as it stands, `baseline`.
    pub arms: Vec<Arm>,
    /// Loads that are measured one by one, each with some of the plan's flows.
    pub workloads: Vec<Workload>,
    /// What is measured at one start of an arm, in this order; an arm is only measured where a hypothesis or the
    /// table needs it ([`Probe::arms`]).
    pub probes: Vec<Measurement>,
    /// What is asked.
    pub hypotheses: Vec<Hypothesis>,
    /// Starts of the baseline before the first block: they give the rates and the noise.
    pub pilot: u32,
    /// Blocks before the first look at the result.
    pub least: u32,
    /// Blocks at most.
    pub most: u32,
    /// Ends the experiment before a block that would not fit.
    pub budget: Option<Nanos>,
    /// Of all verdicts together, at least.
    pub confidence: Share,
    /// At most so long is the service loaded before the first measurement of a start, until what it does is level.
    pub warm: Nanos,
    /// How long a rate or a number of connections is held.
    pub hold: Nanos,
    /// How capacities are searched for.
    pub find: crate::SearchPlan,
    /// What of this the plan's file says, before it is worked out: for whoever prints it.
    pub said: ExperimentSettings,
}

/// The part of `[try]` and of each `[[hypothesis]]` that probes and hypotheses follow from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentSettings {
    /// Whether the workloads were named: each is then asked about, beside what the hypotheses ask.
    pub named: bool,
    /// Factors whose levels are combined.
    pub cross: Vec<String>,
    /// What is asked of them.
    pub measure: ArmMeasure,
    /// As of [`Hypothesis`].
    pub effect: Share,
    /// Closed loops measured of every arm, for the table.
    pub connections: Vec<u32>,
    /// Rates and shares measured of every arm.
    pub at: Vec<LoadLevel>,
    /// Whether the capacity is measured of every arm.
    pub capacity: bool,
    /// The hypotheses that stand in the file.
    pub asked: Vec<HypothesisText>,
}

/// A `[[hypothesis]]` as it is written, its names known to be right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HypothesisText {
    /// In words, if it is said.
    pub name: Option<String>,
    /// The arm that is asked about.
    pub variant: String,
    /// The arm it is compared with; the plan as it stands if it is not said.
    pub baseline: Option<String>,
    /// The workload; each if it is not said.
    pub on: Option<String>,
    /// What is compared.
    pub measure: ArmMeasure,
    /// At what load.
    pub at: LoadLevel,
    /// The smallest effect worth having.
    pub effect: Share,
}

/// A way to start the service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// Name of the variant, or those of the crossed ones joined by ` + `.
    pub name: String,
    /// What is different from the plan as it stands.
    pub changes: Vec<Variant>,
    /// All that is started, changes included.
    pub setup: Setup,
}

impl Variant {
    /// Texts that may hold a secret.
    pub(crate) fn templates_mut(&mut self) -> impl Iterator<Item = &mut Template> {
        let command = self.command.iter_mut().flatten().chain(&mut self.args);
        command.chain(self.env.iter_mut().chain(&mut self.files).map(|(_, value)| value))
    }

    /// All that is started with this different.
    pub(crate) fn applied(&self, mut setup: Setup) -> Setup {
        if let Some(service) = &mut setup.service {
            if let Some(command) = &self.command {
                service.command.clone_from(command);
            }
            service.command.extend(self.args.iter().cloned());
            replace(&mut service.env, &self.env);
            replace(&mut service.files, &self.files);
            let limits = &mut service.limits;
            limits.cpus = self.cpus.or(limits.cpus);
            limits.memory = self.memory.or(limits.memory);
            limits.pids = self.pids.or(limits.pids);
            if let Some(cores) = &self.cores {
                limits.cores.clone_from(cores);
            }
        }
        for need in &mut setup.needs {
            if let crate::Dependency::Postgres(postgres) = need {
                replace(&mut postgres.settings, &self.settings);
                postgres.data = self.data.clone().or(postgres.data.take());
            }
        }
        setup
    }
}

/// Lets the new values win, by name, each in the place of the old one.
fn replace<T: Clone>(old: &mut Vec<(String, T)>, new: &[(String, T)]) {
    for (name, value) in new {
        match old.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => old.clone_from(value),
            None => old.push((name.clone(), value.clone())),
        }
    }
}

/// As people say it: `50 % of the capacity`, `200/s`, `1,000 connections`.
impl std::fmt::Display for LoadLevel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Limit => f.write_str("the capacity"),
            Self::Rate(rate) => rate.fmt(f),
            Self::Share(share) => write!(f, "{share} of the capacity"),
            Self::Connections(1) => f.write_str("1 connection"),
            Self::Connections(count) => write!(f, "{} connections", units::grouped((*count).into())),
        }
    }
}

impl crate::Plan {
    /// The plan with only these flows and this task, for a service that is started already: one measurement of an
    /// experiment.
    #[must_use]
    pub fn for_workload(&self, workload: &Workload, task: crate::Task) -> Self {
        let mut generator = self.generator.clone();
        // The connections of a closed loop are all that a database gets.
        if let (crate::Target::Sql(_), crate::Task::Run(crate::Load::Closed { connections, .. })) =
            (&self.target, &task)
        {
            generator.connections = generator.connections.max(*connections);
        }
        Self {
            target: self.target.clone(),
            data: self.data.clone(),
            flows: workload.flows.iter().map(|place| self.flows[*place].clone()).collect(),
            objective: self.objective,
            task,
            generator,
            fleet: self.fleet.clone(),
            watch: self.watch.clone(),
            setup: None,
        }
    }
}

impl ExperimentPlan {
    /// Texts that may hold a secret.
    pub(crate) fn templates_mut(&mut self) -> impl Iterator<Item = &mut Template> {
        self.arms.iter_mut().flat_map(|arm| {
            let changes = arm.changes.iter_mut().flat_map(Variant::templates_mut);
            arm.setup.templates_mut().chain(changes)
        })
    }
}

/// A `[[variant]]`: what is different.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// The factor it is a level of, for `cross`.
    pub factor: Option<String>,
    /// Causes, as a diagnosis names them (`workers`, `pool`, `cpu-quota`, …), that it takes away or moves further out.
    pub relieves: Vec<String>,
    /// Replaces the command.
    pub command: Option<Vec<Template>>,
    /// Added to the command.
    pub args: Vec<Template>,
    /// Added to the environment, or instead of what is there.
    pub env: Vec<(String, Template)>,
    /// Added to the files, or instead of what is there.
    pub files: Vec<(String, Template)>,
    /// Replace the service's limits, each where it is said.
    pub cpus: Option<f64>,
    /// As above.
    pub memory: Option<Bytes>,
    /// As above.
    pub pids: Option<u64>,
    /// As above.
    pub cores: Option<Vec<u32>>,
    /// Added to the settings of the plan's PostgreSQL, or instead of what is there.
    pub settings: Vec<(String, String)>,
    /// Replaces the folder of its data.
    pub data: Option<String>,
}

/// Some of the plan's flows, measured as one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// The flow's name; `all` if all flows are one load, by weight.
    pub name: String,
    /// Their places in [`crate::Plan::flows`].
    pub flows: Vec<usize>,
}

/// One thing that is measured of a started service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Place of the workload.
    pub workload: usize,
    /// What load.
    pub at: LoadLevel,
    /// Places of the arms it is measured of.
    pub arms: Vec<usize>,
}

/// What load a measure is taken at.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadLevel {
    /// The search for the capacity.
    Limit,
    /// This rate.
    Rate(Rate),
    /// This share of the capacity that the pilot found: the same rate for every arm.
    Share(Share),
    /// A closed loop of so many connections.
    Connections(u32),
}

units::named! {
    /// What is compared.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ArmMeasure {
        /// Highest rate that meets the objective, requests per second. Only at [`At::Limit`].
        Capacity = "capacity",
        /// Answers a second.
        Throughput = "throughput",
        /// Response times, in seconds.
        P50 = "p50",
        /// As above.
        P99 = "p99",
        /// As above.
        Max = "max",
        /// Processor time of the target for each request, in seconds.
        Cpu = "cpu",
        /// Most memory of the target's processes, in bytes.
        Memory = "memory",
        /// Most threads of the target's processes.
        Threads = "threads",
    }
}

impl ArmMeasure {
    /// Whether more of it is better.
    pub fn more_is_better(self) -> bool {
        matches!(self, Self::Capacity | Self::Throughput)
    }
}

/// A question: does `variant` change `measure` against `baseline` by at least `effect`?
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hypothesis {
    /// In words.
    pub name: String,
    /// Arms and their weights, which add up to zero: the contrast of the logarithms of the measure. Two arms: 1
    /// and −1. A main effect: the mean of the arms with the level against that of those without.
    pub contrast: Vec<(usize, f64)>,
    /// Place of the probe.
    pub probe: usize,
    /// What is compared.
    pub measure: ArmMeasure,
    /// The smallest effect worth having: 0.1 is a tenth more or, what is as far, a ratio of 1/1.1.
    pub effect: Share,
    /// Causes that the change is said to relieve.
    pub relieves: Vec<String>,
}
