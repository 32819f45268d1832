//! The coordinator's side: a stream to each member.

use crate::Error;
use crate::codec::MessagePackCodec;
use crate::connection::{ByteStream, PATH, REPORT_MOST, root_cause, serve, status_cause};
use crate::credentials::Credentials;
use crate::duplex::Duplex;
use crate::heartbeat::run_heartbeat;
use crate::member_handle::{MemberHandle, clock_exchange, stamp_time};
use crate::registry::{MemberConnection, MemberEvent, MemberRegistry};
use crate::runtime_thread::{CLOSE_LIMIT, RuntimeThread, receive_within};
use crate::send_queue::{QUEUE_LENGTH, SendQueue};
use crate::tls::TlsListener;
use fleet::{BuildStamp, ClockReading, FleetRole, FromMember, Instruction, ToMember};
use hyper::service::service_fn;
use std::convert::Infallible;
use std::future::{Ready, poll_fn, ready};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::task::Poll;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tonic::server::{Grpc, StreamingService};
use tonic::{Request, Response, Status, Streaming};
use units::Nanos;

/// Events queued; beyond that, members wait.
const EVENTS_MOST: usize = 4096;
/// A peer that takes longer to introduce itself is dropped.
const HELLO_LIMIT: Duration = Duration::from_secs(10);

/// The streams to all members, closed on drop.
#[derive(Debug)]
pub struct CoordinatorLink {
    registry: Arc<MemberRegistry>,
    events: Receiver<(u32, MemberEvent)>,
    /// Requests rounds of clock queries; the sender inside is dropped when they are over.
    rounds: Sender<oneshot::Sender<()>>,
    thread: RuntimeThread,
}

impl CoordinatorLink {
    /// Opens it for members of this version, build and role. Its thread avoids `busy` processors, if there are others.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn open(build: &str, stamp: &BuildStamp, role: FleetRole, busy: &[u32]) -> Result<Self, Error> {
        let (events, event_receiver) = channel(EVENTS_MOST);
        let (open, parted) = oneshot::channel();
        let thread = RuntimeThread::start(busy, async move { drop(parted.await) })?;
        let registry = Arc::new(MemberRegistry::new(build, stamp, role, events, open));
        let (rounds, requests) = channel(1);
        thread.handle().spawn(run_heartbeat(Arc::clone(&registry), requests));
        Ok(Self { registry, events: event_receiver, rounds, thread })
    }

    /// A socket over which a local process becomes this member, for instance as its standard input.
    ///
    /// # Errors
    /// If no descriptor is left.
    pub fn socket_for(&self, member: u32) -> Result<OwnedFd, Error> {
        let (ours, theirs) = UnixStream::pair().map_err(Error::Start)?;
        self.accept(member, ours)?;
        Ok(theirs.into())
    }

    /// The peer at the other end of `way` becomes this member once it introduces itself, replacing any earlier one.
    ///
    /// # Errors
    /// If it cannot be polled, such as a file.
    pub fn accept(&self, member: u32, way: impl Into<Duplex>) -> Result<(), Error> {
        let _here = self.thread.handle().enter();
        let io = way.into().open().map_err(Error::Start)?;
        let (to, messages) = channel(QUEUE_LENGTH);
        let (handle, registry) = (Arc::new(MemberHandle::new(to)), Arc::clone(&self.registry));
        let number = registry.register(Some(member), &handle).into();
        let connection = MemberConnection { number, handle, registry, network_peer: None };
        self.thread.handle().spawn(run_stream(io, Arc::new(connection), messages));
        Ok(())
    }

    /// Admits connections with credentials of the same authority as `pass`, the coordinator's. A peer without a number
    /// gets the lowest free one.
    ///
    /// # Errors
    /// If the listener cannot be used, or the credentials are invalid.
    pub fn listen(&self, there: TcpListener, credentials: &Credentials) -> Result<(), Error> {
        let _here = self.thread.handle().enter();
        let tls_listener = TlsListener::open(there, credentials)?;
        self.thread.handle().spawn(accept_connections(tls_listener, Arc::downgrade(&self.registry)));
        Ok(())
    }

    /// Who was rejected since the last call, and why; only the latest are kept.
    pub fn take_rejected(&self) -> Vec<String> {
        self.registry.take_rejected()
    }

    /// Sends an instruction without waiting. False if the member is gone, or reads so slowly that it is dropped.
    pub fn send(&self, member: u32, what: Instruction) -> bool {
        let Some(handle) = self.registry.handle(member) else { return false };
        let sent = handle.send(ToMember::Told(what));
        if !sent {
            handle.cut();
        }
        sent
    }

    /// The next event and its member, if any within this time. A conductor calls this at least every second or so.
    pub fn next(&mut self, within: Duration) -> Option<(u32, MemberEvent)> {
        self.registry.conductor_liveness.touch();
        receive_within(&mut self.events, within).flatten()
    }

    /// Measures all clock offsets, one member after the other, for at most this long. Events queue meanwhile.
    pub fn compare_clocks(&mut self, within: Duration) {
        self.registry.conductor_liveness.touch();
        let rounds = &self.rounds;
        self.thread.handle().block_on(async {
            let (done, all) = oneshot::channel();
            let requests = async {
                let _ = rounds.send(done).await;
                let _ = all.await;
            };
            let _ = timeout(within, requests).await;
        });
    }

    /// What is known of a member's clock when ours, the monotonic one, shows `at`.
    pub fn clock_reading(&self, member: u32, at: Nanos) -> Option<ClockReading> {
        self.registry.handle(member)?.clock_reading(at)
    }
}

impl Drop for CoordinatorLink {
    /// Queued messages still go out; the thread waits for that.
    fn drop(&mut self) {
        std::mem::take(&mut *self.registry.handles()).values().for_each(|handle| handle.close());
    }
}

/// Accepts connections as long as the registry exists.
async fn accept_connections(tls_listener: TlsListener, registry: Weak<MemberRegistry>) {
    loop {
        let incoming = tls_listener.next().await;
        let Some(registry) = registry.upgrade() else { return };
        tokio::spawn(async move {
            let from = incoming.from.to_string();
            match incoming.authenticate().await {
                Ok((io, certificate)) => {
                    let (to, messages) = channel(QUEUE_LENGTH);
                    let (number, handle) = (OnceLock::new(), Arc::new(MemberHandle::new(to)));
                    let connection = MemberConnection {
                        number,
                        handle,
                        registry,
                        network_peer: Some((from, certificate)),
                    };
                    run_stream(io, Arc::new(connection), messages).await;
                }
                Err(why) => registry.reject(&from, &why),
            }
        });
    }
}

/// Runs one stream to its end.
async fn run_stream(io: impl ByteStream, connection: Arc<MemberConnection>, messages: Receiver<ToMember>) {
    let (why, mut reason) = oneshot::channel();
    let pending_call = Arc::new(Mutex::new(Some(PendingCall { outgoing: messages, end_reason: why })));
    let listener = Arc::clone(&connection);
    let service = service_fn(move |request: http::Request<_>| {
        let (pending_call, listener) = (Arc::clone(&pending_call), Arc::clone(&listener));
        async move {
            if request.uri().path() != PATH {
                return Ok::<_, Infallible>(Status::unimplemented("there is only one call").into_http());
            }
            let packed = MessagePackCodec::<ToMember, FromMember>::new();
            let mut call = Grpc::new(packed).max_decoding_message_size(REPORT_MOST);
            Ok(call.streaming(JoinService { pending_call, connection: listener }, request).await)
        }
    });
    let mut serving = pin!(serve(io, service));
    let mut is_cut = pin!(connection.handle.await_cut());
    // Whatever comes first. The stream's reader knows most.
    let mut served = None;
    let end_reason = poll_fn(|context| {
        if let Poll::Ready(end_reason) = pin!(&mut reason).poll(context) {
            return Poll::Ready(end_reason.ok());
        }
        if is_cut.as_mut().poll(context).is_ready() {
            return Poll::Ready(Some("it does not read what it is told".to_owned()));
        }
        serving.as_mut().poll(context).map(|ended| {
            served = Some(ended);
            None
        })
    })
    .await;
    let why = match (end_reason, &served) {
        (Some(end_reason), _) => end_reason,
        // It broke: the reader learns that too, after what came before.
        (None, Some(ended)) => match timeout(CLOSE_LIMIT, reason).await {
            Ok(Ok(end_reason)) => end_reason,
            _ => ended.as_ref().err().map_or_else(closed_reason, |why| root_cause(why)),
        },
        (None, None) => closed_reason(),
    };
    connection.mark_gone(why).await;
    if served.is_none() {
        // The last message is still on its way.
        let _ = timeout(CLOSE_LIMIT, serving).await;
    }
}

fn closed_reason() -> String {
    "it closed the link".to_owned()
}

/// The state that a connection's one call takes with it.
struct PendingCall {
    outgoing: Receiver<ToMember>,
    /// Where its reader reports why it ended.
    end_reason: oneshot::Sender<String>,
}

struct JoinService {
    pending_call: Arc<Mutex<Option<PendingCall>>>,
    connection: Arc<MemberConnection>,
}

impl StreamingService<FromMember> for JoinService {
    type Response = ToMember;
    type ResponseStream = SendQueue<ToMember, Result<ToMember, Status>>;
    type Future = Ready<Result<Response<Self::ResponseStream>, Status>>;

    fn call(&mut self, request: Request<Streaming<FromMember>>) -> Self::Future {
        let pending_call = self.pending_call.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(PendingCall { outgoing: messages, end_reason: why }) = pending_call else {
            return ready(Err(Status::already_exists("a connection is one member")));
        };
        let connection = Arc::clone(&self.connection);
        tokio::spawn(async move {
            let reason = receive_all(request.into_inner(), &connection).await;
            let _ = why.send(reason);
        });
        ready(Ok(Response::new(SendQueue::new(messages, |message| Ok(stamp_time(message))))))
    }
}

/// Receives until the stream ends, and returns why it did.
async fn receive_all(mut stream: Streaming<FromMember>, connection: &MemberConnection) -> String {
    let MemberConnection { number, handle, registry, .. } = connection;
    let hello = match timeout(HELLO_LIMIT, stream.message()).await {
        Ok(Ok(Some(FromMember::Hello(hello)))) => hello,
        Ok(Ok(Some(_))) => return "it did not say who it is".to_owned(),
        Ok(Ok(None)) => return closed_reason(),
        Ok(Err(status)) => return status_cause(&status),
        Err(_) => return format!("it did not say who it is within {} s", HELLO_LIMIT.as_secs()),
    };
    if let Err(why) = connection.check_admission(&hello) {
        handle.send(ToMember::Refused(why.clone()));
        return why;
    }
    number.get_or_init(|| registry.register(hello.member, handle));
    handle.send(ToMember::Welcome);
    connection.report(MemberEvent::Joined(hello)).await;
    loop {
        match stream.message().await {
            Ok(Some(FromMember::Told(report))) => connection.report(MemberEvent::Reported(report)).await,
            Ok(Some(FromMember::Hello(_))) => return "it says twice who it is".to_owned(),
            Ok(Some(message)) => {
                if let Some(Err(jumped)) = clock_exchange(&message).map(|signal| handle.add_exchange(signal))
                {
                    connection.report(MemberEvent::Jumped(jumped)).await;
                }
            }
            Ok(None) => return closed_reason(),
            Err(status) => return status_cause(&status),
        }
    }
}
