//! The coordinator's side: a stream to each member.

use crate::Error;
use crate::codec::MessagePackCodec;
use crate::connection::{ByteStream, PATH, REPORT_MOST, root_cause, serve, status_cause};
use crate::credentials::Credentials;
use crate::duplex::Duplex;
use crate::heartbeat::run_heartbeat;
use crate::member_handle::{MemberHandle, clock_exchange, stamp_time};
use crate::registry::{MemberConnection, MemberEvent, MemberRegistry};
use crate::runtime_thread::{PARTING, RuntimeThread, receive_within};
use crate::send_queue::{ResponseQueue, SendQueue, WAITING};
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
const NEWS: usize = 4096;
/// A peer that takes longer to introduce itself is dropped.
const INTRODUCED: Duration = Duration::from_secs(10);

/// The streams to all members, closed on drop.
#[derive(Debug)]
pub struct CoordinatorLink {
    office: Arc<MemberRegistry>,
    news: Receiver<(u32, MemberEvent)>,
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
        let (news, heard) = channel(NEWS);
        let (open, parted) = oneshot::channel();
        let thread = RuntimeThread::start(busy, async move { drop(parted.await) })?;
        let office = Arc::new(MemberRegistry::new(build, stamp, role, news, open));
        let (rounds, asked) = channel(1);
        thread.handle().spawn(run_heartbeat(Arc::clone(&office), asked));
        Ok(Self { office, news: heard, rounds, thread })
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
        let (to, waiting) = channel(WAITING);
        let (end, office) = (Arc::new(MemberHandle::new(to)), Arc::clone(&self.office));
        let number = office.register(Some(member), &end).into();
        let guest = MemberConnection { number, end, office, stranger: None };
        self.thread.handle().spawn(run_stream(io, Arc::new(guest), waiting));
        Ok(())
    }

    /// Admits connections with credentials of the same authority as `pass`, the coordinator's. A peer without a number
    /// gets the lowest free one.
    ///
    /// # Errors
    /// If the listener cannot be used, or the credentials are invalid.
    pub fn listen(&self, there: TcpListener, pass: &Credentials) -> Result<(), Error> {
        let _here = self.thread.handle().enter();
        let door = TlsListener::open(there, pass)?;
        self.thread.handle().spawn(welcome(door, Arc::downgrade(&self.office)));
        Ok(())
    }

    /// Who was rejected since the last call, and why; only the latest are kept.
    pub fn take_rejected(&self) -> Vec<String> {
        self.office.take_rejected()
    }

    /// Sends an instruction without waiting. False if the member is gone, or reads so slowly that it is dropped.
    pub fn send(&self, member: u32, what: Instruction) -> bool {
        let Some(end) = self.office.handle(member) else { return false };
        let told = end.send(ToMember::Told(what));
        if !told {
            end.cut();
        }
        told
    }

    /// The next event and its member, if any within this time. A conductor calls this at least every second or so.
    pub fn next(&mut self, within: Duration) -> Option<(u32, MemberEvent)> {
        self.office.conducted.touch();
        receive_within(&mut self.news, within).flatten()
    }

    /// Measures all clock offsets, one member after the other, for at most this long. Events queue meanwhile.
    pub fn compare_clocks(&mut self, within: Duration) {
        self.office.conducted.touch();
        let rounds = &self.rounds;
        self.thread.handle().block_on(async {
            let (done, all) = oneshot::channel();
            let asked = async {
                let _ = rounds.send(done).await;
                let _ = all.await;
            };
            let _ = timeout(within, asked).await;
        });
    }

    /// What is known of a member's clock when ours, the monotonic one, shows `at`.
    pub fn clock_reading(&self, member: u32, at: Nanos) -> Option<ClockReading> {
        self.office.handle(member)?.clock_reading(at)
    }
}

impl Drop for CoordinatorLink {
    /// Queued messages still go out; the thread waits for that.
    fn drop(&mut self) {
        std::mem::take(&mut *self.office.handles()).values().for_each(|end| end.close());
    }
}

/// Accepts connections as long as the registry exists.
async fn welcome(door: TlsListener, office: Weak<MemberRegistry>) {
    loop {
        let knock = door.next().await;
        let Some(office) = office.upgrade() else { return };
        tokio::spawn(async move {
            let from = knock.from.to_string();
            match knock.authenticate().await {
                Ok((io, shown)) => {
                    let (to, waiting) = channel(WAITING);
                    let (number, end) = (OnceLock::new(), Arc::new(MemberHandle::new(to)));
                    let guest = MemberConnection { number, end, office, stranger: Some((from, shown)) };
                    run_stream(io, Arc::new(guest), waiting).await;
                }
                Err(why) => office.reject(&from, &why),
            }
        });
    }
}

/// Runs one stream to its end.
async fn run_stream(io: impl ByteStream, guest: Arc<MemberConnection>, waiting: Receiver<ToMember>) {
    let (why, mut reason) = oneshot::channel();
    let desk = Arc::new(Mutex::new(Some(PendingCall { waiting, why })));
    let listener = Arc::clone(&guest);
    let service = service_fn(move |request: http::Request<_>| {
        let (desk, listener) = (Arc::clone(&desk), Arc::clone(&listener));
        async move {
            if request.uri().path() != PATH {
                return Ok::<_, Infallible>(Status::unimplemented("there is only one call").into_http());
            }
            let packed = MessagePackCodec::<ToMember, FromMember>::new();
            let mut call = Grpc::new(packed).max_decoding_message_size(REPORT_MOST);
            Ok(call.streaming(JoinService { desk, guest: listener }, request).await)
        }
    });
    let mut serving = pin!(serve(io, service));
    let mut is_cut = pin!(guest.end.await_cut());
    // Whatever comes first. The stream's reader knows most.
    let mut served = None;
    let said = poll_fn(|context| {
        if let Poll::Ready(said) = pin!(&mut reason).poll(context) {
            return Poll::Ready(said.ok());
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
    let why = match (said, &served) {
        (Some(said), _) => said,
        // It broke: the reader learns that too, after what came before.
        (None, Some(ended)) => match timeout(PARTING, reason).await {
            Ok(Ok(said)) => said,
            _ => ended.as_ref().err().map_or_else(closed, |why| root_cause(why)),
        },
        (None, None) => closed(),
    };
    guest.mark_gone(why).await;
    if served.is_none() {
        // The last message is still on its way.
        let _ = timeout(PARTING, serving).await;
    }
}

fn closed() -> String {
    "it closed the link".to_owned()
}

/// The state that a connection's one call takes with it.
struct PendingCall {
    waiting: Receiver<ToMember>,
    /// Where its reader reports why it ended.
    why: oneshot::Sender<String>,
}

struct JoinService {
    desk: Arc<Mutex<Option<PendingCall>>>,
    guest: Arc<MemberConnection>,
}

impl StreamingService<FromMember> for JoinService {
    type Response = ToMember;
    type ResponseStream = ResponseQueue<ToMember, fn(ToMember) -> ToMember>;
    type Future = Ready<Result<Response<Self::ResponseStream>, Status>>;

    fn call(&mut self, request: Request<Streaming<FromMember>>) -> Self::Future {
        let desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(PendingCall { waiting, why }) = desk else {
            return ready(Err(Status::already_exists("a connection is one member")));
        };
        let guest = Arc::clone(&self.guest);
        tokio::spawn(async move {
            let said = receive_all(request.into_inner(), &guest).await;
            let _ = why.send(said);
        });
        ready(Ok(Response::new(ResponseQueue(SendQueue::new(waiting, stamp_time as fn(_) -> _)))))
    }
}

/// Receives until the stream ends, and returns why it did.
async fn receive_all(mut stream: Streaming<FromMember>, guest: &MemberConnection) -> String {
    let MemberConnection { number, end, office, .. } = guest;
    let hello = match timeout(INTRODUCED, stream.message()).await {
        Ok(Ok(Some(FromMember::Hello(hello)))) => hello,
        Ok(Ok(Some(_))) => return "it did not say who it is".to_owned(),
        Ok(Ok(None)) => return closed(),
        Ok(Err(status)) => return status_cause(&status),
        Err(_) => return format!("it did not say who it is within {} s", INTRODUCED.as_secs()),
    };
    if let Err(why) = guest.check_admission(&hello) {
        end.send(ToMember::Refused(why.clone()));
        return why;
    }
    number.get_or_init(|| office.register(hello.member, end));
    end.send(ToMember::Welcome);
    guest.report(MemberEvent::Joined(hello)).await;
    loop {
        match stream.message().await {
            Ok(Some(FromMember::Told(tidings))) => guest.report(MemberEvent::Told(tidings)).await,
            Ok(Some(FromMember::Hello(_))) => return "it says twice who it is".to_owned(),
            Ok(Some(said)) => {
                if let Some(Err(jumped)) = clock_exchange(&said).map(|signal| end.add_exchange(signal)) {
                    guest.report(MemberEvent::Jumped(jumped)).await;
                }
            }
            Ok(None) => return closed(),
            Err(status) => return status_cause(&status),
        }
    }
}
