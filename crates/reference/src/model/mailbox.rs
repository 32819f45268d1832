//! State shared by the event loops and database threads of one service, and how they pass things to each other.

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

/// Shared by the loops and the database threads.
pub(super) struct LoopsState {
    pub(super) state: Arc<ServiceState>,
    pub(super) listener: Listener,
    pub(super) queries: Queue<PendingQuery>,
    /// One per loop.
    pub(super) mailboxes: Vec<Mailbox>,
}

/// Input of a loop from other threads.
pub(super) struct Mailbox {
    /// Answers from the database, each with its client's key.
    answers: Mutex<Vec<(u64, Answer)>>,
    /// Another loop was notified of a new connection and cannot accept it.
    accept_requested: AtomicBool,
    /// Readable when something arrived.
    event: OwnedFd,
}

/// A query on its way to a database thread.
pub(super) struct PendingQuery {
    pub(super) key: u64,
    pub(super) query: Query,
    pub(super) submitted: Instant,
    /// The number of the requesting loop.
    pub(super) reply_to: usize,
}

impl LoopsState {
    /// Lets the other loops look for new connections: the kernel notified only loop `number` of one,
    /// and it cannot accept it.
    pub(super) fn notify_other_loops(&self, number: usize) {
        for (other, mailbox) in self.mailboxes.iter().enumerate() {
            if other != number {
                mailbox.accept_requested.store(true, Ordering::Release);
                mailbox.wake();
            }
        }
    }
}

impl Mailbox {
    pub(super) fn new() -> io::Result<Self> {
        let event = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { answers: Mutex::default(), accept_requested: AtomicBool::new(false), event })
    }

    pub(super) fn event(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }

    pub(super) fn post(&self, key: u64, answer: Answer) {
        self.answers.lock().expect("nothing panics while the mailbox is locked").push((key, answer));
        self.wake();
    }

    fn wake(&self) {
        // It only fails when it is already readable.
        let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
    }

    /// What arrived, and whether to look for new connections.
    pub(super) fn collect(&self) -> (Vec<(u64, Answer)>, bool) {
        let mut count = [0; 8];
        // Reading only clears the event; what arrived is in the list.
        let _ = rustix::io::read(&self.event, &mut count);
        let mut answers = self.answers.lock().expect("nothing panics while the mailbox is locked");
        (std::mem::take(&mut *answers), self.accept_requested.swap(false, Ordering::Acquire))
    }
}
