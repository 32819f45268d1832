//! A byte stream over what the kernel offers: a socket, or a child's two pipes.

use crate::connection::ByteStream;
use rustix::fs::{FileType, fstat};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::unix::pipe;

/// Two descriptors, or one for both directions.
#[derive(Debug)]
pub struct Duplex {
    from: OwnedFd,
    to: Option<OwnedFd>,
}

impl Duplex {
    /// Reads from one and writes to the other: pipes, such as standard input and output of a program run by ssh.
    pub fn pipes(from: OwnedFd, to: OwnedFd) -> Self {
        Self { from, to: Some(to) }
    }

    /// Must be called within a runtime.
    pub(crate) fn open(self) -> io::Result<Box<dyn ByteStream>> {
        Ok(match self.to {
            None => Box::new(socket(self.from)?),
            Some(to) => Box::new(tokio::io::join(reader(self.from)?, writer(to)?)),
        })
    }
}

fn socket(descriptor: OwnedFd) -> io::Result<tokio::net::UnixStream> {
    let socket = UnixStream::from(descriptor);
    socket.set_nonblocking(true)?;
    tokio::net::UnixStream::from_std(socket)
}

fn reader(descriptor: OwnedFd) -> io::Result<Box<dyn AsyncRead + Send + Unpin>> {
    Ok(match kind(&descriptor)? {
        FileType::Fifo => Box::new(pipe::Receiver::from_owned_fd(descriptor)?),
        _ => Box::new(socket(descriptor)?),
    })
}

fn writer(descriptor: OwnedFd) -> io::Result<Box<dyn AsyncWrite + Send + Unpin>> {
    Ok(match kind(&descriptor)? {
        FileType::Fifo => Box::new(pipe::Sender::from_owned_fd(descriptor)?),
        _ => Box::new(socket(descriptor)?),
    })
}

/// Pollable kinds: programs get their standard input and output as either.
fn kind(descriptor: &OwnedFd) -> io::Result<FileType> {
    match FileType::from_raw_mode(fstat(descriptor)?.st_mode) {
        kind @ (FileType::Fifo | FileType::Socket) => Ok(kind),
        kind => Err(io::Error::other(format!("it is {}, neither a pipe nor a socket", named(kind)))),
    }
}

fn named(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "a file",
        FileType::Directory => "a folder",
        FileType::CharacterDevice => "a terminal or another device",
        _ => "something else",
    }
}

/// A socket.
impl From<OwnedFd> for Duplex {
    fn from(socket: OwnedFd) -> Self {
        Self { from: socket, to: None }
    }
}

impl From<UnixStream> for Duplex {
    fn from(socket: UnixStream) -> Self {
        OwnedFd::from(socket).into()
    }
}
