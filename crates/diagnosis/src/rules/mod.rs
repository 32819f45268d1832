//! The rules: each a pure function of a case to what it found, if it holds.

mod database;
pub(crate) mod inside;
mod instrument;
mod java;
mod processors;
mod refusals;
pub(crate) mod waits;

use crate::case::Case;
use crate::found::Found;

/// Every rule.
pub(crate) const ALL: [fn(&Case<'_>) -> Option<Found>; 24] = [
    instrument::generator,
    instrument::ports,
    instrument::descriptors,
    refusals::accept_queue,
    refusals::tasks,
    refusals::memory,
    refusals::descriptors,
    processors::quota,
    processors::cpu,
    processors::neighbour,
    java::gc,
    java::safepoint,
    java::cold,
    waits::crowd,
    waits::workers,
    waits::downstream,
    waits::disk,
    waits::inside,
    database::wal,
    database::locks,
    database::cpu,
    database::reads,
    database::connections,
    database::idle_in_transaction,
];
