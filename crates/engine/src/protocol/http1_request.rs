//! Encodes HTTP/1.1 requests.

use plan::{RenderContext, Request, Template};

pub(super) const USER_AGENT: &str = concat!("torment/", env!("CARGO_PKG_VERSION"));
/// Methods that state the length of their body even when it is empty (RFC 9110 section 8.6).
pub(super) const METHODS_WITH_BODY: [&str; 3] = ["POST", "PUT", "PATCH"];

/// Encodes each arrival's request. A request without placeholders is prepared once.
pub(crate) struct RequestWriter {
    request: Request,
    /// What stands between the path and the plan's own headers.
    after_path: Vec<u8>,
    /// Whether every arrival sends the same `bytes`.
    constant: bool,
    bytes: Vec<u8>,
    body: Vec<u8>,
}

impl RequestWriter {
    /// For requests to `authority`, the value of the `Host` header.
    pub fn new(request: &Request, authority: &str) -> Self {
        let given = |name: &str| request.headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
        let mut after_path = b" HTTP/1.1\r\n".to_vec();
        if !given("host") {
            after_path.extend_from_slice(format!("Host: {authority}\r\n").as_bytes());
        }
        if !given("user-agent") {
            after_path.extend_from_slice(format!("User-Agent: {USER_AGENT}\r\n").as_bytes());
        }
        let mut writer = Self {
            request: request.clone(),
            after_path,
            constant: false,
            bytes: Vec::new(),
            body: Vec::new(),
        };
        let values = request.headers.iter().map(|(_, value)| value);
        if values.chain([&request.path, &request.body]).all(Template::is_constant) {
            writer.write(&RenderContext { number: 0, seed: 0, extracted: &[] }, &[]);
            writer.constant = true;
        }
        writer
    }

    pub fn is_head(&self) -> bool {
        self.request.method == "HEAD"
    }

    /// The request of this arrival, with the user's `cookies`, if any.
    pub fn encode(&mut self, context: &RenderContext<'_>, cookies: &[u8]) -> &[u8] {
        if !self.constant || !cookies.is_empty() {
            self.constant = false;
            self.write(context, cookies);
        }
        &self.bytes
    }

    fn write(&mut self, context: &RenderContext<'_>, mut cookies: &[u8]) {
        let out = &mut self.bytes;
        out.clear();
        out.extend_from_slice(self.request.method.as_bytes());
        out.push(b' ');
        self.request.render_path(context, out);
        out.extend_from_slice(&self.after_path);
        for (index, (name, _)) in self.request.headers.iter().enumerate() {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b": ");
            self.request.render_header(index, context, out);
            // One header holds them all (RFC 6265, 5.4).
            if name.eq_ignore_ascii_case("cookie") && !cookies.is_empty() {
                out.extend_from_slice(b"; ");
                out.extend_from_slice(std::mem::take(&mut cookies));
            }
            out.extend_from_slice(b"\r\n");
        }
        if !cookies.is_empty() {
            out.extend_from_slice(b"Cookie: ");
            out.extend_from_slice(cookies);
            out.extend_from_slice(b"\r\n");
        }
        self.body.clear();
        self.request.render_body(context, &mut self.body);
        if !self.body.is_empty() || METHODS_WITH_BODY.contains(&self.request.method.as_str()) {
            out.extend_from_slice(b"Content-Length: ");
            write_number(self.body.len(), out);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(&self.body);
    }
}

fn write_number(mut n: usize, out: &mut Vec<u8>) {
    let start = out.len();
    loop {
        out.push(b'0' + (n % 10) as u8);
        n /= 10;
        if n == 0 {
            break;
        }
    }
    out[start..].reverse();
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::StatusRange;

    #[test]
    fn a_request_is_what_the_plan_says() {
        let template = |text| Template::parse(text).expect(text);
        let request = Request {
            method: "POST".to_owned(),
            path: template("/owners/{5..7}?n={counter}"),
            headers: vec![("content-type".to_owned(), template("text/plain"))],
            body: template("hello {counter}"),
            expect: vec![StatusRange::DEFAULT],
            checks: Vec::new(),
        };
        let mut writer = RequestWriter::new(&request, "example:8080");
        let bytes = writer.encode(&RenderContext { number: 10, seed: 1, extracted: &[] }, b"");
        let text = String::from_utf8(bytes.to_vec()).expect("text");
        let expected = format!(
            "POST /owners/6?n=10 HTTP/1.1\r\nHost: example:8080\r\nUser-Agent: {USER_AGENT}\r\n\
             content-type: text/plain\r\nContent-Length: 8\r\n\r\nhello 10"
        );
        assert_eq!(text, expected);
    }
}
