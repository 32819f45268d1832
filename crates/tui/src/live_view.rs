use crate::{Palette, draw};
use crossterm::event::{self, Event as Input, KeyCode, KeyEventKind, KeyModifiers};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{cursor, execute};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use record::Event;
use rustix::process::{Signal, getpid, kill_process};
use std::io::{self, BufWriter, IsTerminal, Stderr, stderr, stdin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use view::{LiveRun, ReportKind};

/// Time between two frames: fast enough to feel alive, a percent or so of one processor.
const FRAME: Duration = Duration::from_millis(200);
/// The same while the machine itself is measured: drawing must not be what is measured.
const RARE_FRAME: Duration = Duration::from_secs(1);

/// Whether the terminal is ours now, so that it is given back exactly once.
static TAKEN: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();

/// Why there can be no live view; the run goes on without.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Standard error, which it draws on, is not a terminal.
    #[error("no live view: standard error is not a terminal")]
    NoTerminal,
    /// Another live view has it.
    #[error("no live view: another one has the terminal")]
    Taken,
    /// The terminal refused.
    #[error("no live view: the terminal refused: {0}")]
    Io(io::Error),
}

impl From<io::Error> for Error {
    fn from(e: io::Error) -> Self {
        Self::Io(e)
    }
}

/// A live view of a run, on standard error, so that results can still be piped from standard
/// output. Gives the terminal back when finished, dropped, or at a panic anywhere in the process.
#[derive(Debug)]
pub struct LiveView {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What the run's thread and the drawing thread share.
#[derive(Debug)]
struct Shared {
    view: Mutex<LiveRun>,
    /// Set by `q`, and by the caller who hears of Ctrl-C: the run is to end.
    stop: Arc<AtomicBool>,
    over: AtomicBool,
}

impl Shared {
    /// A panic elsewhere must not stop the view from showing what it has.
    fn view(&self) -> MutexGuard<'_, LiveRun> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LiveView {
    /// Whether there is a terminal to take: one that is read and written, by a process in its
    /// foreground. One in the background would be stopped for touching it (SIGTTOU, termios(3)).
    pub fn is_possible() -> bool {
        let foreground =
            rustix::termios::tcgetpgrp(stderr()).is_ok_and(|group| group == rustix::process::getpgrp());
        stderr().is_terminal() && stdin().is_terminal() && foreground
    }

    /// Takes the terminal. `q` sets `stop`; Ctrl-C, which is a mere key now, is the signal that it was before: who began
    /// this hears it as ever. Fails if standard error is no terminal.
    pub fn start(stop: Arc<AtomicBool>) -> Result<Self, Error> {
        if !stderr().is_terminal() {
            return Err(Error::NoTerminal);
        }
        if TAKEN.swap(true, Ordering::SeqCst) {
            return Err(Error::Taken);
        }
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                restore_terminal();
                before(info);
            }));
        });
        let terminal = take_terminal().inspect_err(|_| restore_terminal())?;
        let shared = Arc::new(Shared { view: Mutex::default(), stop, over: AtomicBool::new(false) });
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("screen".to_owned())
            .spawn(move || draw_loop(terminal, &theirs))
            .inspect_err(|_| restore_terminal())?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Takes the next event in. Waits at most for one frame to be laid out, never for the terminal.
    pub fn event(&self, event: &Event) {
        self.shared.view().fold(event, sys::now().unix_ms());
    }

    /// Ends the view and gives the terminal back.
    pub fn finish(self) {}
}

impl Drop for LiveView {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A panic there has been reported by the hook; there is nothing to add.
            let _ = thread.join();
        }
        restore_terminal();
    }
}

type Screen = Terminal<CrosstermBackend<BufWriter<Stderr>>>;

fn take_terminal() -> io::Result<Screen> {
    enable_raw_mode()?;
    execute!(stderr(), EnterAlternateScreen, cursor::Hide)?;
    Terminal::new(CrosstermBackend::new(BufWriter::new(stderr())))
}

/// Gives the terminal back, if a live view has it. Safe to call at any time, from any thread; what fails here cannot be
/// helped.
pub fn restore_terminal() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let _ = execute!(stderr(), LeaveAlternateScreen, cursor::Show);
        let _ = disable_raw_mode();
    }
}

fn draw_loop(mut terminal: Screen, shared: &Shared) {
    let palette = Palette::from_environment();
    let mut next = Instant::now();
    while !shared.over.load(Ordering::SeqCst) && TAKEN.load(Ordering::SeqCst) {
        let mut gone = false;
        if Instant::now() >= next {
            let stopping = shared.stop.load(Ordering::SeqCst);
            let rare = matches!(
                shared.view().pages.run.kind(),
                ReportKind::Sheet | ReportKind::Profile | ReportKind::Tasks | ReportKind::WorkingSet
            );
            next = Instant::now() + if rare { RARE_FRAME } else { FRAME };
            gone =
                terminal.draw(|f| draw(f, &shared.view(), sys::now().unix_ms(), stopping, palette)).is_err();
        }
        match handle_input(shared) {
            // A key or another size is answered at once.
            Ok(true) => next = Instant::now(),
            Ok(false) => {}
            Err(_) => gone = true,
        }
        // A terminal that is gone: the run goes on unseen, and the end gives nothing back in vain.
        if gone {
            std::thread::park_timeout(FRAME);
        }
    }
}

/// Waits for the time of one frame, and heeds what comes in it; whether anything did.
fn handle_input(shared: &Shared) -> io::Result<bool> {
    if !event::poll(FRAME)? {
        return Ok(false);
    }
    let Input::Key(key) = event::read()? else { return Ok(true) };
    if key.kind != KeyEventKind::Press {
        return Ok(true);
    }
    let control_c = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
    if control_c {
        kill_process(getpid(), Signal::INT)?;
    } else if key.code == KeyCode::Char('q') {
        shared.stop.store(true, Ordering::SeqCst);
    }
    Ok(true)
}
