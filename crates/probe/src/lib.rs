//! What concurrency costs on this machine: launching tasks, switching between them, the memory they take, bytes between
//! them. `docs/method/probe.md` tells how, and what each figure includes.
//!
//! Nothing is measured in torment itself. A *worker* is torment executed anew, with one thread and nothing but what a
//! figure needs; it measures a block when it is told to. Blocks of all figures of a table take turns in random order,
//! so that whatever drifts meets all alike.

mod cell;
mod clone;
mod conditions;
mod copy;
mod costs;
mod figure;
mod ipc;
pub mod launch;
mod memory;
mod rounds;
mod runtimes;
mod sides;
mod switch;
mod worker;

pub use cell::{Block, CellKind, Home, Named};
pub use clone::{Demonstration, demonstrate};
pub use conditions::survey;
pub use costs::costs;
pub use ipc::Ipc;
pub use launch::Launch;
pub use memory::Memory;
pub use rounds::{Effort, Table, measure};
pub use switch::Switch;
pub use worker::{Worker, work};

/// What else may be asked of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Launching as the program behind a well-known article measured it.
    pub like_eliben: bool,
    /// Switching in the runtimes of Go, Java and Node too, as far as they are installed.
    pub runtimes: bool,
}

/// All tables, in the order of telling.
pub fn tables(options: Options) -> Vec<Box<dyn Table>> {
    let Options { like_eliben, runtimes } = options;
    vec![
        Box::new(Launch { like_eliben }),
        Box::new(Switch { runtimes }),
        Box::new(Memory),
        Box::new(Ipc),
        Box::new(copy::Copies),
    ]
}

/// Why nothing, or not all, could be measured.
#[derive(Debug)]
pub enum Error {
    /// The process that measures does not start, or does not answer.
    Worker(String),
    /// What was to be measured cannot be: what, and why.
    Cell(String, String),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Worker(why) => write!(f, "the process that measures: {why}"),
            Self::Cell(what, why) => write!(f, "{what} cannot be measured: {why}"),
        }
    }
}

impl std::error::Error for Error {}
