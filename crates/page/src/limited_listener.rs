//! A listener that limits the number of concurrent connections.

use axum::serve::Listener;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A browser opens up to six. Descriptors are shared with the run that goes on in this process, which needs them
/// more.
const MAX_CONNECTIONS: usize = 96;

/// Accepts a further connection when an existing one has ended; until then it waits in the kernel.
#[derive(Debug)]
pub(crate) struct LimitedListener {
    listener: TcpListener,
    semaphore: Arc<Semaphore>,
}

impl LimitedListener {
    pub fn new(listener: TcpListener) -> Self {
        Self { listener, semaphore: Arc::new(Semaphore::new(MAX_CONNECTIONS)) }
    }
}

impl Listener for LimitedListener {
    type Io = CountedStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (CountedStream, SocketAddr) {
        let permit = Arc::clone(&self.semaphore).acquire_owned().await.expect("it is never closed");
        // Uses axum's own accept, which waits when no descriptors are left.
        let (stream, from) = Listener::accept(&mut self.listener).await;
        (CountedStream { stream, _permit: permit }, from)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection, which holds its permit until it ends.
#[derive(Debug)]
pub(crate) struct CountedStream {
    stream: TcpStream,
    _permit: OwnedSemaphorePermit,
}

impl CountedStream {
    fn stream(self: Pin<&mut Self>) -> Pin<&mut TcpStream> {
        Pin::new(&mut self.get_mut().stream)
    }
}

impl AsyncRead for CountedStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream().poll_read(cx, buffer)
    }
}

impl AsyncWrite for CountedStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.stream().poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream().poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_shutdown(cx)
    }
}
