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
    TurnAway,
}

/// Serves the requests of a connection until nothing more can be read without waiting (`Again`),
/// or until it is over (`Close`). `ready` is when the socket was found readable; without it, the
/// time of a read is when it returns.
pub(super) fn serve(
    shared: &ServiceState,
    connection: &mut Connection,
    mut ready: Option<Instant>,
    scratch: &mut [u8],
    manner: ServeMode,
) -> ConnectionReuse {
    loop {
        let next = connection.next(&shared.log, |route, request, arrival| match manner {
            ServeMode::Serve => shared.handle(route, request, arrival),
            ServeMode::TurnAway => HandlerResult::Now(
                Answer::text(503, "all workers are busy and the queue is full\n").header("retry-after", "1"),
            ),
        });
        if let Some((exchange, reply)) = next {
            if respond(shared, connection, &exchange, reply, manner) == ConnectionReuse::Close {
                return ConnectionReuse::Close;
            }
            continue;
        }
        match connection.receive(scratch, ready.take()) {
            ReceiveResult::Bytes(_) => {}
            ReceiveResult::Nothing => return ConnectionReuse::Again,
            ReceiveResult::Closed => return ConnectionReuse::Close,
        }
    }
}

fn respond(
    shared: &ServiceState,
    connection: &mut Connection,
    exchange: &Exchange,
    reply: HandlerResult,
    manner: ServeMode,
) -> ConnectionReuse {
    let answer = match reply {
        HandlerResult::Now(answer) => answer,
        HandlerResult::Ask(query) => shared.query_database(&query, Instant::now()),
        HandlerResult::Do(work) => shared.run_fault(&work),
    };
    let in_time = answer.not_before.is_none_or(|due| shared.stop.sleep_until(due));
    let after = connection.push(exchange, &answer);
    let patience = match manner {
        ServeMode::Serve => WRITE_PATIENCE,
        ServeMode::TurnAway => Duration::ZERO,
    };
    if !in_time || !write(shared, connection, patience) {
        exchange.abandon(&shared.log);
        return ConnectionReuse::Close;
    }
    connection.finish(&shared.log, exchange, &SentAnswer::from(&answer), after)
}

/// Writes all; `false` when the client is gone or takes nothing for too long.
fn write(shared: &ServiceState, connection: &mut Connection, patience: Duration) -> bool {
    loop {
        match connection.flush() {
            Ok(true) => return true,
            Ok(false) if shared.stop.wait_ready(connection.socket.as_fd(), PollFlags::OUT, patience) => {}
            _ => return false,
        }
    }
}
