//! The coordinator's side: a stream to each member.

use crate::Error;
use crate::beat::keep_time;
use crate::codec::Packed;
use crate::connection::{Carries, PATH, REPORT_MOST, broke, failed, serve};
use crate::door::Door;
use crate::lane::{Answers, Lane, WAITING};
use crate::member::{End, signal, stamp};
use crate::office::{Guest, News, Office};
use crate::pass::Pass;
use crate::pipe::Duplex;
use crate::thread::{PARTING, Thread, next};
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
pub struct Post {
    office: Arc<Office>,
    news: Receiver<(u32, News)>,
    /// Asks for rounds of all clocks; what is sent is dropped when they are over.
    rounds: Sender<oneshot::Sender<()>>,
    thread: Thread,
}

impl Post {
    /// Opens it for members of this version and build, and in this role. Its thread stays away from `busy` processors, if there are others.
    ///
    /// # Errors
    /// If there is no thread.
    pub fn open(build: &str, stamp: &BuildStamp, role: FleetRole, busy: &[u32]) -> Result<Self, Error> {
        let (news, heard) = channel(NEWS);
        let (open, parted) = oneshot::channel();
        let thread = Thread::start(busy, async move { drop(parted.await) })?;
        let office = Arc::new(Office::new(build, stamp, role, news, open));
        let (rounds, asked) = channel(1);
        thread.handle().spawn(keep_time(Arc::clone(&office), asked));
        Ok(Self { office, news: heard, rounds, thread })
    }

    /// A socket by which a process of this machine becomes this member, such as its standard input.
    ///
    /// # Errors
    /// If there is no descriptor left.
    pub fn pair(&self, member: u32) -> Result<OwnedFd, Error> {
        let (ours, theirs) = UnixStream::pair().map_err(Error::Start)?;
        self.take(member, ours)?;
        Ok(theirs.into())
    }

    /// Whoever is at the other end of this becomes this member, once it says who it is. One that was it before is it no longer.
    ///
    /// # Errors
    /// If it is nothing that can be waited for, such as a file.
    pub fn take(&self, member: u32, way: impl Into<Duplex>) -> Result<(), Error> {
        let _here = self.thread.handle().enter();
        let io = way.into().open().map_err(Error::Start)?;
        let (to, waiting) = channel(WAITING);
        let (end, office) = (Arc::new(End::new(to)), Arc::clone(&self.office));
        let number = office.seat(Some(member), &end).into();
        let guest = Guest { number, end, office, stranger: None };
        self.thread.handle().spawn(tend(io, Arc::new(guest), waiting));
        Ok(())
    }

    /// Lets in who comes there and shows a pass of the same authority as `pass`, which is the coordinator's. Whoever says no number
    /// gets the first that there is not.
    ///
    /// # Errors
    /// If that cannot be listened to, or the pass is none.
    pub fn listen(&self, there: TcpListener, pass: &Pass) -> Result<(), Error> {
        let _here = self.thread.handle().enter();
        let door = Door::open(there, pass)?;
        self.thread.handle().spawn(welcome(door, Arc::downgrade(&self.office)));
        Ok(())
    }

    /// Who was not let in since this was last asked, and why; the latest of them.
    pub fn turned_away(&self) -> Vec<String> {
        self.office.take_turned_away()
    }

    /// Tells a member what to do. It never waits: false if the member is gone, or reads so little that it is let go.
    pub fn send(&self, member: u32, what: Instruction) -> bool {
        let Some(end) = self.office.end(member) else { return false };
        let told = end.tell(ToMember::Told(what));
        if !told {
            end.cut();
        }
        told
    }

    /// What is heard next, of whom; none within this time. Whoever conducts a load calls this at least every second or so.
    pub fn next(&mut self, within: Duration) -> Option<(u32, News)> {
        self.office.conducted.beat();
        next(&mut self.news, within).flatten()
    }

    /// Finds out how far all clocks are from ours, of one member after the other, for so long at most. What is told meanwhile
    /// waits.
    pub fn agree(&mut self, within: Duration) {
        self.office.conducted.beat();
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
    pub fn reading(&self, member: u32, at: Nanos) -> Option<ClockReading> {
        self.office.end(member)?.reading(at)
    }
}

impl Drop for Post {
    /// What was told still goes out; the thread waits for that.
    fn drop(&mut self) {
        std::mem::take(&mut *self.office.ends()).values().for_each(|end| end.close());
    }
}

/// Lets in who comes, as long as there is an office.
async fn welcome(door: Door, office: Weak<Office>) {
    loop {
        let knock = door.next().await;
        let Some(office) = office.upgrade() else { return };
        tokio::spawn(async move {
            let from = knock.from.to_string();
            match knock.shows().await {
                Ok((io, shown)) => {
                    let (to, waiting) = channel(WAITING);
                    let (number, end) = (OnceLock::new(), Arc::new(End::new(to)));
                    let guest = Guest { number, end, office, stranger: Some((from, shown)) };
                    tend(io, Arc::new(guest), waiting).await;
                }
                Err(why) => office.turn_away(&from, &why),
            }
        });
    }
}

/// All of one stream, until it is over.
async fn tend(io: impl Carries, guest: Arc<Guest>, waiting: Receiver<ToMember>) {
    let (why, mut reason) = oneshot::channel();
    let desk = Arc::new(Mutex::new(Some(Desk { waiting, why })));
    let listener = Arc::clone(&guest);
    let service = service_fn(move |request: http::Request<_>| {
        let (desk, listener) = (Arc::clone(&desk), Arc::clone(&listener));
        async move {
            if request.uri().path() != PATH {
                return Ok::<_, Infallible>(Status::unimplemented("there is only one call").into_http());
            }
            let packed = Packed::<ToMember, FromMember>::new();
            let mut call = Grpc::new(packed).max_decoding_message_size(REPORT_MOST);
            Ok(call.streaming(Joining { desk, guest: listener }, request).await)
        }
    });
    let mut serving = pin!(serve(io, service));
    let mut is_cut = pin!(guest.end.is_cut());
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
            _ => ended.as_ref().err().map_or_else(closed, |why| broke(why)),
        },
        (None, None) => closed(),
    };
    guest.is_gone(why).await;
    if served.is_none() {
        // What was told it last is still on its way.
        let _ = timeout(PARTING, serving).await;
    }
}

fn closed() -> String {
    "it closed the link".to_owned()
}

/// What the one call of a connection takes with it.
struct Desk {
    waiting: Receiver<ToMember>,
    /// Where its reader says why it ended.
    why: oneshot::Sender<String>,
}

/// The call.
struct Joining {
    desk: Arc<Mutex<Option<Desk>>>,
    guest: Arc<Guest>,
}

impl StreamingService<FromMember> for Joining {
    type Response = ToMember;
    type ResponseStream = Answers<ToMember, fn(ToMember) -> ToMember>;
    type Future = Ready<Result<Response<Self::ResponseStream>, Status>>;

    fn call(&mut self, request: Request<Streaming<FromMember>>) -> Self::Future {
        let desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Desk { waiting, why }) = desk else {
            return ready(Err(Status::already_exists("a connection is one member")));
        };
        let guest = Arc::clone(&self.guest);
        tokio::spawn(async move {
            let said = listen(request.into_inner(), &guest).await;
            let _ = why.send(said);
        });
        ready(Ok(Response::new(Answers(Lane::new(waiting, stamp as fn(_) -> _)))))
    }
}

/// Hears a member out. Gives why there is no more.
async fn listen(mut stream: Streaming<FromMember>, guest: &Guest) -> String {
    let Guest { number, end, office, .. } = guest;
    let hello = match timeout(INTRODUCED, stream.message()).await {
        Ok(Ok(Some(FromMember::Hello(hello)))) => hello,
        Ok(Ok(Some(_))) => return "it did not say who it is".to_owned(),
        Ok(Ok(None)) => return closed(),
        Ok(Err(status)) => return failed(&status),
        Err(_) => return format!("it did not say who it is within {} s", INTRODUCED.as_secs()),
    };
    if let Err(why) = guest.is_let_in(&hello) {
        end.tell(ToMember::Refused(why.clone()));
        return why;
    }
    number.get_or_init(|| office.seat(hello.member, end));
    end.tell(ToMember::Welcome);
    guest.tell(News::Joined(hello)).await;
    loop {
        match stream.message().await {
            Ok(Some(FromMember::Told(tidings))) => guest.tell(News::Told(tidings)).await,
            Ok(Some(FromMember::Hello(_))) => return "it says twice who it is".to_owned(),
            Ok(Some(said)) => {
                if let Some(Err(jumped)) = signal(&said).map(|signal| end.time(signal)) {
                    guest.tell(News::Jumped(jumped)).await;
                }
            }
            Ok(None) => return closed(),
            Err(status) => return failed(&status),
        }
    }
}
