//! What the event loops and the database threads of one service share, and how they hand things to each other.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rustix::event::EventfdFlags;

use super::queue::Queue;
use crate::ServiceState;
use crate::answer::Answer;
use crate::clinic::Query;
use crate::listen::Listener;

/// What the loops and the database threads share.
pub(super) struct LoopsState {
    pub(super) shared: Arc<ServiceState>,
    pub(super) listener: Listener,
    pub(super) questions: Queue<PendingQuery>,
    /// One for each loop.
    pub(super) mailboxes: Vec<Mailbox>,
}

/// What others have for a loop.
pub(super) struct Mailbox {
    /// Answers from the database, each with the key of its client.
    answers: Mutex<Vec<(u64, Answer)>>,
    /// Another loop was told of a new connection and cannot take it.
    look: AtomicBool,
    /// Readable when something came.
    event: OwnedFd,
}

/// A query on its way to a database thread.
pub(super) struct PendingQuery {
    pub(super) key: u64,
    pub(super) query: Query,
    pub(super) asked: Instant,
    /// The number of the loop that asks.
    pub(super) reply_to: usize,
}

impl LoopsState {
    /// Lets the other loops look for new connections: the kernel told only loop `number` of one,
    /// and it cannot take it.
    pub(super) fn notify_other_loops(&self, number: usize) {
        for (other, mailbox) in self.mailboxes.iter().enumerate() {
            if other != number {
                mailbox.look.store(true, Ordering::Release);
                mailbox.wake();
            }
        }
    }
}

impl Mailbox {
    pub(super) fn new() -> io::Result<Self> {
        let event = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { answers: Mutex::default(), look: AtomicBool::new(false), event })
    }

    pub(super) fn event(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }

    pub(super) fn post(&self, key: u64, answer: Answer) {
        self.answers.lock().expect("nothing panics while the mailbox is locked").push((key, answer));
        self.wake();
    }

    fn wake(&self) {
        // It only fails when it is already as readable as can be.
        let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
    }

    /// What came, and whether to look for new connections.
    pub(super) fn collect(&self) -> (Vec<(u64, Answer)>, bool) {
        let mut count = [0; 8];
        // Reading only makes it quiet; what came is in the list.
        let _ = rustix::io::read(&self.event, &mut count);
        let mut answers = self.answers.lock().expect("nothing panics while the mailbox is locked");
        (std::mem::take(&mut *answers), self.look.swap(false, Ordering::Acquire))
    }
}
