//! After the login: tracks the statement in flight.

use super::super::{Answer, Completion, ServerHandling};
use super::error_response::ErrorResponse;
use super::login::SessionSetup;
use super::message::{Message, kind};
use crate::content::Content;
use record::Failure;

#[derive(Default)]
pub(crate) struct ExecutionState {
    active: Option<ActiveStatement>,
    /// Its result, once the server has sent it; reported when the server is ready.
    result: Option<Result<Option<Box<Content>>, Failure>>,
    /// Whether what the statement did is wanted.
    content: bool,
    /// Whether the session can carry nothing more.
    pub over: bool,
}

/// A statement that the server has not ended.
#[derive(Clone, Copy)]
struct ActiveStatement {
    /// `None` if no longer waited for.
    exchange: Option<u32>,
    /// Its number among the session's statements.
    number: usize,
}

impl ExecutionState {
    pub fn is_idle(&self) -> bool {
        self.active.is_none()
    }

    /// The exchange not yet reported.
    pub fn open_exchange(&self) -> Option<u32> {
        self.active.and_then(|statement| statement.exchange)
    }

    pub fn begin(&mut self, exchange: u32, number: usize, content: bool) {
        let active = ActiveStatement { exchange: Some(exchange), number };
        (self.active, self.result, self.content) = (Some(active), None, content);
    }

    /// Nobody waits for this exchange any longer; its statement goes on.
    pub fn abandon(&mut self, exchange: u32) {
        if let Some(active) = &mut self.active
            && active.exchange == Some(exchange)
        {
            active.exchange = None;
        }
    }

    /// Handles a message, and reports the exchange that it ends. An error breaks the connection: whatever it
    /// still carries has failed for that reason.
    pub fn handle_message(
        &mut self,
        message: &Message<'_>,
        session: &SessionSetup,
        received_ns: u64,
    ) -> Result<Option<Completion>, Failure> {
        match (message.kind, self.active) {
            (kind::BIND_COMPLETE | kind::DATA_ROW, Some(_)) => {}
            // Asynchronous messages about the server, at any time.
            (kind::NOTICE_RESPONSE | kind::PARAMETER_STATUS | kind::NOTIFICATION_RESPONSE, _) => {}
            (kind::COMMAND_COMPLETE | kind::EMPTY_QUERY_RESPONSE, Some(_)) => {
                if self.result.is_some() {
                    return Err(protocol_failure("a second result of one statement"));
                }
                let done = message.body.strip_suffix(&[0]).unwrap_or(message.body);
                let content = self.content.then(|| Content { body: done.to_vec(), ..Content::default() });
                self.result = Some(Ok(content.map(Box::new)));
            }
            (kind::ERROR_RESPONSE, active) => {
                let error = ErrorResponse::parse(message.body);
                let statement = active.map_or("", |statement| session.statement(statement.number));
                let failure = Failure::Database(error.without_values(statement));
                if error.is_fatal() || active.is_none() {
                    return Err(failure);
                }
                self.result = Some(Err(failure));
            }
            (kind::READY_FOR_QUERY, Some(ActiveStatement { exchange, .. })) => {
                let Some(mut result) = self.result.take() else {
                    return Err(protocol_failure("the end of a statement before its result"));
                };
                if message.body != b"I" {
                    // The next statement would run inside this transaction, and its result depend on chance.
                    self.over = true;
                    let why =
                        "the statement leaves a transaction open; each statement is a transaction of its own";
                    result = result.and(Err(Failure::Database(why.to_owned())));
                }
                self.active = None;
                let result = result.map(|content| Answer { status: None, failure: None, content });
                let completion = |exchange| Completion {
                    exchange,
                    result,
                    received_ns,
                    begun_ns: 0,
                    handling: ServerHandling::Answered,
                };
                return Ok(exchange.map(completion));
            }
            (kind::COPY_IN_RESPONSE | kind::COPY_OUT_RESPONSE | kind::COPY_BOTH_RESPONSE, Some(_)) => {
                let why = "COPY cannot be measured: its data has no place in a plan; use select or insert";
                return Err(Failure::Database(why.to_owned()));
            }
            _ => return Err(protocol_failure("a message that has no place here")),
        }
        Ok(None)
    }
}

pub(crate) fn protocol_failure(what: &str) -> Failure {
    Failure::Protocol(what.to_owned())
}
