use crate::{Error, StopReason, TraceLimits, TraceResult, follow};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::process::Command;
use sys::{ARCHITECTURE, SyscallSide};
use units::Nanos;

/// What one system call cost in a run of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyscallCost {
    /// Its number.
    pub number: i64,
    /// Its name, if it is known.
    pub name: Option<&'static str>,
    /// How often it was made.
    pub count: u64,
    /// Time on the wall between the stop before it and that after it, all together: the call itself, waiting in it, and
    /// one hand-over to the tracer and back each time. 0 for a call that does not return.
    pub time: Nanos,
}

/// Moments in the life of the program, each from just before it was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Milestones {
    /// execve has returned: the program stands before the first instruction of its loader, or its own if it is static.
    pub exec: Nanos,
    /// The first exit_group(2) of the program itself; none if it was ended otherwise.
    pub exit: Option<Nanos>,
    /// All that it had started has ended too.
    pub ended: Nanos,
}

/// The system calls of one run of a program and of all that it started.
#[derive(Debug, Clone)]
pub struct SyscallSummary {
    /// Those that took longest first.
    pub costs: Vec<SyscallCost>,
    /// Calls for another architecture that the kernel also offers, whose numbers mean something else.
    pub foreign: u64,
    /// When what happened.
    pub marks: Milestones,
    /// How the trace went: whether all was seen.
    pub followed: TraceResult,
}

/// Runs the program of `command` and adds up its system calls.
///
/// # Errors
/// As [`follow`].
pub fn trace_syscalls(command: Command, limits: TraceLimits) -> Result<SyscallSummary, Error> {
    let mut costs: BTreeMap<i64, SyscallCost> = BTreeMap::new();
    let mut entered: BTreeMap<i32, (i64, Nanos)> = BTreeMap::new();
    let (mut first, mut exec, mut exit, mut foreign) = (None, None, None, 0);
    let exit_group = sys::syscall_number("exit_group");
    let followed = follow(command, limits, |stop| {
        let pid = stop.pid.as_raw_nonzero().get();
        match stop.what {
            StopReason::Exec => {
                first.get_or_insert(stop.pid);
                exec.get_or_insert(stop.at);
                // The program before it has called execve, and does not come back.
                entered.remove(&pid);
            }
            StopReason::Call(place) if Some(place.architecture) != ARCHITECTURE => {
                foreign += u64::from(matches!(place.side, SyscallSide::Entry { .. }));
            }
            StopReason::Call(place) => match place.side {
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
    let since = |moment: Nanos| Nanos(moment.0.saturating_sub(followed.began.0));
    let marks = Milestones {
        exec: since(exec.unwrap_or(followed.began)),
        exit: exit.map(since),
        ended: since(followed.ended),
    };
    let mut costs: Vec<SyscallCost> = costs.into_values().collect();
    costs.sort_by_key(|cost| std::cmp::Reverse((cost.time, cost.count)));
    Ok(SyscallSummary { costs, foreign, marks, followed })
}
