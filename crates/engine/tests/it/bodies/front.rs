//! A TLS proxy in front of a server without TLS: forwards everything both ways.

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// The two TLS libraries of nearly all servers, or none.
pub enum TlsFront {
    None,
    Rustls,
    OpenSsl,
}

/// A running front; it stops when dropped.
pub struct RunningFront {
    pub address: SocketAddr,
    pub tls: bool,
    child: Option<Child>,
}

impl TlsFront {
    /// Starts in front of this server. `None`, with a message, without Python, whose TLS is OpenSSL's.
    pub fn open(&self, server: SocketAddr) -> Option<RunningFront> {
        match self {
            Self::None => Some(RunningFront { address: server, tls: false, child: None }),
            Self::Rustls => Some(RunningFront { address: rustls(server), tls: true, child: None }),
            Self::OpenSsl => openssl(server),
        }
    }
}

impl Drop for RunningFront {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A server configuration with a self-signed certificate.
pub fn config() -> ServerConfig {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("aws-lc-rs has them")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .expect("they belong together");
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config
}

fn rustls(server: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let config = Arc::new(config());
    std::thread::spawn(move || {
        while let Ok((client, _)) = listener.accept() {
            let session = ServerConnection::new(config.clone()).expect("the configuration is whole");
            // A client may leave at any time.
            std::thread::spawn(move || pass(client, TcpStream::connect(server)?, session));
        }
    });
    address
}

/// Bytes buffered per direction before they are written.
const KEPT: usize = 64 * 1024;

fn pass(mut client: TcpStream, mut server: TcpStream, mut session: ServerConnection) -> io::Result<()> {
    for stream in [&client, &server] {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
    }
    let (mut up, mut down, mut buffer) = (Vec::new(), Vec::new(), vec![0; KEPT]);
    loop {
        let mut moved = 0;
        if up.len() < KEPT {
            match some(session.read_tls(&mut client)) {
                Ok(Some(0)) => return Ok(()),
                Ok(Some(count)) => moved += count,
                Ok(None) => {}
                // Plain text must be taken first.
                Err(e) if e.kind() == io::ErrorKind::Other => {}
                Err(e) => return Err(e),
            }
            session.process_new_packets().map_err(io::Error::other)?;
            if let Some(count) = some(session.reader().read(&mut buffer))? {
                up.extend_from_slice(&buffer[..count]);
            }
        }
        if let Some(count) = some(server.write(&up))? {
            moved += up.drain(..count).count();
        }
        if down.len() < KEPT {
            match some(server.read(&mut buffer))? {
                Some(0) if down.is_empty() && !session.wants_write() => return Ok(()),
                count => down.extend_from_slice(&buffer[..count.unwrap_or(0)]),
            }
        }
        let taken = session.writer().write(&down)?;
        moved += down.drain(..taken).count();
        while session.wants_write()
            && let Some(count) = some(session.write_tls(&mut client))?
        {
            moved += count;
        }
        if moved == 0 {
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

/// `None`: nothing now.
fn some(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
        other => other.map(Some),
    }
}

const SCRIPT: &str = r#"
import asyncio, ssl, sys

async def pass_on(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()

async def serve(reader, writer):
    there = await asyncio.open_connection("127.0.0.1", int(sys.argv[1]))
    await asyncio.gather(pass_on(reader, there[1]), pass_on(there[0], writer))

async def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2])
    context.set_alpn_protocols(["h2", "http/1.1"])
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"#;

fn openssl(server: SocketAddr) -> Option<RunningFront> {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    let mut pem = tempfile::NamedTempFile::new().expect("a file");
    write!(pem, "{}{}", made.signing_key.serialize_pem(), made.cert.pem()).expect("it is ours");
    let mut python = Command::new("python3");
    python.args(["-c", SCRIPT, &server.port().to_string()]).arg(pem.path());
    let Ok(mut child) = python.stdin(Stdio::null()).stdout(Stdio::piped()).spawn() else {
        eprintln!("SKIPPED: there is no python3, which lends its OpenSSL");
        return None;
    };
    let (mut line, out) = (String::new(), child.stdout.take().expect("it is piped"));
    BufReader::new(out).read_line(&mut line).expect("text");
    let Ok(port) = line.trim().parse() else {
        let _ = child.wait();
        eprintln!("SKIPPED: this python3 has no ssl");
        return None;
    };
    Some(RunningFront { address: (Ipv4Addr::LOCALHOST, port).into(), tls: true, child: Some(child) })
}
