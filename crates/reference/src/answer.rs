//! A handler's answer, independent of how it will be sent.

use std::borrow::Cow;
use std::time::Instant;

/// A handler's answer; the models only decide how to wait for `not_before`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Body,
    pub(crate) framing: Framing,
    /// Sends `100 Continue` and `103 Early Hints` ahead of this answer.
    pub(crate) interim: bool,
    /// The answer must not be sent earlier than this.
    pub(crate) not_before: Option<Instant>,
}

/// The body of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Body {
    Text(Cow<'static, str>),
    /// These bytes, such as an echo.
    Raw(Vec<u8>),
    /// This many bytes of `x`, generated while they are sent.
    Filler(u64),
}

/// How the end of the body is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Length,
    Chunked,
    Close,
}

impl Answer {
    fn new(status: u16, content_type: &'static str, body: Body) -> Self {
        Self {
            status,
            content_type,
            headers: Vec::new(),
            body,
            framing: Framing::Length,
            interim: false,
            not_before: None,
        }
    }

    pub(crate) fn text(status: u16, text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(status, "text/plain; charset=utf-8", Body::Text(text.into()))
    }

    pub(crate) fn html(status: u16, text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(status, "text/html; charset=utf-8", Body::Text(text.into()))
    }

    pub(crate) fn json(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(200, "application/json", Body::Text(text.into()))
    }

    pub(crate) fn bytes(body: Body, framing: Framing) -> Self {
        Self { framing, ..Self::new(200, "application/octet-stream", body) }
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn not_before(mut self, due: Instant) -> Self {
        self.not_before = Some(due);
        self
    }
}

impl Body {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Text(text) => text.len() as u64,
            Self::Raw(bytes) => bytes.len() as u64,
            Self::Filler(n) => *n,
        }
    }
}
