//! Starts short programs by the thousand, and says what each cost.
//!
//! A storm takes the loads that the engine takes: so many processes with so many alive at once, or a rate with due times.
//! It gives the same slices, so that the same search finds the rate that holds and the same judge says whether a goal was
//! met. Beside that it keeps a job log, looks at the whole machine ten times a second, and counts what its own launchers
//! did. `docs/method/storm.md` tells what each figure includes.
//!
//! It never judges, and whatever it starts ends with it: each process is killed when the thread that started it ends.

mod bare;
mod error;
mod figures;
mod launcher;
mod log;
mod options;
mod program;
mod report;
mod sampler;
mod source;
mod status;

pub use bare::{Bare, cpuid};
pub use error::Error;
pub use figures::{TABLE, figure, times};
pub use options::{Expected, Options};
pub use program::Command;
pub use sampler::Block;

use engine::{Offer, reason};
use launcher::{Launcher, Part};
use log::Log;
use record::{Counted, Gather, Slice};
use report::{Control, Report, Tally};
use sampler::Sampler;
use source::Source;
use stats::Histogram;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;
use sys::task::Program;
use units::Nanos;

/// How often the caller is asked whether to stop.
const ASK: Duration = Duration::from_millis(50);
/// From the order to start until the first arrival can be due.
const LEAD: Nanos = Nanos::from_millis(2);
/// Reports of the launchers that wait to be heard, as the engine's loops' do: a minute's, at the least.
const REPORTS: usize = 60 * LAUNCHERS_MOST as usize;
/// More launchers than this only take processor time from each other.
const LAUNCHERS_MOST: u32 = 64;
/// Descriptors of a launcher beside one for each process.
const SPARE: u64 = 16;

/// What stays the same over all trials.
struct Setup {
    program: Program,
    expected: Expected,
    timeout: Nanos,
}

/// What the caller wants of a load that goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// Nothing.
    GoOn,
    /// The load ends; what was started is waited for.
    Stop,
    /// So does everything that was started.
    Kill,
}

/// What one trial was beside what it counted.
#[derive(Debug, Clone, Default)]
pub struct Account {
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
    pub machine: Vec<Block>,
}

/// Launchers at work.
struct Trial {
    control: Arc<Control>,
    reports: Receiver<(usize, Report)>,
    threads: Vec<JoinHandle<()>>,
    settled: usize,
}

/// Starts one program again and again.
pub struct Storm {
    setup: Arc<Setup>,
    options: Options,
    launchers: u32,
    null: Arc<File>,
    output: Arc<File>,
    log: Option<Log>,
    run_ns: u64,
    next_number: u64,
    trial: Option<Trial>,
    accounts: Vec<Account>,
    fault: Option<io::Error>,
}

impl Storm {
    /// Makes ready; nothing is started yet.
    ///
    /// Fails if a file cannot be written, or if there is no room for so many processes at once.
    pub fn ready(command: &Command, options: Options) -> Result<Self, Error> {
        let environment = std::env::vars_os().chain(command.added.iter().cloned());
        let program = Program::new(&command.path, command.words.iter().skip(1), environment)
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
        let log = options.log.as_deref().map(Log::begin).transpose()?;
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
        let launchers = processors.min(options.parallel).clamp(1, LAUNCHERS_MOST);
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

    /// Offers one load, then waits at most `drain` for what was started. Each second all launchers' slices, merged, go to
    /// `on_slice`; `wish` is asked some twenty times a second, and told what has been counted so far.
    ///
    /// # Panics
    /// If a launcher has panicked.
    pub fn trial(
        &mut self,
        offer: &Offer,
        drain: Nanos,
        on_slice: &mut dyn FnMut(&Slice),
        wish: &mut dyn FnMut(&Slice) -> Wish,
    ) -> Counted {
        self.settle(Nanos::ZERO, &|| false);
        let control = Arc::new(Control::default());
        let alive = Arc::clone(&control.alive);
        self.accounts.push(Account::default());
        let started = self.start(offer, drain, &control);
        let sampler = Sampler::begin(alive);
        let trial = match started {
            Ok(trial) => self.trial.insert(trial),
            Err(why) => {
                self.fault = Some(why);
                return Counted::default();
            }
        };
        let (mut gather, mut tallies) = (Gather::of(trial.threads.len()), Vec::new());
        while !gather.is_over() {
            match trial.reports.recv_timeout(ASK) {
                Ok((_, Report::Slice(slice))) => gather.add(&slice),
                Ok((index, Report::Over(at))) => gather.over(index, at),
                Ok((_, Report::Settled(tally))) => {
                    trial.settled += 1;
                    tallies.push(tally);
                }
                Ok((_, Report::Fault(why))) => self.fault = self.fault.take().or(Some(why)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => panic!("a launcher has ended by itself"),
            }
            while let Some(slice) = gather.next_whole() {
                on_slice(&slice);
            }
            match wish(gather.total()) {
                Wish::GoOn => {}
                Wish::Stop => trial.control.stop.store(true, Ordering::Relaxed),
                Wish::Kill => trial.control.kill.store(true, Ordering::Relaxed),
            }
        }
        let counted = gather.end();
        self.next_number += counted.total.due;
        if let Some(account) = self.accounts.last_mut() {
            account.loaded = counted.loaded;
            account.machine = sampler.map(Sampler::end).unwrap_or_default();
            tallies.iter().for_each(|tally| account.add(tally));
        }
        counted
    }

    fn start(&self, offer: &Offer, drain: Nanos, control: &Arc<Control>) -> io::Result<Trial> {
        let (send, reports) = sync_channel(REPORTS);
        let drawn = Arc::new(AtomicU64::new(0));
        let load_ends = match offer {
            Offer::Open(schedule) => schedule.duration(),
            Offer::Closed { duration, .. } => duration.unwrap_or(Nanos::MAX),
        };
        let (launchers, parallel) = (self.launchers, self.options.parallel);
        let mut goes = Vec::new();
        let mut threads = Vec::new();
        for index in 0..launchers {
            let part = Part {
                index,
                trial: self.accounts.len() as u32,
                most: (parallel / launchers + u32::from(index < parallel % launchers)) as usize,
                outstanding: (self.options.outstanding / u64::from(launchers)).max(1),
                source: Source::of(offer, index, launchers, &drawn),
                run_ns: self.run_ns,
                load_ends,
                drain,
                deadline: self.options.deadline,
                first_number: self.next_number,
                log: self.log.as_ref().map(Log::gather),
            };
            let ((ready, is_ready), (go, gone)) = (channel(), channel());
            let (setup, control) = (Arc::clone(&self.setup), Arc::clone(control));
            let (null, output, send) = (Arc::clone(&self.null), Arc::clone(&self.output), send.clone());
            let thread = std::thread::Builder::new().name(format!("storm-{index}"));
            threads.push(thread.spawn(move || {
                let files = [null.as_fd(), output.as_fd()];
                launch(setup, control, part, &files, &send, &ready, &gone);
            })?);
            is_ready.recv().map_err(|_| io::Error::from(io::ErrorKind::Interrupted))??;
            goes.push(go);
        }
        let start_ns = sys::monotonic_ns() + LEAD.0;
        goes.iter().for_each(|go| {
            let _ = go.send(start_ns);
        });
        Ok(Trial { control: Arc::clone(control), reports, threads, settled: 0 })
    }

    /// Waits until nothing of the trial before runs any more, at most for `limit`; then what is left is killed. Gives how
    /// long it took, or none if it was over the limit.
    ///
    /// # Panics
    /// If a launcher has panicked.
    pub fn settle(&mut self, limit: Nanos, interrupted: &dyn Fn() -> bool) -> Option<Nanos> {
        let Some(mut trial) = self.trial.take() else { return Some(Nanos::ZERO) };
        let began = sys::monotonic_ns();
        let mut in_time = true;
        while trial.settled < trial.threads.len() {
            if in_time && (sys::monotonic_ns() - began > limit.0 || interrupted()) {
                in_time = false;
                trial.control.kill.store(true, Ordering::Relaxed);
            }
            match trial.reports.recv_timeout(ASK) {
                Ok((_, Report::Settled(tally))) => {
                    trial.settled += 1;
                    self.accounts.last_mut().into_iter().for_each(|account| account.add(&tally));
                }
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => panic!("a launcher has ended by itself"),
            }
        }
        trial.threads.drain(..).for_each(|thread| thread.join().expect("it has told that nothing is left"));
        if let Some(account) = self.accounts.last_mut() {
            account.started = trial.control.started.load(Ordering::Relaxed);
            account.alive_most = trial.control.most_alive.load(Ordering::Relaxed);
        }
        in_time.then(|| Nanos(sys::monotonic_ns() - began))
    }

    /// What each trial was, in their order; the last is whole once it is settled.
    pub fn accounts(&self) -> &[Account] {
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

impl Drop for Storm {
    fn drop(&mut self) {
        if let Some(trial) = self.trial.take() {
            trial.control.kill.store(true, Ordering::Relaxed);
            // None waits until somebody hears what it has to say.
            drop(trial.reports);
            // They use descriptors of ours until they end.
            trial.threads.into_iter().for_each(|thread| drop(thread.join()));
        }
    }
}

impl Account {
    fn add(&mut self, tally: &Tally) {
        self.ended += tally.ended;
        self.alive_ns += tally.alive_ns;
        self.spawn.merge(&tally.spawn);
    }
}

/// The life of a launcher's thread.
fn launch(
    setup: Arc<Setup>,
    control: Arc<Control>,
    part: Part,
    files: &[std::os::fd::BorrowedFd<'_>; 2],
    reports: &SyncSender<(usize, Report)>,
    ready: &Sender<io::Result<()>>,
    go: &Receiver<u64>,
) {
    let [null, output] = files;
    // What a child has open is what this thread has open: nothing but its three streams.
    let own = sys::own_descriptors(files)
        .and_then(|()| Ok(rustix::stdio::dup2_stdin(null)?))
        .and_then(|()| Ok(rustix::stdio::dup2_stdout(output)?))
        .and_then(|()| Ok(rustix::stdio::dup2_stderr(output)?));
    let launcher = own.and_then(|()| Launcher::new(setup, control, part, reports.clone()));
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
    let _ = sys::own_descriptors(&[]);
}
