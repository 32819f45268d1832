//! A server made with the h2 library.

use bytes::Bytes;
use h2::server::{Builder, SendResponse};
use h2::{Reason, RecvStream};
use http::{HeaderMap, Request, Response};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::task::LocalSet;

#[derive(Default)]
pub(super) struct ServerCounts {
    /// Requests now, and the most at once.
    now: AtomicUsize,
    pub most: AtomicUsize,
    pub cancelled: AtomicUsize,
}

/// Starts a server for one connection that does what the path says.
pub(super) fn server(builder: &Builder) -> (SocketAddr, Arc<ServerCounts>) {
    let (builder, seen) = (builder.clone(), Arc::new(ServerCounts::default()));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    listener.set_nonblocking(true).expect("it is ours");
    let counts = seen.clone();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it starts");
        LocalSet::new().block_on(&runtime, async move {
            let listener = tokio::net::TcpListener::from_std(listener).expect("it is non-blocking");
            let (stream, _) = listener.accept().await.expect("the client connects");
            let mut connection = builder.handshake::<_, Bytes>(stream).await.expect("the client greets");
            while let Some(Ok((request, respond))) = connection.accept().await {
                match request.uri().path() {
                    "/vanish" => return,
                    "/leave" => connection.graceful_shutdown(),
                    _ => {}
                }
                tokio::task::spawn_local(answer(request, respond, counts.clone()));
            }
        });
    });
    (address, seen)
}

async fn answer(request: Request<RecvStream>, mut respond: SendResponse<Bytes>, counts: Arc<ServerCounts>) {
    let now = counts.now.fetch_add(1, Ordering::SeqCst) + 1;
    counts.most.fetch_max(now, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(1)).await;
    let done = respond_to(request, &mut respond, &counts).await;
    counts.now.fetch_sub(1, Ordering::SeqCst);
    done.expect("the client lets it answer");
}

async fn respond_to(
    request: Request<RecvStream>,
    respond: &mut SendResponse<Bytes>,
    counts: &ServerCounts,
) -> Result<(), h2::Error> {
    let (head, mut body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let (name, argument) = path[1..].split_once('/').unwrap_or((&path[1..], "0"));
    let number: usize = argument.parse().expect("a number");
    let plain = |status: u16| Response::builder().status(status).body(()).expect("valid");
    let whole = |respond: &mut SendResponse<Bytes>, response, body: Vec<u8>| {
        respond.send_response(response, false)?.send_data(body.into(), true)
    };
    match name {
        "leave" => {
            tokio::time::sleep(Duration::from_millis(50)).await;
            respond.send_response(plain(200), true).map(drop)
        }
        "status" => respond.send_response(plain(number as u16), true).map(drop),
        "length" => {
            let response = Response::builder().header("content-length", number).body(()).expect("valid");
            let ends = head.method == "HEAD";
            let mut stream = respond.send_response(response, ends)?;
            if ends { Ok(()) } else { stream.send_data(vec![b'x'; number].into(), true) }
        }
        "trailers" => {
            let mut stream = respond.send_response(plain(200), false)?;
            for piece in [&b"one "[..], b"", b"two"] {
                stream.send_data(Bytes::from_static(piece), false)?;
            }
            let mut trailers = HeaderMap::new();
            trailers.insert("x-trailer", "late".parse().expect("valid"));
            stream.send_trailers(trailers)
        }
        // A gRPC call, whose status comes after the body or, with `call-only`, without one; `call-cut`: none.
        "call" | "call-only" | "call-cut" => {
            let mut trailers = HeaderMap::new();
            trailers.insert("grpc-status", number.into());
            trailers.insert("grpc-message", "no user %221%22".parse().expect("valid"));
            let mut response = plain(200);
            response.headers_mut().insert("content-type", "application/grpc+proto".parse().expect("valid"));
            if name == "call-only" {
                response.headers_mut().extend(trailers);
                return respond.send_response(response, true).map(drop);
            }
            let mut stream = respond.send_response(response, false)?;
            stream.send_data(Bytes::from_static(&[0; 5]), name == "call-cut")?;
            if name == "call" { stream.send_trailers(trailers) } else { Ok(()) }
        }
        "interim" => {
            let hints = Response::builder().status(103).header("link", "</x>").body(()).expect("valid");
            respond.send_informational(hints)?;
            tokio::time::sleep(Duration::from_millis(5)).await;
            respond.send_response(plain(200), true).map(drop)
        }
        "refuse" => {
            respond.send_reset(Reason::REFUSED_STREAM);
            Ok(())
        }
        "never" => {
            let reason = std::future::poll_fn(|context| respond.poll_reset(context)).await?;
            assert_eq!(reason, Reason::CANCEL);
            counts.cancelled.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }
        "sum" => {
            let (mut length, mut sum) = (0, 0);
            while let Some(piece) = body.data().await {
                let piece = piece?;
                length += piece.len();
                sum += piece.iter().map(|byte| u64::from(*byte)).sum::<u64>();
                body.flow_control().release_capacity(piece.len())?;
            }
            whole(respond, plain(200), format!("{length} {sum}").into_bytes())
        }
        // Fields new, known, and known by name; long and short; with and without a body.
        "fields" => {
            let mut response = Response::builder().status([200, 201, 404, 503][number % 4]);
            for (name, value) in fields(number) {
                response = response.header(name, value);
            }
            whole(respond, response.body(()).expect("valid"), vec![b'y'; number % 50])
        }
        "asked" => {
            let mut text = format!("{} {} {:?}\n", head.method, head.uri, head.version);
            for (name, value) in &head.headers {
                text += &format!("{name}: {}\n", value.to_str().expect("text"));
            }
            whole(respond, plain(200), text.into_bytes())
        }
        other => panic!("no scene {other}"),
    }
}

/// The fields of the answer with this number.
pub(super) fn fields(number: usize) -> Vec<(&'static str, String)> {
    let mut fields = vec![
        ("server", "a server".to_owned()),
        ("x-number", number.to_string()),
        ("x-seldom", (number / 100).to_string()),
        ("etag", format!("\"{:x}\"", number * 7919)),
        ("x-binary", "\u{e9}~\\{|}<> \u{fc}".repeat(number % 3)),
    ];
    if number.is_multiple_of(10) {
        fields.push(("x-long", "lorem ipsum ".repeat(number % 500)));
    }
    fields
}
