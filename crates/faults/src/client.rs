//! One request, for its effect; and requests with unread answers.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The first request may fill a table.
const PATIENCE: Duration = Duration::from_secs(60);

/// Requests a page; an error unless the answer is a success.
pub(crate) fn get(to: SocketAddr, page: &str) -> Result<(), String> {
    let request = || -> std::io::Result<String> {
        let mut stream = send(to, page)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    };
    let answer = request().map_err(|e| format!("{page}: {e}"))?;
    if answer.split_whitespace().nth(1).is_some_and(|status| status.starts_with(['2', '3'])) {
        return Ok(());
    }
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body).trim();
    Err(format!("{page} is answered {}: {body}", answer.lines().next().unwrap_or("nothing")))
}

/// Sends a request, and leaves its answer unread.
pub(crate) fn send(to: SocketAddr, page: &str) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&to, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(format!("GET {page} HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n\r\n").as_bytes())?;
    Ok(stream)
}
