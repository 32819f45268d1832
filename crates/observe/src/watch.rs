//! The watch: one thread that reads its sources when due, and cuts windows.

use crate::command_thread::CommandThread;
use crate::finder::Finder;
use crate::priority;
use crate::source::Source;
use crate::watch_scope::WatchScope;
use record::watch::{CloserLook, MissingMeasure, TreeWindow, WatchCoverage, WatchEvent, Window};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::time::{Duration, Instant};
use units::Nanos;

/// Length of a window.
const WINDOW: Duration = Duration::from_secs(1);
/// If a trial's begin or end arrives later than this, its arrival counts: that is when the counters were
/// read.
const MAX_LATENESS: Duration = Duration::from_millis(20);
/// Minimum length of a window cut short by the end of the load.
const MIN_WINDOW: Duration = Duration::from_millis(200);

/// Buffered events: some minutes of windows. The watch does not wait for a slow receiver, and reports that
/// some are missing.
const EVENT_BUFFER: usize = 256;

/// Interval between looks for processes to watch.
const FIND_INTERVAL: Duration = Duration::from_secs(1);

enum Command {
    Begin {
        trial: u32,
        at: Instant,
    },
    /// `done` is notified afterwards.
    End {
        at: Instant,
        done: Option<Sender<()>>,
    },
    Look,
}

/// Reads the sources and cuts windows.
struct Collector {
    finder: Finder,
    /// When to look for processes next.
    next_look: Instant,
    /// The last coverage reported.
    coverage: WatchCoverage,
    sources: Vec<(Box<dyn Source>, Instant)>,
    events: SyncSender<WatchEvent>,
    /// An event found the buffer full.
    dropped_events: bool,
    /// The current trial, its start, and that of its current window.
    trial: Option<(u32, Instant, Instant)>,
    /// The current or last trial: a closer look may come after its end.
    last_trial: u32,
}

impl Collector {
    fn new(finder: Finder, sources: Vec<Box<dyn Source>>, events: SyncSender<WatchEvent>) -> Self {
        let now = Instant::now();
        let sources = sources.into_iter().map(|source| (source, now)).collect();
        let coverage = WatchCoverage::default();
        let mut collector = Self {
            finder,
            next_look: now + FIND_INTERVAL,
            coverage,
            sources,
            events,
            dropped_events: false,
            trial: None,
            last_trial: 0,
        };
        collector.send_coverage();
        collector
    }

    fn work(mut self, commands: &Receiver<Command>) {
        loop {
            let now = Instant::now();
            if self.next_look <= now {
                self.finder.refresh();
                self.send_coverage();
                self.next_look = now + FIND_INTERVAL;
            }
            for (source, due) in &mut self.sources {
                if *due <= now {
                    source.read(self.finder.scope());
                    *due = now + source.interval();
                }
            }
            if let Some((_, _, from)) = self.trial
                && now >= from + WINDOW
            {
                self.cut(now);
            }
            let looks: Vec<CloserLook> =
                self.sources.iter_mut().flat_map(|(source, _)| source.closer_looks()).collect();
            for look in looks {
                self.send_event(WatchEvent::Look(self.last_trial, look));
            }
            let next = self.sources.iter().map(|(_, due)| *due);
            let next =
                next.chain(self.trial.map(|(_, _, from)| from + WINDOW)).fold(self.next_look, Instant::min);
            let wait = next.saturating_duration_since(Instant::now());
            match commands.recv_timeout(wait) {
                Ok(Command::Begin { trial, at }) => {
                    let mut before = Window::default();
                    self.fill(&mut before);
                    self.sources.iter_mut().for_each(|(source, _)| source.begin());
                    // It has not seen what went on before a late notice.
                    let late = Instant::now().saturating_duration_since(at);
                    self.trial = Some((trial, at, if late < MAX_LATENESS { at } else { at + late }));
                    self.last_trial = trial;
                }
                Ok(Command::End { at, done }) => {
                    if self.trial.is_some_and(|(_, _, from)| at >= from + MIN_WINDOW) {
                        let late = Instant::now().saturating_duration_since(at);
                        self.cut(if late < MAX_LATENESS { at } else { at + late });
                    }
                    self.sources.iter_mut().for_each(|(source, _)| source.end());
                    self.trial = None;
                    // The receiver may be gone.
                    let _ = done.map(|done| done.send(()));
                }
                Ok(Command::Look) => {
                    let scope = self.finder.scope();
                    self.sources.iter_mut().for_each(|(source, _)| source.start_closer_look(scope));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn cut(&mut self, now: Instant) {
        let Some((trial, began, from)) = self.trial else { return };
        let mut window = Window {
            from: Nanos::from(from.saturating_duration_since(began)),
            to: Nanos::from(now.saturating_duration_since(began)),
            ..Window::default()
        };
        self.fill(&mut window);
        self.trial = Some((trial, began, now));
        self.send_event(WatchEvent::Window(trial, Box::new(window)));
    }

    /// Returns whether the event was delivered. The receiver may be gone; then the thread ends at its next
    /// command.
    fn send_event(&mut self, event: WatchEvent) -> bool {
        let full = matches!(self.events.try_send(event), Err(TrySendError::Full(_)));
        self.dropped_events |= full;
        !full
    }

    fn fill(&mut self, window: &mut Window) {
        let scope = self.finder.scope();
        window.subjects = vec![TreeWindow::default(); scope.subjects.len()];
        for (source, _) in &mut self.sources {
            source.cut(scope, window);
        }
        window.changes.extend(self.finder.changes());
    }

    /// Reports the coverage, if it changed.
    fn send_coverage(&mut self) {
        let WatchScope { subjects, missing, level } = self.finder.scope();
        let mut coverage = WatchCoverage {
            level: *level,
            subjects: subjects.iter().map(|subject| subject.about.clone()).collect(),
            missing: missing.clone(),
            ..WatchCoverage::default()
        };
        for (source, _) in &self.sources {
            source.describe(&mut coverage);
            coverage.missing.extend(source.missing());
        }
        if self.dropped_events {
            let text = "some seconds: the thread that stores them was held up for minutes";
            coverage.missing.push(MissingMeasure::new("what was seen", text));
        }
        let mut reported = Vec::new();
        coverage.missing.retain(|missing| {
            let is_new = !reported.contains(missing);
            reported.push(missing.clone());
            is_new
        });
        if coverage != self.coverage && self.send_event(WatchEvent::Watched(Box::new(coverage.clone()))) {
            self.coverage = coverage;
        }
    }
}

/// A running watch; it ends when dropped.
pub struct TargetWatch {
    thread: CommandThread<Command>,
    events: Receiver<WatchEvent>,
}

impl TargetWatch {
    pub(crate) fn start(finder: Finder, sources: Vec<Box<dyn Source>>) -> std::io::Result<Self> {
        let (send, events) = sync_channel(EVENT_BUFFER);
        let collector = Collector::new(finder, sources, send);
        let thread = CommandThread::start("watch", move |commands| {
            priority::raise_weight();
            collector.work(commands);
        })?;
        Ok(Self { thread, events })
    }

    /// A trial begins now: its windows count from here.
    pub fn begin(&self, trial: u32) {
        self.begin_from(trial, Instant::now());
    }

    /// A trial began at a past moment: its windows count from then. The first begins now, if that is a
    /// while ago.
    pub fn begin_from(&self, trial: u32, at: Instant) {
        self.thread.send(Command::Begin { trial, at });
    }

    /// The trial's load has ended: the current window ends here, and none follows.
    pub fn end(&self) {
        self.thread.send(Command::End { at: Instant::now(), done: None });
    }

    /// The same at a past moment; waits for the last window to be cut, at most this long.
    pub fn end_within(&self, at: Instant, limit: Duration) {
        let (done, is_done) = channel();
        self.thread.send(Command::End { at, done: Some(done) });
        // A timeout does not matter: the window comes when it comes.
        let _ = is_done.recv_timeout(limit);
    }

    /// Takes a closer look at the target's current state, where possible and permitted: at the stacks of
    /// waiting threads. A Java VM is asked for its threads, which stops them all for a moment.
    pub fn look(&self) {
        self.thread.send(Command::Look);
    }

    /// The events since the last call. Never blocks.
    pub fn drain(&self) -> impl Iterator<Item = WatchEvent> + '_ {
        self.events.try_iter()
    }

    /// Ends the watch and returns its remaining events: the last window may have been cut only now.
    pub fn finish(self) -> Vec<WatchEvent> {
        let Self { thread, events } = self;
        drop(thread);
        events.try_iter().collect()
    }
}
