//! The coordinator's side: a stream to each member.

use crate::Error;
use crate::codec::Packed;
use crate::connection::{Carries, PATH, REPORT_MOST, broke, failed, serve};
use crate::door::{Door, Shown, may_be};
use crate::lane::{Answers, Lane, WAITING};
use crate::member::{End, signal, stamp};
use crate::pass::Pass;
use crate::pipe::Duplex;
use crate::pulse::Pulse;
use crate::thread::{PARTING, Thread, next};
use fleet::{
    BuildStamp, ClockReading, FleetRole, FromMember, Hello, Instruction, Jumped, PROTOCOL, Tidings, ToMember,
};
use hyper::service::service_fn;
use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::future::{Ready, poll_fn, ready};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::Poll;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout, timeout_at};
use tonic::server::{Grpc, StreamingService};
use tonic::{Request, Response, Status, Streaming};
use units::Nanos;

/// So much news may wait to be heard; then members wait with theirs.
const NEWS: usize = 4096;
/// Who takes longer to say who it is wants nothing here.
const INTRODUCED: Duration = Duration::from_secs(10);
/// So many of those who were turned away are remembered.
const TURNED_AWAY: usize = 16;
/// So many times each is asked for the time before a load: one in a few is quick both ways.
const ROUNDS: usize = 20;
/// While a load goes on, each is asked so often,
const ASKED: Duration = Duration::from_secs(1);
/// unless whoever conducts it has not asked for news for so long: members end a load whose conductor hangs.
const CONDUCTED: Nanos = Nanos::from_secs(3);

/// What is heard of a member.
#[derive(Debug, PartialEq)]
pub enum News {
    /// It is there.
    Joined(Hello),
    /// It tells something.
    Told(Tidings),
    /// Its clock did what no clock does.
    Jumped(Jumped),
    /// It is there no longer, or was not let in: why. Nothing more comes of it.
    Gone(String),
}

/// The streams to all members. They are closed when it is dropped.
#[derive(Debug)]
pub struct Post {
    office: Arc<Office>,
    news: Receiver<(u32, News)>,
    /// Asks for rounds of all clocks; what is sent is dropped when they are over.
    rounds: Sender<oneshot::Sender<()>>,
    thread: Thread,
}

/// What the streams have in common.
#[derive(Debug)]
struct Office {
    build: String,
    stamp: BuildStamp,
    /// What members are: whoever is something else has come to the wrong door.
    role: FleetRole,
    ends: Mutex<BTreeMap<u32, Arc<End>>>,
    news: Sender<(u32, News)>,
    /// When news was last asked for.
    conducted: Pulse,
    /// Who was not let in before it had a number, and why.
    turned_away: Mutex<VecDeque<String>>,
    /// Whatever still goes on holds this; with the last of it all have parted.
    _open: oneshot::Sender<()>,
}

impl Office {
    fn ends(&self) -> MutexGuard<'_, BTreeMap<u32, Arc<End>>> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, member: u32) -> Option<Arc<End>> {
        self.ends().get(&member).cloned()
    }

    /// Whether this is still the stream of that member.
    fn is_present(&self, member: u32, end: &Arc<End>) -> bool {
        self.ends().get(&member).is_some_and(|present| Arc::ptr_eq(present, end))
    }

    /// From now on this is the stream of a member: of the one that it wants to be, or of the first that there is not.
    fn seat(&self, wanted: Option<u32>, end: &Arc<End>) -> u32 {
        let mut ends = self.ends();
        let free = || (0..).find(|member| !ends.contains_key(member)).unwrap_or(u32::MAX);
        let member = wanted.unwrap_or_else(free);
        if let Some(before) = ends.insert(member, Arc::clone(end)) {
            before.cut();
        }
        member
    }

    fn turned_away(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.turned_away.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn turn_away(&self, from: &str, why: &str) {
        let mut turned_away = self.turned_away();
        if turned_away.len() == TURNED_AWAY {
            turned_away.pop_front();
        }
        turned_away.push_back(format!("{from}: {why}"));
    }
}

/// Who is, or wants to be, a member: one stream.
struct Guest {
    /// Its number, once it has one.
    number: OnceLock<u32>,
    end: Arc<End>,
    office: Arc<Office>,
    /// If it came over the network: from where, and with which certificate.
    stranger: Option<(String, Shown)>,
}

impl Guest {
    /// Tells of it, if it is still who it is.
    async fn tell(&self, news: News) {
        let Some(&member) = self.number.get() else { return };
        if self.office.is_present(member, &self.end) {
            let _ = self.office.news.send((member, news)).await;
        }
    }

    async fn is_gone(&self, why: String) {
        self.end.close();
        match (self.number.get(), &self.stranger) {
            (Some(member), _) if self.office.is_present(*member, &self.end) => {
                self.office.ends().remove(member);
                let _ = self.office.news.send((*member, News::Gone(why))).await;
            }
            (None, Some((from, _))) => self.office.turn_away(from, &why),
            _ => {}
        }
    }

    /// Whether it may come in; else why not, and what would help.
    fn is_let_in(&self, hello: &Hello) -> Result<(), String> {
        let Hello { protocol, build, stamp, role, .. } = hello;
        let Office { build: ours, stamp: our_stamp, .. } = &*self.office;
        if *protocol != PROTOCOL || build != ours {
            return Err(format!(
                "it is torment {build}, and the fleet is of {ours}: all must be the same build"
            ));
        }
        if stamp.is_another(our_stamp) {
            return Err(format!(
                "it is another torment {build} ({stamp}) than the coordinator's ({our_stamp}): start the same file everywhere"
            ));
        }
        match &self.stranger {
            Some((_, shown)) if !may_be(shown, *role) => {
                Err(format!("its join file does not let in a {}", role.name()))
            }
            _ if *role != self.office.role => Err(format!(
                "it is a {}, and only a {} can come in here",
                role.name(),
                self.office.role.name()
            )),
            _ => Ok(()),
        }
    }
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
        let (build, stamp, conducted) = (build.to_owned(), stamp.clone(), Pulse::new());
        let (ends, turned_away) = (Mutex::default(), Mutex::default());
        let _open = open;
        let office = Arc::new(Office { build, stamp, role, ends, news, conducted, turned_away, _open });
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
        self.office.turned_away().drain(..).collect()
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

/// Asks members for the time: each once a second, and in rounds before a load. One after the other: asked all at once, they
/// would wait for each other.
async fn keep_time(office: Arc<Office>, mut rounds: Receiver<oneshot::Sender<()>>) {
    let mut next = Instant::now() + ASKED;
    loop {
        let asked = timeout_at(next, rounds.recv()).await;
        let all = || office.ends().values().cloned().collect::<Vec<_>>();
        match asked {
            Ok(Some(done)) => {
                for end in all() {
                    for _ in 0..ROUNDS {
                        if !end.ask().await {
                            break;
                        }
                    }
                }
                drop(done);
            }
            Ok(None) => return,
            Err(_) => {
                next = Instant::now() + ASKED;
                if office.conducted.silent_for() < CONDUCTED {
                    for end in all() {
                        end.ask().await;
                    }
                }
            }
        }
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
