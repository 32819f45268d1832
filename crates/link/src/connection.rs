//! HTTP/2 over any byte stream.

use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use hyper::service::Service;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::convert::Infallible;
use std::error::Error as _;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tonic::body::Body;
use tonic::client::GrpcService;

/// A socket, a TLS session, the pipes of a child.
pub(crate) trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin + 'static {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> ByteStream for T {}

/// The only gRPC method.
pub(crate) const PATH: &str = "/torment.Fleet/Join";
/// Largest message of a member: a slice is some 20 KiB; one with the answers of a day has 100 more.
pub(crate) const REPORT_MOST: usize = 4 << 20;
/// Largest message of a coordinator: a plan may have 64 MiB of rows, besides the rest.
pub(crate) const INSTRUCTION_MOST: usize = 72 << 20;
/// HTTP/2 window per direction: a dozen slices. Anything beyond waits at the sender.
const WINDOW: u32 = 256 << 10;
/// HTTP/2 ping interval of a silent connection.
const PING_INTERVAL: Duration = Duration::from_secs(2);
/// Ping timeout. A peer that is frozen for a while is not gone: its late slices show long before.
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// Answers calls over `io` until the other side, or `service`, is done.
pub(crate) async fn serve<S>(io: impl ByteStream, service: S) -> Result<(), hyper::Error>
where
    S: Service<http::Request<Incoming>, Response = http::Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    let mut http = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    http.timer(TokioTimer::new())
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT)
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_concurrent_streams(1);
    http.serve_connection(TokioIo::new(io), service).await
}

/// Client side: one request on one connection.
pub(crate) struct GrpcClient(SendRequest<Body>);

/// Opens a client connection over `io`. The future returned drives it until it ends.
pub(crate) async fn connect(
    io: impl ByteStream,
) -> Result<(GrpcClient, impl Future<Output = Result<(), hyper::Error>> + Send + 'static), hyper::Error> {
    let mut http = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    http.timer(TokioTimer::new())
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT)
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW);
    let (sender, connection) = http.handshake(TokioIo::new(io)).await?;
    Ok((GrpcClient(sender), connection))
}

impl GrpcService<Body> for GrpcClient {
    type ResponseBody = Incoming;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = Result<http::Response<Incoming>, hyper::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), hyper::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(self.0.send_request(request))
    }
}

/// Why a link broke: the innermost reason, from the kernel or the other side.
pub(crate) fn root_cause(why: &(dyn std::error::Error + 'static)) -> String {
    let mut innermost = why;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    // A TLS error is wrapped in an error of the socket, or only given as text.
    let within = innermost.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    let words = innermost.to_string();
    match within.and_then(|within| within.downcast_ref()) {
        Some(rustls::Error::InvalidCertificate(why)) => {
            format!("its credentials are not accepted ({why}): are they from this run?")
        }
        Some(rustls::Error::NoCertificatesPresented) => "it shows no pass".to_owned(),
        // A missing close_notify matters least.
        _ if words.contains("close_notify") => "the link broke: the other side is gone".to_owned(),
        _ if words.contains("fatal alert") => {
            format!("the credentials are not accepted there ({words}): are they from this run?")
        }
        _ => format!("the link broke: {words}"),
    }
}

/// The same for a failed call.
pub(crate) fn status_cause(status: &tonic::Status) -> String {
    match status.source() {
        Some(why) => root_cause(why),
        None => format!("the link broke: {}", status.message()),
    }
}
