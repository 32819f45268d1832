use crate::{Error, TraceLimits};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use sys::{ResumeMode, SyscallInfo, TraceeEvent};
use units::Nanos;

/// A stop of a traced process or thread.
#[derive(Debug, Clone, Copy)]
pub struct TraceStop {
    /// Its TID; a process has that of its first thread.
    pub pid: Pid,
    /// Time on the monotonic clock.
    pub at: Nanos,
    /// Why it stopped.
    pub reason: StopReason,
}

/// Why a tracee stopped.
#[derive(Debug, Clone, Copy)]
pub enum StopReason {
    /// Entry to or exit from a system call.
    Syscall(SyscallInfo),
    /// It is about to run another program; the first stop of all, for the program itself.
    Exec,
    /// It started this child.
    Started(Pid),
    /// It ended: its exit code, or none if a signal killed it. Its last stop.
    Ended(Option<i32>),
}

/// Why a trace ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceEnd {
    /// All tracees ended by themselves.
    Ended,
    /// `on_stop` had seen enough.
    Stopped,
    /// The time limit was reached.
    TimeLimit,
    /// The stop limit was reached.
    StopLimit,
}

/// The result of a trace.
#[derive(Debug, Clone, Copy)]
pub struct TraceResult {
    /// Why it ended.
    pub end: TraceEnd,
    /// The program's exit code; none if killed by a signal, including ours.
    pub code: Option<i32>,
    /// Processes and threads traced, including the program's own.
    pub traced: usize,
}

/// Runs `command` and calls `on_stop` for every stop of it and its descendants, until all have ended, a limit
/// is reached or `on_stop` has seen enough; then kills what is left. `on_stop` may read the stopped tracee's
/// memory.
///
/// # Errors
/// If the program cannot be started, or the kernel forbids tracing.
pub fn follow(
    mut command: Command,
    limits: TraceLimits,
    mut on_stop: impl FnMut(&TraceStop) -> ControlFlow<()> + Send,
) -> Result<TraceResult, Error> {
    sys::trace_on_start(&mut command);
    with_time_limit(limits, |tracees| {
        let first = start(&mut command)?;
        sys::follow_children(first).map_err(Error::Trace)?;
        let mut tracer = Tracer { tracees, known: HashSet::from([first]), fresh: HashSet::new(), end: None };
        tracees.add(first);
        let (mut code, mut stops) = (None, 0);
        let mut next = Some((first, TraceeEvent::Exec));
        while let Some((pid, stopped)) = next {
            let at = Nanos(sys::monotonic_ns());
            stops += 1;
            let (reason, signal) = tracer.interpret_stop(pid, stopped).map_err(Error::Trace)?;
            if let (Some(StopReason::Ended(ended)), true) = (reason, pid == first) {
                code = ended;
            }
            let flow = reason.map_or(ControlFlow::Continue(()), |reason| match tracer.end {
                None => on_stop(&TraceStop { pid, at, reason }),
                Some(_) => ControlFlow::Continue(()),
            });
            tracer.check_limits(flow.is_break(), stops >= limits.stops);
            if !matches!(reason, Some(StopReason::Ended(_))) {
                unless_gone(sys::resume_tracee(pid, ResumeMode::ToSyscall, signal)).map_err(Error::Trace)?;
            }
            next = sys::wait_tracee().map_err(Error::Trace)?;
        }
        let (end, traced) = (tracer.end.unwrap_or(TraceEnd::Ended), tracer.known.len());
        Ok(TraceResult { end, code, traced })
    })
}

/// Starts it and waits until it stops before its first instruction.
pub(crate) fn start(command: &mut Command) -> Result<Pid, Error> {
    let name = |command: &Command| command.get_program().to_string_lossy().into_owned();
    let child = command.spawn().map_err(|why| Error::Start { program: name(command), why })?;
    match sys::wait_tracee().map_err(Error::Trace)? {
        Some((pid, TraceeEvent::Signal(_))) => Ok(pid),
        other => Err(Error::Trace(io::Error::other(format!(
            "'{}' (process {}) did not stop where it begins, but: {other:?}",
            name(command),
            child.id()
        )))),
    }
}

/// Traces in a separate thread, since tracees belong to the thread that started them, while this one
/// watches the time.
pub(crate) fn with_time_limit<T: Send>(
    limits: TraceLimits,
    trace: impl FnOnce(&TracedProcesses) -> Result<T, Error> + Send,
) -> Result<T, Error> {
    let tracees = TracedProcesses::default();
    std::thread::scope(|scope| {
        let (done, over) = channel::<()>();
        let shared = &tracees;
        let tracer = scope.spawn(move || {
            let result = trace(shared);
            drop(done);
            result
        });
        if over.recv_timeout(limits.time) == Err(RecvTimeoutError::Timeout) {
            tracees.timed_out.store(true, Ordering::Relaxed);
            tracees.kill();
        }
        tracer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// The tracees, by pidfds, which never refer to another process.
#[derive(Default)]
pub(crate) struct TracedProcesses {
    processes: Mutex<HashMap<Pid, OwnedFd>>,
    pub timed_out: AtomicBool,
}

impl TracedProcesses {
    /// A thread other than its process's first has no pidfd, and ends with its process.
    pub fn add(&self, pid: Pid) {
        if let Ok(descriptor) = pidfd_open(pid, PidfdFlags::empty()) {
            self.lock().insert(pid, descriptor);
        }
    }

    /// Ignores those that have already ended.
    pub fn kill(&self) {
        for process in self.lock().values() {
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Pid, OwnedFd>> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Tracer<'w> {
    tracees: &'w TracedProcesses,
    /// All tracees ever.
    known: HashSet<Pid>,
    /// New tracees, whose first stop is still to come.
    fresh: HashSet<Pid>,
    end: Option<TraceEnd>,
}

impl Tracer<'_> {
    /// Interprets a stop; also returns the signal to resume with.
    fn interpret_stop(&mut self, pid: Pid, stopped: TraceeEvent) -> io::Result<(Option<StopReason>, i32)> {
        let reason = match stopped {
            TraceeEvent::Syscall => unless_gone(sys::syscall_info(pid))?.map(StopReason::Syscall),
            TraceeEvent::Exec => Some(StopReason::Exec),
            TraceeEvent::Started => {
                let new = unless_gone(sys::child_of_tracee(pid))?.flatten();
                new.into_iter().for_each(|new| self.add_tracee(new));
                new.map(StopReason::Started)
            }
            TraceeEvent::Other => None,
            TraceeEvent::Signal(signal) => {
                // A child may stop before its parent's stop reports it.
                self.add_tracee(pid);
                // The kernel's initial stop signal is not meant for the tracee.
                return Ok((None, if self.fresh.remove(&pid) { 0 } else { signal }));
            }
            TraceeEvent::Exited(_) | TraceeEvent::Killed(_) => {
                self.tracees.lock().remove(&pid);
                let code = if let TraceeEvent::Exited(code) = stopped { Some(code) } else { None };
                Some(StopReason::Ended(code))
            }
        };
        Ok((reason, 0))
    }

    fn add_tracee(&mut self, pid: Pid) {
        if self.known.insert(pid) {
            self.fresh.insert(pid);
            self.tracees.add(pid);
        }
    }

    /// Checks the limits; if one is reached, kills all tracees.
    fn check_limits(&mut self, enough: bool, stops: bool) {
        let timed_out = self.tracees.timed_out.load(Ordering::Relaxed);
        let now = match (enough, timed_out, stops) {
            (true, ..) => Some(TraceEnd::Stopped),
            (_, true, _) => Some(TraceEnd::TimeLimit),
            (.., true) => Some(TraceEnd::StopLimit),
            _ => None,
        };
        self.end = self.end.or(now);
        if self.end.is_some() {
            // At every stop: a new tracee may have appeared.
            self.tracees.kill();
        }
    }
}

/// A tracee may be killed at any moment; the next wait reports that.
pub(crate) fn unless_gone<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(why) if why.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => Ok(None),
        other => other.map(Some),
    }
}
