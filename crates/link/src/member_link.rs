//! A member's side: its stream to the coordinator.

use crate::Error;
use crate::codec::MessagePackCodec;
use crate::connection::{ByteStream, INSTRUCTION_MOST, PATH, connect, root_cause, status_cause};
use crate::credentials::JoinFile;
use crate::duplex::Duplex;
use crate::liveness::Liveness;
use crate::runtime_thread::{CLOSE_LIMIT, RuntimeThread, receive_within};
use crate::send_queue::{QUEUE_LENGTH, SendQueue};
use crate::tls;
use fleet::{FromMember, Hello, Instruction, MemberReport, ToMember};
use http::Uri;
use http::uri::PathAndQuery;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, WeakSender, channel};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tonic::client::Grpc;
use tonic::{Request, Status, Streaming};
use units::Nanos;

/// A coordinator that takes longer to admit us counts as gone.
const WELCOME_LIMIT: Duration = Duration::from_secs(10);

/// A message of the coordinator, or how it showed that it is gone.
type Received = Result<ToMember, String>;

/// The stream to the coordinator. On drop it closes after what is queued.
#[derive(Debug)]
pub struct MemberLink {
    /// Dropped before the thread, which then ends the stream.
    sender: Sender<FromMember>,
    received: Receiver<Received>,
    liveness: Arc<Liveness>,
    _thread: RuntimeThread,
}

impl MemberLink {
    /// Joins the coordinator at the other end of `way`. Its thread avoids `busy` processors, if there are others.
    ///
    /// # Errors
    /// If no thread can be started, or the coordinator is gone or rejects it.
    pub fn connect(way: impl Into<Duplex>, hello: Hello, busy: &[u32]) -> Result<Self, Error> {
        let way = way.into();
        Self::begin(hello, busy, || {
            let io = way.open().map_err(Error::Start)?;
            Ok(async move { Ok(io) })
        })
    }

    /// Joins the coordinator that a file names.
    ///
    /// # Errors
    /// As for [`MemberLink::connect`], and if it cannot be reached, or rejects the credentials.
    pub fn join(file: &JoinFile, hello: Hello, busy: &[u32]) -> Result<Self, Error> {
        let connector = TlsConnector::from(file.credentials.client_config()?);
        let socket = tls::dial(file)?;
        Self::begin(hello, busy, || Ok(tls::authenticate_to(socket, connector)))
    }

    /// Over what `open` returns, which is called within the runtime.
    fn begin<C: ByteStream, F: Future<Output = Result<C, String>> + Send + 'static>(
        hello: Hello,
        busy: &[u32],
        open: impl FnOnce() -> Result<F, Error>,
    ) -> Result<Self, Error> {
        let (ended, has_ended) = oneshot::channel::<()>();
        let thread = RuntimeThread::start(busy, async move { drop(has_ended.await) })?;
        let (sender, messages) = channel(QUEUE_LENGTH);
        let (received_sender, mut received) = channel(QUEUE_LENGTH);
        let liveness = Arc::new(Liveness::new());
        let _ = sender.try_send(FromMember::Hello(hello));
        {
            let _here = thread.handle().enter();
            let opening = open()?;
            let (answers, liveness) = (sender.downgrade(), Arc::clone(&liveness));
            thread.handle().spawn(async move {
                let why = run_stream(opening, messages, &answers, &received_sender, &liveness).await;
                liveness.end();
                let _ = received_sender.send(Err(why)).await;
                drop(ended);
            });
        }
        let first = thread.handle().block_on(async { timeout(WELCOME_LIMIT, received.recv()).await });
        match first {
            Ok(Some(Ok(ToMember::Welcome))) => Ok(Self { sender, received, liveness, _thread: thread }),
            Ok(Some(Ok(ToMember::Refused(why)))) => Err(Error::Refused(why)),
            Ok(Some(Err(why))) => Err(Error::Gone(why)),
            Ok(Some(Ok(_)) | None) => Err(Error::Gone("it does not speak as one".to_owned())),
            Err(_) => Err(Error::Gone(format!("it said nothing for {} s", WELCOME_LIMIT.as_secs()))),
        }
    }

    /// Sends a report without waiting. False if the coordinator is gone, or the queue is full.
    pub fn send(&self, what: MemberReport) -> bool {
        !self.liveness.is_over() && self.sender.try_send(FromMember::Told(what)).is_ok()
    }

    /// The next instruction; `None` if there is none within this time.
    ///
    /// # Errors
    /// Once it is gone.
    pub fn next(&mut self, within: Duration) -> Result<Option<Instruction>, Error> {
        match receive_within(&mut self.received, within) {
            Some(Some(Ok(ToMember::Told(what)))) => Ok(Some(what)),
            Some(Some(Ok(_))) | None => Ok(None),
            Some(Some(Err(why))) => Err(Error::Gone(why)),
            Some(None) => Err(Error::Gone("it was gone before".to_owned())),
        }
    }

    /// Time since the coordinator was last heard. While it conducts a load it sends something every second.
    pub fn silent_for(&self) -> Nanos {
        self.liveness.silent_for()
    }
}

/// Receives from the coordinator and answers clock queries, until the stream ends; returns why it did.
async fn run_stream(
    opening: impl Future<Output = Result<impl ByteStream, String>>,
    messages: Receiver<FromMember>,
    answers: &WeakSender<FromMember>,
    received_sender: &Sender<Received>,
    liveness: &Liveness,
) -> String {
    let io = match opening.await {
        Ok(io) => io,
        Err(why) => return why,
    };
    let (client, connection) = match connect(io).await {
        Ok(called) => called,
        Err(why) => return root_cause(&why),
    };
    let connection = tokio::spawn(connection);
    let mut grpc = Grpc::with_origin(client, Uri::from_static("http://coordinator"))
        .max_decoding_message_size(INSTRUCTION_MOST);
    let request = Request::new(SendQueue::new(messages, stamp));
    let packed = MessagePackCodec::<FromMember, ToMember>::new();
    let answer = grpc.streaming(request, PathAndQuery::from_static(PATH), packed).await;
    // The connection ends with its one call.
    drop(grpc);
    let result = match answer {
        Ok(answer) => receive_all(answer.into_inner(), answers, received_sender, liveness).await,
        Err(status) => Err(status),
    };
    // The connection knows best what was wrong.
    match (result, timeout(CLOSE_LIMIT, connection).await) {
        (Ok(()), _) => "it closed the link".to_owned(),
        (Err(_), Ok(Ok(Err(why)))) => root_cause(&why),
        (Err(status), _) => status_cause(&status),
    }
}

async fn receive_all(
    mut stream: Streaming<ToMember>,
    answers: &WeakSender<FromMember>,
    received_sender: &Sender<Received>,
    liveness: &Liveness,
) -> Result<(), Status> {
    while let Some(message) = stream.message().await? {
        liveness.touch();
        match message {
            ToMember::Time { asked } => {
                let time = FromMember::Time { asked, heard: Nanos(sys::monotonic_ns()), told: Nanos::ZERO };
                // With a full queue, the clock matters least.
                let _ = answers.upgrade().map(|answers| answers.try_send(time).is_ok());
            }
            ToMember::Alive => {}
            // Even if nobody receives any more, what is queued still goes out.
            message => drop(received_sender.send(Ok(message)).await),
        }
    }
    Ok(())
}

/// Sets the time of an answer to a clock query, when it goes out.
fn stamp(what: FromMember) -> FromMember {
    match what {
        FromMember::Time { asked, heard, .. } => {
            FromMember::Time { asked, heard, told: Nanos(sys::monotonic_ns()) }
        }
        message => message,
    }
}
