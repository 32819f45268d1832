//! A member's side: its stream to the coordinator.

use crate::Error;
use crate::codec::MessagePackCodec;
use crate::connection::{ByteStream, ORDER_MOST, PATH, connect, root_cause, status_cause};
use crate::credentials::JoinFile;
use crate::duplex::Duplex;
use crate::liveness::Liveness;
use crate::runtime_thread::{PARTING, RuntimeThread, receive_within};
use crate::send_queue::{SendQueue, WAITING};
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

/// A coordinator that takes longer to say whether it takes us is none.
const WELCOMED: Duration = Duration::from_secs(10);

/// What comes of the coordinator, until it is gone: how that showed.
type Received = Result<ToMember, String>;

/// The stream to the coordinator. It is closed when this is dropped, behind what was told.
#[derive(Debug)]
pub struct MemberLink {
    /// Dropped before the thread, which then ends the stream.
    to: Sender<FromMember>,
    words: Receiver<Received>,
    heard: Arc<Liveness>,
    /// Ends the stream.
    _thread: RuntimeThread,
}

impl MemberLink {
    /// Joins the coordinator at the other end of this. Its thread stays away from `busy` processors, if there are others.
    ///
    /// # Errors
    /// If there is no thread, the coordinator is gone, or refuses.
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
    /// As [`Wire::over`], and if it cannot be reached, or does not believe the pass.
    pub fn join(file: &JoinFile, hello: Hello, busy: &[u32]) -> Result<Self, Error> {
        let connector = TlsConnector::from(file.pass.client_config()?);
        let socket = tls::dial(file)?;
        Self::begin(hello, busy, || Ok(tls::authenticate_to(socket, connector)))
    }

    /// Over what `open` gives, which is called where the runtime is.
    fn begin<C: ByteStream, F: Future<Output = Result<C, String>> + Send + 'static>(
        hello: Hello,
        busy: &[u32],
        open: impl FnOnce() -> Result<F, Error>,
    ) -> Result<Self, Error> {
        let (ended, has_ended) = oneshot::channel::<()>();
        let thread = RuntimeThread::start(busy, async move { drop(has_ended.await) })?;
        let (to, waiting) = channel(WAITING);
        let (word, mut words) = channel(WAITING);
        let heard = Arc::new(Liveness::new());
        let _ = to.try_send(FromMember::Hello(hello));
        {
            let _here = thread.handle().enter();
            let opening = open()?;
            let (answers, heard) = (to.downgrade(), Arc::clone(&heard));
            thread.handle().spawn(async move {
                let why = listen(opening, waiting, &answers, &word, &heard).await;
                heard.end();
                let _ = word.send(Err(why)).await;
                drop(ended);
            });
        }
        let first = thread.handle().block_on(async { timeout(WELCOMED, words.recv()).await });
        match first {
            Ok(Some(Ok(ToMember::Welcome))) => Ok(Self { to, words, heard, _thread: thread }),
            Ok(Some(Ok(ToMember::Refused(why)))) => Err(Error::Refused(why)),
            Ok(Some(Err(why))) => Err(Error::Gone(why)),
            Ok(Some(Ok(_)) | None) => Err(Error::Gone("it does not speak as one".to_owned())),
            Err(_) => Err(Error::Gone(format!("it said nothing for {} s", WELCOMED.as_secs()))),
        }
    }

    /// Tells the coordinator something. It never waits: false if that is gone, or does not take in what waits already.
    pub fn send(&self, what: MemberReport) -> bool {
        !self.heard.is_over() && self.to.try_send(FromMember::Told(what)).is_ok()
    }

    /// What it says next; none within this time.
    ///
    /// # Errors
    /// Once it is gone.
    pub fn next(&mut self, within: Duration) -> Result<Option<Instruction>, Error> {
        match receive_within(&mut self.words, within) {
            Some(Some(Ok(ToMember::Told(what)))) => Ok(Some(what)),
            Some(Some(Ok(_))) | None => Ok(None),
            Some(Some(Err(why))) => Err(Error::Gone(why)),
            Some(None) => Err(Error::Gone("it was gone before".to_owned())),
        }
    }

    /// So long nothing was heard of it. While it conducts a load it says something each second.
    pub fn silent_for(&self) -> Nanos {
        self.heard.silent_for()
    }
}

/// Hears the coordinator out, and tells it the time. Gives why there is no more.
async fn listen(
    opening: impl Future<Output = Result<impl ByteStream, String>>,
    waiting: Receiver<FromMember>,
    answers: &WeakSender<FromMember>,
    word: &Sender<Received>,
    heard: &Liveness,
) -> String {
    let io = match opening.await {
        Ok(io) => io,
        Err(why) => return why,
    };
    let (caller, connection) = match connect(io).await {
        Ok(called) => called,
        Err(why) => return root_cause(&why),
    };
    let connection = tokio::spawn(connection);
    let mut grpc = Grpc::with_origin(caller, Uri::from_static("http://coordinator"))
        .max_decoding_message_size(ORDER_MOST);
    let request = Request::new(SendQueue::new(waiting, stamp as fn(_) -> _));
    let packed = MessagePackCodec::<FromMember, ToMember>::new();
    let answer = grpc.streaming(request, PathAndQuery::from_static(PATH), packed).await;
    // The connection ends with its one call.
    drop(grpc);
    let heard_out = match answer {
        Ok(answer) => hear_out(answer.into_inner(), answers, word, heard).await,
        Err(status) => Err(status),
    };
    // What was wrong is known best to the connection.
    match (heard_out, timeout(PARTING, connection).await) {
        (Ok(()), _) => "it closed the link".to_owned(),
        (Err(_), Ok(Ok(Err(why)))) => root_cause(&why),
        (Err(status), _) => status_cause(&status),
    }
}

async fn hear_out(
    mut stream: Streaming<ToMember>,
    answers: &WeakSender<FromMember>,
    word: &Sender<Received>,
    heard: &Liveness,
) -> Result<(), Status> {
    while let Some(said) = stream.message().await? {
        heard.touch();
        match said {
            ToMember::Time { asked } => {
                let time = FromMember::Time { asked, heard: Nanos(sys::monotonic_ns()), told: Nanos::ZERO };
                // Where much waits to be told, the time is not what is needed most.
                let _ = answers.upgrade().map(|answers| answers.try_send(time).is_ok());
            }
            ToMember::Alive => {}
            // Where nobody listens any more, what was told still goes out.
            said => drop(word.send(Ok(said)).await),
        }
    }
    Ok(())
}

/// When it says what time it is, is known when that goes out.
fn stamp(what: FromMember) -> FromMember {
    match what {
        FromMember::Time { asked, heard, .. } => {
            FromMember::Time { asked, heard, told: Nanos(sys::monotonic_ns()) }
        }
        said => said,
    }
}
