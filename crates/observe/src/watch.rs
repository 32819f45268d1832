//! The watch: one thread that reads its sources when they want to be read, and cuts windows.

use crate::scene::Scene;
use crate::source::Source;
use record::watch::{Look, SubjectWindow, Watched, Window};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use units::Nanos;

/// How long a window is.
const WINDOW: Duration = Duration::from_secs(1);
/// A window cut short by the end of the load is kept if it is at least this long.
const LEAST: Duration = Duration::from_millis(200);

/// What the watch has to say.
#[derive(Debug, Clone)]
pub enum Seen {
    /// What is watched has changed.
    Watched(Box<Watched>),
    /// A window of a trial is over.
    Window(u32, Box<Window>),
    /// A closer look, asked for in a trial.
    Look(u32, Look),
}

enum Command {
    Begin { trial: u32, at: Instant },
    End { at: Instant },
}

/// What reads and cuts.
pub(crate) struct Desk {
    scene: Scene,
    sources: Vec<(Box<dyn Source>, Instant)>,
    seen: Sender<Seen>,
    /// The trial that goes on, when it began, and where its current window did.
    trial: Option<(u32, Instant, Instant)>,
    /// The trial that goes on, or the last one: a closer look may come after its end.
    looked_in: u32,
}

impl Desk {
    pub fn new(scene: Scene, sources: Vec<Box<dyn Source>>, seen: Sender<Seen>) -> Self {
        let now = Instant::now();
        let sources = sources.into_iter().map(|source| (source, now)).collect();
        Self { scene, sources, seen, trial: None, looked_in: 0 }
    }

    fn work(mut self, commands: &Receiver<Command>) {
        loop {
            let now = Instant::now();
            for (source, due) in &mut self.sources {
                if *due <= now {
                    source.read(&self.scene);
                    *due = now + source.every();
                }
            }
            if let Some((_, _, from)) = self.trial
                && now >= from + WINDOW
            {
                self.cut(now);
            }
            for look in self.sources.iter_mut().flat_map(|(source, _)| source.looks()) {
                // As with windows, whoever listened may have gone.
                let _ = self.seen.send(Seen::Look(self.looked_in, look));
            }
            let next = self.sources.iter().map(|(_, due)| *due);
            let next = next.chain(self.trial.map(|(_, _, from)| from + WINDOW)).min();
            let wait = next.map_or(WINDOW, |at| at.saturating_duration_since(Instant::now()));
            match commands.recv_timeout(wait) {
                Ok(Command::Begin { trial, at }) => {
                    let mut before = Window::default();
                    self.fill(&mut before);
                    self.sources.iter_mut().for_each(|(source, _)| source.begin());
                    self.trial = Some((trial, at, at));
                    self.looked_in = trial;
                }
                Ok(Command::End { at }) => {
                    if self.trial.is_some_and(|(_, _, from)| at >= from + LEAST) {
                        self.cut(at);
                    }
                    self.sources.iter_mut().for_each(|(source, _)| source.end());
                    self.trial = None;
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
        // Whoever listened may have gone; then the thread ends at its next command.
        let _ = self.seen.send(Seen::Window(trial, Box::new(window)));
    }

    fn fill(&mut self, window: &mut Window) {
        window.subjects = vec![SubjectWindow::default(); self.scene.subjects.len()];
        for (source, _) in &mut self.sources {
            source.cut(&self.scene, window);
        }
    }
}

/// The running watch; it ends when dropped.
pub struct Watch {
    commands: Option<Sender<Command>>,
    seen: Receiver<Seen>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    pub(crate) fn start(make: impl FnOnce(Sender<Seen>) -> Desk) -> std::io::Result<Self> {
        let (send, seen) = channel();
        let (commands, inbox) = channel();
        let desk = make(send);
        let thread =
            std::thread::Builder::new().name("watch".to_owned()).spawn(move || desk.work(&inbox))?;
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
        self.tell(Command::Begin { trial, at: Instant::now() });
    }

    /// Its load is over: the window that goes on ends here, and none follows it.
    pub fn end(&self) {
        self.tell(Command::End { at: Instant::now() });
    }

    /// What it has to say since it was last asked. Never waits.
    pub fn seen(&self) -> impl Iterator<Item = Seen> + '_ {
        self.seen.try_iter()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            // A watch that panicked has said so already; the load is more than its watch.
            let _ = thread.join();
        }
    }
}
