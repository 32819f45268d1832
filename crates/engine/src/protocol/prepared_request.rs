//! A request, prepared for each protocol that a connection may turn out to use.

use super::{http1_request, http2, sql};
use plan::{RenderContext, Request, Statement};

pub(crate) enum PreparedRequest {
    Http(Box<PreparedHttp>),
    Sql {
        statement: sql::StatementWriter,
        /// Whether what the statement did is wanted.
        content: bool,
    },
}

/// A request for either HTTP version.
pub(crate) struct PreparedHttp {
    pub(super) http1: http1_request::RequestWriter,
    pub(super) http2: http2::RequestWriter,
    /// Whether headers and body of the answer are wanted.
    pub(super) content: bool,
}

impl PreparedRequest {
    /// For requests to `authority`, with or without TLS.
    pub fn http(request: &Request, authority: &str, tls: bool, content: bool) -> Self {
        let http1 = http1_request::RequestWriter::new(request, authority);
        let http2 = http2::RequestWriter::new(request, authority, tls);
        Self::Http(Box::new(PreparedHttp { http1, http2, content }))
    }

    /// For a statement that every session prepares as number `number`.
    pub fn sql(statement: &Statement, number: usize) -> Self {
        Self::Sql { statement: sql::StatementWriter::new(statement, number), content: false }
    }

    /// Keeps headers and body of every answer from now on.
    pub fn want_content(&mut self) {
        match self {
            Self::Http(http) => http.content = true,
            Self::Sql { content, .. } => *content = true,
        }
    }

    /// What this arrival sends, for display.
    pub fn preview(&mut self, context: &RenderContext<'_>, cookies: &[u8]) -> Vec<u8> {
        match self {
            Self::Http(http) => http.http1.encode(context, cookies).to_vec(),
            Self::Sql { statement, .. } => statement.preview(context),
        }
    }
}
