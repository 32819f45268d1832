//! Ctrl-C, and the signals that `kill`, `timeout` or a service manager send instead.
//!
//! Measuring code polls flags. A self-pipe, which would wake it at once, is unsafe in a process with load: a signal may
//! be delivered to a loop of the engine, which has its own descriptor table, in which the pipe's number may be a
//! connection to the target.

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
const END_SIGNALS: [i32; 2] = [SIGINT, SIGTERM];
/// Signals within this time of the first are the same request: `timeout` signals its child and then the whole group; a
/// held key repeats. A user who presses again because nothing seems to happen is slower.
const SAME_REQUEST: Duration = Duration::from_secs(1);
/// How often the flag is polled.
const POLL: Duration = Duration::from_millis(50);

/// A flag set by the first request; later ones change nothing.
pub fn stop_flag() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in END_SIGNALS {
        register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

/// The same, but a second request, more than a moment later, exits at once: what was committed by then is kept. Shared
/// by the whole process.
pub fn stop_flag_or_exit() -> io::Result<Arc<AtomicBool>> {
    static STOP_FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    if let Some(stop) = STOP_FLAG.get() {
        return Ok(Arc::clone(stop));
    }
    let (stop, again) = (stop_flag()?, Arc::new(AtomicBool::new(false)));
    for signal in END_SIGNALS {
        register(signal, Arc::clone(&again))?;
    }
    let first = Arc::clone(&stop);
    thread::Builder::new().name("interrupts".to_owned()).spawn(move || {
        wait_for(&first);
        thread::sleep(SAME_REQUEST);
        again.store(false, Ordering::SeqCst);
        wait_for(&again);
        tui::restore_terminal();
        // A terminal takes it; a pipe that nobody reads would block.
        if io::stderr().is_terminal() {
            eprintln!("stopped at once; what was stored by then is kept: torment show last");
        }
        signal_hook::low_level::exit(exit::INTERRUPTED.into());
    })?;
    Ok(Arc::clone(STOP_FLAG.get_or_init(|| stop)))
}

fn wait_for(flag: &AtomicBool) {
    while !flag.load(Ordering::SeqCst) {
        thread::sleep(POLL);
    }
}

/// For servers that make no load: a request from now on is not lost, and can be waited for.
pub struct InterruptSignals(Signals);

impl InterruptSignals {
    pub fn listen() -> io::Result<Self> {
        Ok(Self(Signals::new(END_SIGNALS)?))
    }

    pub fn wait(&mut self) {
        self.0.forever().next();
    }
}
