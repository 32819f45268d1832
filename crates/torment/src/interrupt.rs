//! Ctrl-C, and what `kill`, `timeout` or a service manager send in its place.
//!
//! What measures hears by flags alone. A pipe, which would wake it at once, is not for a process with load in it: a signal may
//! come to a loop of the engine, which has a table of descriptors of its own, and where the pipe was may be a connection to
//! the target.

use runner::exit;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::register;
use signal_hook::iterator::Signals;
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

/// Both mean the same.
const ENDS: [i32; 2] = [SIGINT, SIGTERM];
/// What comes within this time of the first is the same request: `timeout` signals its child, and then the whole group; a
/// key repeats while it is held down. Whoever presses again because nothing seems to happen is slower.
const ONE: Duration = Duration::from_secs(1);
/// Between two looks whether it was asked.
const LOOK: Duration = Duration::from_millis(50);

/// Set once somebody asks for the end; whoever asks again changes nothing.
pub fn stop_flag() -> io::Result<Arc<AtomicBool>> {
    let asked = Arc::new(AtomicBool::new(false));
    for signal in ENDS {
        register(signal, Arc::clone(&asked))?;
    }
    Ok(asked)
}

/// The same, but whoever asks again, more than a moment later, gets out at once: what was committed by then is kept. All
/// of a process share one.
pub fn stop_flag_or_exit() -> io::Result<Arc<AtomicBool>> {
    static ASKED: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    if let Some(asked) = ASKED.get() {
        return Ok(Arc::clone(asked));
    }
    let (asked, again) = (stop_flag()?, Arc::new(AtomicBool::new(false)));
    for signal in ENDS {
        register(signal, Arc::clone(&again))?;
    }
    let first = Arc::clone(&asked);
    thread::Builder::new().name("interrupts".to_owned()).spawn(move || {
        wait_for(&first);
        thread::sleep(ONE);
        again.store(false, Ordering::SeqCst);
        wait_for(&again);
        tui::restore_terminal();
        // A terminal takes it; a pipe that nobody reads would be waited for.
        if io::stderr().is_terminal() {
            eprintln!("stopped at once; what was stored by then is kept: torment show last");
        }
        signal_hook::low_level::exit(exit::INTERRUPTED.into());
    })?;
    Ok(Arc::clone(ASKED.get_or_init(|| asked)))
}

fn wait_for(flag: &AtomicBool) {
    while !flag.load(Ordering::SeqCst) {
        thread::sleep(LOOK);
    }
}

/// Of what serves, and makes no load: a request for the end that comes from now on is not lost, and can be waited for.
pub struct InterruptSignals(Signals);

impl InterruptSignals {
    /// Begins to listen.
    pub fn listen() -> io::Result<Self> {
        Ok(Self(Signals::new(ENDS)?))
    }

    /// Waits until somebody asks.
    pub fn wait(&mut self) {
        self.0.forever().next();
    }
}
