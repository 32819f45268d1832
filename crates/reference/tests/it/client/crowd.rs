//! Many connections from a few threads, each with its own descriptor table, in a closed
//! loop.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, sockopt};

use super::TIMEOUT;

/// Ports per source address: fewer than there are between the usual 32,768 and 60,999.
const PORTS: usize = 10_000;
/// How often a thread checks whether to begin or to end.
const POLL_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
const EVENTS: usize = 256;

pub struct ClientCrowd {
    pub address: SocketAddr,
    pub connections: usize,
    pub threads: usize,
    /// Each answer must have status 200 and the length of the first.
    pub request: &'static [u8],
    pub connected: AtomicUsize,
    pub sending: AtomicBool,
    pub recording: AtomicBool,
    /// No more requests; each client waits for its last answer, a minute at most.
    pub stopping: AtomicBool,
}

/// Stops the threads even when the test panics: otherwise the join would never end.
struct StopOnDrop<'a>(&'a ClientCrowd);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.stopping.store(true, Relaxed);
    }
}

/// Counts of all threads.
pub struct CrowdCounts {
    pub answered: u64,
    /// Connections refused, broken, or with a wrong answer.
    pub failed: u64,
    /// From sending to arrival at the socket, in nanoseconds, while recording.
    pub arrived: Histogram<u64>,
    /// From sending to reading, in nanoseconds, while recording.
    pub read: Histogram<u64>,
}

impl CrowdCounts {
    fn new() -> Self {
        let histogram = || Histogram::new(3).expect("three digits are allowed");
        Self { answered: 0, failed: 0, arrived: histogram(), read: histogram() }
    }

    fn add(mut self, other: &Self) -> Self {
        self.answered += other.answered;
        self.failed += other.failed;
        self.arrived += &other.arrived;
        self.read += &other.read;
        self
    }
}

struct CrowdClient {
    socket: OwnedFd,
    /// None while no request is pending.
    sent: Option<Instant>,
    /// Bytes of the answer received.
    received: usize,
    is_connected: bool,
}

impl ClientCrowd {
    pub fn new(address: SocketAddr, connections: usize, threads: usize, request: &'static [u8]) -> Self {
        Self {
            address,
            connections,
            threads,
            request,
            connected: AtomicUsize::new(0),
            sending: AtomicBool::new(false),
            recording: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
        }
    }

    /// Connects all at once, sends requests once `asking` is set, and ends some time after `ending` is.
    /// `conduct` runs meanwhile and sets them.
    pub fn run(&self, during: impl FnOnce(&Self)) -> CrowdCounts {
        std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..self.threads).map(|n| scope.spawn(move || self.run_thread(n))).collect();
            let ends = StopOnDrop(self);
            during(self);
            drop(ends);
            let counts = threads.into_iter().map(|thread| thread.join().expect("no panic"));
            counts.fold(CrowdCounts::new(), |all, one| all.add(&one))
        })
    }

    fn run_thread(&self, number: usize) -> CrowdCounts {
        sys::unshare_descriptors(&[]).expect("the kernel is new enough");
        let epoll = epoll::create(CreateFlags::CLOEXEC).expect("a descriptor");
        let mut members: Vec<Option<CrowdClient>> = Vec::new();
        let mut counts = CrowdCounts::new();
        for serial in (number..self.connections).step_by(self.threads) {
            let member = self.connect(serial).ok().and_then(|socket| {
                let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
                epoll::add(&epoll, &socket, EventData::new_u64(members.len() as u64), flags).ok()?;
                Some(CrowdClient { socket, sent: None, received: 0, is_connected: false })
            });
            counts.failed += u64::from(member.is_none());
            members.push(member);
        }
        let (mut length, mut is_asking, mut ending_since) = (None, false, None);
        let mut events = Vec::with_capacity(EVENTS);
        loop {
            events.clear();
            let waited =
                epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut events), Some(&POLL_INTERVAL));
            assert!(matches!(waited, Ok(_) | Err(Errno::INTR)), "{waited:?}");
            if !is_asking && self.sending.load(Relaxed) {
                is_asking = true;
                for slot in &mut members {
                    if slot.as_mut().is_some_and(|m| m.is_connected && !self.send_request(m)) {
                        (*slot, counts.failed) = (None, counts.failed + 1);
                    }
                }
            }
            for event in &events {
                let slot = &mut members[event.data.u64() as usize];
                let Some(member) = slot else { continue };
                if !self.on_event(member, event.flags, is_asking, &mut length, &mut counts) {
                    (*slot, counts.failed) = (None, counts.failed + 1);
                }
            }
            if self.stopping.load(Relaxed) {
                let over = *ending_since.get_or_insert_with(Instant::now) + TIMEOUT;
                if members.iter().flatten().all(|m| m.sent.is_none()) || Instant::now() > over {
                    return counts;
                }
            }
        }
    }

    fn connect(&self, serial: usize) -> Result<OwnedFd, Errno> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        sys::enable_receive_timestamps(&socket).expect("the kernel is new enough");
        sys::bind_address_no_port(&socket).expect("the kernel is new enough");
        let last = u8::try_from(1 + serial / PORTS).expect("fewer than two million connections");
        rustix::net::bind(&socket, &SocketAddr::from((Ipv4Addr::new(127, 0, 0, last), 0)))?;
        match rustix::net::connect(&socket, &self.address) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
            Err(e) => Err(e),
        }
    }

    /// `false` when the connection is of no more use.
    fn on_event(
        &self,
        client: &mut CrowdClient,
        flags: EventFlags,
        is_sending: bool,
        length: &mut Option<usize>,
        counts: &mut CrowdCounts,
    ) -> bool {
        if flags.intersects(EventFlags::HUP | EventFlags::ERR | EventFlags::RDHUP) {
            return false;
        }
        if !client.is_connected && flags.contains(EventFlags::OUT) {
            client.is_connected = true;
            self.connected.fetch_add(1, Relaxed);
            return !is_sending || self.send_request(client);
        }
        if !flags.contains(EventFlags::IN) {
            return true;
        }
        let mut buffer = [0; 4_096];
        let Ok((n, Some(age))) = sys::recv_with_age(&client.socket, &mut buffer) else { return false };
        if client.received == 0 && !buffer[..n].starts_with(b"HTTP/1.1 200 ") {
            return false;
        }
        client.received += n;
        if client.received < *length.get_or_insert_with(|| answer_length(&buffer[..n])) {
            return true;
        }
        let Some(sent) = client.sent.take() else { return false };
        (client.received, counts.answered) = (0, counts.answered + 1);
        if self.recording.load(Relaxed) {
            let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
            counts.read.record(ns(sent.elapsed())).expect("it grows");
            counts.arrived.record(ns(sent.elapsed().saturating_sub(age))).expect("it grows");
        }
        self.stopping.load(Relaxed) || self.send_request(client)
    }

    fn send_request(&self, client: &mut CrowdClient) -> bool {
        client.sent = Some(Instant::now());
        rustix::net::send(&client.socket, self.request, SendFlags::NOSIGNAL) == Ok(self.request.len())
    }
}

/// Length of an answer, by its head, which must be in the first read.
fn answer_length(answer: &[u8]) -> usize {
    let text = std::str::from_utf8(answer).expect("the service writes text");
    let head = text.find("\r\n\r\n").expect("the head fits into a segment") + 4;
    let body = text.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
    head + body.expect("it says its length").parse::<usize>().expect("a number")
}
