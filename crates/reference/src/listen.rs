//! Where the service listens, and who is already there when it cannot.

use std::fmt;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use rustix::fs::FileType;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, ipproto, sockopt};

use crate::{Error, port_holder};

/// The kernel caps this at `net.core.somaxconn` (4,096 by default).
pub(crate) const BACKLOG: u32 = 65_535;

/// An address to listen on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenAddress {
    /// Port 0 takes any free port; [`BuiltinService::address`](crate::BuiltinService::address) returns it.
    Tcp(SocketAddr),
    /// A socket file; one left behind by a dead server is replaced.
    Unix(PathBuf),
}

impl ListenAddress {
    /// Base URL for TCP: `http://127.0.0.1:8080`.
    pub fn base_url(&self) -> String {
        match self {
            // 0.0.0.0 is an address to listen on, not one to connect to.
            Self::Tcp(address) if address.ip() == Ipv4Addr::UNSPECIFIED => {
                format!("http://127.0.0.1:{}", address.port())
            }
            Self::Tcp(address) => format!("http://{address}"),
            Self::Unix(_) => "http://localhost".to_owned(),
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// `127.0.0.1:8080`, `[::1]:8080`, `8080` and `:8080` (on 127.0.0.1), or `unix:/path/to/socket`.
impl FromStr for ListenAddress {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Self::Unix(path.into()));
        }
        let port = text.strip_prefix(':').unwrap_or(text).parse().ok();
        let local = port.map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
        local.or_else(|| text.replace("localhost:", "127.0.0.1:").parse().ok()).map(Self::Tcp).ok_or_else(|| {
            format!("'{text}' is not an address to listen on, such as 127.0.0.1:8080, 8080 or unix:/tmp/torment.sock")
        })
    }
}

/// A non-blocking listening socket, and its actual address.
pub(crate) struct Listener {
    pub(crate) socket: OwnedFd,
    pub(crate) address: ListenAddress,
}

impl Listener {
    /// `backlog` connections may wait to be accepted, and one more.
    pub(crate) fn bind(listen: &ListenAddress, backlog: u32) -> Result<Self, Error> {
        let backlog = i32::try_from(backlog).unwrap_or(i32::MAX);
        match listen {
            ListenAddress::Tcp(address) => {
                bind_tcp(*address, backlog).map_err(|e| bind_error(listen, e, port_holder::of(*address)))
            }
            ListenAddress::Unix(path) => bind_unix(path, backlog).map_err(|e| bind_error(listen, e, None)),
        }
    }

    /// Accepts one connection: `Ok(None)` when none waits, an error when none can be accepted for
    /// now, mostly for want of descriptors.
    pub(crate) fn accept(&self) -> Result<Option<Arc<OwnedFd>>, Errno> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        loop {
            match rustix::net::accept_with(&self.socket, flags) {
                Ok(socket) => {
                    if matches!(self.address, ListenAddress::Tcp(_)) {
                        // Without it the client sees 40 ms more; but an answer is an answer.
                        let _ = sockopt::set_tcp_nodelay(&socket, true);
                    }
                    return Ok(Some(Arc::new(socket)));
                }
                Err(Errno::AGAIN) => return Ok(None),
                // The client has left already; the next may not have.
                Err(Errno::CONNABORTED | Errno::INTR) => {}
                Err(e) => return Err(e),
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let ListenAddress::Unix(path) = &self.address {
            // It may be removed already.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn bind_error(listen: &ListenAddress, errno: Errno, holder: Option<String>) -> Error {
    match errno {
        Errno::ADDRINUSE => Error::AddressTaken { address: listen.clone(), holder },
        other => Error::Listen { address: listen.clone(), source: other.into() },
    }
}

fn bind_tcp(address: SocketAddr, backlog: i32) -> Result<Listener, Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    rustix::net::bind(&socket, &address)?;
    rustix::net::listen(&socket, backlog)?;
    // Where unsupported, a request's time begins when we read it.
    let _ = sys::enable_receive_timestamps(&socket);
    let real = rustix::net::getsockname(&socket)?.try_into()?;
    Ok(Listener { socket, address: ListenAddress::Tcp(real) })
}

fn bind_unix(path: &Path, backlog: i32) -> Result<Listener, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let name = SocketAddrUnix::new(path)?;
    match rustix::net::bind(&socket, &name) {
        Err(Errno::ADDRINUSE) if is_stale_socket(path)? => {
            rustix::fs::unlink(path)?;
            rustix::net::bind(&socket, &name)?;
        }
        bound => bound?,
    }
    rustix::net::listen(&socket, backlog)?;
    Ok(Listener { socket, address: ListenAddress::Unix(path.to_owned()) })
}

/// Whether a dead server left this socket file. A file of another kind belongs to somebody, and is an
/// error: connecting to it is refused just the same.
fn is_stale_socket(path: &Path) -> Result<bool, Errno> {
    let kind = FileType::from_raw_mode(rustix::fs::lstat(path)?.st_mode);
    if kind != FileType::Socket {
        return Err(Errno::EXIST);
    }
    Ok(UnixStream::connect(path).is_err_and(|e| e.kind() == ErrorKind::ConnectionRefused))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        for (text, expected) in [
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("8080", "127.0.0.1:8080"),
            (":0", "127.0.0.1:0"),
            ("localhost:1", "127.0.0.1:1"),
            ("[::1]:80", "[::1]:80"),
            ("unix:/tmp/x", "unix:/tmp/x"),
        ] {
            assert_eq!(text.parse::<ListenAddress>().map(|l| l.to_string()).as_deref(), Ok(expected));
        }
        for bad in ["", "unix:", "99999", "example.org:80", "127.0.0.1"] {
            assert!(bad.parse::<ListenAddress>().is_err(), "{bad}");
        }
    }
}
