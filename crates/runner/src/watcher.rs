//! A watcher: observes the target on this machine for a run elsewhere.

use crate::worker::{describe_join_error, hello, leaving_report};
use fleet::{FleetRole, Instruction, MemberReport, WatchAssignment};
use link::{Duplex, JoinFile, MemberLink};
use observe::{TargetLocation, TargetWatch};
use record::watch::{AccessLevel, WatchCoverage, WatchEvent};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use units::Nanos;

/// How often to check for observations.
const POLL: Duration = Duration::from_millis(20);
/// An announced load begins within this, or the announcement is by another clock.
const AHEAD_MOST: Duration = Duration::from_secs(10);
/// The last window of a load is cut within this, unless the machine hangs.
const CUT_LIMIT: Duration = Duration::from_secs(1);

/// What a manually started watcher watches, instead of what the run says.
#[derive(Debug, Clone)]
pub struct WatchOverride {
    /// What to watch, and what to query beside it.
    pub settings: plan::WatchPlan,
    /// Where the service listens; `None`: as the run says.
    pub place: Option<TargetLocation>,
}

/// Watches for the coordinator at the other end of these pipes, until told to exit, or by others (`stop`).
///
/// # Errors
/// If the coordinator is gone.
pub fn watch_over_pipes((from, to): (OwnedFd, OwnedFd), stop: &Arc<AtomicBool>) -> io::Result<()> {
    let hello = hello(FleetRole::Watcher);
    let link = MemberLink::connect(Duplex::pipes(from, to), hello, &[]).map_err(io::Error::other)?;
    Watcher::new(link, stop, None, None).run().map_err(io::Error::other)
}

/// The same for the coordinator that a join file names, for at most `time`. `joined` gets its address, once it has
/// admitted this watcher.
///
/// # Errors
/// If the file is invalid, nobody is there, or it is not admitted; in words.
pub fn watch_joined(
    file: &str,
    watch_override: Option<WatchOverride>,
    time: Option<Nanos>,
    stop: &Arc<AtomicBool>,
    joined: &mut dyn FnMut(&str),
) -> Result<(), String> {
    let file: JoinFile = file.parse().map_err(describe_join_error)?;
    let link = MemberLink::join(&file, hello(FleetRole::Watcher), &[]).map_err(describe_join_error)?;
    joined(&file.address);
    let until = time.map(|time| Instant::now() + time.to_duration());
    let mut watcher = Watcher::new(link, stop, watch_override, until);
    watcher.run().map_err(|why| why.to_string())?;
    watcher.refused.map_or(Ok(()), Err)
}

struct Watcher {
    link: MemberLink,
    stop: Arc<AtomicBool>,
    watch_override: Option<WatchOverride>,
    /// When it exits, whatever it is told.
    deadline: Option<Instant>,
    watch: Option<TargetWatch>,
    /// A report that did not fit into the queue: the rest waits behind it.
    unsent: Option<MemberReport>,
    /// Why it sees nothing.
    refused: Option<String>,
}

impl Watcher {
    fn new(
        link: MemberLink,
        stop: &Arc<AtomicBool>,
        watch_override: Option<WatchOverride>,
        until: Option<Instant>,
    ) -> Self {
        Self {
            link,
            stop: Arc::clone(stop),
            watch_override,
            deadline: until,
            watch: None,
            unsent: None,
            refused: None,
        }
    }

    fn run(&mut self) -> Result<(), link::Error> {
        loop {
            match self.link.next(POLL)? {
                Some(Instruction::Leave) => return Ok(()),
                Some(Instruction::Watch(assignment)) => {
                    match start_watch(*assignment, self.watch_override.as_ref()) {
                        Ok((watch, coverage)) => {
                            self.watch = Some(watch);
                            self.send(MemberReport::Seen(Box::new(WatchEvent::Watched(Box::new(coverage)))));
                        }
                        Err(why) => {
                            self.refused = Some(why.clone());
                            self.send(MemberReport::Refused { share: 0, why, unreached: false });
                        }
                    }
                }
                Some(Instruction::WatchFrom { trial, at }) => {
                    let at = moment(at);
                    std::thread::sleep(at.saturating_duration_since(Instant::now()).min(AHEAD_MOST));
                    self.watch.iter().for_each(|watch| watch.begin_from(trial, at));
                }
                Some(Instruction::WatchUntil { at }) => {
                    self.watch.iter().for_each(|watch| watch.end_within(moment(at), CUT_LIMIT));
                    self.send_seen();
                    self.send(MemberReport::SeenAll);
                }
                Some(Instruction::LookCloser) => self.watch.iter().for_each(TargetWatch::look),
                // Instructions for workers.
                Some(_) | None => {}
            }
            self.send_seen();
            if self.stop.load(Ordering::Relaxed) {
                self.send(leaving_report());
                return Ok(());
            }
            if self.deadline.is_some_and(|until| Instant::now() >= until) {
                self.send(MemberReport::Leaving { why: "its time was up (--for)".to_owned() });
                return Ok(());
            }
        }
    }

    /// Sends in order; does nothing while an earlier report waits.
    fn send(&mut self, report: MemberReport) {
        if self.flush() {
            self.unsent = Some(report);
            self.flush();
        }
    }

    /// Retries the waiting report; true if nothing waits any more.
    fn flush(&mut self) -> bool {
        self.unsent = self.unsent.take().filter(|report| !self.link.send(report.clone()));
        self.unsent.is_none()
    }

    /// Sends observations; while nobody receives, they wait in the watch, which has room for some minutes.
    fn send_seen(&mut self) {
        while self.flush() {
            let seen = self.watch.as_ref().and_then(|watch| watch.drain().next());
            let Some(seen) = seen else { return };
            self.unsent = Some(MemberReport::Seen(Box::new(seen)));
        }
    }
}

/// Starts the watch that an assignment asks for, and returns its first event; fails if nothing of the target would be
/// seen.
fn start_watch(
    assignment: WatchAssignment,
    watch_override: Option<&WatchOverride>,
) -> Result<(TargetWatch, WatchCoverage), String> {
    let WatchAssignment { asked: settings, at, port, path, pods, inside } = assignment;
    let settings = match watch_override {
        Some(watch_override) => {
            plan::WatchPlan { attach: settings.attach, ..watch_override.settings.clone() }
        }
        None => settings,
    };
    let is_named = settings.names_processes() || inside || !pods.is_empty();
    let place = match (watch_override.and_then(|watch_override| watch_override.place.clone()), path, port) {
        (Some(place), ..) => place,
        _ if inside => TargetLocation::Inside,
        _ if !pods.is_empty() => TargetLocation::Pods(pods),
        (None, Some(path), _) => TargetLocation::Unix(path),
        (None, None, Some(port)) => {
            let listening = service::addresses(port);
            if listening.is_empty() && !is_named {
                return Err(format!(
                    "nothing listens at port {port} in its network namespace; name the process with --pid, --cgroup or --command, or start the \
                     watcher where the target runs"
                ));
            }
            TargetLocation::behind(&at, listening)
        }
        (None, None, None) => TargetLocation::Unknown,
    };
    let watch = observe::start(&settings, &place).map_err(|why| format!("no watch can be started: {why}"))?;
    let coverage = first_coverage(&watch);
    let finds_anyone = coverage.subjects.iter().any(|subject| subject.pid > 0);
    // If its process may not be inspected, the machine still can be.
    if !finds_anyone
        && is_named
        && let Some(missing) = coverage.missing.first()
    {
        return Err(missing.why.clone());
    }
    Ok((watch, coverage))
}

/// A watch first says what it watches.
fn first_coverage(watch: &TargetWatch) -> WatchCoverage {
    let coverage = watch.drain().find_map(|seen| match seen {
        WatchEvent::Watched(watched) => Some(*watched),
        _ => None,
    });
    coverage.unwrap_or_else(|| WatchCoverage { level: AccessLevel::Outside, ..WatchCoverage::default() })
}

/// A time of this machine's monotonic clock.
fn moment(at: Nanos) -> Instant {
    let (now, here) = (sys::monotonic_ns(), Instant::now());
    let ahead = Duration::from_nanos(at.0.saturating_sub(now));
    let ago = Duration::from_nanos(now.saturating_sub(at.0));
    here.checked_sub(ago).unwrap_or(here) + ahead
}
