//! `watch`: observes a process without load, and prints who waits for what.

mod join;
mod port;
mod watched_program;

pub use join::join;
pub use port::listening;

use crate::args::{CommonArgs, OutputFormat, WatchCommand, WatchRequest, WatchTarget};
use crate::{CommandError, interrupt, paper, print_result, read_plan_file, usage_error};
use anyhow::anyhow;
use observe::TargetLocation;
use procfs::running_process;
use record::watch::{WatchCoverage, WatchEvent, Window};
use runner::exit;
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tui::TextScreen;
use units::Nanos;
use view::{Text, Tone, who_json, who_waits};
use watched_program::WatchedProgram;

/// Default length when it is not interactive.
const DEFAULT_TIME: Duration = Duration::from_secs(10);
/// How often to check for observations.
const POLL: Duration = Duration::from_millis(50);
/// No trial: there is no load.
const NO_TRIAL: u32 = 0;

pub fn watch(args: &WatchCommand, common: &CommonArgs) -> Result<u8, CommandError> {
    let request = args.request(&mut read_plan_file).map_err(usage_error)?;
    let stop = interrupt::stop_flag()?;
    let mut settings = request.asked.clone();
    let mut child = None;
    let target = match &request.whom {
        WatchTarget::Process(pid) => {
            check_running(*pid)?;
            settings.pids = vec![*pid];
            TargetLocation::Unknown
        }
        WatchTarget::Port(port) => TargetLocation::Tcp(listening(*port)?),
        WatchTarget::At(addresses) => TargetLocation::Tcp(addresses.clone()),
        WatchTarget::Program(words) => {
            let started = WatchedProgram::start(words)?;
            settings.pids = vec![started.pid()];
            child = Some(started);
            TargetLocation::Unknown
        }
    };
    let watch = observe::start(&settings, &target)?;
    let mut summary = WatchSummary::default();
    summary.add(&watch);
    if !summary.finds_anyone() && child.is_none() {
        return Err(nothing_watched_error(&request.whom, &summary.coverage).into());
    }
    watch.begin(NO_TRIAL);
    let end = watch_until_end(&watch, &mut summary, &request, child.as_mut(), &stop, common)?;
    watch.end();
    // The last window is cut when its thread learns of the end.
    let until = Instant::now() + Duration::from_secs(1);
    let before = summary.windows;
    while summary.windows == before && Instant::now() < until {
        std::thread::sleep(POLL);
        summary.add(&watch);
    }
    drop(child);
    if summary.windows == 0 {
        return Err(
            anyhow!("it ended before anything could be seen: it must run for at least a second").into()
        );
    }
    if let WatchEnd::Ended(what) = &end {
        eprintln!("torment: {what}");
    }
    let all = std::slice::from_ref(&summary.total);
    print_result(|| with_head(all, &summary.coverage), || who_json(all, &summary.coverage), common)?;
    // Without a time, Ctrl-C is how it is meant to end.
    Ok(if end == WatchEnd::Interrupted && request.time.is_some() { exit::INTERRUPTED } else { exit::MET })
}

#[derive(PartialEq)]
enum WatchEnd {
    /// The time is up.
    Time,
    /// Interrupted by the user.
    Interrupted,
    /// The watched process ended.
    Ended(String),
}

#[derive(Default)]
struct WatchSummary {
    coverage: WatchCoverage,
    /// Everything, as one window.
    total: Window,
    /// Windows since the last table.
    recent: Vec<Window>,
    windows: u64,
}

impl WatchSummary {
    fn add(&mut self, watch: &observe::TargetWatch) {
        for seen in watch.drain() {
            match seen {
                WatchEvent::Watched(watched) => self.coverage = *watched,
                WatchEvent::Window(_, window) => {
                    self.total.add(&window);
                    self.recent.push(*window);
                    self.windows += 1;
                }
                // Never requested.
                WatchEvent::Look(..) => {}
            }
        }
    }

    fn finds_anyone(&self) -> bool {
        self.coverage.subjects.iter().any(|subject| subject.pid > 0)
    }
}

/// Watches until the time is up, the process ended, or the user interrupts.
fn watch_until_end(
    watch: &observe::TargetWatch,
    summary: &mut WatchSummary,
    request: &WatchRequest,
    mut child: Option<&mut WatchedProgram>,
    stop: &AtomicBool,
    common: &CommonArgs,
) -> Result<WatchEnd, CommandError> {
    // A program's output would be mixed into it.
    let attended =
        !common.quiet && common.format == OutputFormat::Text && child.is_none() && io::stderr().is_terminal();
    let mut board = if attended { Some(TextScreen::open(paper(true, common).colour)?) } else { None };
    let began = Instant::now();
    let time = request.time.map(Nanos::to_duration);
    let time = time.or((!attended && child.is_none()).then_some(DEFAULT_TIME));
    let interval = request.interval.to_duration();
    let mut next = began + interval;
    loop {
        if stop.load(Ordering::SeqCst) {
            return Ok(WatchEnd::Interrupted);
        }
        if time.is_some_and(|time| began.elapsed() >= time) {
            return Ok(WatchEnd::Time);
        }
        let ended = match (&mut child, &request.whom) {
            (Some(child), _) => child.try_wait()?.map(|status| format!("the program ended: {status}")),
            (None, WatchTarget::Process(pid)) if running_process(*pid).is_none() => {
                Some(format!("process {pid} ended"))
            }
            _ => None,
        };
        if let Some(ended) = ended {
            return Ok(WatchEnd::Ended(ended));
        }
        std::thread::sleep(POLL);
        summary.add(watch);
        if let Some(board) = board.as_mut().filter(|_| Instant::now() >= next && !summary.recent.is_empty()) {
            let mut lines = with_head(&summary.recent, &summary.coverage);
            lines.push(Text::empty());
            lines.push(Text::new(Tone::Faint, "  Ctrl-C stops, and prints the table for the whole time"));
            board.show(&lines)?;
            summary.recent.clear();
            next = Instant::now() + interval;
        } else if board.is_none() {
            summary.recent.clear();
        }
    }
}

/// The table under a line that says how long was watched.
fn with_head(windows: &[Window], watched: &WatchCoverage) -> Vec<Text> {
    let length = windows.iter().fold(Nanos::ZERO, |sum, window| sum + window.length());
    let seconds = Nanos::from_millis((length.as_secs_f64() * 10.0).round() as u64 * 100);
    let head = format!("  who waits for what · {seconds} · no load from torment");
    let mut lines = vec![Text::new(Tone::Faint, head), Text::empty()];
    lines.extend(who_waits(windows, watched));
    lines
}

/// Fails if there is nothing to watch.
fn check_running(pid: u32) -> Result<(), CommandError> {
    if running_process(pid).is_some() {
        return Ok(());
    }
    Err(anyhow!("there is no process {pid}; torment watch :8080 finds the process that listens at a port")
        .into())
}

/// Why nothing is watched.
fn nothing_watched_error(whom: &WatchTarget, watched: &WatchCoverage) -> anyhow::Error {
    match (watched.missing.first(), whom) {
        // Its advice is an option of `find` and `run`.
        (Some(missing), _) => anyhow!("{}", missing.why.replace("with --pid", "by its id")),
        (None, WatchTarget::Process(pid)) => anyhow!("process {pid} ended"),
        (None, _) => anyhow!("the process that listens there was not found; name it by its id"),
    }
}
