//! Starts short programs by the thousand, and says what each cost.
//!
//! A storm takes the loads that the engine takes: so many processes with so many alive at once, or a rate with due times.
//! It gives the same slices, so that the same search finds the rate that holds and the same judge says whether a goal was
//! met. Beside that it keeps a job log, looks at the whole machine ten times a second, and counts what its own launchers
//! did. `docs/method/storm.md` tells what each figure includes.
//!
//! It never judges, and whatever it starts ends with it: each process is killed when the thread that started it ends.

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
mod status;

pub use error::Error;
pub use figures::{TABLE, process_figure, process_times_figure};
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
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use sys::task::PreparedProgram;
use units::Nanos;

/// Descriptors of a launcher beside one for each process.
const SPARE: u64 = 16;

/// What stays the same over all trials.
struct Setup {
    program: PreparedProgram,
    expected: ExpectedStatuses,
    timeout: Nanos,
}

/// What one trial was beside what it counted.
#[derive(Debug, Clone, Default)]
pub struct StormStats {
    /// How long its load was.
    pub loaded: Nanos,
    /// Processes started.
    pub started: u64,
    /// Processes that have ended and were waited for.
    pub ended: u64,
    /// The most that were alive at once.
    pub alive_most: u64,
    /// Time that all of them together were alive.
    pub alive_ns: u64,
    /// From the call that starts a program until it is executed.
    pub spawn: Histogram,
    /// The whole machine, second by second, while the load lasted.
    pub machine: Vec<MachineSecond>,
}

/// Launchers at work.
struct RunningTrial {
    /// On the monotonic clock.
    start_ns: u64,
    control: Arc<LauncherControl>,
    crew: ReportCollector<LauncherReport>,
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
    accounts: Vec<StormStats>,
    fault: Option<io::Error>,
}

impl Storm {
    /// Makes ready; nothing is started yet.
    ///
    /// Fails if a file cannot be written, or if there is no room for so many processes at once.
    pub fn new(command: &ProgramCommand, options: StormOptions) -> Result<Self, Error> {
        let environment = std::env::vars_os().chain(command.added.iter().cloned());
        let program = PreparedProgram::new(&command.path, command.words.iter().skip(1), environment)
            .map_err(|why| Error::NotExecutable { path: command.path.clone(), why: reason(&why) })?;
        let file = |path: &str| {
            let opened = OpenOptions::new().read(true).write(true).open(path);
            opened.map_err(|why| Error::File { path: PathBuf::from(path), why })
        };
        let null = Arc::new(file("/dev/null")?);
        let output = match &options.output {
            None => Arc::clone(&null),
            Some(path) => {
                let opened = OpenOptions::new().create(true).append(true).open(path);
                Arc::new(opened.map_err(|why| Error::File { path: path.clone(), why })?)
            }
        };
        let log = options.log.as_deref().map(JobLog::begin).transpose()?;
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
        let launchers = processors.min(options.parallel).clamp(1, THREADS_MOST);
        let room = sys::raise_nofile().0.saturating_sub(SPARE) * u64::from(launchers);
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
            accounts: Vec::new(),
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
        let (tellers, crew) = ReportCollector::channel(launchers as usize);
        let mut goes = Vec::new();
        let mut threads = Vec::new();
        for (index, teller) in (0..launchers).zip(tellers) {
            let part = LauncherTask {
                index,
                trial: self.accounts.len() as u32,
                most: (parallel / launchers + u32::from(index < parallel % launchers)) as usize,
                outstanding: (self.options.outstanding / u64::from(launchers)).max(1),
                source: ArrivalSource::new(offer, index, launchers, &drawn),
                run_ns: self.run_ns,
                load_ends: offer.latest_end(),
                drain,
                deadline: self.options.deadline,
                first_number: self.next_number,
                log: self.log.as_ref().map(JobLog::buffer),
            };
            let ((ready, is_ready), (go, gone)) = (channel(), channel());
            let (setup, control) = (Arc::clone(&self.setup), Arc::clone(control));
            let (null, output) = (Arc::clone(&self.null), Arc::clone(&self.output));
            let thread = std::thread::Builder::new().name(format!("storm-{index}"));
            threads.push(thread.spawn(move || {
                let files = [null.as_fd(), output.as_fd()];
                run_launcher(setup, control, part, &files, teller, &ready, &gone);
            })?);
            is_ready.recv().map_err(|_| io::Error::from(io::ErrorKind::Interrupted))??;
            goes.push(go);
        }
        let start_ns = sys::monotonic_ns() + LEAD.0;
        goes.iter().for_each(|go| {
            let _ = go.send(start_ns);
        });
        Ok(RunningTrial { start_ns, control: Arc::clone(control), crew, threads })
    }

    /// What each trial was, in their order; the last is whole once it is settled.
    pub fn trial_stats(&self) -> &[StormStats] {
        &self.accounts
    }

    /// Why the program cannot be executed, if that has shown.
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
        wish: &mut dyn FnMut(&Slice, Nanos) -> LoadCommand,
    ) -> TrialCounts {
        self.settle(Nanos::ZERO, &|| false);
        let control = Arc::new(LauncherControl::default());
        self.accounts.push(StormStats::default());
        let began = ClockSample::now();
        on_begin(began);
        let started = self.start(offer, drain, &control);
        let Self { trial, accounts, fault, .. } = self;
        let RunningTrial { start_ns, crew, .. } = match started {
            Ok(started) => trial.insert(started),
            Err(why) => {
                *fault = Some(why);
                return TrialCounts::default();
            }
        };
        let sampler = Sampler::begin(Arc::clone(&control.alive));
        let obey = |wish, _| match wish {
            LoadCommand::Kill => control.kill.store(true, Ordering::Relaxed),
            _ => control.stop.store(true, Ordering::Relaxed),
        };
        let mut counted =
            crew.collect_trial(*start_ns, on_slice, wish, obey, |told| store_report(told, accounts, fault));
        counted.members.push(MemberFigures::from_slice(
            &counted.total,
            ClockSample::now().stolen_since(&began),
            None,
        ));
        self.next_number += counted.total.due;
        if let Some(account) = accounts.last_mut() {
            account.loaded = counted.loaded;
            account.machine = sampler.map(Sampler::end).unwrap_or_default();
        }
        counted
    }

    /// The account of the trial is whole after it.
    fn settle(&mut self, limit: Nanos, interrupted: &dyn Fn() -> bool) -> Option<Nanos> {
        let Some(RunningTrial { control, mut crew, threads, .. }) = self.trial.take() else {
            return Some(Nanos::ZERO);
        };
        let Self { accounts, fault, .. } = self;
        let kill = || control.kill.store(true, Ordering::Relaxed);
        let took = crew.settle(limit, interrupted, || {}, kill, |told| store_report(told, accounts, fault));
        threads.into_iter().for_each(|thread| thread.join().expect("it has told that nothing is left"));
        if let Some(account) = accounts.last_mut() {
            account.started = control.started.load(Ordering::Relaxed);
            account.alive_most = control.most_alive.load(Ordering::Relaxed);
        }
        took
    }
}

/// What a launcher has told goes to the account of its trial; the first fault stays.
fn store_report(told: LauncherReport, accounts: &mut [StormStats], fault: &mut Option<io::Error>) {
    match told {
        LauncherReport::Fault(why) => _ = fault.get_or_insert(why),
        LauncherReport::Tally(tally) => {
            accounts.last_mut().into_iter().for_each(|account| account.add(&tally))
        }
    }
}

impl Drop for Storm {
    fn drop(&mut self) {
        if let Some(trial) = self.trial.take() {
            trial.control.kill.store(true, Ordering::Relaxed);
            // None waits until somebody hears what it has to say.
            drop(trial.crew);
            // They use descriptors of ours until they end.
            trial.threads.into_iter().for_each(|thread| drop(thread.join()));
        }
    }
}

impl StormStats {
    fn add(&mut self, tally: &LauncherCounts) {
        self.ended += tally.ended;
        self.alive_ns += tally.alive_ns;
        self.spawn.merge(&tally.spawn);
    }
}

/// The life of a launcher's thread.
fn run_launcher(
    setup: Arc<Setup>,
    control: Arc<LauncherControl>,
    part: LauncherTask,
    files: &[std::os::fd::BorrowedFd<'_>; 2],
    teller: Reporter<LauncherReport>,
    ready: &Sender<io::Result<()>>,
    go: &Receiver<u64>,
) {
    let [null, output] = files;
    // What a child has open is what this thread has open: nothing but its three streams.
    let own = sys::unshare_descriptors(files)
        .and_then(|()| Ok(rustix::stdio::dup2_stdin(null)?))
        .and_then(|()| Ok(rustix::stdio::dup2_stdout(output)?))
        .and_then(|()| Ok(rustix::stdio::dup2_stderr(output)?));
    let launcher = own.and_then(|()| Launcher::new(setup, control, part, teller));
    let launcher = match launcher {
        Ok(launcher) => launcher,
        Err(why) => {
            let _ = ready.send(Err(why));
            return;
        }
    };
    let _ = ready.send(Ok(()));
    // Whoever would say when has failed to start another.
    let Ok(start_ns) = go.recv() else { return };
    // A closed loop has no due times that would hold it back, and there is no moment before the trial.
    std::thread::sleep(Duration::from_nanos(start_ns.saturating_sub(sys::monotonic_ns())));
    launcher.run(start_ns);
    // The files kept are closed in this table before the thread that lent them goes on.
    let _ = sys::unshare_descriptors(&[]);
}
