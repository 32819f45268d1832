//! The event loops of one service, each a thread with its own descriptor table, and the
//! threads that query the database for them.
//!
//! The descriptor limit applies per table, so n loops hold n times the limit.
//! A number then means different things in different loops. What all use (the listener, the
//! wake-up events) is therefore opened first, kept under the same number in every table,
//! and only borrowed by the loops: the thread that started them closes it when they have ended.
//! The database's descriptors are used in the first table only.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, JoinHandle, Scope};

use super::STACK_BYTES;
use super::event_loop::EventLoop;
use super::mailbox::{LoopsState, Mailbox, PendingQuery};
use super::queue::Queue;
use crate::ServiceState;
use crate::listen::Listener;
use crate::stop_signal::minimize_timer_slack;

/// Queries that may wait for a database thread; each holds a connection, so descriptors run out first.
const MAX_QUERIES: usize = 1_000_000;

/// Starts `loops` event loops on one listener, and a thread per database session. The returned
/// thread ends after all of them.
pub(crate) fn start(
    state: &Arc<ServiceState>,
    listener: Listener,
    loops: usize,
) -> io::Result<Vec<JoinHandle<()>>> {
    let mailboxes = (0..loops).map(|_| Mailbox::new()).collect::<io::Result<_>>()?;
    let common =
        LoopsState { state: Arc::clone(state), listener, queries: Queue::new(MAX_QUERIES), mailboxes };
    let (started_tx, started_rx) = channel();
    let run = move || common.run(&started_tx);
    let thread = Builder::new().name("loops".to_owned()).stack_size(STACK_BYTES).spawn(run)?;
    // Each loop reports once; so does a thread that could not be started.
    let started: io::Result<()> = started_rx.iter().take(loops).collect();
    match started {
        Ok(()) => Ok(vec![thread]),
        Err(e) => {
            state.stop.stop();
            // A panic has been reported already.
            let _ = thread.join();
            Err(e)
        }
    }
}

impl LoopsState {
    /// Starts all threads and waits until they have ended.
    fn run(&self, started_tx: &Sender<io::Result<()>>) {
        std::thread::scope(|scope| {
            if let Err(e) = self.start(scope, started_tx) {
                self.state.stop.stop();
                self.queries.close();
                // The receiver has the first failure already, or this one.
                let _ = started_tx.send(Err(e));
            }
        });
    }

    fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        started_tx: &Sender<io::Result<()>>,
    ) -> io::Result<()> {
        for number in 0..self.state.database.size() {
            let thread = Builder::new().name(format!("database-{number}")).stack_size(STACK_BYTES);
            thread.spawn_scoped(scope, || self.serve_queries())?;
        }
        for number in 0..self.mailboxes.len() {
            let started_tx = started_tx.clone();
            let thread = Builder::new().name(format!("loop-{number}"));
            thread.spawn_scoped(scope, move || self.run_loop(number, &started_tx))?;
        }
        Ok(())
    }

    fn run_loop(&self, number: usize, started_tx: &Sender<io::Result<()>>) {
        let mut keep: Vec<BorrowedFd<'_>> = self.mailboxes.iter().map(|mailbox| mailbox.event()).collect();
        keep.extend([self.listener.socket.as_fd(), self.state.stop.event()]);
        // Where it is forbidden, the loops share one table and its limit.
        let unshared = sys::unshare_descriptors(&keep);
        minimize_timer_slack();
        match EventLoop::new(self, number) {
            Ok(mut one) => {
                // Nobody receives any longer when another loop failed; the stop then ends this one.
                let _ = started_tx.send(Ok(()));
                one.run();
            }
            Err(e) => {
                let _ = started_tx.send(Err(e));
            }
        }
        self.queries.close();
        if unshared.is_ok() {
            // Once this thread is joined, the port must be free.
            let _ = sys::unshare_descriptors(&[]);
        }
    }

    fn serve_queries(&self) {
        while let Some(PendingQuery { key, query, submitted, reply_to }) = self.queries.pop() {
            let answer = self.state.query_database(&query, submitted);
            self.mailboxes[reply_to].post(key, answer);
        }
    }
}
