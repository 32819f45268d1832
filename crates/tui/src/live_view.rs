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

/// Frame interval: feels alive at about a percent of one processor.
const FRAME_INTERVAL: Duration = Duration::from_millis(200);
/// The same while measuring the machine: drawing must not distort it.
const SLOW_FRAME_INTERVAL: Duration = Duration::from_secs(1);

/// Whether we have the terminal, so that it is restored exactly once.
static TERMINAL_TAKEN: AtomicBool = AtomicBool::new(false);
static PANIC_HOOK: Once = Once::new();

/// Why there can be no live view; the run continues without.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Standard error, which it draws on, is no terminal.
    #[error("no live view: standard error is not a terminal")]
    NoTerminal,
    /// Another live view has the terminal.
    #[error("no live view: another one has the terminal")]
    Taken,
    /// A terminal operation failed.
    #[error("no live view: the terminal refused: {0}")]
    Io(io::Error),
}

impl From<io::Error> for Error {
    fn from(e: io::Error) -> Self {
        Self::Io(e)
    }
}

/// A run's live view, on standard error, so that standard output can be piped. Restores the terminal when finished, dropped, or at a panic
/// anywhere in the process.
#[derive(Debug)]
pub struct LiveView {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// Shared by the run's thread and the drawing thread.
#[derive(Debug)]
struct Shared {
    view: Mutex<LiveRun>,
    /// Set by `q`, and by the caller on Ctrl-C: the run should end.
    stop: Arc<AtomicBool>,
    finished: AtomicBool,
}

impl Shared {
    /// A panic elsewhere must not stop the view.
    fn view(&self) -> MutexGuard<'_, LiveRun> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LiveView {
    /// Whether there is a terminal, readable and writable, with this process in its foreground. A background process would be stopped for
    /// touching it (SIGTTOU, termios(3)).
    pub fn is_possible() -> bool {
        let foreground =
            rustix::termios::tcgetpgrp(stderr()).is_ok_and(|group| group == rustix::process::getpgrp());
        stderr().is_terminal() && stdin().is_terminal() && foreground
    }

    /// Takes the terminal. `q` sets `stop`; Ctrl-C, now a mere key, is raised as the usual signal for the caller to handle. Fails if
    /// standard error is no terminal.
    pub fn start(stop: Arc<AtomicBool>) -> Result<Self, Error> {
        if !stderr().is_terminal() {
            return Err(Error::NoTerminal);
        }
        if TERMINAL_TAKEN.swap(true, Ordering::SeqCst) {
            return Err(Error::Taken);
        }
        PANIC_HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                restore_terminal();
                before(info);
            }));
        });
        let terminal = take_terminal().inspect_err(|_| restore_terminal())?;
        let shared = Arc::new(Shared { view: Mutex::default(), stop, finished: AtomicBool::new(false) });
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("screen".to_owned())
            .spawn(move || draw_loop(terminal, &theirs))
            .inspect_err(|_| restore_terminal())?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Folds the next event. Waits at most for one frame's layout, never for the terminal.
    pub fn event(&self, event: &Event) {
        self.shared.view().fold(event, sys::now().unix_ms());
    }

    /// Ends the view and restores the terminal.
    pub fn finish(self) {}
}

impl Drop for LiveView {
    fn drop(&mut self) {
        self.shared.finished.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The hook has reported a panic there.
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

/// Restores the terminal, if a live view has it. Callable at any time from any thread; ignores errors.
pub fn restore_terminal() {
    if TERMINAL_TAKEN.swap(false, Ordering::SeqCst) {
        let _ = execute!(stderr(), LeaveAlternateScreen, cursor::Show);
        let _ = disable_raw_mode();
    }
}

fn draw_loop(mut terminal: Screen, shared: &Shared) {
    let palette = Palette::from_environment();
    let mut next = Instant::now();
    while !shared.finished.load(Ordering::SeqCst) && TERMINAL_TAKEN.load(Ordering::SeqCst) {
        let mut gone = false;
        if Instant::now() >= next {
            let stopping = shared.stop.load(Ordering::SeqCst);
            let rare = matches!(
                shared.view().page.run.kind(),
                ReportKind::Probe | ReportKind::Profile | ReportKind::Tasks | ReportKind::WorkingSet
            );
            next = Instant::now() + if rare { SLOW_FRAME_INTERVAL } else { FRAME_INTERVAL };
            gone =
                terminal.draw(|f| draw(f, &shared.view(), sys::now().unix_ms(), stopping, palette)).is_err();
        }
        match handle_input(shared) {
            // Redraw at once after a key or resize.
            Ok(true) => next = Instant::now(),
            Ok(false) => {}
            Err(_) => gone = true,
        }
        // The terminal is gone: the run continues unseen, and nothing is restored in vain.
        if gone {
            std::thread::park_timeout(FRAME_INTERVAL);
        }
    }
}

/// Handles input for one frame's time; returns whether there was any.
fn handle_input(shared: &Shared) -> io::Result<bool> {
    if !event::poll(FRAME_INTERVAL)? {
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
