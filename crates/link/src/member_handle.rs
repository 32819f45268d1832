//! The coordinator's handle of one member.

use fleet::{ClockExchange, ClockJump, ClockReading, FromMember, RemoteClock, ToMember};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::sync::mpsc::Sender;
use tokio::time::timeout;
use units::Nanos;

/// Longest wait for the answer to a clock query: others have to be queried, too.
const ANSWER_LIMIT: Duration = Duration::from_millis(500);

/// Its stream and its clock.
#[derive(Debug)]
pub(crate) struct MemberHandle {
    /// `None` once closed.
    sender: Mutex<Option<Sender<ToMember>>>,
    clock: Mutex<RemoteClock>,
    /// A clock query was answered.
    answered: Notify,
    /// The stream is to be cut.
    cut: Notify,
}

impl MemberHandle {
    pub fn new(to: Sender<ToMember>) -> Self {
        Self {
            sender: Mutex::new(Some(to)),
            clock: Mutex::default(),
            answered: Notify::new(),
            cut: Notify::new(),
        }
    }

    /// Queues a message; false if it cannot be delivered.
    pub fn send(&self, what: ToMember) -> bool {
        self.to().as_ref().is_some_and(|to| to.try_send(what).is_ok())
    }

    /// Ends the stream after what is queued.
    pub fn close(&self) {
        self.to().take();
    }

    fn to(&self) -> MutexGuard<'_, Option<Sender<ToMember>>> {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cuts the stream, whatever it does.
    pub fn cut(&self) {
        self.cut.notify_one();
    }

    pub async fn await_cut(&self) {
        self.cut.notified().await;
    }

    /// Queries its clock; false if no answer comes in time.
    pub async fn query_clock(&self) -> bool {
        let answered = self.answered.notified();
        self.send(ToMember::Time { asked: Nanos::ZERO }) && timeout(ANSWER_LIMIT, answered).await.is_ok()
    }

    /// Records an answered clock query.
    pub fn add_exchange(&self, signal: ClockExchange) -> Result<(), ClockJump> {
        let took = self.clock().add(signal);
        self.answered.notify_one();
        took
    }

    /// What is known of its clock when ours shows `at`.
    pub fn clock_reading(&self, at: Nanos) -> Option<ClockReading> {
        self.clock().reading(at)
    }

    fn clock(&self) -> MutexGuard<'_, RemoteClock> {
        self.clock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sets the time of a clock query, when it goes out.
pub(crate) fn stamp_time(what: ToMember) -> ToMember {
    if let ToMember::Time { .. } = what { ToMember::Time { asked: Nanos(sys::monotonic_ns()) } } else { what }
}

/// The exchange that an answer completes, received now; `None` for any other message.
pub(crate) fn clock_exchange(message: &FromMember) -> Option<ClockExchange> {
    if let FromMember::Time { asked, heard, told } = *message {
        Some(ClockExchange { asked, heard, told, answered: Nanos(sys::monotonic_ns()) })
    } else {
        None
    }
}
