//! `find` and `run`: plan, output and store; the runner does the work.

use crate::args::{
    CommonArgs, KeepArgs, ModeArgs, PodArgs, fleet_config, remote_run_request, render_manifests,
    watchers_config,
};
use crate::label::with_label;
use crate::page::{self, RunPublishers};
use crate::progress_printer::ProgressPrinter;
use crate::temp_join_file::{TempJoinFile, WATCHERS, WORKERS};
use crate::{CommandError, interrupt, paper, print_result, renderings, run_source, runs, usage_error};
use anyhow::{Context, anyhow};
use plan::Plan;
use record::Event;
use runner::{
    FleetConfig, JoinListener, Profiling, RemoteRunRequest, RunExit, RunOptions, Sink, StopFlag,
    WatchersConfig, exit,
};
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use store::{RunWriter, Store};
use tui::{LiveView, print};
use view::{ProgressLog, RunView, Text, Tone, run_json, summary};

/// Shows the plan, and runs it.
pub fn measure(
    plan: &Plan,
    pods: &PodArgs,
    how: &ModeArgs,
    profile: Profiling,
    common: &CommonArgs,
) -> Result<u8, CommandError> {
    if how.once {
        return once(plan);
    }
    if announce_plan(plan, how.dry_run, common)? {
        return Ok(exit::MET);
    }
    if let Some(manifests) = render_manifests(plan, pods).map_err(usage_error)? {
        print!("{manifests}");
        return Ok(exit::MET);
    }
    if let Some(request) = remote_run_request(plan, pods).map_err(usage_error)? {
        return conduct_in_cluster(plan, &request, how, common);
    }
    let fleet = fleet_config(plan, pods).map_err(usage_error)?;
    let watchers = watchers_config(plan, pods).map_err(usage_error)?;
    let store = open_run_store(how.keep.no_store, common)?;
    let costs = store.as_ref().and_then(runs::costs);
    let _invitations = write_join_files(fleet.as_ref(), watchers.as_ref(), common)?;
    carry_out_as(&how.keep, store, &plan.generator.cores, common, |reporter, stop| {
        let (fleet, watchers) = (fleet.as_ref(), watchers.as_ref());
        let around = RunOptions { costs: costs.as_ref(), fleet, watchers, profile };
        runner::conduct(plan, around, reporter, stop)
    })
}

/// Has a cluster conduct it, and follows.
fn conduct_in_cluster(
    plan: &Plan,
    request: &RemoteRunRequest,
    how: &ModeArgs,
    common: &CommonArgs,
) -> Result<u8, CommandError> {
    let store = open_run_store(how.keep.no_store, common)?;
    let costs = store.as_ref().and_then(runs::costs);
    let (id, on) = (&request.id, request.site.on_option());
    let words = format!(
        "conducted in {}; to follow it again, should this end: torment attach {id} --on {on}",
        request.site.describe()
    );
    print_description(vec![words], false, common)?;
    carry_out_as(&how.keep, store, &[], common, |reporter, stop| {
        runner::conduct_remotely(plan, request, costs.as_ref(), reporter, stop)
    })
}

/// Writes the join files of workers and watchers, and says how they join.
pub fn write_join_files(
    fleet: Option<&FleetConfig>,
    watchers: Option<&WatchersConfig>,
    common: &CommonArgs,
) -> Result<Vec<TempJoinFile>, CommandError> {
    let mut join_files = Vec::new();
    if let Some(FleetConfig::Join { workers, listener, .. }) = fleet {
        let who = match workers {
            1 => format!("a worker: copy {WORKERS} to its machine"),
            count => format!("{count} workers: copy {WORKERS} to their machines"),
        };
        join_files.push(write_join_file(WORKERS, listener, &who, "worker", common)?);
    }
    if let Some(WatchersConfig::Join { watchers, listener }) = watchers {
        let who = match watchers {
            1 => format!("a watcher: copy {WATCHERS} to the target's machine"),
            count => format!("{count} watchers: copy {WATCHERS} to the target's machines"),
        };
        join_files.push(write_join_file(WATCHERS, listener, &who, "watch", common)?);
    }
    Ok(join_files)
}

fn write_join_file(
    name: &'static str,
    listener: &JoinListener,
    who: &str,
    command: &str,
    common: &CommonArgs,
) -> Result<TempJoinFile, CommandError> {
    // An interrupt from here on removes the file.
    interrupt::stop_flag_or_exit()?;
    let invitation = TempJoinFile::write(name, listener.file())?;
    let words = format!("waits for {who}, and run there: torment {command} --join {name}");
    print_description(vec![words], false, common)?;
    Ok(invitation)
}

/// Shows the plan in words. Returns whether that is all, for a dry run, which also prints it.
pub fn announce_plan(plan: &Plan, dry_run: bool, common: &CommonArgs) -> Result<bool, CommandError> {
    print_description(plan.describe(), dry_run, common)?;
    if dry_run {
        print!("{}", plan.to_toml());
    }
    Ok(dry_run)
}

/// Says what will be done, one line each.
pub fn print_description(words: Vec<String>, dry_run: bool, common: &CommonArgs) -> io::Result<()> {
    if common.quiet && !dry_run {
        return Ok(());
    }
    let lines: Vec<Text> = words.into_iter().map(|line| Text::new(Tone::Faint, line)).collect();
    print(&mut io::stderr(), &lines, paper(io::stderr().is_terminal(), common))
}

/// The store for the run, unless it is not kept.
pub fn open_run_store(no_store: bool, common: &CommonArgs) -> Result<Option<Store>, CommandError> {
    Ok(if no_store { None } else { Some(open_store(common)?) })
}

/// The store for the run.
pub fn open_store(common: &CommonArgs) -> Result<Store, CommandError> {
    Ok(run_source::open(common).context("the run cannot be kept (--no-store runs without)")?)
}

/// As [`carry_out`], with the label and publishers asked for; publishers avoid these processors.
pub fn carry_out_as(
    keep_args: &KeepArgs,
    store: Option<Store>,
    processors: &[u32],
    common: &CommonArgs,
    work: impl FnOnce(&mut dyn Sink, &StopFlag) -> RunExit,
) -> Result<u8, CommandError> {
    let publishers = page::start_publishers(&keep_args.page, store.as_ref(), processors, common)?;
    carry_out(store, publishers, common, |reporter, stop| {
        work(&mut with_label(&keep_args.label, reporter), stop)
    })
}

/// Lets `work` measure while all outputs get its events, then shows the result. The live view would hide the page's
/// address, and shows less: with a page the terminal gets progress lines.
pub fn carry_out(
    store: Option<Store>,
    publishers: RunPublishers,
    common: &CommonArgs,
    work: impl FnOnce(&mut RunReporter, &StopFlag) -> RunExit,
) -> Result<u8, CommandError> {
    let stop = interrupt::stop_flag_or_exit()?;
    let live = !common.quiet && LiveView::is_possible() && !publishers.is_announced();
    let live = if live { Some(LiveView::start(Arc::clone(&stop))?) } else { None };
    let printer = if live.is_none() && !common.quiet { Some(ProgressPrinter::start(common)?) } else { None };
    let mut reporter = RunReporter {
        view: RunView::default(),
        progress: ProgressLog::default(),
        live,
        printer,
        store,
        publishers: Some(publishers),
        recording: None,
        part_recording: None,
        warnings: Vec::new(),
    };
    let run_exit = work(&mut reporter, &StopFlag::new(stop));
    let stored = reporter.close();
    if let Some(note) = reporter.publishers.take().and_then(RunPublishers::end) {
        eprintln!("torment: {note}");
    }
    if let Some(error) = run_exit.error {
        return Err(CommandError { code: run_exit.exit_code, error: anyhow!(error) });
    }
    let lines = || {
        let sketch = renderings::limit_picture(&reporter.view, renderings::glyphs(false), common);
        [summary(&reporter.view), sketch].concat()
    };
    print_result(lines, || run_json(&reporter.view), common)?;
    for doubt in &reporter.warnings {
        eprintln!("torment: {doubt}");
    }
    stored.context("the run could not be kept in full")?;
    Ok(run_exit.exit_code)
}

/// `--once`: the request as sent and the answer as received.
fn once(plan: &Plan) -> Result<u8, CommandError> {
    let exchanges = runner::preview(plan)?;
    let mut out = io::stdout().lock();
    for exchange in &exchanges {
        out.write_all(&exchange.request)?;
        out.write_all(if exchange.request.ends_with(b"\n") { b"" } else { b"\n\n" })?;
        out.write_all(&exchange.answer)?;
        if !exchange.answer.ends_with(b"\n") {
            writeln!(out)?;
        }
        out.flush()?;
        let status = exchange.status.map_or(String::new(), |status| format!("status {status}, "));
        let verdict = match &exchange.verdict {
            Ok(()) => "as expected".to_owned(),
            Err(why) => format!("not what the plan expects: {why}"),
        };
        let connected = match exchange.connect {
            units::Nanos::ZERO => String::new(),
            time => format!("connected in {time}, "),
        };
        eprintln!(
            "\n{}: {status}{verdict}; {connected}first byte after {}, all after {}",
            exchange.to, exchange.first_byte, exchange.service
        );
    }
    let expected = exchanges.iter().all(|exchange| exchange.verdict.is_ok());
    Ok(if expected { exit::MET } else { exit::NOT_MET })
}

/// All outputs of a run's events: the store, the live view or the progress lines, and the summary at the end.
pub struct RunReporter {
    view: RunView,
    progress: ProgressLog,
    live: Option<LiveView>,
    printer: Option<ProgressPrinter>,
    store: Option<Store>,
    publishers: Option<RunPublishers>,
    recording: Option<RunWriter>,
    /// The current measurement of an experiment.
    part_recording: Option<RunWriter>,
    warnings: Vec<String>,
}

impl Sink for RunReporter {
    fn event(&mut self, event: &Event) {
        let stored = record_event(&mut self.recording, self.store.as_ref(), event);
        self.note_store_error(stored);
        if let (Some(publishers), Some(recording), Event::RunStarted { .. }) =
            (&self.publishers, &self.recording, event)
        {
            publishers.set_run(recording.id());
        }
        if let Some(live) = &self.live {
            live.event(event);
        }
        if let Some(printer) = &self.printer {
            printer.print(self.progress.event_lines(&self.view, event));
        }
        self.view.fold(event);
    }

    fn measurement_event(&mut self, event: &Event) {
        let stored = record_event(&mut self.part_recording, self.store.as_ref(), event);
        self.note_store_error(stored);
        if matches!(event, Event::RunEnded { .. })
            && let Some(part) = self.part_recording.take()
        {
            let stored = part.finish();
            self.note_store_error(stored);
        }
    }
}

/// Adds an event to its run, which the first one begins.
fn record_event(
    recording: &mut Option<RunWriter>,
    store: Option<&Store>,
    event: &Event,
) -> Result<(), store::Error> {
    match (recording.as_mut(), store, event) {
        (None, Some(store), Event::RunStarted { .. }) => {
            *recording = Some(store.begin(event)?);
            Ok(())
        }
        (Some(recording), ..) => recording.append(event),
        (None, ..) => Ok(()),
    }
}

impl RunReporter {
    /// Resumes an interrupted experiment, replaying its earlier events first.
    pub fn resume(&mut self, before: &[Event], recording: RunWriter) {
        if let Some(publishers) = &self.publishers {
            publishers.set_run(recording.id());
        }
        self.recording = Some(recording);
        for event in before {
            self.view.fold(event);
            if let Some(live) = &self.live {
                live.event(event);
            }
        }
    }

    fn note_store_error(&mut self, stored: Result<(), store::Error>) {
        if let Err(error) = stored {
            self.warnings.push(format!("the run is not kept: {error}"));
        }
    }

    /// Restores the terminal and commits the rest.
    fn close(&mut self) -> Result<(), store::Error> {
        if let Some(live) = self.live.take() {
            live.finish();
        }
        self.warnings
            .extend(self.recording.as_ref().and_then(RunWriter::caveat).map(|caveat| caveat.to_string()));
        let stored = self.recording.take().map_or(Ok(()), RunWriter::finish);
        // The terminal last: it may have been stopped.
        self.printer = None;
        stored
    }
}
