//! How a gRPC call ended, which its answer says besides the HTTP status, mostly after the body (gRPC over
//! HTTP2, "Responses").

use super::super::error_text::{first_line, without_values};
use percent_encoding::percent_decode;
use record::Failure;

/// Names of the status codes (gRPC, "Status codes and their use in gRPC").
const NAMES: [&str; 17] = units::texts![
    "OK" "CANCELLED" "UNKNOWN" "INVALID_ARGUMENT" "DEADLINE_EXCEEDED" "NOT_FOUND" "ALREADY_EXISTS"
    "PERMISSION_DENIED" "RESOURCE_EXHAUSTED" "FAILED_PRECONDITION" "ABORTED" "OUT_OF_RANGE" "UNIMPLEMENTED"
    "INTERNAL" "UNAVAILABLE" "DATA_LOSS" "UNAUTHENTICATED"
];
/// The code that a client assumes if there is none.
const UNKNOWN: u32 = 2;
/// Bytes of a message that are kept: far more than is shown of it.
const MAX_MESSAGE: usize = 1024;

/// The status of a call, from its last header block.
#[derive(Default)]
pub(super) struct GrpcStatus {
    code: Option<u32>,
    message: Vec<u8>,
}

/// Whether this is the content type of gRPC over HTTP/2; gRPC-Web, whose type begins alike, ends within the
/// body.
pub(super) fn is_grpc(content_type: &[u8]) -> bool {
    let rest = content_type.strip_prefix(b"application/grpc");
    rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';' | b' ')))
}

impl GrpcStatus {
    pub fn set_status(&mut self, digits: &[u8]) {
        let code = std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok());
        self.code = Some(code.unwrap_or(UNKNOWN));
    }

    pub fn set_message(&mut self, encoded: &[u8]) {
        self.message = encoded[..encoded.len().min(MAX_MESSAGE)].to_vec();
    }

    pub fn failure(self) -> Option<Failure> {
        let (code, message) = match self.code {
            Some(0) => return None,
            // Invalid encoding is shown as it is.
            Some(code) => (code, without_details(&percent_decode(&self.message).decode_utf8_lossy())),
            None => (UNKNOWN, "the answer ends without a grpc-status".to_owned()),
        };
        let name = NAMES.get(code as usize).unwrap_or(&"an unknown code");
        let colon = if message.is_empty() { "" } else { ": " };
        Some(Failure::Grpc(format!("{code} {name}{colon}{message}")))
    }
}

/// The same text for all failures of one kind: without quotations, and without words that contain a digit, such
/// as numbers and identifiers.
fn without_details(message: &str) -> String {
    let line: String = first_line(message.trim()).chars().filter(|c| !c.is_control()).collect();
    let word = |word| if str::contains(word, |c: char| c.is_ascii_digit()) { "…" } else { word };
    without_values(&line.split(' ').map(word).collect::<Vec<_>>().join(" "), |_| false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(status: Option<&str>, message: &str) -> Option<String> {
        let mut grpc_status = GrpcStatus::default();
        status.iter().for_each(|status| grpc_status.set_status(status.as_bytes()));
        grpc_status.set_message(message.as_bytes());
        grpc_status.failure().map(|failure| failure.to_string())
    }

    #[test]
    fn a_status_is_named_and_its_message_read() {
        let long = "long ".repeat(1000);
        for (status, message, expected) in [
            (Some("12"), "Method not found!", "grpc-status 12 UNIMPLEMENTED: Method not found!"),
            (Some("5"), "", "grpc-status 5 NOT_FOUND"),
            (Some("3"), "Gr%C3%b6%C3%9fe 100%25%0Asecond line", "grpc-status 3 INVALID_ARGUMENT: Größe …"),
            (Some("3"), "50% off%2", "grpc-status 3 INVALID_ARGUMENT: … …"),
            (Some("5"), "no user \"Ann\" (id 3fa8-b1)", "grpc-status 5 NOT_FOUND: no user \"…\" (id …"),
            (Some("99"), "x", "grpc-status 99 an unknown code: x"),
            (Some("-1"), "x", "grpc-status 2 UNKNOWN: x"),
            (Some(""), "%FF%00", "grpc-status 2 UNKNOWN: \u{fffd}"),
            (None, "x", "grpc-status 2 UNKNOWN: the answer ends without a grpc-status"),
            (Some("13"), &long, &format!("grpc-status 13 INTERNAL: {}", "long ".repeat(40))),
        ] {
            assert_eq!(failure(status, message).as_deref(), Some(expected), "{status:?} {message}");
        }
        assert_eq!(failure(Some("0"), "x"), None);
    }

    #[test]
    fn what_is_grpc_says_so() {
        for yes in ["application/grpc", "application/grpc+proto", "application/grpc;charset=utf-8"] {
            assert!(is_grpc(yes.as_bytes()), "{yes}");
        }
        for no in ["application/grpc-web", "application/grpc-web+proto", "application/json", ""] {
            assert!(!is_grpc(no.as_bytes()), "{no}");
        }
    }
}
