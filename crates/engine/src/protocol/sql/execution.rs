//! After the login: tracks the statement in flight.

use super::super::{Answer, Completion, ServerHandling};
use super::error_response::ErrorResponse;
use super::login::SessionSetup;
use super::message::{Message, kind};
use crate::content::Content;
use record::Failure;

#[derive(Default)]
pub(crate) struct ExecutionState {
    under_way: Option<ActiveStatement>,
    /// Its result, once the server has sent it; reported when the server is ready.
    result: Option<Result<Option<Box<Content>>, Failure>>,
    /// Whether what the statement did is wanted.
    content: bool,
    over: bool,
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
    /// Whether the session can carry nothing more.
    pub fn is_over(&self) -> bool {
        self.over
    }

    pub fn is_idle(&self) -> bool {
        self.under_way.is_none()
    }

    /// The exchange not yet reported.
    pub fn open_exchange(&self) -> Option<u32> {
        self.under_way.and_then(|statement| statement.exchange)
    }

    pub fn begin(&mut self, exchange: u32, number: usize, content: bool) {
        let under_way = ActiveStatement { exchange: Some(exchange), number };
        (self.under_way, self.result, self.content) = (Some(under_way), None, content);
    }

    /// Nobody waits for this exchange any longer; its statement goes on.
    pub fn abandon(&mut self, exchange: u32) {
        if let Some(under_way) = &mut self.under_way
            && under_way.exchange == Some(exchange)
        {
            under_way.exchange = None;
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
        match (message.kind, self.under_way) {
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
            (kind::ERROR_RESPONSE, under_way) => {
                let complaint = ErrorResponse::parse(message.body);
                let statement = under_way.map_or("", |statement| session.statement(statement.number));
                let failure = Failure::Database(complaint.without_values(statement));
                if complaint.is_fatal() || under_way.is_none() {
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
                self.under_way = None;
                let result = result.map(|content| Answer { status: None, failure: None, content });
                let told =
                    |exchange| Completion { exchange, result, received_ns, touch: ServerHandling::Answered };
                return Ok(exchange.map(told));
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
