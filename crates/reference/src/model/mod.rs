//! The ways to wait: a thread for each connection, a pool of threads, event loops, and threads that
//! accept for themselves.

mod blocking;
mod event_loop;
pub(crate) mod loops;
pub(crate) mod pool;
mod queue;
pub(crate) mod serial;
mod slots;
pub(crate) mod threads;

use std::time::Duration;

/// The stack of every thread that serves requests: 40,000 of them are 10 GiB of addresses, of
/// which only the pages touched are real.
const STACK_BYTES: usize = 256 * 1024;

/// How long accepting rests when no descriptor is left; trying at once again would only spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Bytes taken from a socket at once.
const READ_BYTES: usize = 16 * 1024;
