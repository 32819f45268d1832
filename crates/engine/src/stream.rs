//! One connection's bytes: TCP or Unix socket, with or without TLS, or none at all. Never blocks.

use crate::resolved_target::{ResolvedTarget, SocketAddress, Tls};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustls::ClientConnection;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Connections made from one loopback source address before the next one is used: well below the 28,000
/// ephemeral ports that one pair of addresses has by default.
const CONNECTIONS_PER_SOURCE: u64 = 10_000;

pub(crate) enum Stream {
    Null { answered: bool },
    Plain(Socket),
    Tls(Box<TlsStream>),
}

/// A non-blocking socket.
pub(crate) struct Socket {
    fd: OwnedFd,
    /// Whether the kernel timestamps what it receives.
    timestamped: bool,
}

/// The buffer for reads: a loop has one for all its connections.
pub(crate) struct ReadBuffer {
    pub buffer: Box<[u8]>,
    /// When the kernel received the last byte of the last read, on the monotonic clock.
    pub received_ns: u64,
    /// Bytes read so far.
    pub count: u64,
}

/// The most that one read takes.
const READ_SIZE: usize = 64 * 1024;

impl ReadBuffer {
    pub fn new() -> Self {
        Self { buffer: vec![0; READ_SIZE].into_boxed_slice(), received_ns: 0, count: 0 }
    }
}

pub(crate) struct TlsStream {
    socket: Socket,
    session: ClientConnection,
    /// Whether the last read left nothing in the socket, its end included.
    drained: bool,
    /// The error that follows the plain text still to be taken.
    deferred_error: Option<io::Error>,
}

/// The answer of a null target.
const NULL_ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

impl Stream {
    /// Begins the `serial`-th connection; it is usable once [`Stream::continue_connecting`] says so.
    pub fn connect(endpoint: &ResolvedTarget, serial: u64) -> io::Result<Self> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let fd = match &endpoint.socket_address {
            SocketAddress::Null => return Ok(Self::Null { answered: true }),
            SocketAddress::Tcp(address) => {
                let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
                let socket = net::socket_with(family, SocketType::STREAM, flags, None)?;
                net::sockopt::set_tcp_nodelay(&socket, true)?;
                if let Some(source) = source(address, serial) {
                    sys::bind_address_no_port(&socket)?;
                    net::bind(&socket, &SocketAddr::new(source.into(), 0))?;
                }
                unless_in_progress(net::connect(&socket, address))?;
                socket
            }
            SocketAddress::Unix(path) => {
                let socket = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
                unless_in_progress(net::connect(&socket, &net::SocketAddrUnix::new(path.as_path())?))?;
                socket
            }
        };
        // Without timestamps, receive time is when the socket is read.
        let timestamped = matches!(endpoint.socket_address, SocketAddress::Tcp(_))
            && sys::enable_receive_timestamps(&fd).is_ok();
        let socket = Socket { fd, timestamped };
        match &endpoint.tls {
            Some(tls) if endpoint.begins_with_tls() => Self::secured(socket, tls),
            _ => Ok(Self::Plain(socket)),
        }
    }

    fn secured(socket: Socket, tls: &Tls) -> io::Result<Self> {
        let session =
            ClientConnection::new(tls.config.clone(), tls.name.clone()).map_err(io::Error::other)?;
        Ok(Self::Tls(Box::new(TlsStream { socket, session, drained: false, deferred_error: None })))
    }

    /// Encrypts everything from here on; [`Stream::continue_connecting`] continues the handshake.
    pub fn secure(&mut self, tls: &Tls) -> io::Result<()> {
        match std::mem::replace(self, Self::Null { answered: true }) {
            Self::Plain(socket) => *self = Self::secured(socket, tls)?,
            other => *self = other,
        }
        Ok(())
    }

    /// Whether the server has chosen HTTP/2 (ALPN, RFC 7301).
    pub fn has_chosen_http2(&self) -> bool {
        matches!(self, Self::Tls(tls) if tls.session.alpn_protocol() == Some(b"h2"))
    }

    pub fn socket(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Null { .. } => None,
            Self::Plain(socket) => Some(socket.fd.as_fd()),
            Self::Tls(tls) => Some(tls.socket.fd.as_fd()),
        }
    }

    /// Has closing send the peer a reset instead of an end (RFC 9293 §3.10.5).
    pub fn reset_at_close(&self) {
        if let Some(socket) = self.socket() {
            // A socket without this option is closed as usual.
            let _ = net::sockopt::set_socket_linger(socket, Some(Duration::ZERO));
        }
    }

    /// Registers for edge-triggered events under `token`.
    pub fn register(&self, epoll: &OwnedFd, token: u64) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        match self.socket() {
            Some(socket) => Ok(epoll::add(epoll, socket, EventData::new_u64(token), flags)?),
            None => Ok(()),
        }
    }

    /// Whether the next answer is there without an event.
    pub fn answers_at_once(&self) -> bool {
        matches!(self, Self::Null { .. })
    }

    /// Continues connecting; true once requests may be written. An error is final.
    pub fn continue_connecting(&mut self) -> io::Result<bool> {
        if let Some(socket) = self.socket()
            && let Err(errno) = net::sockopt::socket_error(socket)?
        {
            return Err(errno.into());
        }
        match self {
            Self::Null { .. } => Ok(true),
            // A refused or reset connection shows in SO_ERROR; one still in progress has no peer.
            Self::Plain(socket) => match net::getpeername(&socket.fd) {
                Ok(_) => Ok(true),
                Err(rustix::io::Errno::NOTCONN) => Ok(false),
                Err(errno) => Err(errno.into()),
            },
            Self::Tls(tls) => match tls.pump(&mut 0) {
                Ok(_) => Ok(!tls.session.is_handshaking()),
                Err(e) if e.kind() == io::ErrorKind::NotConnected => Ok(false),
                Err(e) => Err(e),
            },
        }
    }

    /// Writes what fits now; the count is less than `bytes` only if the kernel's buffer is full, so an event
    /// follows when there is room (epoll(7), edge-triggered mode).
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Null { answered } => {
                *answered = false;
                Ok(bytes.len())
            }
            Self::Plain(socket) => unless_blocked(net::send(&socket.fd, bytes, SendFlags::NOSIGNAL)),
            Self::Tls(tls) => tls.write(bytes),
        }
    }

    /// Sends what an earlier [`Stream::write`] left buffered; true when nothing is left, otherwise the kernel's
    /// buffer is full.
    pub fn flush(&mut self) -> io::Result<bool> {
        match self {
            Self::Tls(tls) => tls.pump_out(),
            _ => Ok(true),
        }
    }

    /// Whether an earlier [`Stream::write`] left something buffered.
    pub fn holds_back(&self) -> bool {
        matches!(self, Self::Tls(tls) if tls.session.wants_write())
    }

    /// Reads what is there. `None`: nothing now, wait for the next event. `Some(0)`: the peer has closed.
    pub fn read(&mut self, inbox: &mut ReadBuffer) -> io::Result<Option<usize>> {
        let read = match self {
            Self::Null { answered: true } => return Ok(None),
            Self::Null { answered } => {
                *answered = true;
                inbox.buffer[..NULL_ANSWER.len()].copy_from_slice(NULL_ANSWER);
                inbox.received_ns = sys::monotonic_ns();
                Ok(NULL_ANSWER.len())
            }
            Self::Plain(socket) => socket.receive(&mut inbox.buffer, &mut inbox.received_ns),
            Self::Tls(tls) => tls.read(inbox),
        };
        match read {
            Ok(count) => {
                inbox.count += count as u64;
                Ok(Some(count))
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Whether the last read, of `count` bytes, has emptied the socket, so that no second one is needed before
    /// the next event: it did not fill the buffer (epoll(7), edge-triggered mode). The connection's end may
    /// follow those bytes: if it was announced, read up to it.
    pub fn is_emptied(&self, count: usize, inbox: &ReadBuffer) -> bool {
        let has_more = match self {
            Self::Null { answered } => !answered,
            Self::Plain(_) => false,
            Self::Tls(tls) => !tls.drained,
        };
        !has_more && count < inbox.buffer.len()
    }
}

impl TlsStream {
    /// The session accepts 64 KiB at a time, whatever room the socket has: it is refilled until it cannot be
    /// emptied.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut taken = 0;
        while taken < bytes.len() {
            match self.session.writer().write(&bytes[taken..])? {
                // Its keys are used up (RFC 8446 section 5.5), and it has told the peer.
                0 if !self.session.wants_write() => return Err(io::ErrorKind::WriteZero.into()),
                count => taken += count,
            }
            if !self.pump_out()? {
                break;
            }
        }
        Ok(taken)
    }

    /// True when nothing is left buffered; otherwise the socket is full.
    fn pump_out(&mut self) -> io::Result<bool> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut RecordSocket(&self.socket, &mut 0)) {
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(e) => return Err(e),
            }
        }
        Ok(true)
    }

    /// Moves records both ways until the socket has no more; false when the peer has closed.
    fn pump(&mut self, received_ns: &mut u64) -> io::Result<bool> {
        self.drained = false;
        loop {
            // A peer that accepts nothing more may have said why.
            let written = self.pump_out();
            match self.session.read_tls(&mut RecordSocket(&self.socket, received_ns)) {
                Ok(0) if self.session.is_handshaking() => {
                    return Err(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        "closed during the TLS handshake",
                    ));
                }
                Ok(0) => return Ok(false),
                Ok(_) => {
                    if let Err(why) = self.session.process_new_packets() {
                        // The alert that tells the peer why is best effort; the error is the result.
                        let _ = self.pump_out();
                        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    written?;
                    self.drained = true;
                    return Ok(true);
                }
                // Plain text must be taken before more records fit.
                Err(e) if e.kind() == io::ErrorKind::Other => return Ok(true),
                Err(e) => return Err(e),
            }
        }
    }

    fn read(&mut self, inbox: &mut ReadBuffer) -> io::Result<usize> {
        let pumped = match self.deferred_error.take() {
            Some(why) => Err(why),
            None => self.pump(&mut inbox.received_ns),
        };
        match self.session.reader().read(&mut inbox.buffer) {
            // Whatever came before the end, of whatever kind, is returned first.
            Ok(count) if count > 0 => {
                self.deferred_error = pumped.err();
                Ok(count)
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => match pumped? {
                true => Err(e),
                false => Ok(0),
            },
            // Closed without a TLS close_notify: very common; framing decides whether the answer is complete.
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
            other => other,
        }
    }
}

impl Socket {
    /// Reads, and notes when the kernel received the data.
    fn receive(&self, buffer: &mut [u8], received_ns: &mut u64) -> io::Result<usize> {
        let (count, age) = if self.timestamped {
            sys::recv_with_age(&self.fd, buffer)?
        } else {
            (net::recv(&self.fd, buffer, RecvFlags::empty())?.0, None)
        };
        *received_ns = sys::monotonic_ns() - age.map_or(0, |age| age.as_nanos() as u64);
        Ok(count)
    }
}

/// The socket as rustls reads and writes it.
struct RecordSocket<'a>(&'a Socket, &'a mut u64);

impl Read for RecordSocket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.receive(buffer, self.1)
    }
}

impl Write for RecordSocket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(net::send(&self.0.fd, bytes, SendFlags::NOSIGNAL)?)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn unless_blocked(result: rustix::io::Result<usize>) -> io::Result<usize> {
    match result {
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(0),
        other => Ok(other?),
    }
}

/// A connection in progress counts as begun, like one made at once.
fn unless_in_progress(result: rustix::io::Result<()>) -> io::Result<()> {
    match result {
        Err(rustix::io::Errno::INPROGRESS) => Ok(()),
        other => Ok(other?),
    }
}

/// Loopback has sixteen million source addresses, each with its own ports; elsewhere the source is our own
/// address.
fn source(target: &SocketAddr, serial: u64) -> Option<Ipv4Addr> {
    let SocketAddr::V4(v4) = target else { return None };
    let source_index = (serial / CONNECTIONS_PER_SOURCE) % 254;
    (v4.ip().is_loopback() && source_index > 0).then(|| Ipv4Addr::new(127, 0, 0, 1 + source_index as u8))
}
