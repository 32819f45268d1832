//! Concurrency models: a thread per connection, a pool of threads, event loops, and threads that
//! accept for themselves.

mod blocking;
mod event_loop;
pub(crate) mod loops;
mod mailbox;
pub(crate) mod pool;
mod queue;
pub(crate) mod serial;
mod slots;
pub(crate) mod threads;

use crate::ServiceState;
use crate::listen::Listener;
use rustix::event::PollFlags;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Stack of every serving thread: 40,000 of them are 10 GiB of address space, of
/// which only the pages touched are real.
const STACK_BYTES: usize = 256 * 1024;

/// Pause of accepting when no descriptor is left; retrying at once would only spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Bytes per read of a socket.
const READ_BYTES: usize = 16 * 1024;

/// Keys of connections never reach these: no slot is used so often.
const LISTENER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;

/// Connections accepted before other events are handled again, and before it is another loop's turn.
const ACCEPT_BATCH: usize = 64;
const EVENTS: usize = 256;

/// Wake-up interval of a thread that waits for a connection; the stop wakes it anyway.
const LONG: Duration = Duration::from_secs(3_600);

/// The next connection, however long that takes; none once the service ends.
fn accept_next(state: &ServiceState, listener: &Listener) -> Option<Arc<OwnedFd>> {
    while !state.stop.is_stopping() {
        match listener.accept() {
            Ok(Some(socket)) => return Some(socket),
            Ok(None) => {
                state.stop.wait_ready(listener.socket.as_fd(), PollFlags::IN, LONG);
            }
            Err(_) => {
                state.log.connections.accept_paused();
                state.stop.sleep_until(Instant::now() + ACCEPT_PAUSE);
            }
        }
    }
    None
}
