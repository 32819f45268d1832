//! A poller and a fixed number of workers, as in Tomcat: idle connections cost nothing, and a
//! request occupies a worker from its first byte to its last, sleeping included.
//!
//! A request is timestamped when the poller finds it readable, not when a worker takes it. So the
//! wait for a worker counts as the service's own time, and a virtual queue behind few workers
//! still advances from arrivals: its capacity stays exact.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{Builder, JoinHandle};
use std::time::Instant;

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

use super::blocking::{ServeMode, serve};
use super::queue::Queue;
use super::slots::Slots;
use super::{ACCEPT_BATCH, ACCEPT_PAUSE, EVENTS, LISTENER, READ_BYTES, STACK_BYTES, STOP};
use crate::ServiceState;
use crate::connection::{Connection, ConnectionReuse};
use crate::listen::Listener;
use crate::stop_signal::{minimize_timer_slack, poll_timeout};

struct ReadableConnection {
    key: u64,
    connection: Connection,
    ready_at: Instant,
}

struct WorkerPool {
    state: Arc<ServiceState>,
    epoll: OwnedFd,
    idle: Mutex<Slots<Connection>>,
    queue: Queue<ReadableConnection>,
}

/// Starts the poller and its workers; `queue` requests may wait for a worker.
pub(crate) fn start(
    state: &Arc<ServiceState>,
    listener: Listener,
    workers: usize,
    queue: usize,
) -> io::Result<Vec<JoinHandle<()>>> {
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, &listener.socket, EventData::new_u64(LISTENER), EventFlags::IN)?;
    epoll::add(&epoll, state.stop.event(), EventData::new_u64(STOP), EventFlags::IN)?;
    let pool = Arc::new(WorkerPool {
        state: Arc::clone(state),
        epoll,
        idle: Mutex::new(Slots::new()),
        queue: Queue::new(queue),
    });
    let mut threads = Vec::with_capacity(workers + 1);
    let poller = Arc::clone(&pool);
    threads.push(Builder::new().name("poller".to_owned()).spawn(move || {
        minimize_timer_slack();
        poller.poll(&listener);
        poller.queue.close();
    })?);
    for number in 0..workers {
        let pool = Arc::clone(&pool);
        let worker = Builder::new().name(format!("worker-{number}")).stack_size(STACK_BYTES);
        threads.push(worker.spawn(move || pool.work())?);
    }
    Ok(threads)
}

impl WorkerPool {
    fn idle(&self) -> MutexGuard<'_, Slots<Connection>> {
        self.idle.lock().expect("nothing panics while the table is locked")
    }

    fn poll(&self, listener: &Listener) {
        let mut events = Vec::with_capacity(EVENTS);
        let mut scratch = [0; READ_BYTES];
        let mut paused_until: Option<Instant> = None;
        loop {
            let timeout =
                paused_until.map(|until| poll_timeout(until.saturating_duration_since(Instant::now())));
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), timeout.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
            let now = Instant::now();
            for event in &events {
                match event.data.u64() {
                    STOP => return,
                    LISTENER => {
                        if !self.accept(listener) {
                            paused_until = Some(now + ACCEPT_PAUSE);
                            self.watch(listener, EventFlags::empty());
                        }
                    }
                    key => self.enqueue(key, now, &mut scratch),
                }
            }
            if paused_until.is_some_and(|until| until <= now) {
                paused_until = None;
                self.watch(listener, EventFlags::IN);
            }
        }
    }

    fn watch(&self, listener: &Listener, flags: EventFlags) {
        epoll::modify(&self.epoll, &listener.socket, EventData::new_u64(LISTENER), flags)
            .expect("the listener was added at the start");
    }

    /// `false` when no descriptor is left.
    fn accept(&self, listener: &Listener) -> bool {
        for _ in 0..ACCEPT_BATCH {
            match listener.accept() {
                Ok(Some(socket)) => {
                    self.state.log.connections.opened();
                    let key = self.idle().insert(Connection::new(Arc::clone(&socket)));
                    let added =
                        epoll::add(&self.epoll, &socket, EventData::new_u64(key), oneshot_read_events());
                    if added.is_err() {
                        self.idle().remove(key);
                        self.state.log.connections.closed();
                    }
                }
                Ok(None) => break,
                Err(_) => {
                    self.state.log.connections.accept_paused();
                    return false;
                }
            }
        }
        true
    }

    fn enqueue(&self, key: u64, now: Instant, scratch: &mut [u8]) {
        let Some(connection) = self.idle().take(key) else { return };
        if let Err(refused) = self.queue.push(ReadableConnection { key, connection, ready_at: now }) {
            self.serve_ready(refused, scratch, ServeMode::Reject);
        }
    }

    fn work(&self) {
        minimize_timer_slack();
        let mut scratch = [0; READ_BYTES];
        while let Some(ready) = self.queue.pop() {
            self.serve_ready(ready, &mut scratch, ServeMode::Serve);
        }
    }

    /// Serves what can be read, and returns the connection to the poller.
    fn serve_ready(&self, ready: ReadableConnection, scratch: &mut [u8], mode: ServeMode) {
        let ReadableConnection { key, mut connection, ready_at } = ready;
        if serve(&self.state, &mut connection, Some(ready_at), scratch, mode) == ConnectionReuse::KeepAlive {
            let socket = Arc::clone(&connection.socket);
            self.idle().put(key, connection);
            // From here on the poller may hand the connection to another worker.
            if epoll::modify(&self.epoll, socket.as_fd(), EventData::new_u64(key), oneshot_read_events())
                .is_ok()
            {
                return;
            }
        } else {
            // Closed before its key is reused, so that no event of it comes under a new one.
            drop(connection);
        }
        self.idle().remove(key);
        self.state.log.connections.closed();
    }
}

/// One event, then none until the worker re-arms it.
fn oneshot_read_events() -> EventFlags {
    EventFlags::IN | EventFlags::RDHUP | EventFlags::ONESHOT
}
