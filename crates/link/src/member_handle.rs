//! What the coordinator's side knows of one member.

use fleet::{ClockExchange, ClockJump, ClockReading, FromMember, RemoteClock, ToMember};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::sync::mpsc::Sender;
use tokio::time::timeout;
use units::Nanos;

/// Who does not say what time it is within this is not waited for: others are to be asked.
const ANSWERS: Duration = Duration::from_millis(500);

/// Its stream, and its clock.
#[derive(Debug)]
pub(crate) struct MemberHandle {
    /// None once there is nothing more to say.
    to: Mutex<Option<Sender<ToMember>>>,
    clock: Mutex<RemoteClock>,
    /// It has said what time it is.
    answered: Notify,
    /// It is to be let go.
    cut: Notify,
}

impl MemberHandle {
    pub fn new(to: Sender<ToMember>) -> Self {
        Self {
            to: Mutex::new(Some(to)),
            clock: Mutex::default(),
            answered: Notify::new(),
            cut: Notify::new(),
        }
    }

    /// Says something to it; false if nothing gets through.
    pub fn send(&self, what: ToMember) -> bool {
        self.to().as_ref().is_some_and(|to| to.try_send(what).is_ok())
    }

    /// What was said is all there is to say: the stream ends behind it.
    pub fn close(&self) {
        self.to().take();
    }

    fn to(&self) -> MutexGuard<'_, Option<Sender<ToMember>>> {
        self.to.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It is let go, whatever it does.
    pub fn cut(&self) {
        self.cut.notify_one();
    }

    /// Until that is so.
    pub async fn await_cut(&self) {
        self.cut.notified().await;
    }

    /// Asks it for the time; false if there is no answer in time.
    pub async fn ask(&self) -> bool {
        let answered = self.answered.notified();
        self.send(ToMember::Time { asked: Nanos::ZERO }) && timeout(ANSWERS, answered).await.is_ok()
    }

    /// It has said what time it is.
    pub fn add_exchange(&self, signal: ClockExchange) -> Result<(), ClockJump> {
        let took = self.clock().add(signal);
        self.answered.notify_one();
        took
    }

    /// What is known of its clock at a moment of ours.
    pub fn clock_reading(&self, at: Nanos) -> Option<ClockReading> {
        self.clock().reading(at)
    }

    fn clock(&self) -> MutexGuard<'_, RemoteClock> {
        self.clock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When it is asked for the time is known when that goes out.
pub(crate) fn stamp_time(what: ToMember) -> ToMember {
    if let ToMember::Time { .. } = what { ToMember::Time { asked: Nanos(sys::monotonic_ns()) } } else { what }
}

/// What it says of the time, heard now; none if it says something else.
pub(crate) fn clock_exchange(said: &FromMember) -> Option<ClockExchange> {
    if let FromMember::Time { asked, heard, told } = *said {
        Some(ClockExchange { asked, heard, told, answered: Nanos(sys::monotonic_ns()) })
    } else {
        None
    }
}
