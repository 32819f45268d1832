//! A thread per connection, as servers were written for decades.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use rustix::net::Shutdown;
use rustix::net::sockopt::{self, Timeout};

use super::blocking::{ServeMode, WRITE_PATIENCE, serve};
use super::{READ_BYTES, STACK_BYTES, accept_next};
use crate::ServiceState;
use crate::connection::Connection;
use crate::listen::Listener;
use crate::stop_signal::minimize_timer_slack;

/// Connection threads end by themselves once their sockets are shut; we wait this long for them.
const END_PATIENCE: Duration = Duration::from_secs(2);

/// Memory mappings of a thread: its stack and that of its signal handlers, each with a guard page.
const MAPS_A_THREAD: u64 = 4;
/// Mappings left for everything else.
const MAPS_LEFT: u64 = 2_000;

/// Threads possible before the kernel refuses a mapping (vm.max_map_count): one that starts without room for the stack
/// of its signal handlers would end the whole process.
fn max_threads() -> u64 {
    let maps = procfs::read_number("/proc/sys/vm/max_map_count");
    maps.map_or(u64::MAX, |maps| maps.saturating_sub(MAPS_LEFT) / MAPS_A_THREAD)
}

/// The sockets of all connections, so that the stop can reach threads that read.
#[derive(Default)]
struct OpenSockets {
    sockets: Mutex<HashMap<u64, Arc<OwnedFd>>>,
    emptied: Condvar,
}

/// Starts the accepting thread.
pub(crate) fn start(state: &Arc<ServiceState>, listener: Listener) -> io::Result<Vec<JoinHandle<()>>> {
    let shared = Arc::clone(state);
    let run = move || {
        minimize_timer_slack();
        accept(&shared, &listener);
    };
    Ok(vec![Builder::new().name("accept".to_owned()).spawn(run)?])
}

fn accept(state: &Arc<ServiceState>, listener: &Listener) {
    let open_sockets = Arc::new(OpenSockets::default());
    let most = max_threads();
    for number in 0.. {
        let Some(socket) = accept_next(state, listener) else { break };
        start_connection(state, &open_sockets, number, socket, most);
    }
    let sockets = open_sockets.sockets.lock().expect("nothing panics while the table is locked");
    for socket in sockets.values() {
        // Wakes the thread that reads from it; one closed just now needs no waking.
        let _ = rustix::net::shutdown(socket, Shutdown::Both);
    }
    drop(open_sockets.emptied.wait_timeout_while(sockets, END_PATIENCE, |sockets| !sockets.is_empty()));
}

fn start_connection(
    state: &Arc<ServiceState>,
    open_sockets: &Arc<OpenSockets>,
    number: u64,
    socket: Arc<OwnedFd>,
    most: u64,
) {
    let table = || open_sockets.sockets.lock().expect("nothing panics while the table is locked");
    let threads = {
        let mut table = table();
        table.insert(number, Arc::clone(&socket));
        table.len() as u64
    };
    state.log.connections.opened();
    let run = {
        let (state, open_sockets) = (Arc::clone(state), Arc::clone(open_sockets));
        move || {
            serve_connection(&state, Connection::new(socket));
            open_sockets.sockets.lock().expect("nothing panics while the table is locked").remove(&number);
            state.log.connections.closed();
            open_sockets.emptied.notify_one();
        }
    };
    let builder = Builder::new().name("connection".to_owned()).stack_size(STACK_BYTES);
    if threads > most || builder.spawn(run).is_err() {
        // The thread limit is reached: this client's connection is closed.
        table().remove(&number);
        state.log.connections.closed();
        state.log.connections.without_thread();
    }
}

fn serve_connection(state: &ServiceState, mut connection: Connection) {
    let blocks = rustix::io::ioctl_fionbio(&connection.socket, false);
    let gives_up = sockopt::set_socket_timeout(&connection.socket, Timeout::Send, Some(WRITE_PATIENCE));
    if blocks.is_ok() && gives_up.is_ok() {
        // The socket blocks: this returns when the connection is over, or shut by the stop.
        let mut scratch = [0; READ_BYTES];
        serve(state, &mut connection, None, &mut scratch, ServeMode::Serve);
    }
}
