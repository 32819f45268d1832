//! How two processes of torment communicate: over one socket, a line of JSON per message.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// One end of the socket.
#[derive(Debug)]
pub struct JsonSocket {
    socket: UnixStream,
    input: Vec<u8>,
}

/// The result of waiting a given time for a message.
#[derive(Debug, PartialEq, Eq)]
pub enum Incoming<T> {
    /// A message.
    Message(T),
    /// No message yet.
    Nothing,
    /// The other process has ended, or has closed its end.
    Closed,
}

impl JsonSocket {
    /// Our end, and the standard input of the process that gets the other.
    ///
    /// # Errors
    /// If no descriptor is left.
    pub fn pair() -> io::Result<(Self, Stdio)> {
        let (socket, theirs) = UnixStream::pair()?;
        Ok((Self { socket, input: Vec::new() }, OwnedFd::from(theirs).into()))
    }

    /// The end that is this process's standard input.
    ///
    /// # Errors
    /// If no descriptor is left.
    pub fn from_stdin() -> io::Result<Self> {
        let socket = UnixStream::from(rustix::stdio::stdin().try_clone_to_owned()?);
        Ok(Self { socket, input: Vec::new() })
    }

    /// Sends a message.
    ///
    /// # Errors
    /// If the other end is closed; of kind `InvalidData` if it cannot be serialised as JSON.
    pub fn send(&self, message: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        (&self.socket).write_all(&line)
    }

    /// Signals to the other process that no more follows.
    pub fn close(&self) {
        // Fails only if the other end is gone.
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    /// Answers with a value, or with the error's text.
    ///
    /// # Errors
    /// As [`JsonSocket::send`].
    pub fn send_result<T: Serialize>(&self, answer: &io::Result<T>) -> io::Result<()> {
        self.send(&answer.as_ref().map_err(ToString::to_string))
    }

    /// The first unread message that has arrived or arrives within this time. A signal ends the wait early.
    ///
    /// # Errors
    /// If it cannot be parsed or read.
    pub fn receive<T: DeserializeOwned>(&mut self, within: Duration) -> io::Result<Incoming<T>> {
        let until = Instant::now() + within;
        loop {
            if let Some(message) = self.parse_line()? {
                return Ok(Incoming::Message(message));
            }
            let wait = until.saturating_duration_since(Instant::now());
            let wait = Timespec::try_from(wait).unwrap_or_default();
            match poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&wait)) {
                Ok(0) | Err(Errno::INTR) => return Ok(Incoming::Nothing),
                Ok(_) => {}
                Err(why) => return Err(why.into()),
            }
            if !self.fill_input()? {
                return Ok(Incoming::Closed);
            }
        }
    }

    /// The next message, however long it takes; none if there are no more.
    ///
    /// # Errors
    /// As [`JsonSocket::receive`]; also if this process was started by hand, and its standard input is not a socket.
    pub fn receive_next<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        loop {
            if let Some(message) = self.parse_line()? {
                return Ok(Some(message));
            }
            if !self.fill_input()? {
                return Ok(None);
            }
        }
    }

    fn parse_line<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let Some(end) = self.input.iter().position(|byte| *byte == b'\n') else { return Ok(None) };
        let line: Vec<u8> = self.input.drain(..=end).collect();
        let message = serde_json::from_slice(&line);
        message.map(Some).map_err(|why| {
            io::Error::new(ErrorKind::InvalidData, format!("it says something that is not understood: {why}"))
        })
    }

    /// Waits for more input; returns false at its end.
    fn fill_input(&mut self) -> io::Result<bool> {
        let mut buffer = [0; 16 << 10];
        match self.socket.read(&mut buffer) {
            Ok(length) => {
                self.input.extend_from_slice(&buffer[..length]);
                Ok(length > 0)
            }
            Err(why) if why.kind() == ErrorKind::ConnectionReset => Ok(false),
            Err(why) if why.kind() == ErrorKind::Interrupted => Ok(true),
            Err(why) => Err(why),
        }
    }
}

/// For polling it together with other descriptors.
impl AsFd for JsonSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(20);

    fn both() -> (JsonSocket, JsonSocket) {
        let (ours, theirs) = UnixStream::pair().expect("a descriptor is free");
        let [ours, theirs] = [ours, theirs].map(|socket| JsonSocket { socket, input: Vec::new() });
        (ours, theirs)
    }

    #[test]
    fn lines_are_heard_one_by_one_until_there_are_no_more() {
        let (mut ours, theirs) = both();
        let mut receive = |within| ours.receive::<String>(within).expect("it is understood");
        assert_eq!(receive(SOON), Incoming::Nothing);
        ["one", "two\nlines"].iter().for_each(|word| theirs.send(word).expect("somebody hears"));
        (&theirs.socket).write_all(b"\"half").expect("somebody hears");
        assert_eq!(receive(Duration::ZERO), Incoming::Message("one".to_owned()));
        assert_eq!(receive(SOON), Incoming::Message("two\nlines".to_owned()));
        assert_eq!(receive(SOON), Incoming::Nothing);
        (&theirs.socket).write_all(b" a line\"\n").expect("somebody hears");
        assert_eq!(receive(SOON), Incoming::Message("half a line".to_owned()));
        theirs.close();
        assert_eq!(receive(SOON), Incoming::Closed);
        assert_eq!(ours.receive_next::<String>().expect("it has ended well"), None);
        assert!(ours.send(&1).is_err(), "nobody hears it");
    }

    #[test]
    fn an_answer_is_a_value_or_why_there_is_none() {
        let (mut ours, theirs) = both();
        theirs.send_result(&Ok(7)).expect("somebody hears");
        theirs.send_result::<u8>(&Err(io::Error::other("no room"))).expect("somebody hears");
        let mut answer = || ours.receive_next::<Result<u8, String>>().expect("it is understood");
        assert_eq!([answer(), answer()], [Some(Ok(7)), Some(Err("no room".to_owned()))]);
        theirs.send(&"another language").expect("somebody hears");
        let why = ours.receive::<u8>(SOON).expect_err("a word is no number");
        assert_eq!(why.kind(), ErrorKind::InvalidData);
    }
}
