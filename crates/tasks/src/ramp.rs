//! Threads until a limit is hit: up by doubling, then down again, with progress reports.

use crate::binding_limit::{limit_of_failure, limit_of_kill, with_advice};
use crate::crowd::{CrowdReport, CrowdRequest};
use crate::crowd_process::CrowdProcess;
use crate::limits::{ThreadCost, limits};
use crate::readings::{LimitReadings, MemoryGroup};
use crate::reserve::{is_memory_short, next_step, threads_allowed};
use crate::{Error, ThreadsWanted};
use plan::ResourceLimits;
use procfs::kib_field;
use record::{Event, RampEnd, RampProgress, SystemLimitUnit, Verdict};
use service::Guard;
use service::Incoming;
use std::fs::read_to_string;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use units::{Bytes, Nanos};

/// Interval between readings of threads and memory.
const REPORT_INTERVAL: Duration = Duration::from_millis(200);
/// Until all threads have ended by themselves.
const EXIT_TIMEOUT: Duration = Duration::from_secs(60);

/// Creates threads until one fails or the maximum is reached; names the limit and ends them all
/// again. Reports what every limit allows, then its progress. `program` is torment, whose hidden command `crowd` is
/// [`crate::run_crowd`], and whose `guard` is that of the service crate.
///
/// # Errors
/// If the request is invalid, its own control group cannot be made, or the child fails.
pub fn ramp(
    threads_wanted: &ThreadsWanted,
    program: &Path,
    emit: &mut dyn FnMut(Event),
    stop: &dyn Fn() -> bool,
) -> Result<Verdict, Error> {
    threads_wanted.check()?;
    let here = LimitReadings::take(Path::new("/"), std::process::id());
    let own_group = threads_wanted.until_failure.then(|| make_own_group(program, &here, threads_wanted));
    let (guard, groups) = own_group.transpose()?.unzip();
    let stack = Bytes(ThreadCost::of(&here, threads_wanted).stack);
    let ThreadsWanted { touch, raw, maps, .. } = *threads_wanted;
    let request = CrowdRequest { stack, touch, raw, maps };
    let child = CrowdProcess::start(program, &request, &groups.unwrap_or_default())?;
    let before = LimitReadings::take(Path::new("/"), child.pid());
    let limits = limits(&before, threads_wanted);
    let forecast = limits.first().and_then(|room| room.threads);
    emit(Event::Forecast { rooms: limits });
    let mut ramp =
        Ramp { child, threads_wanted, before, emit, stop, began: Instant::now(), last_report: None };
    ramp.report_progress(0);
    let end = ramp.climb()?;
    let reached = ramp.child.made();
    ramp.report_progress(reached);
    if !matches!(end, RampEnd::Interrupted | RampEnd::Killed { .. }) {
        ramp.descend()?;
    }
    drop(ramp);
    drop(guard);
    Ok(Verdict::Tasks { reached, forecast, gave: end })
}

/// A group whose limit is above all others, but present: a backstop whatever happens.
fn make_own_group(
    program: &Path,
    here: &LimitReadings,
    threads_wanted: &ThreadsWanted,
) -> Result<(Guard, Vec<PathBuf>), Error> {
    let why = |why: service::Error| {
        let text = match why {
            service::Error::Limits { why, .. } => why,
            other => other.to_string(),
        };
        Error::UntilFailure(text)
    };
    let threads = limits(here, threads_wanted)
        .iter()
        .filter(|room| room.unit == SystemLimitUnit::Tasks)
        .filter_map(|room| room.threads)
        .min();
    let pids = threads.map_or(1 << 22, |threads| threads + threads / 10 + 100);
    let mut guard = Guard::start(program).map_err(why)?;
    let groups =
        guard.make_group(&ResourceLimits { pids: Some(pids), ..ResourceLimits::default() }).map_err(why)?;
    Ok((guard, groups))
}

struct Ramp<'a> {
    child: CrowdProcess,
    threads_wanted: &'a ThreadsWanted,
    before: LimitReadings,
    emit: &'a mut dyn FnMut(Event),
    stop: &'a dyn Fn() -> bool,
    began: Instant,
    last_report: Option<Instant>,
}

impl Ramp<'_> {
    /// Reports progress. Returns the available memory.
    fn report_progress(&mut self, tasks: u64) -> Option<u64> {
        self.last_report = Some(Instant::now());
        let memory = read_to_string("/proc/meminfo").unwrap_or_default();
        let free = Bytes(kib_field(&memory, "MemFree").unwrap_or_default());
        let after = Nanos::from(self.began.elapsed());
        (self.emit)(Event::Ramped(RampProgress { tasks, free, after }));
        kib_field(&memory, "MemAvailable")
    }

    /// The same, if the last report is old enough.
    fn report_if_due(&mut self) -> Option<u64> {
        let is_due = self.last_report.is_none_or(|last| last.elapsed() >= REPORT_INTERVAL);
        if is_due { self.report_progress(self.child.made()) } else { None }
    }

    /// Up, step by step, until a limit is hit.
    fn climb(&mut self) -> Result<RampEnd, Error> {
        let mut now = self.before.clone();
        loop {
            let made = self.child.made();
            let most = self.threads_wanted.max.unwrap_or(u64::MAX);
            if made >= most {
                return Ok(RampEnd::Asked);
            }
            let nearest = limits(&now, self.threads_wanted).into_iter().next();
            let threads_left = nearest.as_ref().and_then(|room| room.threads);
            let allowed = threads_allowed(&self.before, &now, self.threads_wanted);
            if allowed == Some(0) {
                let limit = nearest.map(|room| with_advice(&self.before, self.threads_wanted, &room));
                return Ok(RampEnd::Reserve { room: limit.map(Box::new) });
            }
            let step = next_step(made, threads_left).min(allowed.unwrap_or(u64::MAX));
            if let Some(end) = self.make(made.saturating_add(step).min(most))? {
                return Ok(end);
            }
            now = LimitReadings::take(Path::new("/"), self.child.pid());
        }
    }

    /// Up to this number; or the limit hit before.
    fn make(&mut self, ceiling: u64) -> Result<Option<RampEnd>, Error> {
        self.child.grow_to(ceiling)?;
        loop {
            let incoming = self.child.receive(REPORT_INTERVAL)?;
            let available = self.report_if_due();
            if (self.stop)() {
                return Ok(Some(RampEnd::Interrupted));
            }
            if available.is_some_and(|left| is_memory_short(&self.before, left, self.threads_wanted)) {
                self.child.set_ceiling(0)?;
            }
            match incoming {
                Incoming::Nothing => {}
                Incoming::Message(CrowdReport::Reached) => return Ok(None),
                Incoming::Message(CrowdReport::Failed(failure)) => {
                    let after = LimitReadings::take(Path::new("/"), self.child.pid());
                    let end = limit_of_failure(&self.before, &after, self.threads_wanted, &failure);
                    return Ok(Some(end));
                }
                Incoming::Message(other) => {
                    return Err(Error::Crowd(format!("it says {other:?}, which is unexpected")));
                }
                Incoming::Closed => {
                    self.child.expect_killed()?;
                    let before = &self.before;
                    let groups: Vec<_> = before.memory_groups.iter().map(MemoryGroup::reread).collect();
                    let kills = before.read_kills();
                    return Ok(Some(limit_of_kill(before, &groups, kills, self.threads_wanted)));
                }
            }
        }
    }

    /// Down: all threads are released, and end in their own time.
    fn descend(&mut self) -> Result<(), Error> {
        self.child.release()?;
        let until = Instant::now() + EXIT_TIMEOUT;
        while Instant::now() < until && !(self.stop)() {
            if self.child.receive(REPORT_INTERVAL)? == Incoming::Closed {
                break;
            }
            let threads = self.child.threads().unwrap_or_default();
            self.report_progress(threads);
        }
        self.report_progress(0);
        Ok(())
    }
}
