//! A fixed number of threads that each accept a connection, answer one request on it, and close it.
//! Nothing accepts while all are busy: clients then wait in the kernel's accept queue, and
//! when that is full cannot connect at all.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use rustix::event::PollFlags;

use super::blocking::{ServeMode, serve};
use super::{READ_BYTES, STACK_BYTES, accept_next};
use crate::ServiceState;
use crate::connection::{Connection, ConnectionReuse};
use crate::listen::Listener;
use crate::stop_signal::minimize_timer_slack;

/// A client that sends nothing for this long loses its worker to the next.
const REQUEST_PATIENCE: Duration = Duration::from_secs(5);

pub(crate) fn start(
    state: &Arc<ServiceState>,
    listener: Listener,
    workers: usize,
) -> io::Result<Vec<JoinHandle<()>>> {
    let listener = Arc::new(listener);
    let mut threads = Vec::with_capacity(workers);
    for number in 0..workers {
        let (shared, listener) = (Arc::clone(state), Arc::clone(&listener));
        let run = move || {
            minimize_timer_slack();
            work(&shared, &listener);
        };
        threads.push(Builder::new().name(format!("worker-{number}")).stack_size(STACK_BYTES).spawn(run)?);
    }
    Ok(threads)
}

fn work(state: &ServiceState, listener: &Listener) {
    let mut scratch = [0; READ_BYTES];
    while let Some(socket) = accept_next(state, listener) {
        state.log.connections.opened();
        serve_connection(state, Connection::new_single_use(socket), &mut scratch);
        state.log.connections.closed();
    }
}

fn serve_connection(state: &ServiceState, mut connection: Connection, scratch: &mut [u8]) {
    while serve(state, &mut connection, None, scratch, ServeMode::Serve) == ConnectionReuse::KeepAlive
        && state.stop.wait_ready(connection.socket.as_fd(), PollFlags::IN, REQUEST_PATIENCE)
    {}
}
