use crate::{Error, StopReason, TraceLimits, TraceResult, follow};
use std::collections::BTreeMap;
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

/// Points in the life of the program, since just before its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Milestones {
    /// execve returned: the program is at the first instruction of its loader, or its own if static.
    pub exec: Nanos,
    /// The program's first exit_group(2); none if it ended otherwise.
    pub exit: Option<Nanos>,
    /// Its descendants have ended too.
    pub ended: Nanos,
}

/// The system calls of one run of a program and its descendants.
#[derive(Debug, Clone)]
pub struct SyscallSummary {
    /// The longest first.
    pub costs: Vec<SyscallCost>,
    /// Calls of another architecture's ABI, whose numbers mean something else.
    pub foreign: u64,
    /// When the program reached what.
    pub milestones: Milestones,
    /// The trace's result: whether everything was seen.
    pub trace: TraceResult,
}

/// Runs `command` and adds up its system calls.
///
/// # Errors
/// As [`follow`].
pub fn trace_syscalls(command: Command, limits: TraceLimits) -> Result<SyscallSummary, Error> {
    let mut costs: BTreeMap<i64, SyscallCost> = BTreeMap::new();
    let mut entered: BTreeMap<i32, (i64, Nanos)> = BTreeMap::new();
    let (mut first, mut exec, mut exit, mut foreign) = (None, None, None, 0);
    let exit_group = sys::syscall_number("exit_group");
    let trace = follow(command, limits, |stop| {
        let pid = stop.pid.as_raw_nonzero().get();
        match stop.reason {
            StopReason::Exec => {
                first.get_or_insert(stop.pid);
                exec.get_or_insert(stop.at);
                // The program that called execve is replaced, and its call does not return.
                entered.remove(&pid);
            }
            StopReason::Syscall(place) if Some(place.architecture) != ARCHITECTURE => {
                foreign += u64::from(matches!(place.side, SyscallSide::Entry { .. }));
            }
            StopReason::Syscall(place) => match place.side {
                SyscallSide::Entry { number, .. } => {
                    let number = number.cast_signed();
                    let name = sys::syscall_name(number);
                    let cost = costs.entry(number).or_insert(SyscallCost {
                        number,
                        name,
                        count: 0,
                        time: Nanos::ZERO,
                    });
                    cost.count += 1;
                    entered.insert(pid, (number, stop.at));
                    if Some(number) == exit_group && first == Some(stop.pid) {
                        exit.get_or_insert(stop.at);
                    }
                }
                SyscallSide::Exit(_) => {
                    if let Some((number, since)) = entered.remove(&pid)
                        && let Some(cost) = costs.get_mut(&number)
                    {
                        cost.time = Nanos(cost.time.0 + stop.at.0.saturating_sub(since.0));
                    }
                }
                SyscallSide::Neither => {}
            },
            StopReason::Started(_) => {}
            StopReason::Ended(_) => drop(entered.remove(&pid)),
        }
        ControlFlow::Continue(())
    })?;
    let since = |moment: Nanos| Nanos(moment.0.saturating_sub(trace.began.0));
    let milestones = Milestones {
        exec: since(exec.unwrap_or(trace.began)),
        exit: exit.map(since),
        ended: since(trace.ended),
    };
    let mut costs: Vec<SyscallCost> = costs.into_values().collect();
    costs.sort_by_key(|cost| std::cmp::Reverse((cost.time, cost.count)));
    Ok(SyscallSummary { costs, foreign, milestones, trace })
}
