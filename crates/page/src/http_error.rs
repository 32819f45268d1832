//! Error responses.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// Why there is no answer, in words for people: as JSON, `{"error": "…"}`.
#[derive(Debug)]
pub(crate) struct HttpError {
    pub status: StatusCode,
    pub why: String,
}

impl HttpError {
    pub fn new(status: StatusCode, why: impl Into<String>) -> Self {
        Self { status, why: why.into() }
    }

    pub fn bad_request(why: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, why)
    }
}

impl From<store::Error> for HttpError {
    fn from(error: store::Error) -> Self {
        let status = match error {
            store::Error::NoRun { .. } | store::Error::Ambiguous { .. } => StatusCode::NOT_FOUND,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self { status, why: error.to_string() }
    }
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        (self.status, Json(json!({ "error": self.why }))).into_response()
    }
}
