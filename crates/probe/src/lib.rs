//! What concurrency costs on this machine: launching tasks, switching between them, the memory they take, bytes between
//! them. `docs/method/probe.md` explains how, and what each figure includes.
//!
//! Nothing is measured in torment itself. A *prober* is torment re-executed with one thread and nothing but what a
//! figure needs; it measures a block on request. Blocks of all probes of a table alternate in random order,
//! so that drift affects all alike.

mod any_probe;
mod block;
mod clone;
mod clone_demo;
mod conditions;
mod copy;
mod costs;
mod figure;
mod interference;
mod ipc;
pub mod launch;
mod memory;
mod prober;
mod rounds;
mod runtimes;
mod sides;
mod switch;
mod tables;

pub use any_probe::AnyProbe;
pub use block::{BlockResult, FigureName, Measurable, ProbeSettings, ProberKind};
pub use clone_demo::{CloneVmDemo, demonstrate_clone_vm};
pub use conditions::survey;
pub use costs::costs;
pub use ipc::IpcTable;
pub use launch::LaunchTable;
pub use memory::MemoryTable;
pub use prober::{Prober, run_prober};
pub use rounds::{ProbeTable, measure};
pub use switch::SwitchTable;
pub use tables::{ProbeOptions, tables};

/// Why nothing, or not everything, could be measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The prober process does not start or answer.
    #[error("the process that measures: {0}")]
    Prober(String),
    /// A probe cannot be measured: which, and why.
    #[error("{0} cannot be measured: {1}")]
    Probe(String, String),
}
