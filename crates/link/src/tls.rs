//! TLS over the network, with both sides authenticated.

use crate::Error;
use crate::connection::{ByteStream, root_cause};
use crate::credentials::{self, Credentials, JoinFile};
use crate::runtime_thread::CLOSE_LIMIT;
use rustls::pki_types::CertificateDer;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// Read buffer: usually takes everything from the kernel at once. A second's report is some 5 KiB, and TLS reads 4 at a
/// time.
const READ_BUFFER: usize = 8 << 10;
/// Timeout of connecting and of the handshake.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);

pub(crate) struct TlsListener {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

/// The certificate a peer showed.
pub(crate) type ClientCertificate = Option<CertificateDer<'static>>;

impl TlsListener {
    /// Must be called within a runtime.
    pub fn open(listener: std::net::TcpListener, credentials: &Credentials) -> Result<Self, Error> {
        let acceptor = TlsAcceptor::from(credentials.server_config()?);
        listener.set_nonblocking(true).map_err(Error::Start)?;
        Ok(Self { listener: TcpListener::from_std(listener).map_err(Error::Start)?, acceptor })
    }

    /// The next connection.
    pub async fn next(&self) -> IncomingConnection {
        loop {
            // It is gone already, or no descriptor is left: others may come.
            match self.listener.accept().await {
                Ok((socket, from)) => {
                    return IncomingConnection { socket, from, acceptor: self.acceptor.clone() };
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }
}

/// Not authenticated yet.
pub(crate) struct IncomingConnection {
    socket: tokio::net::TcpStream,
    pub from: SocketAddr,
    acceptor: TlsAcceptor,
}

impl IncomingConnection {
    /// TLS handshake: the certificate must be of the same authority.
    pub async fn authenticate(self) -> Result<(impl ByteStream, ClientCertificate), String> {
        self.socket.set_nodelay(true).map_err(|why| root_cause(&why))?;
        let socket = BufReader::with_capacity(READ_BUFFER, self.socket);
        let stream = match timeout(HANDSHAKE_LIMIT, self.acceptor.accept(socket).into_fallible()).await {
            Ok(Ok(stream)) => stream,
            Ok(Err((why, socket))) => {
                drain(socket).await;
                return Err(root_cause(&why));
            }
            Err(_) => return Err(format!("it showed no pass within {} s", HANDSHAKE_LIMIT.as_secs())),
        };
        let peer_certificate = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
        let peer_certificate = peer_certificate.map(|certificate| certificate.clone().into_owned());
        Ok((stream, peer_certificate))
    }
}

/// A socket closed with unread data discards what was sent last: the reason for a rejection.
async fn drain(mut socket: impl ByteStream) {
    let read = async {
        let _ = socket.shutdown().await;
        let mut unread = [0; 4096];
        while socket.read(&mut unread).await.is_ok_and(|length| length > 0) {}
    };
    let _ = timeout(CLOSE_LIMIT, read).await;
}

/// Connects to the address in the file.
pub(crate) fn dial(file: &JoinFile) -> Result<TcpStream, Error> {
    let JoinFile { address: at, .. } = file;
    let gone = |why: &dyn std::fmt::Display| Error::Gone(format!("{at} cannot be reached: {why}"));
    let (host, port) = at.rsplit_once(':').ok_or_else(|| gone(&"it has no port"))?;
    let port = port.parse().map_err(|_| gone(&"it has no port"))?;
    let address = sys::resolve_host(host, port, HANDSHAKE_LIMIT).map_err(|why| gone(&why))?;
    let socket = TcpStream::connect_timeout(&address, HANDSHAKE_LIMIT).map_err(|why| gone(&why))?;
    socket.set_nonblocking(true).and_then(|()| socket.set_nodelay(true)).map_err(Error::Start)?;
    Ok(socket)
}

/// Client side of the TLS handshake.
pub(crate) async fn authenticate_to(
    socket: TcpStream,
    connector: TlsConnector,
) -> Result<impl ByteStream, String> {
    let socket = tokio::net::TcpStream::from_std(socket).map_err(|why| root_cause(&why))?;
    match timeout(HANDSHAKE_LIMIT, connector.connect(credentials::coordinator_name(), socket)).await {
        Ok(shown) => shown.map_err(|why| root_cause(&why)),
        Err(_) => Err(format!("it did not look at the pass within {} s", HANDSHAKE_LIMIT.as_secs())),
    }
}
