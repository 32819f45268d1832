//! Bytes between processes through the kernel: both ends are made in one process before it forks.

use super::Transport;
use rustix::net::sockopt::{
    set_socket_send_buffer_size, set_socket_send_buffer_size_force, socket_recv_buffer_size,
    socket_send_buffer_size,
};
use rustix::pipe::{PipeFlags, fcntl_getpipe_size, fcntl_setpipe_size, pipe_with};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::atomic::{AtomicU32, Ordering};
use units::Bytes;

/// One end that passes whole messages.
pub trait MessageEnd {
    fn send(&mut self, message: &[u8]) -> io::Result<()>;
    /// Fills all of `message`.
    fn receive(&mut self, message: &mut [u8]) -> io::Result<()>;
}

/// One end of a stream in each direction.
#[derive(Debug)]
pub struct StreamEnd {
    read: OwnedFd,
    write: OwnedFd,
}

impl Read for StreamEnd {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(&self.read, bytes)?)
    }
}

impl Write for StreamEnd {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(&self.write, bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MessageEnd for StreamEnd {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.write_all(message)
    }

    fn receive(&mut self, message: &mut [u8]) -> io::Result<()> {
        self.read_exact(message)
    }
}

/// Both ends of a stream, with default or given buffers.
///
/// Fails if the kernel does not grant that buffer.
pub fn pair(transport: Transport, buffer: Option<Bytes>) -> io::Result<(StreamEnd, StreamEnd)> {
    let (first, second) = match transport {
        Transport::Pipe => return pipes(buffer),
        Transport::Tcp => tcp()?,
        Transport::Unix => unix()?,
        _ => {
            let (first, second) = UnixStream::pair()?;
            (first.into(), second.into())
        }
    };
    if let Some(buffer) = buffer {
        set_send_buffer(&first, buffer)?;
        set_send_buffer(&second, buffer)?;
    }
    let stream = |socket: OwnedFd| Ok::<_, io::Error>(StreamEnd { write: socket.try_clone()?, read: socket });
    Ok((stream(first)?, stream(second)?))
}

fn pipes(buffer: Option<Bytes>) -> io::Result<(StreamEnd, StreamEnd)> {
    let ((to_first, from_second), (to_second, from_first)) =
        (pipe_with(PipeFlags::CLOEXEC)?, pipe_with(PipeFlags::CLOEXEC)?);
    for end in [&from_first, &from_second] {
        let Some(size) = buffer else { break };
        fcntl_setpipe_size(end, size.0 as usize).map_err(|why| {
            io::Error::other(format!("a pipe of {size} is not granted ({why}): raise fs.pipe-max-size"))
        })?;
    }
    Ok((StreamEnd { read: to_first, write: from_first }, StreamEnd { read: to_second, write: from_second }))
}

fn tcp() -> io::Result<(OwnedFd, OwnedFd)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let first = TcpStream::connect(listener.local_addr()?)?;
    let (second, from) = listener.accept()?;
    if from != first.local_addr()? {
        return Err(io::Error::other(format!("{from} has connected in between")));
    }
    // Otherwise a small message waits for the acknowledgement of the previous one.
    first.set_nodelay(true)?;
    second.set_nodelay(true)?;
    Ok((first.into(), second.into()))
}

/// By an abstract name, which goes with the listener.
fn unix() -> io::Result<(OwnedFd, OwnedFd)> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("torment-probe-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let address = SocketAddr::from_abstract_name(name)?;
    let listener = UnixListener::bind_addr(&address)?;
    let first = UnixStream::connect_addr(&address)?;
    let (second, _) = listener.accept()?;
    Ok((first.into(), second.into()))
}

/// Sets the send buffer; the kernel also counts its own bookkeeping, and so doubles the requested size (socket(7)).
fn set_send_buffer(socket: &OwnedFd, wanted: Bytes) -> io::Result<()> {
    let size = wanted.0 as usize;
    if set_socket_send_buffer_size_force(socket, size).is_err() {
        set_socket_send_buffer_size(socket, size)?;
    }
    let granted = Bytes(socket_send_buffer_size(socket)? as u64 / 2);
    if granted < wanted {
        return Err(io::Error::other(format!(
            "a buffer of {wanted} is not granted, but {granted}: raise net.core.wmem_max"
        )));
    }
    Ok(())
}

/// Describes the default buffers of this kernel.
pub fn describe_buffers() -> io::Result<String> {
    let (pipe, _) = pair(Transport::Pipe, None)?;
    let pipe = Bytes(fcntl_getpipe_size(&pipe.write)? as u64);
    let sockets = |medium| {
        let (socket, _) = pair(medium, None)?;
        let (send, receive) =
            (socket_send_buffer_size(&socket.write)?, socket_recv_buffer_size(&socket.write)?);
        Ok::<_, io::Error>((Bytes(send as u64), Bytes(receive as u64)))
    };
    let (unix, _) = sockets(Transport::Unix)?;
    let (send, receive) = sockets(Transport::Tcp)?;
    Ok(format!(
        "Buffers at birth: pipe {pipe}, Unix socket {unix}, TCP {send} to send and {receive} to receive, which grow as needed \
         (both sockets with the kernel's bookkeeping in them)."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_the_buffers_hold_comes_through_whole() {
        for medium in [Transport::Pipe, Transport::Socketpair, Transport::Unix, Transport::Tcp] {
            let (mut first, mut second) = pair(medium, None).expect("each can be had here");
            let sent: Vec<u8> = (0..5_000_000_u32).map(|at| (at % 251) as u8).collect();
            std::thread::scope(|scope| {
                scope.spawn(|| first.send(&sent).expect("it is taken"));
                let mut got = vec![0; sent.len()];
                second.receive(&mut got).expect("all of it comes");
                assert!(got == sent, "{medium:?}");
            });
            drop(first);
            assert!(second.receive(&mut [0]).is_err(), "{medium:?} has no end");
        }
    }

    #[test]
    fn buffers_are_as_asked_or_refused() {
        let (first, _) =
            pair(Transport::Pipe, Some(Bytes(256 << 10))).expect("below the default limit of 1 MiB");
        assert_eq!(fcntl_getpipe_size(&first.write).expect("a pipe"), 256 << 10);
        for medium in [Transport::Pipe, Transport::Unix] {
            match pair(medium, Some(Bytes(1 << 20))) {
                Ok(_) => {}
                Err(why) => assert!(why.to_string().contains("not granted"), "{why}"),
            }
        }
        assert!(
            describe_buffers().expect("each can be had here").contains("pipe 64 KiB")
                || rustix::param::page_size() != 4096
        );
    }
}
