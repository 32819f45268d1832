//! Servers that check every byte of a body, over HTTP/1.1 and HTTP/2.

use bytes::Bytes;
use h2::server::SendResponse;
use http::Response;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::LazyLock;
use std::time::Duration;

/// The longest body; each shorter one is its prefix. No power of two divides its period.
pub static BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| (0..16 << 20).map(|n: u32| (n % 251) as u8).collect());

/// How long `/slow` lets a body wait: by then all kernel buffers are full.
const SLOW: Duration = Duration::from_millis(300);

/// The address of a server with a thread per connection.
fn listen(serve: impl Fn(TcpStream) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            stream.set_nodelay(true).expect("it is TCP");
            let serve = serve.clone();
            std::thread::spawn(move || serve(stream));
        }
    });
    address
}

/// `/answer/N` answers N bytes. Any other path takes a body, and answers 200 if it is correct, else 400.
pub fn http1() -> SocketAddr {
    listen(|stream| {
        // A client may leave at any time.
        let _ = converse(&stream);
    })
}

fn converse(mut stream: &TcpStream) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(64 * 1024, stream);
    loop {
        let (path, length) = head(&mut reader)?;
        if let Some(count) = path.strip_prefix("/answer/") {
            let count: usize = count.parse().expect("a number");
            stream.write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {count}\r\n\r\n").as_bytes())?;
            stream.write_all(&BYTES[..count])?;
            continue;
        }
        if path == "/slow" {
            std::thread::sleep(SLOW);
        }
        let (mut piece, mut come, mut same) = (vec![0; 64 * 1024], 0, true);
        while come < length {
            let count = reader.read(&mut piece[..(64 * 1024).min(length - come)])?;
            if count == 0 {
                return Ok(());
            }
            same &= piece[..count] == BYTES[come..come + count];
            come += count;
        }
        let status = if same { "200 OK" } else { "400 Bad Request" };
        stream.write_all(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").as_bytes())?;
    }
}

/// Path and body length of the next request.
pub fn head(reader: &mut impl BufRead) -> io::Result<(String, usize)> {
    let (mut path, mut length, mut line) = (String::new(), 0, String::new());
    while reader.read_line(&mut line)? > 0 {
        if path.is_empty() {
            path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        } else if let Some((name, value)) = line.split_once(": ")
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().expect("a number");
        } else if line == "\r\n" {
            return Ok((path, length));
        }
        line.clear();
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}

/// The same over HTTP/2, with these windows and frames.
pub fn http2(window: u32, frame: u32) -> SocketAddr {
    listen(move |stream| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it starts");
        let local = tokio::task::LocalSet::new();
        local.block_on(&runtime, async move {
            stream.set_nonblocking(true).expect("it is ours");
            let stream = tokio::net::TcpStream::from_std(stream).expect("it is non-blocking");
            let mut builder = h2::server::Builder::new();
            builder.initial_window_size(window).initial_connection_window_size(window).max_frame_size(frame);
            let Ok(mut connection) = builder.handshake::<_, Bytes>(stream).await else { return };
            while let Some(Ok((request, respond))) = connection.accept().await {
                tokio::task::spawn_local(answer(request, respond));
            }
        });
    })
}

async fn answer(
    request: http::Request<h2::RecvStream>,
    mut respond: SendResponse<Bytes>,
) -> Result<(), h2::Error> {
    let (head, mut body) = request.into_parts();
    if let Some(count) = head.uri.path().strip_prefix("/answer/") {
        let count: usize = count.parse().expect("a number");
        let mut stream = respond.send_response(Response::new(()), false)?;
        return stream.send_data(Bytes::from_static(&BYTES[..count]), true);
    }
    if head.uri.path() == "/slow" {
        tokio::time::sleep(SLOW).await;
    }
    let length: usize = head.headers["content-length"].to_str().expect("text").parse().expect("a number");
    let (mut come, mut same) = (0, true);
    while let Some(piece) = body.data().await {
        let piece = piece?;
        same &= BYTES.get(come..come + piece.len()) == Some(&piece[..]);
        come += piece.len();
        body.flow_control().release_capacity(piece.len())?;
    }
    let status = if same && come == length { 200 } else { 400 };
    respond.send_response(Response::builder().status(status).body(()).expect("valid"), true).map(drop)
}
