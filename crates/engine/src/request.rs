//! The bytes of a request.

use plan::{Request, Template};

const USER_AGENT: &str = concat!("torment/", env!("CARGO_PKG_VERSION"));

/// Writes the request of the k-th arrival. A request without placeholders is prepared once.
pub(crate) struct RequestWriter {
    pieces: Vec<Template>,
    body: Template,
    seed: u64,
    fixed: Option<Vec<u8>>,
    scratch: Vec<u8>,
}

/// A place in a request: placeholders of the same kind at different places differ.
const BODY_SALT: u64 = 1 << 32;

impl RequestWriter {
    /// For requests to `authority`, the value of the `Host` header.
    pub fn new(request: &Request, authority: &str, seed: u64) -> Self {
        let literal = |text: &str| Template::literal(text);
        let given = |name: &str| request.headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
        let mut pieces = vec![literal(&format!("{} ", request.method)), request.path.clone()];
        pieces.push(literal(" HTTP/1.1\r\n"));
        if !given("host") {
            pieces.push(literal(&format!("Host: {authority}\r\n")));
        }
        if !given("user-agent") {
            pieces.push(literal(&format!("User-Agent: {USER_AGENT}\r\n")));
        }
        for (name, value) in &request.headers {
            pieces.push(literal(&format!("{name}: ")));
            pieces.push(value.clone());
            pieces.push(literal("\r\n"));
        }
        let mut writer = Self { pieces, body: request.body.clone(), seed, fixed: None, scratch: Vec::new() };
        if writer.pieces.iter().chain([&writer.body]).all(Template::is_constant) {
            let mut bytes = Vec::new();
            writer.write(0, &mut bytes);
            writer.fixed = Some(bytes);
        }
        writer
    }

    /// Appends the request of the k-th arrival to `out`.
    pub fn write(&mut self, k: u64, out: &mut Vec<u8>) {
        if let Some(fixed) = &self.fixed {
            return out.extend_from_slice(fixed);
        }
        for (salt, piece) in (0u64..).zip(&self.pieces) {
            piece.render(k, self.seed, salt, out);
        }
        if self.body.is_empty() {
            return out.extend_from_slice(b"\r\n");
        }
        self.scratch.clear();
        self.body.render(k, self.seed, BODY_SALT, &mut self.scratch);
        out.extend_from_slice(b"Content-Length: ");
        write_number(self.scratch.len(), out);
        out.extend_from_slice(b"\r\n\r\n");
        out.extend_from_slice(&self.scratch);
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
    use units::Nanos;

    #[test]
    fn a_request_is_what_the_plan_says() {
        let template = |text| Template::parse(text).expect(text);
        let request = Request {
            method: "POST".to_owned(),
            path: template("/owners/{5..7}?n={counter}"),
            headers: vec![("content-type".to_owned(), template("text/plain"))],
            body: template("hello {counter}"),
            expect: vec![StatusRange::DEFAULT],
            timeout: Nanos::from_secs(1),
        };
        let mut out = Vec::new();
        let mut writer = RequestWriter::new(&request, "example:8080", 1);
        writer.write(10, &mut out);
        let text = String::from_utf8(out).expect("text");
        let expected = format!(
            "POST /owners/6?n=10 HTTP/1.1\r\nHost: example:8080\r\nUser-Agent: {USER_AGENT}\r\n\
             content-type: text/plain\r\nContent-Length: 8\r\n\r\nhello 10"
        );
        assert_eq!(text, expected);
    }
}
