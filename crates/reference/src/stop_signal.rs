//! The stop of a service, and sleeping that notices it.

use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec};

/// The kernel may end a wait on descriptors up to a thousandth of its length late, to save
/// wake-ups (`select_estimate_accuracy` in fs/select.c, which epoll uses too). Below this length
/// that is at most 20 µs.
const EXACT_BELOW: Duration = Duration::from_millis(20);

/// Tells every thread of a service to end.
pub(crate) struct StopSignal {
    flag: AtomicBool,
    /// Readable once the service stops.
    event: OwnedFd,
}

impl StopSignal {
    pub(crate) fn new() -> io::Result<Self> {
        let event = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { flag: AtomicBool::new(false), event })
    }

    pub(crate) fn stop(&self) {
        self.flag.store(true, Ordering::SeqCst);
        // An eventfd always accepts a first write.
        let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }

    pub(crate) fn event(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }

    /// Sleeps until `due`, typically to within 60 µs; `false` if the service stops first.
    pub(crate) fn sleep_until(&self, due: Instant) -> bool {
        loop {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return !self.is_stopping();
            }
            let mut waits = [PollFd::new(&self.event, PollFlags::IN)];
            match rustix::event::poll(&mut waits, Some(&poll_timeout(left))) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                _ => return false,
            }
        }
    }

    /// Waits until `fd` is ready; `false` if the service stops or `patience` ends first.
    pub(crate) fn wait_ready(&self, fd: BorrowedFd<'_>, what: PollFlags, timeout: Duration) -> bool {
        let until = Instant::now() + timeout;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let mut waits = [PollFd::from_borrowed_fd(fd, what), PollFd::new(&self.event, PollFlags::IN)];
            match rustix::event::poll(&mut waits, Some(&timespec(left))) {
                Err(rustix::io::Errno::INTR) => {}
                Ok(n) if n > 0 => return waits[1].revents().is_empty(),
                _ => return false,
            }
        }
    }
}

/// How long to let the kernel sleep when `left` remain: all of it if short, otherwise
/// almost all, and the rest is then slept exactly.
pub(crate) fn poll_timeout(left: Duration) -> Timespec {
    timespec(if left > EXACT_BELOW { left - left / 500 } else { left })
}

fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) }
}

/// Lets this thread, and those it starts, wake on time: by default the kernel adds 50 µs.
pub(crate) fn minimize_timer_slack() {
    // Without it we are a little later, and the log says so.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}
