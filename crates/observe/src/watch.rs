//! The watch: one thread that reads its sources when they want to be read, and cuts windows.

use crate::finder::Finder;
use crate::priority;
use crate::source::Source;
use crate::watch_scope::WatchScope;
use record::watch::{CloserLook, MissingMeasure, TreeWindow, WatchCoverage, WatchEvent, Window};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use units::Nanos;

/// How long a window is.
const WINDOW: Duration = Duration::from_secs(1);
/// Who hears so late that a trial began or ended reckons with when it heard: that is when it read its counters.
const LATE: Duration = Duration::from_millis(20);
/// A window cut short by the end of the load is kept if it is at least this long.
const LEAST: Duration = Duration::from_millis(200);

/// Windows that wait to be heard: some minutes of them. The watch does not wait for whoever hears no more of them, and says
/// that some are missing.
const SEEN: usize = 256;

/// How often it is looked who is watched.
const LOOK: Duration = Duration::from_secs(1);

enum Command {
    Begin {
        trial: u32,
        at: Instant,
    },
    /// Whoever waits for it is told when that is done.
    End {
        at: Instant,
        done: Option<Sender<()>>,
    },
    Look,
}

/// What reads and cuts.
pub(crate) struct Collector {
    finder: Finder,
    /// When it looks again who is watched.
    look: Instant,
    /// What was last said of what is watched.
    watched: WatchCoverage,
    sources: Vec<(Box<dyn Source>, Instant)>,
    seen: SyncSender<WatchEvent>,
    /// Something found no room there.
    unheard: bool,
    /// The trial that goes on, when it began, and where its current window did.
    trial: Option<(u32, Instant, Instant)>,
    /// The trial that goes on, or the last one: a closer look may come after its end.
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
                    // What went on before somebody late heard of it, it has not seen.
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
                    // Nobody may wait any more.
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

    /// Whether it will be heard. Whoever listened may have gone; then the thread ends at its next command.
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

    /// Says what is watched, if that is not what was last said.
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

/// The running watch; it ends when dropped.
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
            // It only ends when told to, so that nothing is lost.
            let _ = commands.send(command);
        }
    }

    /// A trial begins now: windows count from here.
    pub fn begin(&self, trial: u32) {
        self.begin_from(trial, Instant::now());
    }

    /// A trial has begun at a moment that is over: its windows count from then. The first begins now, if that is a while ago.
    pub fn begin_from(&self, trial: u32, at: Instant) {
        self.tell(Command::Begin { trial, at });
    }

    /// Its load is over: the window that goes on ends here, and none follows it.
    pub fn end(&self) {
        self.tell(Command::End { at: Instant::now(), done: None });
    }

    /// The same at a moment that is over; waits until the last window is cut, but no longer than this.
    pub fn end_within(&self, at: Instant, limit: Duration) {
        let (done, is_done) = channel();
        self.tell(Command::End { at, done: Some(done) });
        // That it takes longer is no matter: the window comes when it comes.
        let _ = is_done.recv_timeout(limit);
    }

    /// Takes a closer look at the target as it is now, where that is possible and allowed: at the stacks of threads that wait. A virtual
    /// machine is asked where its threads stand, for which all of them stop a moment.
    pub fn look(&self) {
        self.tell(Command::Look);
    }

    /// What it has to say since it was last asked. Never waits.
    pub fn drain(&self) -> impl Iterator<Item = WatchEvent> + '_ {
        self.seen.try_iter()
    }

    /// Ends it, and gives what it still had to say: the last window may have been cut only now.
    pub fn finish(mut self) -> Vec<WatchEvent> {
        self.stop();
        self.seen.try_iter().collect()
    }

    fn stop(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            // A watch that panicked has said so already; the load is more than its watch.
            let _ = thread.join();
        }
    }
}

impl Drop for TargetWatch {
    fn drop(&mut self) {
        self.stop();
    }
}
