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

/// So much news may wait to be heard; then members wait with theirs.
const NEWS: usize = 4096;
/// Who takes longer to say who it is wants nothing here.
const INTRODUCED: Duration = Duration::from_secs(10);

/// The streams to all members. They are closed when it is dropped.
#[derive(Debug)]
pub struct CoordinatorLink {
    office: Arc<MemberRegistry>,
    news: Receiver<(u32, MemberEvent)>,
    /// Asks for rounds of all clocks; what is sent is dropped when they are over.
    rounds: Sender<oneshot::Sender<()>>,
    thread: RuntimeThread,
}

impl CoordinatorLink {
    /// Opens it for members of this version and build, and in this role. Its thread stays away from `busy` processors, if there are others.
    ///
    /// # Errors
    /// If there is no thread.
    pub fn open(build: &str, stamp: &BuildStamp, role: FleetRole, busy: &[u32]) -> Result<Self, Error> {
        let (news, heard) = channel(NEWS);
        let (open, parted) = oneshot::channel();
        let thread = RuntimeThread::start(busy, async move { drop(parted.await) })?;
        let office = Arc::new(MemberRegistry::new(build, stamp, role, news, open));
        let (rounds, asked) = channel(1);
        thread.handle().spawn(run_heartbeat(Arc::clone(&office), asked));
        Ok(Self { office, news: heard, rounds, thread })
    }

    /// A socket by which a process of this machine becomes this member, such as its standard input.
    ///
    /// # Errors
    /// If there is no descriptor left.
    pub fn socket_for(&self, member: u32) -> Result<OwnedFd, Error> {
        let (ours, theirs) = UnixStream::pair().map_err(Error::Start)?;
        self.accept(member, ours)?;
        Ok(theirs.into())
    }

    /// Whoever is at the other end of this becomes this member, once it says who it is. One that was it before is it no longer.
    ///
    /// # Errors
    /// If it is nothing that can be waited for, such as a file.
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

    /// Lets in who comes there and shows a pass of the same authority as `pass`, which is the coordinator's. Whoever says no number
    /// gets the first that there is not.
    ///
    /// # Errors
    /// If that cannot be listened to, or the pass is none.
    pub fn listen(&self, there: TcpListener, pass: &Credentials) -> Result<(), Error> {
        let _here = self.thread.handle().enter();
        let door = TlsListener::open(there, pass)?;
        self.thread.handle().spawn(welcome(door, Arc::downgrade(&self.office)));
        Ok(())
    }

    /// Who was not let in since this was last asked, and why; the latest of them.
    pub fn take_rejected(&self) -> Vec<String> {
        self.office.take_rejected()
    }

    /// Tells a member what to do. It never waits: false if the member is gone, or reads so little that it is let go.
    pub fn send(&self, member: u32, what: Instruction) -> bool {
        let Some(end) = self.office.handle(member) else { return false };
        let told = end.send(ToMember::Told(what));
        if !told {
            end.cut();
        }
        told
    }

    /// What is heard next, of whom; none within this time. Whoever conducts a load calls this at least every second or so.
    pub fn next(&mut self, within: Duration) -> Option<(u32, MemberEvent)> {
        self.office.conducted.touch();
        receive_within(&mut self.news, within).flatten()
    }

    /// Finds out how far all clocks are from ours, of one member after the other, for so long at most. What is told meanwhile
    /// waits.
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

    /// What is known of a member's clock at a moment of ours, which is the monotonic one.
    pub fn clock_reading(&self, member: u32, at: Nanos) -> Option<ClockReading> {
        self.office.handle(member)?.clock_reading(at)
    }
}

impl Drop for CoordinatorLink {
    /// What was told still goes out; the thread waits for that.
    fn drop(&mut self) {
        std::mem::take(&mut *self.office.handles()).values().for_each(|end| end.close());
    }
}

/// Lets in who comes, as long as there is an office.
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

/// All of one stream, until it is over.
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
    // Whatever comes first. What the stream's reader says tells most.
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
        // It broke: the reader hears of that, too, behind what has come before.
        (None, Some(ended)) => match timeout(PARTING, reason).await {
            Ok(Ok(said)) => said,
            _ => ended.as_ref().err().map_or_else(closed, |why| root_cause(why)),
        },
        (None, None) => closed(),
    };
    guest.mark_gone(why).await;
    if served.is_none() {
        // What was told it last is still on its way.
        let _ = timeout(PARTING, serving).await;
    }
}

fn closed() -> String {
    "it closed the link".to_owned()
}

/// What the one call of a connection takes with it.
struct PendingCall {
    waiting: Receiver<ToMember>,
    /// Where its reader says why it ended.
    why: oneshot::Sender<String>,
}

/// The call.
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

/// Hears a member out. Gives why there is no more.
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
