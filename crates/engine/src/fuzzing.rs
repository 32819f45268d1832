//! Entry points for the fuzzers in `fuzz/`: any bytes, in pieces of any size, to the very parsers that a load
//! uses. For the fuzzers only.

mod server;

use crate::content::Content;
use crate::protocol::{AnswerProgress, AnswerReader, Http2Replay};
use server::FuzzServer;

/// From a server that wants no password and accepts the one statement.
const LOGIN: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I1\0\0\0\x04Z\0\0\0\x05I";

thread_local! {
    static SERVER: FuzzServer = FuzzServer::new();
}

/// An HTTP/1.1 answer, which is the same however it is cut. The first byte chooses the method, whether the
/// answer is kept, and how it is cut.
pub fn http1(bytes: &[u8]) {
    let Some((&how, answer)) = bytes.split_first() else { return };
    let whole = ReadResult::of(how, answer, usize::MAX);
    let cut = ReadResult::of(how, answer, size(how));
    match (&whole, &cut) {
        // In one piece, what follows the answer is an error; cut at its end, it is not looked at.
        (ReadResult::Malformed(why), ReadResult::Whole(_))
            if why.ends_with("after the end of the answer") => {}
        // How many bytes follow depends on the piece.
        (ReadResult::Malformed(whole), ReadResult::Malformed(cut)) => {
            let kind = |why: &str| why.trim_start_matches(|c: char| c.is_ascii_digit()).to_owned();
            assert_eq!(kind(whole), kind(cut));
        }
        _ => assert_eq!(whole, cut, "in pieces of {}", size(how)),
    }
}

#[derive(Debug, PartialEq)]
enum ReadResult {
    /// Its status, whether the connection is kept, its content if wanted.
    Whole((u16, bool, Option<Box<Content>>)),
    Malformed(String),
    Unfinished,
}

impl ReadResult {
    fn of(how: u8, input: &[u8], size: usize) -> Self {
        let mut reader = AnswerReader::default();
        reader.begin(how & 1 != 0, how & 2 != 0);
        for piece in input.chunks(size) {
            match reader.feed(piece) {
                Ok(AnswerProgress::More) => {}
                Ok(AnswerProgress::Done(answer)) => {
                    return Self::Whole((answer.status, answer.keep_alive, reader.take_content()));
                }
                Err(why) => return Self::Malformed(why),
            }
        }
        match reader.closed() {
            Some(answer) => Self::Whole((answer.status, answer.keep_alive, reader.take_content())),
            None => Self::Unfinished,
        }
    }
}

/// The server's part of an HTTP/2 connection: the result does not depend on how it is cut, and memory stays
/// within its limits. The first byte chooses whether requests were sent before, and how it is cut.
pub fn http2(bytes: &[u8]) {
    let Some((&how, received)) = bytes.split_first() else { return };
    let whole = Http2Replay::of(received, usize::MAX, how & 1 != 0);
    let cut = Http2Replay::of(received, size(how), how & 1 != 0);
    if whole.is_too_wide() {
        // What was sent by then makes room in a window: pieces leave time for that.
        return;
    }
    assert_eq!(whole, cut, "in pieces of {}", size(how));
}

/// A PostgreSQL server's part of a session. The first byte chooses whether the login is done before, and how it
/// is cut.
pub fn sql(bytes: &[u8]) {
    let Some((&how, received)) = bytes.split_first() else { return };
    SERVER.with(|server| server.replay(if how & 1 != 0 { LOGIN } else { &[] }, received, size(how)));
}

/// Small pieces cut every line and number; large ones are what a network does.
fn size(how: u8) -> usize {
    match how >> 2 {
        0 => usize::MAX,
        size => size.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_session_gets_as_far_as_its_statements() {
        let answer = b"2\0\0\0\x04C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";
        for size in [1, 2, 7, usize::MAX] {
            let server = FuzzServer::new();
            assert_eq!(server.replay(LOGIN, answer, size), 1, "{size}");
            assert_eq!(server.replay(LOGIN, &answer.repeat(3), 1), 3);
            assert_eq!(server.replay(b"", answer, size), 0, "{size}");
        }
    }

    proptest! {
        #[test]
        fn nothing_said_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            http1(&bytes);
            http2(&bytes);
            sql(&bytes);
        }
    }
}
