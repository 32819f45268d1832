//! PostgreSQL on one connection: one prepared statement at a time, each in a transaction of its own.
//!
//! Follows PostgreSQL's documentation, chapter 55 "Frontend/Backend Protocol". This file does the I/O;
//! everything else works on bytes alone.

mod error_response;
mod execution;
mod login;
mod message;
mod scram;
mod statement;
#[cfg(test)]
mod tests;

use super::{Completion, Readiness, ServerHandling, read_available};
use crate::resolved_target::Tls;
use crate::stream::{ReadBuffer, Stream};
use crate::write_buffer::WriteBuffer;
use execution::ExecutionState;
use login::Login;
pub(crate) use login::SessionSetup;
use message::MessageReader;
use plan::RenderContext;
use record::Failure;
use rustix::net::sockopt;
pub(crate) use statement::StatementWriter;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Keepalive: a silent server is probed after this long, and given up after twice as long: a statement may be
/// waited for that has timed out.
const LOST_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) struct Sql {
    session: Arc<SessionSetup>,
    messages: MessageReader,
    outbox: WriteBuffer,
    /// Until statements may be sent.
    login: Option<Box<Login>>,
    execution: ExecutionState,
}

impl Sql {
    pub fn new(session: Arc<SessionSetup>) -> Self {
        Self {
            session,
            messages: MessageReader::default(),
            outbox: WriteBuffer::default(),
            login: Some(Box::new(Login::new())),
            execution: ExecutionState::default(),
        }
    }

    /// Continues the login; true once statements may be sent. An error is final: its text is what the server
    /// says, or what is wrong with that.
    ///
    /// `tls`: encrypts the session, once the server has agreed.
    pub fn continue_login(
        &mut self,
        tls: Option<&Tls>,
        stream: &mut Stream,
        inbox: &mut ReadBuffer,
    ) -> io::Result<bool> {
        let Self { session, messages, outbox, login, .. } = self;
        while let Some(active) = login {
            if active.is_new() {
                enable_keepalive(stream);
            }
            if active.is_securing() && !stream.continue_connecting()? {
                return Ok(false);
            }
            active.write_next(session, tls.is_some(), &mut outbox.bytes);
            outbox.flush(stream)?;
            let count = match stream.read(inbox)? {
                None => return Ok(false),
                Some(0) => {
                    let why = "the server closed the connection during the login";
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
                }
                Some(count) => count,
            };
            let bytes = &inbox.buffer[..count];
            if active.awaits_tls() {
                active.handle_tls_answer(bytes)?;
                stream.secure(tls.expect("it is asked for only if there is one"))?;
                continue;
            }
            active.handle_bytes(bytes, messages, session, &mut outbox.bytes)?;
            if active.is_ready() {
                *login = None;
                *outbox = WriteBuffer::default();
            }
        }
        Ok(true)
    }

    pub fn room(&self) -> usize {
        usize::from(self.execution.is_idle() && self.login.is_none())
    }

    /// Sends a statement. `content`: its completion includes what it did.
    pub fn send(
        &mut self,
        stream: &mut Stream,
        statement: &mut StatementWriter,
        context: &RenderContext<'_>,
        exchange: u32,
        content: bool,
    ) -> io::Result<()> {
        self.execution.begin(exchange, statement.number, content);
        self.outbox.send(stream, statement.encode(context))
    }

    pub fn receive(
        &mut self,
        stream: &mut Stream,
        inbox: &mut ReadBuffer,
        readiness: Readiness,
        completions: &mut Vec<Completion>,
    ) -> Result<(), Failure> {
        // A server that accepts no more may have said why.
        let refused = self.outbox.flush(stream).is_err();
        read_available(stream, inbox, readiness, refused, |_, bytes, received_ns| {
            self.handle_bytes(bytes, received_ns, completions)
        })
    }

    /// Handles received bytes, and reports each exchange that ends.
    fn handle_bytes(
        &mut self,
        mut bytes: &[u8],
        received_ns: u64,
        completions: &mut Vec<Completion>,
    ) -> Result<(), Failure> {
        while let Some(message) = self.messages.next(&mut bytes).map_err(execution::protocol_failure)? {
            completions.extend(self.execution.handle_message(&message, &self.session, received_ns)?);
            // A server that answers before it was asked is out of step.
            let too_soon = self.execution.is_idle() && !self.outbox.is_empty();
            if self.execution.over || too_soon {
                return Err(Failure::Closed);
            }
        }
        Ok(())
    }

    /// The connection stays, without room until the server is done with the statement: that goes on regardless,
    /// and a replacement connection would be one more than the pool has, on a server that is slow already.
    pub fn cancel(&mut self, exchange: u32) -> bool {
        self.execution.abandon(exchange);
        true
    }

    /// Whether data waits for room in the socket.
    pub fn wants_write(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// A statement is never sent again: its effects are unknown.
    pub fn each_open(&self, each: &mut dyn FnMut(u32, ServerHandling)) {
        self.execution
            .open_exchange()
            .into_iter()
            .for_each(|exchange| each(exchange, ServerHandling::Answered));
    }
}

/// Has the kernel find out when the peer is gone.
fn enable_keepalive(stream: &Stream) {
    let Some(socket) = stream.socket() else { return };
    // A Unix socket notices by itself, and rejects these options.
    let _ = sockopt::set_socket_keepalive(socket, true);
    let _ = sockopt::set_tcp_keepidle(socket, LOST_TIMEOUT);
    let _ = sockopt::set_tcp_keepintvl(socket, LOST_TIMEOUT / 4);
    let _ = sockopt::set_tcp_user_timeout(socket, 2 * LOST_TIMEOUT.as_millis() as u32);
}
