use crate::{Error, StopReason, TraceLimits, TraceResult, follow};
use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::process::Command;
use sys::{ARCHITECTURE, SyscallSide};
use units::Nanos;

/// The cost of one system call in a run of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyscallCost {
    /// System call number.
    pub number: i64,
    /// Its name, if known.
    pub name: Option<&'static str>,
    /// Number of calls.
    pub count: u64,
    /// Total wall-clock time between entry and exit stops: the call itself, waiting included, and one round
    /// trip to the tracer each time. 0 for a call that does not return.
    pub time: Nanos,
}

impl SyscallCost {
    /// Of a call not yet made.
    pub(crate) fn none(number: i64) -> Self {
        Self { number, name: sys::syscall_name(number), count: 0, time: Nanos::ZERO }
    }
}

pub(crate) fn longest_first(costs: BTreeMap<i64, SyscallCost>) -> Vec<SyscallCost> {
    let mut costs: Vec<SyscallCost> = costs.into_values().collect();
    costs.sort_by_key(|cost| std::cmp::Reverse((cost.time, cost.count)));
    costs
}

/// The system calls of one run of a program and its descendants.
#[derive(Debug, Clone)]
pub struct SyscallSummary {
    /// The longest first.
    pub costs: Vec<SyscallCost>,
    /// The trace's result: whether everything was seen.
    pub trace: TraceResult,
}

/// Runs `command` and adds up its system calls.
///
/// # Errors
/// As [`follow`].
pub fn trace_syscalls(command: Command, limits: TraceLimits) -> Result<SyscallSummary, Error> {
    let mut costs: BTreeMap<i64, SyscallCost> = BTreeMap::new();
    let mut entered = HashMap::new();
    let trace = follow(command, limits, |stop| {
        match stop.reason {
            // The program that called execve is replaced, and its call does not return.
            StopReason::Exec | StopReason::Ended(_) => drop(entered.remove(&stop.pid)),
            // Numbers of another architecture's ABI mean something else.
            StopReason::Syscall(place) if Some(place.architecture) != ARCHITECTURE => {}
            StopReason::Syscall(place) => match place.side {
                SyscallSide::Entry { number, .. } => {
                    let number = number.cast_signed();
                    costs.entry(number).or_insert_with(|| SyscallCost::none(number)).count += 1;
                    entered.insert(stop.pid, (number, stop.at));
                }
                SyscallSide::Exit(_) => {
                    if let Some((number, since)) = entered.remove(&stop.pid)
                        && let Some(cost) = costs.get_mut(&number)
                    {
                        cost.time = Nanos(cost.time.0 + stop.at.0.saturating_sub(since.0));
                    }
                }
                SyscallSide::Neither => {}
            },
            StopReason::Started(_) => {}
        }
        ControlFlow::Continue(())
    })?;
    Ok(SyscallSummary { costs: longest_first(costs), trace })
}
