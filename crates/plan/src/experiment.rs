use crate::{Setup, Template};
use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos, Rate, Share};

/// What `torment try` does: arms, measurements of each, and hypotheses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentPlan {
    /// The first is `baseline`, the unchanged plan.
    pub arms: Vec<Arm>,
    /// Loads measured one by one, each with some of the plan's flows.
    pub workloads: Vec<Workload>,
    /// Measurements at one start of an arm, in this order; an arm is measured only where a hypothesis or the table
    /// needs it ([`Measurement::arms`]).
    pub probes: Vec<Measurement>,
    /// What is asked.
    pub hypotheses: Vec<Hypothesis>,
    /// Starts of the baseline before the first block; they give the rates and the noise.
    pub pilot: u32,
    /// Blocks before the first interim look at the result.
    pub least: u32,
    /// Maximum number of blocks.
    pub most: u32,
    /// Ends the experiment before a block that would not fit.
    pub budget: Option<Nanos>,
    /// Minimum confidence of all verdicts together.
    pub confidence: Share,
    /// Maximum time the service is loaded before the first measurement of a start, until its performance is steady.
    pub warm: Nanos,
    /// How long a rate or a number of connections is held.
    pub hold: Nanos,
    /// How capacities are searched for.
    pub find: crate::SearchPlan,
    /// What the plan file says of this, before it is worked out; for printing.
    pub said: ExperimentSettings,
}

/// The part of `[try]` and of each `[[hypothesis]]` from which measurements and hypotheses are derived.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentSettings {
    /// Whether workloads were named: each is then measured, beside what the hypotheses ask.
    pub named: bool,
    /// Factors whose levels are combined.
    pub cross: Vec<String>,
    /// The measure compared for crossed factors.
    pub measure: ArmMeasure,
    /// As in [`Hypothesis`].
    pub effect: Share,
    /// Closed loops measured for every arm, for the table.
    pub connections: Vec<u32>,
    /// Rates and shares measured for every arm.
    pub at: Vec<LoadLevel>,
    /// Whether the capacity of every arm is measured.
    pub capacity: bool,
    /// The hypotheses in the file.
    pub asked: Vec<HypothesisText>,
}

/// A `[[hypothesis]]` as written, its names checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HypothesisText {
    /// In words, if given.
    pub name: Option<String>,
    /// The arm in question.
    pub variant: String,
    /// The arm it is compared with; the unchanged plan if not given.
    pub baseline: Option<String>,
    /// The workload; every workload if not given.
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
    /// Name of the variant, or those of crossed variants joined by ` + `.
    pub name: String,
    /// What differs from the unchanged plan.
    pub changes: Vec<Variant>,
    /// Everything that is started, changes included.
    pub setup: Setup,
}

impl Variant {
    /// Texts that may hold a secret.
    pub(crate) fn templates_mut(&mut self) -> impl Iterator<Item = &mut Template> {
        let command = self.command.iter_mut().flatten().chain(&mut self.args);
        command.chain(self.env.iter_mut().chain(&mut self.files).map(|(_, value)| value))
    }

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

/// New values win, by name, each in the place of the old one.
fn replace<T: Clone>(old: &mut Vec<(String, T)>, new: &[(String, T)]) {
    for (name, value) in new {
        match old.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => old.clone_from(value),
            None => old.push((name.clone(), value.clone())),
        }
    }
}

/// As in `50 % of the capacity`, `200/s`, `1,000 connections`.
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
    /// The plan with only these flows and this task, for a service already started: one measurement of an experiment.
    #[must_use]
    pub fn for_workload(&self, workload: &Workload, task: crate::Task) -> Self {
        let mut generator = self.generator.clone();
        // A database gets only the connections of the closed loop.
        if let (crate::Target::Sql(_), crate::Task::Run(crate::Load::Closed { connections, .. })) =
            (&self.target, &task)
        {
            generator.connections = generator.connections.max(*connections);
        }
        let flows = workload.flows.iter().map(|place| self.flows[*place].clone()).collect();
        Self { flows, task, generator, setup: None, ..self.clone() }
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
    /// Causes, as a diagnosis names them (`workers`, `pool`, `cpu-quota`, …), that it removes or pushes further out.
    pub relieves: Vec<String>,
    /// Replaces the command.
    pub command: Option<Vec<Template>>,
    /// Appended to the command.
    pub args: Vec<Template>,
    /// Added to the environment, or replacing variables in it.
    pub env: Vec<(String, Template)>,
    /// Added to the files, or replacing some.
    pub files: Vec<(String, Template)>,
    /// Replaces this limit of the service, if given.
    pub cpus: Option<f64>,
    /// As above.
    pub memory: Option<Bytes>,
    /// As above.
    pub pids: Option<u64>,
    /// As above.
    pub cores: Option<Vec<u32>>,
    /// Added to the settings of the plan's PostgreSQL, or replacing some.
    pub settings: Vec<(String, String)>,
    /// Replaces its data folder.
    pub data: Option<String>,
}

/// Some of the plan's flows, measured as one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// The flow's name; `all` if all flows are one load, by weight.
    pub name: String,
    /// Indices into [`crate::Plan::flows`].
    pub flows: Vec<usize>,
}

/// One measurement of a started service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Index of the workload.
    pub workload: usize,
    /// At what load.
    pub at: LoadLevel,
    /// Indices of the arms it is taken of.
    pub arms: Vec<usize>,
}

/// The load at which a measure is taken.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadLevel {
    /// The search for the capacity.
    Limit,
    /// This rate.
    Rate(Rate),
    /// This share of the capacity that the pilot found: the same rate for every arm.
    Share(Share),
    /// A closed loop of this many connections.
    Connections(u32),
}

units::named! {
    /// What is compared.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ArmMeasure {
        /// Highest rate that meets the objective, requests per second. Only at [`LoadLevel::Limit`].
        Capacity = "capacity",
        /// Answers per second.
        Throughput = "throughput",
        /// Response times, in seconds.
        P50 = "p50",
        /// As above.
        P99 = "p99",
        /// As above.
        Max = "max",
        /// Processor time of the target per request, in seconds.
        Cpu = "cpu",
        /// Peak memory of the target's processes, in bytes.
        Memory = "memory",
        /// Peak number of threads of the target's processes.
        Threads = "threads",
    }
}

impl ArmMeasure {
    /// Whether higher is better.
    pub fn more_is_better(self) -> bool {
        matches!(self, Self::Capacity | Self::Throughput)
    }
}

/// A question: does `variant` change `measure` against `baseline` by at least `effect`?
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hypothesis {
    /// In words.
    pub name: String,
    /// Arms and their weights, which add up to zero: the contrast of the logarithms of the measure. Two arms: 1 and
    /// −1. A main effect: the mean of the arms with the level against that of those without.
    pub contrast: Vec<(usize, f64)>,
    /// Index of the measurement.
    pub probe: usize,
    /// What is compared.
    pub measure: ArmMeasure,
    /// The smallest effect worth having: 0.1 is a tenth more or, equally far, a ratio of 1/1.1.
    pub effect: Share,
    /// Causes that the change claims to relieve.
    pub relieves: Vec<String>,
}
