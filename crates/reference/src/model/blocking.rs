//! One thread with one connection: it reads, asks the database, sleeps until the answer is due
//! and writes, and does nothing else meanwhile. Shared by the models `threads`, `pool` and `serial`.

use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use std::os::fd::AsFd;

use crate::Shared;
use crate::answer::Answer;
use crate::clinic::Reply;
use crate::connection::{After, Connection, Exchange, Received, Sent};

/// So long a client may take none of its answer before it is given up.
pub(super) const WRITE_PATIENCE: Duration = Duration::from_secs(30);

/// How this thread may serve.
#[derive(Clone, Copy)]
pub(super) enum Manner {
    /// Everything, waiting as needed.
    Serve,
    /// Says 503 at once and never waits: there is no room.
    TurnAway,
}

/// Serves the requests of a connection until nothing more can be read without waiting (`Again`),
/// or until it is over (`Close`). `ready` is when the socket was found readable; without it, the
/// time of a read is when it returns.
pub(super) fn serve(
    shared: &Shared,
    connection: &mut Connection,
    mut ready: Option<Instant>,
    scratch: &mut [u8],
    manner: Manner,
) -> After {
    loop {
        let next = connection.next(&shared.log, |route, request, arrival| match manner {
            Manner::Serve => shared.reply(route, request, arrival),
            Manner::TurnAway => Reply::Now(
                Answer::text(503, "all workers are busy and the queue is full\n").header("retry-after", "1"),
            ),
        });
        if let Some((exchange, reply)) = next {
            if respond(shared, connection, &exchange, reply, manner) == After::Close {
                return After::Close;
            }
            continue;
        }
        match connection.receive(scratch, ready.take()) {
            Received::Bytes(_) => {}
            Received::Nothing => return After::Again,
            Received::Closed => return After::Close,
        }
    }
}

fn respond(
    shared: &Shared,
    connection: &mut Connection,
    exchange: &Exchange,
    reply: Reply,
    manner: Manner,
) -> After {
    let answer = match reply {
        Reply::Now(answer) => answer,
        Reply::Ask(query) => shared.ask(&query, Instant::now()),
        Reply::Do(work) => shared.work(&work),
    };
    let in_time = answer.not_before.is_none_or(|due| shared.stop.sleep_until(due));
    let after = connection.push(exchange, &answer);
    let patience = match manner {
        Manner::Serve => WRITE_PATIENCE,
        Manner::TurnAway => Duration::ZERO,
    };
    if !in_time || !write(shared, connection, patience) {
        exchange.abandon(&shared.log);
        return After::Close;
    }
    connection.finish(&shared.log, exchange, &Sent::from(&answer), after)
}

/// Writes all; `false` when the client is gone or takes nothing for too long.
fn write(shared: &Shared, connection: &mut Connection, patience: Duration) -> bool {
    loop {
        match connection.flush() {
            Ok(true) => return true,
            Ok(false) if shared.stop.ready(connection.socket.as_fd(), PollFlags::OUT, patience) => {}
            _ => return false,
        }
    }
}
