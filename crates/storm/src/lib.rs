//! Starts short programs by the thousand, and says what each cost.
//!
//! A storm takes the same loads as the engine: a number of processes alive at once, or a rate with due times.
//! It yields the same slices, so the same search finds the rate that holds and the same judge checks the goal.
//! It also keeps a job log, samples the whole machine ten times a second, and counts what its own launchers
//! did. `docs/method/storm.md` says what each figure includes.
//!
//! It never judges, and whatever it starts ends with it: each process is killed when the thread that started it
//! ends.

mod arrival_source;
mod error;
mod figures;
mod job_log;
mod launcher;
mod minimal_program;
mod options;
mod program;
mod report;
mod sampler;

pub use error::Error;
pub use figures::{TABLE, process_figure};
pub use minimal_program::{MinimalProgram, cpuid_time};
pub use options::{ExpectedStatuses, StormOptions};
pub use program::ProgramCommand;
pub use sampler::MachineSecond;

use arrival_source::ArrivalSource;
use engine::{
    ClockSample, LEAD, LoadCommand, LoadGenerator, OfferedLoad, ReportCollector, Reporter, THREADS_MOST,
    reason,
};
use job_log::JobLog;
use launcher::{Launcher, LauncherTask};
use record::{MemberFigures, Slice, TrialCounts};
use report::{LauncherControl, LauncherCounts, LauncherReport};
use sampler::Sampler;
use stats::Histogram;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use sys::task::PreparedProgram;
use units::Nanos;

/// A launcher's descriptors, besides one per process.
const SPARE_DESCRIPTORS: u64 = 16;

/// What stays the same over all trials.
struct Setup {
    program: PreparedProgram,
    expected: ExpectedStatuses,
    timeout: Nanos,
}

/// What a trial measured besides its counts.
#[derive(Debug, Clone, Default)]
pub struct StormStats {
    /// The length of its load.
    pub loaded: Nanos,
    /// Processes started.
    pub started: u64,
    /// Processes that have ended and were waited for.
    pub ended: u64,
    /// The most alive at once.
    pub max_alive: u64,
    /// The sum of their lifetimes.
    pub alive_ns: u64,
    /// From the call that starts a program until it is executed.
    pub spawn_times: Histogram,
    /// The whole machine, second by second, during the load.
    pub machine: Vec<MachineSecond>,
}

struct RunningTrial {
    /// On the monotonic clock.
    start_ns: u64,
    control: Arc<LauncherControl>,
    collector: ReportCollector<LauncherReport>,
    threads: Vec<JoinHandle<()>>,
}

/// Starts one program again and again.
pub struct Storm {
    setup: Arc<Setup>,
    options: StormOptions,
    launchers: u32,
    null: Arc<File>,
    output: Arc<File>,
    log: Option<JobLog>,
    run_ns: u64,
    next_number: u64,
    trial: Option<RunningTrial>,
    all_stats: Vec<StormStats>,
    fault: Option<io::Error>,
}

impl Storm {
    /// Prepares; nothing is started yet.
    ///
    /// Fails if a file cannot be written, or if there is no room for this many processes at once.
    pub fn new(command: &ProgramCommand, options: StormOptions) -> Result<Self, Error> {
        let environment = std::env::vars_os().chain(command.environment.iter().cloned());
        let program = PreparedProgram::new(&command.path, command.argv.iter().skip(1), environment)
            .map_err(|why| Error::NotExecutable { path: command.path.clone(), why: reason(&why) })?;
        let open = |path: &Path, how: &OpenOptions| {
            how.open(path).map(Arc::new).map_err(|why| Error::File { path: path.to_owned(), why })
        };
        let null = open(Path::new("/dev/null"), OpenOptions::new().read(true).write(true))?;
        let output = match &options.output {
            None => Arc::clone(&null),
            Some(path) => open(path, OpenOptions::new().create(true).append(true))?,
        };
        let log = options.log.as_deref().map(JobLog::begin).transpose()?;
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
        let launchers = processors.min(options.parallel).clamp(1, THREADS_MOST);
        let room = sys::raise_nofile().0.saturating_sub(SPARE_DESCRIPTORS) * u64::from(launchers);
        if u64::from(options.parallel) > room {
            return Err(Error::Descriptors { wanted: options.parallel, room });
        }
        Ok(Self {
            setup: Arc::new(Setup { program, expected: options.expected.clone(), timeout: options.timeout }),
            options,
            launchers,
            null,
            output,
            log,
            run_ns: sys::monotonic_ns(),
            next_number: 0,
            trial: None,
            all_stats: Vec::new(),
            fault: None,
        })
    }

    fn start(
        &self,
        offer: &OfferedLoad,
        drain: Nanos,
        control: &Arc<LauncherControl>,
    ) -> io::Result<RunningTrial> {
        let drawn = Arc::new(AtomicU64::new(0));
        let (launchers, parallel) = (self.launchers, self.options.parallel);
        let (reporters, collector) = ReportCollector::channel(launchers as usize);
        let mut start_senders = Vec::new();
        let mut threads = Vec::new();
        for (index, reporter) in (0..launchers).zip(reporters) {
            let task = LauncherTask {
                index,
                trial: self.all_stats.len() as u32,
                max_children: (parallel / launchers + u32::from(index < parallel % launchers)) as usize,
                max_outstanding: (self.options.outstanding / u64::from(launchers)).max(1),
                source: ArrivalSource::new(offer, index, launchers, &drawn),
                run_ns: self.run_ns,
                load_ends: offer.latest_end(),
                drain,
                deadline: self.options.deadline,
                first_number: self.next_number,
                log: self.log.as_ref().map(JobLog::buffer),
            };
            let ((ready_sender, ready_receiver), (start_sender, start_receiver)) = (channel(), channel());
            let (setup, control) = (Arc::clone(&self.setup), Arc::clone(control));
            let (null, output) = (Arc::clone(&self.null), Arc::clone(&self.output));
            let thread = std::thread::Builder::new().name(format!("storm-{index}"));
            threads.push(thread.spawn(move || {
                let files = [null.as_fd(), output.as_fd()];
                run_launcher(setup, control, task, &files, reporter, &ready_sender, &start_receiver);
            })?);
            ready_receiver.recv().map_err(|_| io::Error::from(io::ErrorKind::Interrupted))??;
            start_senders.push(start_sender);
        }
        let start_ns = sys::monotonic_ns() + LEAD.0;
        start_senders.iter().for_each(|sender| {
            let _ = sender.send(start_ns);
        });
        Ok(RunningTrial { start_ns, control: Arc::clone(control), collector, threads })
    }

    /// Each trial's statistics, in order; the last is complete once settled.
    pub fn trial_stats(&self) -> &[StormStats] {
        &self.all_stats
    }

    /// Why the program cannot be executed, once that is known.
    pub fn fault(&self) -> Option<String> {
        self.fault.as_ref().map(reason)
    }

    /// Waits until the job log is written.
    ///
    /// Fails if the disk is full, or the file cannot be written for another reason.
    pub fn finish(mut self) -> Result<(), Error> {
        self.settle(Nanos::ZERO, &|| false);
        self.log.take().map_or(Ok(()), |mut log| log.finish())
    }
}

impl LoadGenerator for Storm {
    fn run_trial(
        &mut self,
        offer: &OfferedLoad,
        drain: Nanos,
        on_begin: &mut dyn FnMut(ClockSample),
        on_slice: &mut dyn FnMut(&Slice),
        next_command: &mut dyn FnMut(&Slice, Nanos) -> LoadCommand,
    ) -> TrialCounts {
        self.settle(Nanos::ZERO, &|| false);
        let control = Arc::new(LauncherControl::default());
        self.all_stats.push(StormStats::default());
        let began = ClockSample::now();
        on_begin(began);
        let started = self.start(offer, drain, &control);
        let Self { trial, all_stats, fault, .. } = self;
        let RunningTrial { start_ns, collector, .. } = match started {
            Ok(started) => trial.insert(started),
            Err(why) => {
                *fault = Some(why);
                return TrialCounts::default();
            }
        };
        let sampler = Sampler::begin();
        let apply = |command, _| match command {
            LoadCommand::Kill => control.kill.store(true, Ordering::Relaxed),
            _ => control.stop.store(true, Ordering::Relaxed),
        };
        let mut counted = collector.collect_trial(*start_ns, on_slice, next_command, apply, |report| {
            store_report(report, all_stats, fault)
        });
        counted.members.push(MemberFigures::from_slice(
            &counted.total,
            ClockSample::now().stolen_since(&began),
            None,
        ));
        self.next_number += counted.total.due;
        if let Some(stats) = all_stats.last_mut() {
            stats.loaded = counted.loaded;
            stats.machine = sampler.map(Sampler::end).unwrap_or_default();
        }
        counted
    }

    /// Afterwards the trial's statistics are complete.
    fn settle(&mut self, limit: Nanos, interrupted: &dyn Fn() -> bool) -> Option<Nanos> {
        let Some(RunningTrial { control, mut collector, threads, .. }) = self.trial.take() else {
            return Some(Nanos::ZERO);
        };
        let Self { all_stats, fault, .. } = self;
        let kill = || control.kill.store(true, Ordering::Relaxed);
        let took = collector.settle(
            limit,
            interrupted,
            || {},
            kill,
            |report| store_report(report, all_stats, fault),
        );
        threads.into_iter().for_each(|thread| thread.join().expect("it has told that nothing is left"));
        if let Some(stats) = all_stats.last_mut() {
            stats.started = control.started.load(Ordering::Relaxed);
            stats.max_alive = control.max_alive.load(Ordering::Relaxed);
        }
        took
    }
}

/// Adds a launcher's report to its trial's statistics; the first fault is kept.
fn store_report(report: LauncherReport, all_stats: &mut [StormStats], fault: &mut Option<io::Error>) {
    match report {
        LauncherReport::Fault(why) => _ = fault.get_or_insert(why),
        LauncherReport::Counts(counts) => {
            all_stats.last_mut().into_iter().for_each(|stats| stats.add(&counts))
        }
    }
}

impl Drop for Storm {
    fn drop(&mut self) {
        if let Some(trial) = self.trial.take() {
            trial.control.kill.store(true, Ordering::Relaxed);
            // So that no launcher blocks on a report that nobody will read.
            drop(trial.collector);
            // They use descriptors of ours until they end.
            trial.threads.into_iter().for_each(|thread| drop(thread.join()));
        }
    }
}

impl StormStats {
    fn add(&mut self, counts: &LauncherCounts) {
        self.ended += counts.ended;
        self.alive_ns += counts.alive_ns;
        self.spawn_times.merge(&counts.spawn_times);
    }
}

fn run_launcher(
    setup: Arc<Setup>,
    control: Arc<LauncherControl>,
    task: LauncherTask,
    files: &[std::os::fd::BorrowedFd<'_>; 2],
    reporter: Reporter<LauncherReport>,
    ready: &Sender<io::Result<()>>,
    start: &Receiver<u64>,
) {
    let [null, output] = files;
    // A child inherits what this thread has open: nothing but its three streams.
    let redirected = sys::unshare_descriptors(files)
        .and_then(|()| Ok(rustix::stdio::dup2_stdin(null)?))
        .and_then(|()| Ok(rustix::stdio::dup2_stdout(output)?))
        .and_then(|()| Ok(rustix::stdio::dup2_stderr(output)?));
    let launcher = redirected.and_then(|()| Launcher::new(setup, control, task, reporter));
    let launcher = match launcher {
        Ok(launcher) => launcher,
        Err(why) => {
            let _ = ready.send(Err(why));
            return;
        }
    };
    let _ = ready.send(Ok(()));
    // If the sender is gone, another launcher failed to start.
    let Ok(start_ns) = start.recv() else { return };
    // A closed loop has no due times to hold it back, and there is no time before the trial.
    std::thread::sleep(Duration::from_nanos(start_ns.saturating_sub(sys::monotonic_ns())));
    launcher.run(start_ns);
    // Close the kept files in this table before the thread that lent them goes on.
    let _ = sys::unshare_descriptors(&[]);
}
