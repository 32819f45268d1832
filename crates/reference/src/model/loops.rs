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
const QUESTIONS: usize = 1_000_000;

/// Starts `loops` event loops on one listener, and a thread per database session. The returned
/// thread ends after all of them.
pub(crate) fn start(
    shared: &Arc<ServiceState>,
    listener: Listener,
    loops: usize,
) -> io::Result<Vec<JoinHandle<()>>> {
    let mailboxes = (0..loops).map(|_| Mailbox::new()).collect::<io::Result<_>>()?;
    let common =
        LoopsState { shared: Arc::clone(shared), listener, questions: Queue::new(QUESTIONS), mailboxes };
    let (tell, told) = channel();
    let run = move || common.run(&tell);
    let thread = Builder::new().name("loops".to_owned()).stack_size(STACK_BYTES).spawn(run)?;
    // Each loop reports once; so does a thread that could not be started.
    let started: io::Result<()> = told.iter().take(loops).collect();
    match started {
        Ok(()) => Ok(vec![thread]),
        Err(e) => {
            shared.stop.stop();
            // A panic has been reported already.
            let _ = thread.join();
            Err(e)
        }
    }
}

impl LoopsState {
    /// Starts all threads and waits until they have ended.
    fn run(&self, tell: &Sender<io::Result<()>>) {
        std::thread::scope(|scope| {
            if let Err(e) = self.start(scope, tell) {
                self.shared.stop.stop();
                self.questions.close();
                // The receiver has the first failure already, or this one.
                let _ = tell.send(Err(e));
            }
        });
    }

    fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        tell: &Sender<io::Result<()>>,
    ) -> io::Result<()> {
        for number in 0..self.shared.database.size() {
            let thread = Builder::new().name(format!("database-{number}")).stack_size(STACK_BYTES);
            thread.spawn_scoped(scope, || self.ask_database())?;
        }
        for number in 0..self.mailboxes.len() {
            let tell = tell.clone();
            let thread = Builder::new().name(format!("loop-{number}"));
            thread.spawn_scoped(scope, move || self.run_loop(number, &tell))?;
        }
        Ok(())
    }

    fn run_loop(&self, number: usize, tell: &Sender<io::Result<()>>) {
        let mut keep: Vec<BorrowedFd<'_>> = self.mailboxes.iter().map(|mailbox| mailbox.event()).collect();
        keep.extend([self.listener.socket.as_fd(), self.shared.stop.event()]);
        // Where it is forbidden, the loops share one table and its limit.
        let own = sys::unshare_descriptors(&keep);
        minimize_timer_slack();
        match EventLoop::new(self, number) {
            Ok(mut one) => {
                // Nobody receives any longer when another loop failed; the stop then ends this one.
                let _ = tell.send(Ok(()));
                one.run();
            }
            Err(e) => {
                let _ = tell.send(Err(e));
            }
        }
        self.questions.close();
        if own.is_ok() {
            // Once this thread is joined, the port must be free.
            let _ = sys::unshare_descriptors(&[]);
        }
    }

    fn ask_database(&self) {
        while let Some(PendingQuery { key, query, asked, reply_to }) = self.questions.pop() {
            let answer = self.shared.query_database(&query, asked);
            self.mailboxes[reply_to].post(key, answer);
        }
    }
}
