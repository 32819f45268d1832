//! A request's header block and body in HTTP/2.

use super::super::http1_request::{METHODS_WITH_BODY, USER_AGENT};
use super::encoder_table::{ConstantField, EncoderTable};
use super::fields::{static_field, static_name};
use super::hpack::ENTRY_SIZE;
use super::primitives::{put_integer, put_string};
use plan::{RenderContext, Request};
use std::io::Write;
use std::sync::Arc;

/// Fields about an HTTP/1.1 connection, meaningless here (RFC 9113 section 8.2.2).
const CONNECTION_HEADERS: [&str; 6] =
    ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "http2-settings"];
/// How `cookie` and `content-length` begin when not added to the table.
const COOKIE: &[u8] = &[0x0f, 0x11];
const CONTENT_LENGTH: &[u8] = &[0x0f, 0x0d];

/// Encodes each arrival's request; whatever they share is prepared once.
pub(crate) struct RequestWriter {
    request: Request,
    fields: Vec<Field>,
    body: Arc<Vec<u8>>,
    /// Whether every arrival sends the same body.
    body_constant: bool,
    sends_length: bool,
    scratch: Vec<u8>,
}

enum Field {
    /// These bytes, for every arrival.
    Encoded(Vec<u8>),
    /// The same for every arrival, and worth adding to the peer's table.
    Constant(ConstantField),
    /// The path follows this prefix.
    Path(Vec<u8>),
    /// The value of this header of the plan follows this prefix.
    Header(usize, Vec<u8>),
}

impl RequestWriter {
    /// For requests to `authority`, with or without TLS.
    pub fn new(request: &Request, authority: &str, tls: bool) -> Self {
        let header_index =
            |name: &str| request.headers.iter().position(|(n, _)| n.eq_ignore_ascii_case(name));
        let scheme = if tls { "https" } else { "http" };
        let mut fields = vec![
            Field::plain(":method", request.method.as_bytes()),
            Field::plain(":scheme", scheme.as_bytes()),
        ];
        fields.push(match header_index("host") {
            Some(index) => Field::header(":authority", request, index),
            None => Field::constant(":authority", authority.as_bytes()),
        });
        fields.push(if request.path.is_constant() {
            Field::plain(":path", &request.path.to_bytes())
        } else {
            Field::Path(field_prefix(":path", 0, 4))
        });
        if header_index("user-agent").is_none() {
            fields.push(Field::constant("user-agent", USER_AGENT.as_bytes()));
        }
        for (index, (name, _)) in request.headers.iter().enumerate() {
            let name = name.to_ascii_lowercase();
            if name != "host" && !CONNECTION_HEADERS.contains(&name.as_str()) {
                fields.push(Field::header(&name, request, index));
            }
        }
        let body_constant = request.body.is_constant();
        let body = if body_constant { request.body.to_bytes() } else { Vec::new() };
        let sends_length = METHODS_WITH_BODY.contains(&request.method.as_str());
        if body_constant && (sends_length || !body.is_empty()) {
            fields.push(Field::plain("content-length", body.len().to_string().as_bytes()));
        }
        let (request, scratch) = (request.clone(), Vec::new());
        Self { request, fields, body: Arc::new(body), body_constant, sends_length, scratch }
    }

    pub fn is_head(&self) -> bool {
        self.request.method == "HEAD"
    }

    /// This arrival's body, shared: a large one is sent in parts.
    pub fn body(&mut self, context: &RenderContext<'_>) -> &Arc<Vec<u8>> {
        if !self.body_constant {
            match Arc::get_mut(&mut self.body) {
                Some(body) => body.clear(),
                None => self.body = Arc::default(),
            }
            let body = Arc::get_mut(&mut self.body).expect("nobody else has the new one");
            self.request.render_body(context, body);
        }
        &self.body
    }

    /// Appends this arrival's header block; call [`RequestWriter::body`] just before.
    pub(super) fn write_header_block(
        &mut self,
        context: &RenderContext<'_>,
        cookies: &[u8],
        encoder_table: &mut EncoderTable,
        out: &mut Vec<u8>,
    ) {
        encoder_table.begin(out);
        let mut value = |out: &mut Vec<u8>, beginning: &[u8], render: &dyn Fn(&mut Vec<u8>)| {
            self.scratch.clear();
            render(&mut self.scratch);
            out.extend_from_slice(beginning);
            put_string(&self.scratch, out);
        };
        let request = &self.request;
        for field in &self.fields {
            match field {
                Field::Encoded(bytes) => out.extend_from_slice(bytes),
                Field::Constant(constant) => encoder_table.put(constant, out),
                Field::Path(name) => value(out, name, &|room| request.render_path(context, room)),
                Field::Header(index, name) => {
                    value(out, name, &|room| request.render_header(*index, context, room))
                }
            }
        }
        if !cookies.is_empty() {
            out.extend_from_slice(COOKIE);
            put_string(cookies, out);
        }
        if !self.body_constant && (self.sends_length || !self.body.is_empty()) {
            let length = self.body.len();
            value(out, CONTENT_LENGTH, &|room| write!(room, "{length}").expect("a Vec takes every write"));
        }
    }
}

impl Field {
    /// A field not worth adding to the table: as short as a reference, or seldom the same.
    fn plain(name: &str, value: &[u8]) -> Self {
        let mut out = Vec::new();
        match static_field(name.as_bytes(), value) {
            Some(index) => put_integer(0x80, 7, index, &mut out),
            None => {
                out = field_prefix(name, 0, 4);
                put_string(value, &mut out);
            }
        }
        Self::Encoded(out)
    }

    fn constant(name: &str, value: &[u8]) -> Self {
        let write = |first, bits| {
            let mut out = field_prefix(name, first, bits);
            put_string(value, &mut out);
            out
        };
        let size = name.len() + value.len() + ENTRY_SIZE;
        Self::Constant(ConstantField { indexed: write(0x40, 6).into(), literal: write(0, 4), size })
    }

    fn header(name: &str, request: &Request, index: usize) -> Self {
        let template = &request.headers[index].1;
        if template.is_constant() {
            Self::constant(name, &template.to_bytes())
        } else {
            Self::Header(index, field_prefix(name, 0, 4))
        }
    }
}

/// A field up to its value; `first` and `bits` say what the peer does with it (RFC 7541 section 6.2).
fn field_prefix(name: &str, first: u8, bits: u32) -> Vec<u8> {
    let mut out = Vec::new();
    match static_name(name.as_bytes()) {
        Some(index) => put_integer(first, bits, index, &mut out),
        None => {
            out.push(first);
            put_string(name.as_bytes(), &mut out);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::hpack::Decoder;
    use super::super::primitives::HeaderText;
    use super::*;
    use plan::Template;

    fn writer(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> RequestWriter {
        let template = |text: &str| Template::parse(text).expect("valid");
        let headers = headers.iter().map(|(n, v)| ((*n).to_owned(), template(v))).collect();
        let (path, body) = (template(path), template(body));
        let request = Request {
            method: method.to_owned(),
            path,
            headers,
            body,
            expect: Vec::new(),
            checks: Vec::new(),
        };
        RequestWriter::new(&request, "example:8080", false)
    }

    fn encode_and_decode(
        writer: &mut RequestWriter,
        number: u64,
        cookies: &str,
        encoder_table: &mut EncoderTable,
        decoder: &mut Decoder,
    ) -> (String, usize) {
        let context = RenderContext { number, seed: 1, extracted: &[] };
        writer.body(&context);
        let (mut block, mut text) = (Vec::new(), String::new());
        writer.write_header_block(&context, cookies.as_bytes(), encoder_table, &mut block);
        let plain = |text: &HeaderText<'_>| {
            String::from_utf8(text.decode(&mut Vec::new()).expect("valid").to_vec()).expect("text")
        };
        let result = decoder.decode(&block, |name, value| {
            text += &format!("{}: {}\n", plain(name), plain(value));
            Ok(())
        });
        assert_eq!(result, Ok(()));
        (text, block.len())
    }

    #[test]
    fn a_request_is_what_the_plan_says() {
        let headers = [("X-Row", "{counter}"), ("Content-Type", "text/plain"), ("Connection", "close")];
        let mut writer = writer("POST", "/owners/{5..7}?n={counter}", &headers, "hello {counter}");
        let (mut encoder_table, mut decoder) = (EncoderTable::new(), Decoder::new());
        let expected = format!(
            ":method: POST\n:scheme: http\n:authority: example:8080\n:path: /owners/6?n=10\n\
             user-agent: {USER_AGENT}\nx-row: 10\ncontent-type: text/plain\ncookie: a=b\ncontent-length: 8\n"
        );
        let (first, long) = encode_and_decode(&mut writer, 10, "a=b", &mut encoder_table, &mut decoder);
        assert_eq!(first, expected);
        assert_eq!(
            writer.body(&RenderContext { number: 10, seed: 1, extracted: &[] }).as_slice(),
            b"hello 10"
        );
        // The second time the peer knows what stays the same.
        let (second, short) = encode_and_decode(&mut writer, 10, "a=b", &mut encoder_table, &mut decoder);
        assert_eq!(second, expected);
        assert!(short + 30 < long, "{short} and {long}");
    }

    #[test]
    fn a_host_of_the_plan_is_the_authority() {
        let mut writer = writer("HEAD", "/", &[("Host", "other"), ("User-Agent", "x")], "");
        let expected = ":method: HEAD\n:scheme: http\n:authority: other\n:path: /\nuser-agent: x\n";
        assert_eq!(
            encode_and_decode(&mut writer, 0, "", &mut EncoderTable::new(), &mut Decoder::new()).0,
            expected
        );
        assert!(writer.is_head());
    }

    #[test]
    fn a_constant_body_says_its_length() {
        let mut put = writer("PUT", "/x", &[], "");
        let (text, _) = encode_and_decode(&mut put, 0, "", &mut EncoderTable::new(), &mut Decoder::new());
        assert!(text.ends_with("content-length: 0\n"), "{text}");
        let mut get = writer("GET", "/x", &[], "12345");
        let (text, _) = encode_and_decode(&mut get, 0, "", &mut EncoderTable::new(), &mut Decoder::new());
        assert!(text.ends_with("content-length: 5\n"), "{text}");
    }
}
