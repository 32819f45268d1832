//! Storms of short programs: `find processes`, and `run` with a command instead of a target.

mod breakdown;

use crate::trial_runner::TrialRunner;
use crate::{Error, RunExit, RunHeader, Sink, StopFlag, emit_figures, exit, find, load, record_run};
use engine::{LoadCommand, LoadGenerator, OfferedLoad};
use plan::{Plan, Task};
use record::{Event, FigureUnit, LimitUnit, RunKind, Slice, SystemLimitUnit, Verdict};
use std::path::PathBuf;
use storm::{MinimalProgram, ProgramCommand, Storm, StormOptions, StormStats, TABLE};
use units::{Nanos, Rate, Share};

/// Length of the storm of empty programs: enough to know the rate to a few percent.
const BARE_TIME: Nanos = Nanos::from_secs(2);
/// What to start, how, and under which load.
pub struct StormRequest {
    /// The program.
    pub command: ProgramCommand,
    /// How it is started.
    pub options: StormOptions,
    /// The load or the search, the goal and the seed; its target is ignored.
    pub plan: Plan,
    /// Whether to start some more, one after the other, to see where a process's time goes.
    pub split: bool,
    /// torment's own program, from which the guard of that sample is started.
    pub program: PathBuf,
    /// What was typed.
    pub words: String,
}

/// Makes the load, or searches for the rate that holds; then reports what a process cost.
pub fn storm(request: &StormRequest, sink: &mut dyn Sink, stop: &StopFlag) -> RunExit {
    let command = match request.plan.task {
        Task::Find(_) => RunKind::FindProcesses,
        Task::Run(_) | Task::Try(_) => RunKind::RunProcesses,
    };
    let header = RunHeader {
        target: request.command.shell_text(),
        goal: request.plan.objective.to_string(),
        ..RunHeader::for_machine(command, &request.words)
    };
    record_run(header, sink, |sink| carry_out(request, sink, stop))
}

fn carry_out(request: &StormRequest, sink: &mut dyn Sink, stop: &StopFlag) -> Result<(Verdict, u8), Error> {
    let machine = |why: storm::Error| Error::Machine(why.to_string());
    has_room(request.options.parallel)?;
    let mut storm = Storm::new(&request.command, request.options.clone()).map_err(machine)?;
    let mut good_trials = GoodTrials { sink, good: Vec::new() };
    let (verdict, code) = {
        let mut runner = TrialRunner::unwatched(&mut storm, &mut good_trials, stop);
        match &request.plan.task {
            Task::Find(asked_for) => {
                // A machine is equally quick at any load below its limit: the curve would cost more than it tells.
                find::find(&mut runner, &request.plan, asked_for, LimitUnit::Processes, (false, Nanos::ZERO))
            }
            Task::Run(planned) => load::run(&mut runner, &request.plan, planned),
            Task::Try(_) => return Err(Error::Experiment("a storm is no experiment".to_owned())),
        }
    };
    if let Some(why) = storm.fault() {
        return Err(Error::Machine(format!(
            "'{}' cannot be executed: {why}",
            request.command.path.display()
        )));
    }
    let at = good_trials.best_trial(&verdict);
    if let Some(stats) = at.and_then(|at| storm.trial_stats().get(at)).cloned() {
        emit_stats(&stats, good_trials.sink);
        if code != exit::INTERRUPTED {
            compare(request, &stats, good_trials.sink, stop);
        }
    }
    storm.finish().map_err(machine)?;
    Ok((verdict, code))
}

/// Fails if the limits on the number of tasks leave no room, and says which limit.
fn has_room(parallel: u32) -> Result<(), Error> {
    let rooms = tasks::forecast(&tasks::ThreadsWanted::default());
    let binds = rooms.into_iter().find(|room| {
        // A process's own memory and mappings do not count against other processes.
        room.unit == SystemLimitUnit::Tasks
            && room.threads.is_some_and(|threads| threads < u64::from(parallel))
    });
    let Some(room) = binds else { return Ok(()) };
    Err(Error::Machine(format!(
        "{parallel} processes at once are more than {} ({}) leaves room for, {}; lower --parallel, or raise it: {}",
        room.name,
        room.place,
        room.threads.unwrap_or_default(),
        room.now
    )))
}

/// A sink that remembers which trials were good: their costs are kept per trial, in the same order.
struct GoodTrials<'a> {
    sink: &'a mut dyn Sink,
    /// Each trial's rate, if it was good and counts.
    good: Vec<Option<f64>>,
}

impl Sink for GoodTrials<'_> {
    fn event(&mut self, event: &Event) {
        if let Event::TrialDone { result, judgement, .. } = event {
            let good = judgement.good && judgement.invalid.is_empty();
            self.good.push(good.then_some(result.rate.0));
        }
        self.sink.event(event);
    }
}

impl GoodTrials<'_> {
    /// The trial that tells best what a process costs: the load itself, or in a search the last one at the rate that
    /// holds.
    fn best_trial(&self, verdict: &Verdict) -> Option<usize> {
        let Verdict::Limits { limits, .. } = verdict else { return self.good.len().checked_sub(1) };
        let lower = limits.iter().find_map(|limit| limit.lower)?;
        let away = |rate: f64| (rate / lower - 1.0).abs();
        let good = self.good.iter().enumerate().filter_map(|(at, rate)| Some((at, away((*rate)?))));
        good.min_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))).map(|(at, _)| at)
    }
}

fn emit_stats(stats: &StormStats, sink: &mut dyn Sink) {
    emit_figures(stats.figures(), sink);
    for text in stats.notes() {
        note(text, sink);
    }
}

fn note(text: String, sink: &mut dyn Sink) {
    sink.event(&Event::Noted { table: TABLE.to_owned(), text });
}

/// Compares with what the machine can start at all, and reports where a process's time goes.
fn compare(request: &StormRequest, stats: &StormStats, sink: &mut dyn Sink, stop: &StopFlag) {
    match measure_minimal_rate(request, stop) {
        Ok(Some(bare)) => {
            let share = Share(stats.rate().0 / bare.0);
            for (row, column, unit, value) in [
                ("a program that only ends", "a second, started", FigureUnit::PerSecond, bare.0),
                ("this program", "of the most, started", FigureUnit::Share, share.0),
            ] {
                emit_figures(storm::process_figure(row, column, unit, &[value], stats.started), sink);
            }
            let (rate, percent) = (stats.rate(), share.0 * 100.0);
            let text = format!(
                "{rate} of {bare} that this machine can start of a program that does nothing: {percent:.0} %"
            );
            note(text, sink);
        }
        // Interrupted.
        Ok(None) => {}
        Err(why) => note(format!("what this machine can start at all was not measured: {why}"), sink),
    }
    if request.split && !stop.is_requested() {
        breakdown::split(request, stats, sink, stop);
    }
}

/// The same storm's rate with a program that exits at once; `None` if interrupted.
fn measure_minimal_rate(request: &StormRequest, stop: &StopFlag) -> Result<Option<Rate>, String> {
    let program = MinimalProgram::new().map_err(|why| why.to_string())?;
    let options = StormOptions { parallel: request.options.parallel.min(100), ..StormOptions::default() };
    let connections = options.parallel;
    let mut storm = Storm::new(&program.command(), options).map_err(|why| why.to_string())?;
    let offer = OfferedLoad::Closed { connections, requests: None, duration: Some(BARE_TIME) };
    let wish = |_: &Slice, _| if stop.is_requested() { LoadCommand::Kill } else { LoadCommand::Continue };
    storm.run_trial(&offer, Nanos::from_secs(1), &mut |_| {}, &mut |_| {}, &mut { wish });
    storm.settle(Nanos::from_secs(1), &|| stop.is_requested());
    if let Some(why) = storm.fault() {
        return Err(why);
    }
    Ok(storm.trial_stats().first().map(StormStats::rate).filter(|_| !stop.is_requested()))
}
