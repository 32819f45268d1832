//! A call to another service, as a worker makes it: over a connection that it keeps, waiting in a
//! read until the answer is there.

use std::cell::RefCell;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// As long as clients commonly wait.
const PATIENCE: Duration = Duration::from_secs(30);
/// An answer longer than this is none of ours.
const ANSWER_LIMIT: usize = 1 << 20;

thread_local! {
    /// The connection this thread has kept, and whose it is.
    static KEPT: RefCell<Option<(SocketAddr, TcpStream)>> = const { RefCell::new(None) };
}

/// Asks for `path`; gives the status. A kept connection that was closed meanwhile is made anew once.
pub(super) fn call(to: SocketAddr, path: &str) -> io::Result<u16> {
    let kept = KEPT.take().filter(|(whose, _)| *whose == to);
    let (mut stream, fresh) = match kept {
        Some((_, stream)) => (stream, false),
        None => (connect(to)?, true),
    };
    let (status, again) = match exchange(&mut stream, to, path) {
        Err(e) if !fresh && !matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            stream = connect(to)?;
            exchange(&mut stream, to, path)?
        }
        other => other?,
    };
    if again {
        KEPT.set(Some((to, stream)));
    }
    Ok(status)
}

fn connect(to: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&to, PATIENCE)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// The status, and whether the connection can be used again.
fn exchange(stream: &mut TcpStream, to: SocketAddr, path: &str) -> io::Result<(u16, bool)> {
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {to}\r\n\r\n").as_bytes())?;
    let mut answer = Vec::new();
    let mut chunk = [0; 4_096];
    loop {
        if let Some(done) = read(&answer)? {
            return Ok(done);
        }
        match stream.read(&mut chunk)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            n => answer.extend_from_slice(&chunk[..n]),
        }
        if answer.len() > ANSWER_LIMIT {
            return Err(io::Error::other("the answer is too long"));
        }
    }
}

/// `None` while there is more to come.
fn read(answer: &[u8]) -> io::Result<Option<(u16, bool)>> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut head = httparse::Response::new(&mut headers);
    let parsed = head.parse(answer).map_err(io::Error::other)?;
    let httparse::Status::Complete(length) = parsed else { return Ok(None) };
    let status = head.code.ok_or(ErrorKind::InvalidData)?;
    let body = head
        .headers
        .iter()
        .find(|header| header.name.eq_ignore_ascii_case("content-length"))
        .and_then(|header| std::str::from_utf8(header.value).ok()?.trim().parse::<usize>().ok());
    // Without a length it ends with the connection, and we have heard what we wanted.
    let Some(body) = body else { return Ok(Some((status, false))) };
    Ok((answer.len() - length >= body).then_some((status, true)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_to_its_end() {
        let whole = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone";
        for end in 0..whole.len() {
            assert_eq!(read(&whole[..end]).expect("a beginning"), None, "{end} bytes");
        }
        assert_eq!(read(whole).expect("an answer"), Some((200, true)));
        assert_eq!(read(b"HTTP/1.1 204 No\r\n\r\n").expect("an answer"), Some((204, false)));
        assert!(read(b"SSH-2.0\r\n").is_err());
    }
}
