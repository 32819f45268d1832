//! Every noun that goes in: target, request, load, goal; text to a checked plan.
//!
//! Pure: it never opens a file, resolves a name or asks for the time.

mod goal;
mod load;
mod target;
mod template;
mod url;

pub use goal::{Goal, Objective};
pub use load::{Arrivals, Find, Generator, Load, Stage};
pub use target::{Origin, Request, StatusRange, Target};
pub use template::{Piece, Template};

use serde::{Deserialize, Serialize};

/// One run as understood: everything is checked and every default is filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The system under test.
    pub target: Target,
    /// What is sent to it.
    pub request: Request,
    /// What is good enough.
    pub objective: Objective,
    /// What is done.
    pub task: Task,
    /// How the load is made.
    pub generator: Generator,
}

/// What is done with the target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Task {
    /// One load with a verdict on the goal.
    Run(Load),
    /// A search for the highest rate that meets the goal.
    Find(Find),
}
