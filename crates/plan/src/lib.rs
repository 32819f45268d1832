//! Every noun that goes in: target, request, load, goal; from text to a checked plan.
//!
//! Pure: never opens a file, resolves a name or reads the clock.
//!
//! The keys of a plan file are one table, `key/table.rs`, from which both the parser and the `reference` page are
//! made.

mod bind;
mod check;
mod csv;
mod data_set;
mod database;
mod describe;
mod draft;
mod error;
mod escaping;
mod experiment;
mod file;
mod fleet;
mod flow;
mod form;
mod goal;
mod key;
mod load;
mod ndjson;
mod placeholder;
mod portable;
mod print;
mod redactor;
mod reference;
mod secret;
mod service;
mod shell_words;
mod sql;
mod status;
mod target;
mod template;
mod url;
mod watch;

pub use check::{ReadFile, is_token};
pub use data_set::{DataSet, RowOrder, RowSource};
pub use draft::Draft;
pub use error::{Error, SourceLocation};
pub use escaping::Escaping;
pub use experiment::{
    Arm, ArmMeasure, ExperimentPlan, ExperimentSettings, Hypothesis, HypothesisText, LoadLevel, Measurement,
    Variant, Workload,
};
pub use fleet::{FleetPlace, FleetPlan};
pub use flow::{AnswerCheck, Extraction, ExtractionSource, Flow, Payload, Statement, Step};
pub use goal::{Goal, Objective};
pub use key::Key;
pub use load::{Arrivals, Generator, Load, SearchPlan, Stage, parse_cores};
pub use portable::PortablePlan;
pub use redactor::Redactor;
pub use reference::reference;
pub use secret::{SecretSource, SecretValue};
pub use service::{Dependency, PostgresSetup, Program, ReadyCondition, ResetMethod, ResourceLimits, Setup};
pub use target::{DatabaseAddress, HttpVersion, Origin, Request, StatusRange, Target};
pub use template::{RenderContext, Template, TemplatePiece};
pub use url::UrlParts;
pub use watch::{MetricsEndpoint, WatchPlan};

use serde::{Deserialize, Serialize};

/// A fully checked run with every default filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The system under test.
    pub target: Target,
    /// Files of rows that requests use.
    pub data: Vec<DataSet>,
    /// What is sent: each arrival is one of these, by weight. At least one.
    pub flows: Vec<Flow>,
    /// What is good enough.
    pub objective: Objective,
    /// What is done.
    pub task: Task,
    /// How the load is made.
    pub generator: Generator,
    /// Who makes it, and who watches, if not one process alone.
    pub fleet: FleetPlan,
    /// What is watched beside the load.
    pub watch: WatchPlan,
    /// What is started before and stopped after; none if the target runs already.
    pub setup: Option<Setup>,
}

/// What is done with the target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Task {
    /// One load with a verdict on the goal.
    Run(Load),
    /// A search for the highest rate that meets the goal.
    Find(SearchPlan),
    /// Hypotheses about the service that the plan starts, as experiments.
    Try(Box<ExperimentPlan>),
}

units::named! {
    /// What a plan is read for.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum PlanCommand {
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
