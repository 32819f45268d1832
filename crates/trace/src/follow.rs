use crate::{Error, TraceLimits};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use sys::{ResumeMode, SyscallInfo, TraceeEvent};
use units::Nanos;

/// A moment at which a process or thread stands still.
#[derive(Debug, Clone, Copy)]
pub struct TraceStop {
    /// Its number as a thread; the process has that of its first one.
    pub pid: Pid,
    /// When, on the monotonic clock.
    pub at: Nanos,
    /// Why.
    pub what: StopReason,
}

/// Why it stands still.
#[derive(Debug, Clone, Copy)]
pub enum StopReason {
    /// Before a system call, or after it.
    Call(SyscallInfo),
    /// It runs another program from here on; this comes first, for the program itself.
    Exec,
    /// It has started this one.
    Started(Pid),
    /// It has ended; with its exit code, or none if a signal ended it. It stands still for good.
    Ended(Option<i32>),
}

/// Why a trace is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceEnd {
    /// All that was traced has ended by itself.
    Ended,
    /// Enough was seen, says who looked.
    Enough,
    /// The time was up.
    Time,
    /// There were too many stops.
    Stops,
}

/// How a trace went.
#[derive(Debug, Clone, Copy)]
pub struct TraceResult {
    /// Why it is over.
    pub over: TraceEnd,
    /// The program's exit code; none if it was ended by a signal, ours among them.
    pub code: Option<i32>,
    /// Just before the program was started.
    pub began: Nanos,
    /// When the last had ended.
    pub ended: Nanos,
    /// Processes and threads that were traced, the program's own among them.
    pub traced: usize,
}

/// Runs the program of `command` and tells `each` stop of it and of all that it starts, until all have ended, a limit is
/// reached or `each` has seen enough: then what is left is killed. `each` may read the memory of whoever stands still.
///
/// # Errors
/// If the program cannot be started, or the kernel does not let it be traced.
pub fn follow(
    mut command: Command,
    limits: TraceLimits,
    mut each: impl FnMut(&TraceStop) -> ControlFlow<()> + Send,
) -> Result<TraceResult, Error> {
    sys::trace_on_start(&mut command);
    with_time_limit(limits, |watch| {
        let began = Nanos(sys::monotonic_ns());
        let first = start(&mut command)?;
        sys::follow_children(first).map_err(Error::Trace)?;
        let mut tracer = Tracer { watch, seen: BTreeSet::new(), fresh: BTreeSet::new(), over: None };
        tracer.seen.insert(first.as_raw_nonzero().get());
        watch.add(first);
        let (mut code, mut stops) = (None, 0);
        let mut next = Some((first, TraceeEvent::Exec));
        while let Some((pid, stopped)) = next {
            let at = Nanos(sys::monotonic_ns());
            stops += 1;
            let (what, signal) = tracer.interpret_stop(pid, stopped).map_err(Error::Trace)?;
            if let (Some(StopReason::Ended(ended)), true) = (what, pid == first) {
                code = ended;
            }
            let told = what.map_or(ControlFlow::Continue(()), |what| match tracer.over {
                None => each(&TraceStop { pid, at, what }),
                Some(_) => ControlFlow::Continue(()),
            });
            tracer.limit(told.is_break(), stops >= limits.stops);
            if !matches!(what, Some(StopReason::Ended(_))) {
                ignore_gone(sys::resume_tracee(pid, ResumeMode::ToSyscall, signal)).map_err(Error::Trace)?;
            }
            next = sys::wait_tracee().map_err(Error::Trace)?;
        }
        let (over, traced) = (tracer.over.unwrap_or(TraceEnd::Ended), tracer.seen.len());
        Ok(TraceResult { over, code, began, ended: Nanos(sys::monotonic_ns()), traced })
    })
}

/// Starts it and waits until it stands before its first instruction.
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

/// Traces in a thread of its own, since all that is traced belongs to the thread that started it, while this one
/// watches the time.
pub(crate) fn with_time_limit<T: Send>(
    limits: TraceLimits,
    trace: impl FnOnce(&TracedProcesses) -> Result<T, Error> + Send,
) -> Result<T, Error> {
    let watch = TracedProcesses::default();
    std::thread::scope(|scope| {
        let (done, over) = channel::<()>();
        let watched = &watch;
        let tracer = scope.spawn(move || {
            let result = trace(watched);
            drop(done);
            result
        });
        if over.recv_timeout(limits.time) == Err(RecvTimeoutError::Timeout) {
            watch.late.store(true, Ordering::Relaxed);
            watch.kill();
        }
        tracer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// The processes under trace, by descriptors that never come to mean another process.
#[derive(Default)]
pub(crate) struct TracedProcesses {
    processes: Mutex<BTreeMap<i32, OwnedFd>>,
    pub late: AtomicBool,
}

impl TracedProcesses {
    /// A thread other than the first of its process has no descriptor, and ends with its process.
    pub fn add(&self, pid: Pid) {
        if let Ok(descriptor) = pidfd_open(pid, PidfdFlags::empty()) {
            self.lock().insert(pid.as_raw_nonzero().get(), descriptor);
        }
    }

    fn remove(&self, pid: Pid) {
        self.lock().remove(&pid.as_raw_nonzero().get());
    }

    /// One that has ended already is no matter.
    pub fn kill(&self) {
        for process in self.lock().values() {
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<i32, OwnedFd>> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Tracer<'w> {
    watch: &'w TracedProcesses,
    /// All that were ever traced.
    seen: BTreeSet<i32>,
    /// Those that will still stop once, since they are new.
    fresh: BTreeSet<i32>,
    over: Option<TraceEnd>,
}

impl Tracer<'_> {
    /// What the stop means, and the signal to go on with.
    fn interpret_stop(&mut self, pid: Pid, stopped: TraceeEvent) -> io::Result<(Option<StopReason>, i32)> {
        let number = pid.as_raw_nonzero().get();
        Ok(match stopped {
            TraceeEvent::Syscall => match sys::syscall_info(pid) {
                Ok(place) => (Some(StopReason::Call(place)), 0),
                Err(why) => ignore_gone(Err(why)).map(|()| (None, 0))?,
            },
            TraceeEvent::Exec => (Some(StopReason::Exec), 0),
            TraceeEvent::Started => match sys::child_of_tracee(pid) {
                Ok(Some(new)) => {
                    self.meet(new);
                    (Some(StopReason::Started(new)), 0)
                }
                Ok(None) => (None, 0),
                Err(why) => ignore_gone(Err(why)).map(|()| (None, 0))?,
            },
            TraceeEvent::Event => (None, 0),
            TraceeEvent::Signal(signal) => {
                // It may stand still before whoever started it has told of it.
                self.meet(pid);
                // The kernel stops what is new by a signal that is not meant for it.
                (None, if self.fresh.remove(&number) { 0 } else { signal })
            }
            TraceeEvent::Exited(_) | TraceeEvent::Killed(_) => {
                self.watch.remove(pid);
                let code = if let TraceeEvent::Exited(code) = stopped { Some(code) } else { None };
                (Some(StopReason::Ended(code)), 0)
            }
        })
    }

    fn meet(&mut self, pid: Pid) {
        if self.seen.insert(pid.as_raw_nonzero().get()) {
            self.fresh.insert(pid.as_raw_nonzero().get());
            self.watch.add(pid);
        }
    }

    /// Whether it is over now; if it is, nobody under trace runs on.
    fn limit(&mut self, enough: bool, stops: bool) {
        let late = self.watch.late.load(Ordering::Relaxed);
        let now = match (enough, late, stops) {
            (true, ..) => Some(TraceEnd::Enough),
            (_, true, _) => Some(TraceEnd::Time),
            (.., true) => Some(TraceEnd::Stops),
            _ => None,
        };
        self.over = self.over.or(now);
        if self.over.is_some() {
            // Again at every stop: somebody new may have come.
            self.watch.kill();
        }
    }
}

/// A tracee may be killed at any moment; then it is told of by the next wait.
pub(crate) fn ignore_gone(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(why) if why.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => Ok(()),
        other => other,
    }
}
