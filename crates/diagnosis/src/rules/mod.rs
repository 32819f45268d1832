//! The rules: each a pure function from a case to its finding, if it holds.

mod checkpoints;
mod contention;
mod database;
mod delayed_acks;
mod event_loop;
mod freeze;
mod generator;
mod hidden_pool;
mod interpreter;
mod java;
mod lock;
mod neighbour;
mod network;
mod outside;
mod pool;
mod processors;
mod refusals;
mod sqlite;

use crate::case::Case;
use crate::finding::RuleFinding;
pub(crate) use java::is_collector_minor;

/// Every rule.
pub(crate) const ALL: &[fn(&Case<'_>) -> Option<RuleFinding>] = &[
    generator::generator,
    generator::ports,
    generator::descriptors,
    freeze::freezes,
    refusals::accept_queue,
    refusals::tasks,
    refusals::memory,
    refusals::descriptors,
    processors::quota,
    processors::cpu,
    neighbour::neighbour,
    java::gc,
    java::safepoint,
    java::cold,
    interpreter::interpreter,
    pool::pool,
    sqlite::lock,
    outside::workers,
    outside::downstream,
    outside::disk,
    hidden_pool::hidden_queue,
    delayed_acks::delayed_acks,
    network::bandwidth,
    network::conntrack,
    network::drops,
    network::retransmissions,
    checkpoints::checkpoints,
    database::wal,
    database::locks,
    database::cpu,
    database::reads,
    database::connections,
    database::idle_in_transaction,
];

/// Those also applied to downstreams. The number of requests there is unknown, so a lock (except SQLite's) and a pool are
/// indistinguishable from idle threads, unless it has as many connections as it serves at a time; and a shortage of the machine or user
/// is not distinguished from its own.
pub(crate) const BEHIND: &[fn(&Case<'_>) -> Option<RuleFinding>] = &[
    refusals::accept_queue,
    refusals::descriptors,
    processors::quota,
    processors::cpu,
    interpreter::interpreter,
    sqlite::lock,
    outside::workers,
    outside::disk,
    hidden_pool::pool_behind,
];
