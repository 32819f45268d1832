use crate::load::numbered;
use crate::{DatabaseAddress, Template};
use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos};

/// What a plan starts before its load and stops after it: the service under test and its dependencies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// Started in this order before the service, and stopped in reverse order after it.
    pub needs: Vec<Dependency>,
    /// The system under test; none if only its dependencies are started, such as a database that is the target.
    pub service: Option<Program>,
    /// How the state is reset between two measurements.
    pub reset: ResetMethod,
}

/// A dependency of the service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Dependency {
    /// A PostgreSQL server started by the plan.
    Postgres(PostgresSetup),
    /// Any other program.
    Program(Program),
}

/// A program that is started and stopped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// `service`, or NAME of `[need.NAME]`: used in messages, and as the name of its log.
    pub name: String,
    /// Run to completion once, before anything is started, to build the program. Empty if there is nothing to build.
    pub prepare: Vec<String>,
    /// The program and its arguments. `torment` is this program itself.
    pub command: Vec<Template>,
    /// Working directory of both; for a plan from a file, the file's folder or one below.
    pub folder: String,
    /// Added to the environment.
    pub env: Vec<(String, Template)>,
    /// Written before the start: path below `folder`, and content. Previous content is restored at the end.
    pub files: Vec<(String, Template)>,
    /// When it is ready.
    pub ready: ReadyCondition,
    /// How long that may take.
    pub within: Nanos,
    /// The signal that asks it to end: `TERM`, `INT`, `QUIT`, `HUP` or `KILL`.
    pub stop: String,
    /// How long it may take to end before it is killed.
    pub grace: Nanos,
    /// What it may use.
    pub limits: ResourceLimits,
}

/// When a program is ready.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ReadyCondition {
    /// A GET of this `http://` URL is answered with a status below 400.
    Http(String),
    /// It listens on this port of 127.0.0.1.
    Port(u16),
    /// A line of its output contains this.
    Log(String),
    /// At once.
    Started,
}

/// What a program and its children may use.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ResourceLimits {
    /// Processor time per second, in processors; by control group.
    pub cpus: Option<f64>,
    /// Memory; by control group.
    pub memory: Option<Bytes>,
    /// Processes and threads; by control group.
    pub pids: Option<u64>,
    /// Processors it may run on; by affinity. Empty: all.
    pub cores: Vec<u32>,
}

impl ResourceLimits {
    /// Whether they need a control group.
    pub fn need_group(&self) -> bool {
        self.cpus.is_some() || self.memory.is_some() || self.pids.is_some()
    }
}

/// A PostgreSQL server started from an empty data folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PostgresSetup {
    /// The port of 127.0.0.1 it listens on; the superuser `postgres` needs no password.
    pub port: u16,
    /// Created at the start, and seeded.
    pub database: String,
    /// SQL files, run in the database in this order.
    pub seed: Vec<String>,
    /// An SQL file that resets the state, for [`ResetMethod::Sql`].
    pub reset: Option<String>,
    /// Settings such as `shared_buffers`.
    pub settings: Vec<(String, String)>,
    /// An existing folder in which the data folder is created; the temporary folder if not given.
    pub data: Option<String>,
    /// How long the start and the seed may take.
    pub within: Nanos,
    /// What it may use.
    pub limits: ResourceLimits,
}

impl PostgresSetup {
    /// Where it is, and how its superuser logs in.
    pub fn address(&self) -> DatabaseAddress {
        DatabaseAddress {
            host: "127.0.0.1".to_owned(),
            port: self.port,
            user: "postgres".to_owned(),
            password: None,
            name: self.database.clone(),
            tls: false,
            insecure: false,
        }
    }
}

units::named! {
    /// How the state is reset between two measurements of one start.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    pub enum ResetMethod {
        /// Everything is stopped and started again, databases from an empty folder.
        Restart = "restart",
        /// The database's `reset` file is run.
        Sql = "sql",
        /// It is not reset.
        #[default]
        None = "none",
    }
}

impl Setup {
    /// The plan's PostgreSQL, if it starts one.
    pub fn postgres(&self) -> Option<&PostgresSetup> {
        self.needs.iter().find_map(|need| match need {
            Dependency::Postgres(postgres) => Some(postgres),
            Dependency::Program(_) => None,
        })
    }

    /// Texts that may hold a secret.
    pub(crate) fn templates_mut(&mut self) -> impl Iterator<Item = &mut Template> {
        let needs = self.needs.iter_mut().filter_map(|need| match need {
            Dependency::Program(program) => Some(program),
            Dependency::Postgres(_) => None,
        });
        needs.chain(&mut self.service).flat_map(|program| {
            let values = program.env.iter_mut().chain(&mut program.files).map(|(_, value)| value);
            program.command.iter_mut().chain(values)
        })
    }
}

/// As in `java -jar app.jar`.
impl std::fmt::Display for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words: Vec<String> = self.command.iter().map(Template::to_string).collect();
        f.write_str(&words.join(" "))
    }
}

/// As in `1.5 processors, 2 GiB`; empty if there are none.
impl std::fmt::Display for ResourceLimits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut parts = Vec::new();
        let word = if self.cpus == Some(1.0) { "processor" } else { "processors" };
        parts.extend(self.cpus.map(|cpus| format!("{cpus} {word}")));
        parts.extend(self.memory.map(|memory| memory.to_string()));
        parts.extend(self.pids.map(|pids| format!("{} processes and threads", units::grouped(pids))));
        if !self.cores.is_empty() {
            parts.push(format!("on {}", numbered("processor", "processors", &self.cores)));
        }
        f.write_str(&parts.join(", "))
    }
}
