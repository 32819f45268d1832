//! Targets that behave oddly.

use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// A server on a free port of all addresses that calls this for each connection, each in its own thread, until the test
/// ends.
pub fn server(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("0.0.0.0:0").expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = Arc::clone(&serve);
            thread::spawn(move || serve(stream));
        }
    });
    address
}

/// Accepts connections and requests, and never answers.
pub fn silent() -> SocketAddr {
    server(|mut stream| while matches!(stream.read(&mut [0; 4096]), Ok(1..)) {})
}

/// Closes every connection without a word.
pub fn closing() -> SocketAddr {
    server(drop)
}

/// Answers every request with these bytes, and closes.
pub fn saying(bytes: &'static [u8]) -> SocketAddr {
    server(move |mut stream| {
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(bytes);
    })
}

/// Answers every request with `200 OK`, its head and its body written apart.
pub fn in_pieces(nagle: bool) -> SocketAddr {
    server(move |mut stream| {
        stream.set_nodelay(!nagle).expect("it is a TCP connection");
        while matches!(stream.read(&mut [0; 4096]), Ok(1..)) {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n");
            let _ = stream.write_all(b"ok");
        }
    })
}

/// An HTTPS server for `localhost` and 127.0.0.1.
pub struct TlsServer {
    pub address: SocketAddr,
    /// The certificate of the authority that signed the server's, as PEM.
    pub authority: String,
}

/// Answers every request with `200 OK`, until the client disconnects.
pub fn tls() -> TlsServer {
    let mut authority = CertificateParams::default();
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    authority.distinguished_name.push(rcgen::DnType::CommonName, "Tests of torment");
    let key = || KeyPair::generate().expect("a source of randomness");
    let authority = CertifiedIssuer::self_signed(authority, key()).expect("the parameters are sound");
    let own_key = key();
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let certificate = CertificateParams::new(names)
        .and_then(|params| params.signed_by(&own_key, &authority))
        .expect("the parameters are sound");
    let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(own_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|b| b.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], private))
        .expect("certificate and key belong together");
    let config = Arc::new(config);
    let address = server(move |stream| {
        let session = ServerConnection::new(Arc::clone(&config)).expect("a sound configuration");
        answer(StreamOwned::new(session, stream));
    });
    TlsServer { address, authority: authority.pem() }
}

/// One answer per request head; ours have no body.
fn answer(mut stream: impl Read + Write) {
    let (mut seen, mut buffer) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        seen.extend_from_slice(&buffer[..count]);
        while let Some(end) = seen.windows(4).position(|w| w == b"\r\n\r\n") {
            seen.drain(..end + 4);
            let sent = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            if sent.and_then(|()| stream.flush()).is_err() {
                return;
            }
        }
    }
}
