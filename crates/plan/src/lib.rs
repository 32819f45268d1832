//! Every noun that goes in: target, request, load, goal; text to a checked plan.
//!
//! Pure: it never opens a file, resolves a name or asks for the time.
//!
//! What a plan file may say stands in one table, `key/all.rs`: the parser reads it, and so does the page made of it,
//! [`reference`].

mod bind;
mod check;
mod csv;
mod data;
mod database;
mod describe;
mod draft;
mod error;
mod experiment;
mod file;
mod fit;
mod fleet;
mod flow;
mod form;
mod goal;
mod hiding;
mod key;
mod load;
mod ndjson;
mod parcel;
mod placeholder;
mod print;
mod reference;
mod secret;
mod service;
mod sql;
mod status;
mod target;
mod template;
mod url;
mod watch;
mod words;

pub use check::{ReadFile, is_token};
pub use data::{Data, Order, Rows};
pub use draft::Draft;
pub use error::{Error, GivenAt};
pub use experiment::{
    Arm, At, Change, Experiment, ExperimentSettings, Hypothesis, HypothesisText, Measure, Probe, Workload,
};
pub use fit::Fit;
pub use fleet::{FleetPlace, FleetPlan};
pub use flow::{Check, Flow, Payload, Statement, Step, Take, TakeFrom};
pub use goal::{Goal, Objective};
pub use hiding::Secrets;
pub use key::Key;
pub use load::{Arrivals, Find, Generator, Load, Stage, parse_cores};
pub use parcel::Parcel;
pub use reference::reference;
pub use secret::{Hidden, SecretFrom};
pub use service::{Limits, Need, Postgres, Program, Ready, Reset, Setup};
pub use target::{Database, HttpVersion, Origin, Request, StatusRange, Target};
pub use template::{Piece, Template, Who};
pub use url::Parts;
pub use watch::{Endpoint, Watch};

use serde::{Deserialize, Serialize};

/// One run as understood: everything is checked and every default is filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The system under test.
    pub target: Target,
    /// Files of rows that requests use.
    pub data: Vec<Data>,
    /// What is sent to it: each arrival is one of these, by weight. At least one.
    pub flows: Vec<Flow>,
    /// What is good enough.
    pub objective: Objective,
    /// What is done.
    pub task: Task,
    /// How the load is made.
    pub generator: Generator,
    /// Who makes it, and who watches, if not one process alone.
    pub fleet: FleetPlan,
    /// What is watched beside it.
    pub watch: Watch,
    /// What is started before and stopped after; none if the target runs already.
    pub setup: Option<Setup>,
}

/// What is done with the target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Task {
    /// One load with a verdict on the goal.
    Run(Load),
    /// A search for the highest rate that meets the goal.
    Find(Find),
    /// Hypotheses about the service that the plan starts, as experiments.
    Try(Box<Experiment>),
}

units::named! {
    /// What a plan is read for.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Command {
        /// One load with a verdict: the plan's `[load]`.
        Run = "run",
        /// A search: the plan's `[find]`.
        Find = "find",
        /// An experiment: the plan's `[try]`, variants and hypotheses.
        Try = "try",
    }
}

#[cfg(test)]
mod tests;
