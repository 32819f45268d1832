//! Parses one HTTP/1.1 answer from bytes as they arrive, in pieces of any size.

use crate::content::Content;

/// Longer heads are abuse; nginx and Tomcat stop at 8 KiB.
const HEAD_LIMIT: usize = 64 * 1024;
/// Bytes of malformed input that are shown.
const SHOWN: usize = 20;
/// Most header fields of one answer.
const FIELDS_LIMIT: usize = 128;

/// A complete answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Http1Answer {
    /// Status code.
    pub status: u16,
    /// Whether the connection may carry another request.
    pub keep_alive: bool,
    /// Idle seconds after which the server closes the connection (`Keep-Alive: timeout=`); 0 if it does not
    /// say.
    pub idle_s: u32,
}

/// The result of a piece.
#[derive(Debug, PartialEq, Eq)]
pub enum AnswerProgress {
    /// The answer is incomplete.
    More,
    /// The answer is complete.
    Done(Http1Answer),
}

/// Why the bytes are no answer, in a few words.
pub type Malformed = String;

/// Incrementally parses one answer.
///
/// Bodies end by length, by chunks, or with the connection; interim answers (1xx) are skipped; answers to HEAD,
/// 204 and 304 have no body (RFC 9112 section 6.3).
#[derive(Debug, Default)]
pub struct AnswerReader {
    phase: Phase,
    /// The part of a head, chunk line or trailer seen so far, if it arrived in pieces.
    partial: Vec<u8>,
    answer: Http1Answer,
    /// Whether the request was HEAD.
    head_only: bool,
    /// Keeps headers and body, if they are wanted.
    content: Option<Box<Content>>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Head,
    Length(u64),
    ChunkSize,
    ChunkData(u64),
    ChunkEnd,
    Trailer,
    UntilClose,
    Done,
}

impl AnswerReader {
    /// Prepares for the answer to the next request; `head_only` if that is HEAD. Keeps headers and body if
    /// `content`.
    pub fn begin(&mut self, head_only: bool, content: bool) {
        self.phase = Phase::Head;
        self.partial.clear();
        self.answer = Http1Answer::default();
        self.head_only = head_only;
        self.content = content.then(Box::default);
    }

    /// Headers and body of the complete answer, if they were wanted.
    pub fn take_content(&mut self) -> Option<Box<Content>> {
        self.content.take()
    }

    /// Parses the next piece. Bytes after the end of the answer are malformed: they are unsolicited.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Result<AnswerProgress, Malformed> {
        while !bytes.is_empty() {
            match self.phase {
                Phase::Head => self.head(&mut bytes)?,
                Phase::Length(left) => {
                    let taken = self.body(&mut bytes, left);
                    self.phase = if left == taken { Phase::Done } else { Phase::Length(left - taken) };
                }
                Phase::ChunkSize => self.chunk_size(&mut bytes)?,
                Phase::ChunkData(left) => {
                    let taken = self.body(&mut bytes, left);
                    self.phase = if left == taken { Phase::ChunkEnd } else { Phase::ChunkData(left - taken) };
                }
                Phase::ChunkEnd => self.chunk_end(&mut bytes)?,
                Phase::Trailer => self.trailer(&mut bytes)?,
                Phase::UntilClose => {
                    self.body(&mut bytes, u64::MAX);
                }
                Phase::Done => return Err(format!("{} bytes after the end of the answer", bytes.len())),
            }
        }
        Ok(if self.phase == Phase::Done { AnswerProgress::Done(self.answer) } else { AnswerProgress::More })
    }

    /// The connection was closed: completes only an answer that ends that way.
    pub fn closed(&self) -> Option<Http1Answer> {
        (self.phase == Phase::UntilClose).then_some(self.answer)
    }

    /// Takes the next bytes of the body, at most `limit`, and returns how many there were.
    fn body(&mut self, bytes: &mut &[u8], limit: u64) -> u64 {
        let taken = usize::try_from(limit).unwrap_or(usize::MAX).min(bytes.len());
        if let Some(content) = &mut self.content {
            content.append(&bytes[..taken]);
        }
        *bytes = &bytes[taken..];
        taken as u64
    }

    fn head(&mut self, bytes: &mut &[u8]) -> Result<(), Malformed> {
        // A head nearly always arrives whole; only one in pieces is copied.
        let piece: &[u8] = bytes;
        let before = self.partial.len();
        if before > 0 {
            let room = HEAD_LIMIT.saturating_sub(before).min(piece.len());
            self.partial.extend_from_slice(&piece[..room]);
        }
        let whole = if before > 0 { &self.partial[..] } else { piece };
        let mut fields = [httparse::EMPTY_HEADER; FIELDS_LIMIT];
        let mut head = httparse::Response::new(&mut fields);
        let length = match head.parse(whole) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => {
                if whole.len() >= HEAD_LIMIT {
                    return Err(format!("a head of more than {HEAD_LIMIT} bytes"));
                }
                if before == 0 {
                    self.partial.extend_from_slice(piece);
                }
                *bytes = &[];
                return Ok(());
            }
            Err(error) => return Err(format!("{error} in the head of the answer")),
        };
        if let Some((answer, phase)) = framing(&head, self.head_only)? {
            (self.answer, self.phase) = (answer, phase);
            if let Some(content) = &mut self.content {
                let field = |f: &httparse::Header<'_>| (f.name.to_owned(), f.value.to_vec());
                content.headers.extend(head.headers.iter().map(field));
            }
        }
        *bytes = &piece[length - before..];
        self.partial.clear();
        Ok(())
    }

    fn chunk_size(&mut self, bytes: &mut &[u8]) -> Result<(), Malformed> {
        let Some(line) = self.line(bytes)? else { return Ok(()) };
        let digits = line.iter().take_while(|b| b.is_ascii_hexdigit()).count();
        let rest_is_extension = matches!(line.get(digits), None | Some(b';' | b' ' | b'\t'));
        let size = std::str::from_utf8(&line[..digits]).ok().and_then(|d| u64::from_str_radix(d, 16).ok());
        match size {
            Some(size) if rest_is_extension => {
                self.phase = if size == 0 { Phase::Trailer } else { Phase::ChunkData(size) };
                Ok(())
            }
            _ => Err(format!("chunk size '{}'", String::from_utf8_lossy(&line[..line.len().min(SHOWN)]))),
        }
    }

    fn chunk_end(&mut self, bytes: &mut &[u8]) -> Result<(), Malformed> {
        match self.line(bytes)? {
            None => {}
            Some(line) if line.is_empty() => self.phase = Phase::ChunkSize,
            Some(_) => return Err("a chunk longer than its size".to_owned()),
        }
        Ok(())
    }

    fn trailer(&mut self, bytes: &mut &[u8]) -> Result<(), Malformed> {
        if self.line(bytes)?.is_some_and(|line| line.is_empty()) {
            self.phase = Phase::Done;
        }
        Ok(())
    }

    /// The next line without its end, once complete.
    fn line(&mut self, bytes: &mut &[u8]) -> Result<Option<Vec<u8>>, Malformed> {
        let end = bytes.iter().position(|b| *b == b'\n');
        let taken = end.map_or(bytes.len(), |end| end + 1);
        if self.partial.len() + taken > HEAD_LIMIT {
            return Err(format!("a line of more than {HEAD_LIMIT} bytes"));
        }
        self.partial.extend_from_slice(&bytes[..taken]);
        *bytes = &bytes[taken..];
        if end.is_none() {
            return Ok(None);
        }
        let mut line = std::mem::take(&mut self.partial);
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Ok(Some(line))
    }
}

/// What the head says, and what follows it; `None` for an interim answer.
fn framing(
    head: &httparse::Response<'_, '_>,
    head_only: bool,
) -> Result<Option<(Http1Answer, Phase)>, Malformed> {
    let status = head.code.expect("a complete head has a status");
    let mut keep_alive = head.version == Some(1);
    let (mut length, mut chunked, mut idle_s) = (None, false, 0);
    for field in head.headers.iter() {
        let is = |name: &str| field.name.eq_ignore_ascii_case(name);
        let has = |token: &str| {
            field.value.split(|b| *b == b',').any(|v| v.trim_ascii().eq_ignore_ascii_case(token.as_bytes()))
        };
        if is("content-length") {
            let value = std::str::from_utf8(field.value).unwrap_or("").trim();
            let shown = || value.chars().take(SHOWN).collect::<String>();
            let parsed: u64 = value.parse().map_err(|_| format!("Content-Length '{}'", shown()))?;
            if length.is_some_and(|other| other != parsed) {
                return Err("two different Content-Length".to_owned());
            }
            length = Some(parsed);
        } else if is("transfer-encoding") {
            chunked = has("chunked");
        } else if is("connection") {
            if has("close") {
                keep_alive = false;
            } else if has("keep-alive") {
                keep_alive = true;
            }
        } else if is("keep-alive") {
            idle_s = timeout(field.value);
        }
    }
    let mut answer = Http1Answer { status, keep_alive, idle_s };
    let phase = match (status, length) {
        (101, _) => return Err("101 Switching Protocols to a request that asked for none".to_owned()),
        (100..=199, _) => return Ok(None),
        _ if head_only || status == 204 || status == 304 => Phase::Done,
        _ if chunked => Phase::ChunkSize,
        (_, Some(0)) => Phase::Done,
        (_, Some(length)) => Phase::Length(length),
        (_, None) => {
            answer.keep_alive = false;
            Phase::UntilClose
        }
    };
    Ok(Some((answer, phase)))
}

/// The seconds of `timeout=5, max=100` (draft-thomson-hybi-http-timeout-03, section 2.1; RFC 9112 appendix
/// C.2.2 mentions the field); 0 if there are none.
fn timeout(keep_alive: &[u8]) -> u32 {
    let seconds = |part: &[u8]| {
        let (name, value) = part.trim_ascii().split_at_checked(b"timeout=".len())?;
        let value = name.eq_ignore_ascii_case(b"timeout=").then_some(value)?;
        std::str::from_utf8(value).ok()?.trim().trim_matches('"').parse().ok()
    };
    keep_alive.split(|b| *b == b',').find_map(seconds).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Parses `text` in pieces of `step` bytes; then the connection closes.
    fn read(text: &str, step: usize, head_only: bool) -> Result<(u16, bool), String> {
        let mut reader = AnswerReader::default();
        reader.begin(head_only, false);
        let mut pieces = text.as_bytes().chunks(step);
        while let Some(piece) = pieces.next() {
            if let AnswerProgress::Done(answer) = reader.feed(piece)? {
                let rest: usize = pieces.map(<[u8]>::len).sum();
                return if rest == 0 {
                    Ok((answer.status, answer.keep_alive))
                } else {
                    Err(format!("{rest} left"))
                };
            }
        }
        reader.closed().map(|a| (a.status, a.keep_alive)).ok_or_else(|| "incomplete".to_owned())
    }

    const GOOD: &[(&str, u16, bool)] = &[
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, true),
        ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", 200, true),
        ("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi", 200, false),
        ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", 200, false),
        ("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nhi", 200, true),
        ("HTTP/1.1 200 OK\r\n\r\nuntil the end", 200, false),
        ("HTTP/1.1 204 No Content\r\n\r\n", 204, true),
        ("HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n", 304, true),
        ("HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", 302, true),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
            200,
            true,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n",
            200,
            true,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\nExpires: never\r\nX: y\r\n\r\n",
            200,
            true,
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3, \r\nContent-Length: 3\r\n\r\nabc", 0, false),
    ];

    #[test]
    fn reads_every_framing_in_pieces_of_any_size() {
        for (text, status, keep) in GOOD.iter().filter(|(_, status, _)| *status > 0) {
            for step in 1..=text.len() {
                assert_eq!(read(text, step, false), Ok((*status, *keep)), "{text:?} by {step}");
            }
        }
    }

    #[test]
    fn a_server_may_say_how_long_it_waits() {
        for (value, expected) in [
            ("timeout=5", 5),
            ("timeout=5, max=100", 5),
            ("max=100 , Timeout=\"72\"", 72),
            ("max=100", 0),
            ("timeout=", 0),
            ("timeout=-1", 0),
            ("timeout=99999999999", 0),
            ("time", 0),
            ("", 0),
        ] {
            let text = format!("HTTP/1.1 200 OK\r\nKeep-Alive: {value}\r\nContent-Length: 0\r\n\r\n");
            let mut reader = AnswerReader::default();
            reader.begin(false, false);
            let answer = Http1Answer { status: 200, keep_alive: true, idle_s: expected };
            assert_eq!(reader.feed(text.as_bytes()), Ok(AnswerProgress::Done(answer)), "{value}");
        }
    }

    #[test]
    fn an_answer_to_head_has_no_body() {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n";
        assert_eq!(read(text, 7, true), Ok((200, true)));
        assert_eq!(read(text, 7, false), Err("incomplete".to_owned()));
    }

    #[test]
    fn what_is_not_an_answer_is_said() {
        for (text, why) in [
            ("SSH-2.0-OpenSSH_9.2\r\n", "head of the answer"),
            ("HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", "Content-Length 'many'"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx", "two different"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "chunk size 'zz'"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxyz\r\n", "longer than its size"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxEXTRA", "after the end"),
            ("HTTP/1.1 101 Switching Protocols\r\n\r\n", "101"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", "incomplete"),
        ] {
            let error = read(text, text.len(), false).expect_err(text);
            assert!(error.contains(why), "{text:?}: {error}");
        }
        let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "y".repeat(HEAD_LIMIT));
        assert!(read(&endless, 1000, false).expect_err("too long").contains("more than"));
    }

    proptest! {
        #[test]
        fn garbage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..400), step in 1usize..50) {
            let mut reader = AnswerReader::default();
            for piece in bytes.chunks(step) {
                if reader.feed(piece).is_err() { break; }
            }
        }

        #[test]
        fn broken_answers_never_panic(which in 0..GOOD.len(), at in 0usize..200, byte in any::<u8>(), step in 1usize..50) {
            let mut bytes = GOOD[which].0.as_bytes().to_vec();
            let at = at % bytes.len();
            bytes[at] = byte;
            let mut reader = AnswerReader::default();
            for piece in bytes.chunks(step) {
                if !matches!(reader.feed(piece), Ok(AnswerProgress::More)) { break; }
            }
        }
    }
}
