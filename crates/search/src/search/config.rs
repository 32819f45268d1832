//! What a search is asked, and what it asks for.

use plan::{Goal, Objective};
use record::{LimitUnit, Purpose, Verdict};
use units::{Nanos, Rate, Share};

/// What to search for.
#[derive(Debug, Clone)]
pub struct SearchConfig {
    /// All are searched together; exceed ratios below 1.
    pub goals: Vec<Goal>,
    /// What makes a request bad.
    pub objective: Objective,
    /// The first rate tried.
    pub from: Rate,
    /// The largest rate tried.
    pub max: Rate,
    /// The goals' width: how close the bounds must be.
    pub width: Share,
    /// No trial is shorter: users who pause come to every step of their flow only in one that is longer than their pauses.
    pub least: Nanos,
    /// How long a user may pause altogether: not before does a load stand still, and what is outstanding is no queue that grows.
    pub pauses: Nanos,
    /// Time under load after which the search ends with what it has.
    pub budget: Option<Nanos>,
    /// When a request is given up.
    pub timeout: Nanos,
    /// Orders the confirming trials.
    pub seed: u64,
    /// Whether to measure response times at shares of the capacity at the end.
    pub curve: bool,
    /// Time under load that its caller needs afterwards: without a budget the search leaves it.
    pub reserved: Nanos,
    /// What the limits count.
    pub unit: LimitUnit,
}

/// A load to be tried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proposal {
    /// Why.
    pub purpose: Purpose,
    /// Offered rate; what is expected of a closed loop.
    pub rate: Rate,
    /// How long.
    pub duration: Nanos,
    /// So many requests are outstanding all the time, instead of arrivals at a rate.
    pub closed: Option<u32>,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum SearchStep {
    /// Make this trial and hand in its result.
    Try(Proposal),
    /// The search is over.
    Done(Box<Verdict>),
}
