//! What concurrency costs on this machine: launching tasks, switching between them, the memory they take, bytes between
//! them. `docs/method/probe.md` tells how, and what each figure includes.
//!
//! Nothing is measured in torment itself. A *worker* is torment executed anew, with one thread and nothing but what a
//! figure needs; it measures a block when it is told to. Blocks of all figures of a table take turns in random order,
//! so that whatever drifts meets all alike.

mod block;
mod calm;
mod cell;
mod clone;
mod conditions;
mod copy;
mod costs;
mod demonstration;
mod figure;
mod ipc;
pub mod launch;
mod memory;
mod rounds;
mod runtimes;
mod sides;
mod switch;
mod tables;
mod worker;

pub use block::{Block, Effort, Home, Measurable, Named};
pub use cell::CellKind;
pub use conditions::survey;
pub use costs::costs;
pub use demonstration::{Demonstration, demonstrate};
pub use ipc::Ipc;
pub use launch::Launch;
pub use memory::Memory;
pub use rounds::{Table, measure};
pub use switch::Switch;
pub use tables::{Options, tables};
pub use worker::{Worker, work};

/// Why nothing, or not all, could be measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The process that measures does not start, or does not answer.
    #[error("the process that measures: {0}")]
    Worker(String),
    /// What was to be measured cannot be: what, and why.
    #[error("{0} cannot be measured: {1}")]
    Cell(String, String),
}
