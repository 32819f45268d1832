//! Configuration and steps of a search.

use plan::{Goal, Objective};
use record::{LimitUnit, Purpose, Verdict};
use units::{Nanos, Rate, Share};

/// A search's configuration.
#[derive(Debug, Clone)]
pub struct SearchConfig {
    /// Searched together; exceed ratios below 1.
    pub goals: Vec<Goal>,
    /// What makes a request bad.
    pub objective: Objective,
    /// The first rate tried.
    pub from: Rate,
    /// The largest rate tried.
    pub max: Rate,
    /// The goals' width: how close the bounds must be.
    pub width: Share,
    /// Shortest trial: users who pause reach every step of their flow only in one longer than their pauses.
    pub least: Nanos,
    /// Total pauses of a user: until then a load is not steady, and what is outstanding is no growing queue.
    pub pauses: Nanos,
    /// Time under load after which the search ends with what it has.
    pub budget: Option<Nanos>,
    /// When a request times out.
    pub timeout: Nanos,
    /// Orders the confirming trials.
    pub seed: u64,
    /// Whether to end by measuring response times at shares of the capacity.
    pub curve: bool,
    /// Time under load that the caller needs afterwards: without a budget the search leaves it.
    pub reserved: Nanos,
    /// Unit of the limits.
    pub unit: LimitUnit,
}

/// A proposed load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proposal {
    /// Its purpose.
    pub purpose: Purpose,
    /// Offered rate; for a closed loop, the expected one.
    pub rate: Rate,
    /// Its duration.
    pub duration: Nanos,
    /// Closed loop: this many requests outstanding all the time, instead of arrivals at a rate.
    pub users: Option<u32>,
}

/// The next step.
#[derive(Debug, Clone, PartialEq)]
pub enum SearchStep {
    /// Run this trial and hand in its result.
    Try(Proposal),
    /// The search is over.
    Done(Box<Verdict>),
}
