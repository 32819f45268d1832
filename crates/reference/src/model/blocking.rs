//! One thread per connection: it reads, queries the database, sleeps until the answer is due
//! and writes, and does nothing else meanwhile. Shared by the models `threads`, `pool` and `serial`.

use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use std::os::fd::AsFd;

use crate::ServiceState;
use crate::answer::Answer;
use crate::clinic::HandlerResult;
use crate::connection::{Connection, ConnectionReuse, Exchange, ReceiveResult, SentAnswer};

/// A client that takes none of its answer for this long is dropped.
pub(super) const WRITE_PATIENCE: Duration = Duration::from_secs(30);

/// How a thread serves.
#[derive(Clone, Copy)]
pub(super) enum ServeMode {
    /// Serves everything, waiting as needed.
    Serve,
    /// Answers 503 at once and never waits: there is no room.
    Reject,
}

/// Serves the requests of a connection until nothing more can be read without waiting (`KeepAlive`),
/// or until it is over (`Close`). `ready` is when the socket was found readable; without it, the
/// time of a read is when it returns.
pub(super) fn serve(
    state: &ServiceState,
    connection: &mut Connection,
    mut ready: Option<Instant>,
    scratch: &mut [u8],
    mode: ServeMode,
) -> ConnectionReuse {
    loop {
        let next = connection.next(&state.log, |route, request, arrival| match mode {
            ServeMode::Serve => state.handle(route, request, arrival),
            ServeMode::Reject => HandlerResult::Answer(
                Answer::text(503, "all workers are busy and the queue is full\n").header("retry-after", "1"),
            ),
        });
        if let Some((exchange, reply)) = next {
            if respond(state, connection, &exchange, reply, mode) == ConnectionReuse::Close {
                return ConnectionReuse::Close;
            }
            continue;
        }
        match connection.receive(scratch, ready.take()) {
            ReceiveResult::Bytes(_) => {}
            ReceiveResult::WouldBlock => return ConnectionReuse::KeepAlive,
            ReceiveResult::Closed => return ConnectionReuse::Close,
        }
    }
}

fn respond(
    state: &ServiceState,
    connection: &mut Connection,
    exchange: &Exchange,
    result: HandlerResult,
    mode: ServeMode,
) -> ConnectionReuse {
    let answer = match result {
        HandlerResult::Answer(answer) => answer,
        HandlerResult::Query(query) => state.query_database(&query, Instant::now()),
        HandlerResult::Fault(work) => state.run_fault(&work),
    };
    let in_time = answer.not_before.is_none_or(|due| state.stop.sleep_until(due));
    let after = connection.push(exchange, &answer);
    let patience = match mode {
        ServeMode::Serve => WRITE_PATIENCE,
        ServeMode::Reject => Duration::ZERO,
    };
    if !in_time || !write(state, connection, patience) {
        exchange.abandon(&state.log);
        return ConnectionReuse::Close;
    }
    connection.finish(&state.log, exchange, &SentAnswer::from(&answer), after)
}

/// Writes all; `false` when the client is gone or takes nothing for too long.
fn write(state: &ServiceState, connection: &mut Connection, timeout: Duration) -> bool {
    loop {
        match connection.flush() {
            Ok(true) => return true,
            Ok(false) if state.stop.wait_ready(connection.socket.as_fd(), PollFlags::OUT, timeout) => {}
            _ => return false,
        }
    }
}
