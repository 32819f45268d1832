//! The conversation after the login: what became of the statement that is under way.

use super::super::{Answer, Told};
use super::complaint::Complaint;
use super::login::Session;
use super::message::{Message, kind};
use crate::content::Content;
use record::Failure;

#[derive(Default)]
pub(crate) struct Talk {
    /// The exchange that waits for its end, and the number of its statement.
    waiting: Option<(u32, usize)>,
    /// What has become of it, once the server has said so; it is told when the server is ready.
    result: Option<Result<Option<Box<Content>>, Failure>>,
    /// Whether what the statement did is wanted.
    content: bool,
    over: bool,
}

impl Talk {
    /// Whether the session can carry nothing more.
    pub fn is_over(&self) -> bool {
        self.over
    }

    pub fn open(&self) -> Option<u32> {
        self.waiting.map(|(exchange, _)| exchange)
    }

    pub fn begin(&mut self, exchange: u32, statement: usize, content: bool) {
        (self.waiting, self.result, self.content) = (Some((exchange, statement)), None, content);
    }

    /// Hears a message, and tells the exchange that it ends. An error breaks the connection: what it
    /// still carries has failed for that reason.
    pub fn hear(
        &mut self,
        message: &Message<'_>,
        session: &Session,
        received_ns: u64,
    ) -> Result<Option<Told>, Failure> {
        match (message.kind, self.waiting) {
            (kind::BIND_COMPLETE | kind::DATA_ROW, Some(_)) => {}
            // What the server says of itself, at any time.
            (kind::NOTICE_RESPONSE | kind::PARAMETER_STATUS | kind::NOTIFICATION_RESPONSE, _) => {}
            (kind::COMMAND_COMPLETE | kind::EMPTY_QUERY_RESPONSE, Some(_)) => {
                if self.result.is_some() {
                    return Err(strange("a second result of one statement"));
                }
                let done = message.body.strip_suffix(&[0]).unwrap_or(message.body);
                let content = self.content.then(|| Content { body: done.to_vec(), ..Content::default() });
                self.result = Some(Ok(content.map(Box::new)));
            }
            (kind::ERROR_RESPONSE, waiting) => {
                let complaint = Complaint::read(message.body);
                let statement = waiting.map_or("", |(_, number)| session.statement(number));
                let failure = Failure::Database(complaint.kind(statement));
                if complaint.is_fatal() || waiting.is_none() {
                    return Err(failure);
                }
                self.result = Some(Err(failure));
            }
            (kind::READY_FOR_QUERY, Some((exchange, _))) => {
                let Some(mut result) = self.result.take() else {
                    return Err(strange("the end of a statement before its result"));
                };
                if message.body != b"I" {
                    // The next statement would run inside it, and what comes of it depend on chance.
                    self.over = true;
                    let why =
                        "the statement leaves a transaction open; each statement is a transaction of its own";
                    result = result.and(Err(Failure::Database(why.to_owned())));
                }
                self.waiting = None;
                let result = result.map(|content| Answer { status: None, content });
                return Ok(Some(Told { exchange, result, received_ns, untouched: false }));
            }
            (kind::COPY_IN_RESPONSE | kind::COPY_OUT_RESPONSE | kind::COPY_BOTH_RESPONSE, Some(_)) => {
                let why = "COPY cannot be measured: its data has no place in a plan; use select or insert";
                return Err(Failure::Database(why.to_owned()));
            }
            _ => return Err(strange("a message that has no place here")),
        }
        Ok(None)
    }
}

/// Not what the protocol allows.
pub(crate) fn strange(what: &str) -> Failure {
    Failure::Protocol(what.to_owned())
}
