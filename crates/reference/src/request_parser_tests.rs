use super::*;

fn request<'a>(method: &'a str, path: &'a str, query: &'a str, body: &'a str) -> Request<'a> {
    Request { method, path, query, body: Cow::Borrowed(body.as_bytes()), keep_alive: true, is_http11: true }
}

/// Checks the whole text, and that every prefix of it is incomplete: the same request
/// results however the network splits it.
fn check(text: &str, expected: &Request<'_>) {
    for rest in ["", "GET /next HTTP/1.1\r\n"] {
        let bytes = [text.as_bytes(), rest.as_bytes()].concat();
        match parse(&bytes) {
            ParseResult::Whole { request, used } => {
                assert_eq!(&request, expected, "{text:?}");
                assert_eq!(used, text.len(), "bytes of the next request were taken: {text:?}");
            }
            other => panic!("{text:?} gave {other:?}"),
        }
    }
    for cut in 0..text.len() {
        match parse(&text.as_bytes()[..cut]) {
            ParseResult::Partial { at_least, .. } => {
                assert!((cut + 1..=text.len()).contains(&at_least), "{cut} of {text:?} asks for {at_least}");
            }
            other => panic!("the first {cut} bytes of {text:?} gave {other:?}"),
        }
    }
}

#[test]
fn whole_requests() {
    check("GET / HTTP/1.1\r\nHost: a\r\n\r\n", &request("GET", "/", "", ""));
    check("GET /queue?us=500 HTTP/1.1\r\nhost:a\r\n\r\n", &request("GET", "/queue", "us=500", ""));
    check("GET http://a:1/b?c HTTP/1.1\r\nHost: a\r\n\r\n", &request("GET", "/b", "c", ""));
    check("GET http://a HTTP/1.1\r\nHost: a\r\n\r\n", &request("GET", "/", "", ""));
    check("GET /x?to=http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", &request("GET", "/x", "to=http://b/", ""));
    check("\r\nHEAD / HTTP/1.1\r\nHost: a\r\n\r\n", &request("HEAD", "/", "", ""));
    check("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nb=1", &request("POST", "/a", "", "b=1"));
    check(
        "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
        &request("POST", "/a", "", ""),
    );
    let chunked = "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    check(&format!("{chunked}0\r\n\r\n"), &request("POST", "/a", "", ""));
    check(
        &format!("{chunked}3\r\nb=1\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n"),
        &request("POST", "/a", "", "b=10123456789"),
    );
    check(&format!("{chunked}1\r\nb\r\n0\r\nSum: 1\r\nB: 2\r\n\r\n"), &request("POST", "/a", "", "b"));
}

#[test]
fn connections_are_kept_or_closed() {
    for (line, header, keep_alive) in [
        ("1.1", "", true),
        ("1.1", "Connection: close\r\n", false),
        ("1.1", "Connection: foo, Close\r\n", false),
        ("1.0", "", false),
        ("1.0", "Connection: Keep-Alive\r\n", true),
        ("1.0", "Connection: keep-alive, close\r\n", false),
    ] {
        let text = format!("GET / HTTP/{line}\r\nHost: a\r\n{header}\r\n");
        let ParseResult::Whole { request, .. } = parse(text.as_bytes()) else { panic!("{text}") };
        assert_eq!((request.keep_alive, request.is_http11), (keep_alive, line == "1.1"), "{text}");
    }
}

#[test]
fn refusals() {
    let check = |text: &str, status: u16| match parse(text.as_bytes()) {
        ParseResult::Refused(refusal) => {
            assert_eq!(refusal.status, status, "{}: {text:.100?}", refusal.reason)
        }
        other => panic!("{text:.100?} gave {other:?}"),
    };
    check("\x16\x03\x01\x02\x00\x01\x00", 400);
    check("GET /\r\n", 400);
    check("GET / HTTP/2.0\r\n\r\n", 505);
    check("GET / HTTP/1.1\r\n\r\n", 400);
    check("GET / HTTP/1.1\r\nHost: a\r\nbad header\r\n\r\n", 400);
    let post = |header: &str| format!("POST / HTTP/1.1\r\nHost: a\r\n{header}\r\n\r\n");
    for bad in [
        "Content-Length: x",
        "Content-Length: -1",
        "Content-Length: +1",
        "Content-Length: ",
        "Content-Length: 1, 1",
    ] {
        check(&post(bad), 400);
    }
    check(&post("Content-Length: 1\r\nContent-Length: 2"), 400);
    check(&post("Content-Length: 1\r\nTransfer-Encoding: chunked"), 400);
    check(&post("Transfer-Encoding: gzip, chunked"), 400);
    check(&post(&format!("Content-Length: {}", BODY_LIMIT + 1)), 413);
    check(&post("Content-Length: 99999999999999999999999999"), 413);
    let chunked = post("Transfer-Encoding: chunked");
    check(&format!("{chunked}x\r\n"), 400);
    check(&format!("{chunked}1\r\nab\r\n"), 400);
    check(&format!("{chunked}FFFFFFFF\r\n"), 413);
    check(&format!("{chunked}{}", "1\r\na\r\n".repeat(CHUNKED_WIRE_LIMIT / 6 + 1)), 413);
    check(&format!("{chunked}1;{}", "x".repeat(HEAD_LIMIT + 1)), 400);
    check(&format!("{chunked}0\r\n{}", "A: b\r\n".repeat(HEAD_LIMIT / 6 + 1)), 431);
    check(&format!("GET /{} HTTP/1.1\r\n", "x".repeat(HEAD_LIMIT)), 431);
    check(&format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(HEAD_LIMIT)), 431);
    check(&format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(HEADERS_LIMIT + 1)), 431);
}

#[test]
fn the_client_is_told_to_continue_before_its_body() {
    let head = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n";
    let wants = |text: &str| match parse(text.as_bytes()) {
        ParseResult::Partial { wants_continue, .. } => wants_continue,
        _ => false,
    };
    for framing in ["Content-Length: 2\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n"] {
        let whole = format!("{head}{framing}");
        assert!(wants(&whole), "{whole}");
        assert!(!wants(&whole[..whole.len() - 1]));
        assert!(!wants(&format!("{whole}2")), "the body has begun");
    }
    assert!(!wants(&format!("{head}Content-Length: 0\r\n\r\n")));
}

#[test]
fn a_body_of_known_length_is_not_parsed_again_and_again() {
    let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n";
    let partial = ParseResult::Partial { at_least: head.len() + 1_000, wants_continue: false };
    assert_eq!(parse(format!("{head}some").as_bytes()), partial);
}
