//! The watch: one thread that reads its sources when due, and cuts windows.

use crate::finder::Finder;
use crate::priority;
use crate::source::Source;
use crate::watch_scope::WatchScope;
use record::watch::{CloserLook, MissingMeasure, TreeWindow, WatchCoverage, WatchEvent, Window};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use units::Nanos;

/// Length of a window.
const WINDOW: Duration = Duration::from_secs(1);
/// If a trial's begin or end arrives later than this, its arrival counts: that is when the counters were
/// read.
const LATE: Duration = Duration::from_millis(20);
/// Minimum length of a window cut short by the end of the load.
const LEAST: Duration = Duration::from_millis(200);

/// Buffered events: some minutes of windows. The watch does not wait for a slow receiver, and reports that
/// some are missing.
const SEEN: usize = 256;

/// Interval between looks for processes to watch.
const LOOK: Duration = Duration::from_secs(1);

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
pub(crate) struct Collector {
    finder: Finder,
    /// When to look for processes next.
    look: Instant,
    /// The last coverage reported.
    watched: WatchCoverage,
    sources: Vec<(Box<dyn Source>, Instant)>,
    seen: SyncSender<WatchEvent>,
    /// An event found the buffer full.
    unheard: bool,
    /// The current trial, its start, and that of its current window.
    trial: Option<(u32, Instant, Instant)>,
    /// The current or last trial: a closer look may come after its end.
    looked_in: u32,
}

impl Collector {
    pub fn new(finder: Finder, sources: Vec<Box<dyn Source>>, seen: SyncSender<WatchEvent>) -> Self {
        let now = Instant::now();
        let sources = sources.into_iter().map(|source| (source, now)).collect();
        let watched = WatchCoverage::default();
        let mut desk = Self {
            finder,
            look: now + LOOK,
            watched,
            sources,
            seen,
            unheard: false,
            trial: None,
            looked_in: 0,
        };
        desk.send_watched();
        desk
    }

    fn work(mut self, commands: &Receiver<Command>) {
        loop {
            let now = Instant::now();
            if self.look <= now {
                self.finder.look();
                self.send_watched();
                self.look = now + LOOK;
            }
            for (source, due) in &mut self.sources {
                if *due <= now {
                    source.read(self.finder.scene());
                    *due = now + source.every();
                }
            }
            if let Some((_, _, from)) = self.trial
                && now >= from + WINDOW
            {
                self.cut(now);
            }
            let looks: Vec<CloserLook> =
                self.sources.iter_mut().flat_map(|(source, _)| source.looks()).collect();
            for look in looks {
                self.send_sighting(WatchEvent::Look(self.looked_in, look));
            }
            let next = self.sources.iter().map(|(_, due)| *due);
            let next = next.chain(self.trial.map(|(_, _, from)| from + WINDOW)).fold(self.look, Instant::min);
            let wait = next.saturating_duration_since(Instant::now());
            match commands.recv_timeout(wait) {
                Ok(Command::Begin { trial, at }) => {
                    let mut before = Window::default();
                    self.fill(&mut before);
                    self.sources.iter_mut().for_each(|(source, _)| source.begin());
                    // It has not seen what went on before a late notice.
                    let late = Instant::now().saturating_duration_since(at);
                    self.trial = Some((trial, at, if late < LATE { at } else { at + late }));
                    self.looked_in = trial;
                }
                Ok(Command::End { at, done }) => {
                    if self.trial.is_some_and(|(_, _, from)| at >= from + LEAST) {
                        let late = Instant::now().saturating_duration_since(at);
                        self.cut(if late < LATE { at } else { at + late });
                    }
                    self.sources.iter_mut().for_each(|(source, _)| source.end());
                    self.trial = None;
                    // The receiver may be gone.
                    let _ = done.map(|done| done.send(()));
                }
                Ok(Command::Look) => {
                    let scene = self.finder.scene();
                    self.sources.iter_mut().for_each(|(source, _)| source.look(scene));
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
        self.send_sighting(WatchEvent::Window(trial, Box::new(window)));
    }

    /// Returns whether the event was delivered. The receiver may be gone; then the thread ends at its next
    /// command.
    fn send_sighting(&mut self, seen: WatchEvent) -> bool {
        let full = matches!(self.seen.try_send(seen), Err(TrySendError::Full(_)));
        self.unheard |= full;
        !full
    }

    fn fill(&mut self, window: &mut Window) {
        let scene = self.finder.scene();
        window.subjects = vec![TreeWindow::default(); scene.subjects.len()];
        for (source, _) in &mut self.sources {
            source.cut(scene, window);
        }
        window.changes.extend(self.finder.changes());
    }

    /// Reports the coverage, if it changed.
    fn send_watched(&mut self) {
        let WatchScope { subjects, missing, level } = self.finder.scene();
        let mut watched = WatchCoverage {
            level: *level,
            subjects: subjects.iter().map(|cast| cast.about.clone()).collect(),
            missing: missing.clone(),
            ..WatchCoverage::default()
        };
        for (source, _) in &self.sources {
            source.describe(&mut watched);
            watched.missing.extend(source.missing());
        }
        if self.unheard {
            let text = "some seconds: the thread that stores them was held up for minutes";
            watched.missing.push(MissingMeasure::new("what was seen", text));
        }
        let mut said = Vec::new();
        watched.missing.retain(|missing| {
            let is_new = !said.contains(missing);
            said.push(missing.clone());
            is_new
        });
        if watched != self.watched && self.send_sighting(WatchEvent::Watched(Box::new(watched.clone()))) {
            self.watched = watched;
        }
    }
}

/// A running watch; it ends when dropped.
pub struct TargetWatch {
    commands: Option<Sender<Command>>,
    seen: Receiver<WatchEvent>,
    thread: Option<JoinHandle<()>>,
}

impl TargetWatch {
    pub(crate) fn start(make: impl FnOnce(SyncSender<WatchEvent>) -> Collector) -> std::io::Result<Self> {
        let (send, seen) = sync_channel(SEEN);
        let (commands, inbox) = channel();
        let desk = make(send);
        let thread = std::thread::Builder::new().name("watch".to_owned()).spawn(move || {
            priority::raise_weight();
            desk.work(&inbox);
        })?;
        Ok(Self { commands: Some(commands), seen, thread: Some(thread) })
    }

    fn tell(&self, command: Command) {
        if let Some(commands) = &self.commands {
            // It only ends when told to, so nothing is lost.
            let _ = commands.send(command);
        }
    }

    /// A trial begins now: its windows count from here.
    pub fn begin(&self, trial: u32) {
        self.begin_from(trial, Instant::now());
    }

    /// A trial began at a past moment: its windows count from then. The first begins now, if that is a
    /// while ago.
    pub fn begin_from(&self, trial: u32, at: Instant) {
        self.tell(Command::Begin { trial, at });
    }

    /// The trial's load has ended: the current window ends here, and none follows.
    pub fn end(&self) {
        self.tell(Command::End { at: Instant::now(), done: None });
    }

    /// The same at a past moment; waits for the last window to be cut, at most this long.
    pub fn end_within(&self, at: Instant, limit: Duration) {
        let (done, is_done) = channel();
        self.tell(Command::End { at, done: Some(done) });
        // A timeout does not matter: the window comes when it comes.
        let _ = is_done.recv_timeout(limit);
    }

    /// Takes a closer look at the target's current state, where possible and permitted: at the stacks of
    /// waiting threads. A Java VM is asked for its threads, which stops them all for a moment.
    pub fn look(&self) {
        self.tell(Command::Look);
    }

    /// The events since the last call. Never blocks.
    pub fn drain(&self) -> impl Iterator<Item = WatchEvent> + '_ {
        self.seen.try_iter()
    }

    /// Ends the watch and returns its remaining events: the last window may have been cut only now.
    pub fn finish(mut self) -> Vec<WatchEvent> {
        self.stop();
        self.seen.try_iter().collect()
    }

    fn stop(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            // A watch that panicked has reported that; the load matters more than its watch.
            let _ = thread.join();
        }
    }
}

impl Drop for TargetWatch {
    fn drop(&mut self) {
        self.stop();
    }
}
