//! One thread for any number of connections: it never waits but in one place, for events or for
//! the next answer that falls due. The database is asked by threads of its own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};
use std::time::Instant;

use rustix::event::EventfdFlags;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};

use super::queue::Queue;
use super::slots::Slots;
use super::{ACCEPT_PAUSE, READ_BYTES, STACK_BYTES};
use crate::Shared;
use crate::answer::Answer;
use crate::clinic::{Query, Reply};
use crate::connection::{After, Connection, Exchange, Received, Sent};
use crate::listen::Listener;
use crate::stop::{nap, wake_exactly};

/// Keys of connections never reach these: a slot is not used so often.
const LISTENER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;
const MAIL: u64 = u64::MAX - 2;

/// Connections taken before other events are looked at again.
const ACCEPT_BATCH: usize = 64;
const EVENTS: usize = 256;
/// Questions that may wait for a database thread; each holds a connection, so descriptors end first.
const QUESTIONS: usize = 1_000_000;

/// Answers from the database on their way back to a loop.
struct Mailbox {
    answers: Mutex<Vec<(u64, Answer)>>,
    /// Readable when something came.
    event: OwnedFd,
}

/// A query on its way to a database thread.
struct Question {
    key: u64,
    query: Query,
    asked: Instant,
    reply_to: Arc<Mailbox>,
}

struct Client {
    connection: Connection,
    state: State,
    /// There may be bytes to read that no event will tell of again.
    readable: bool,
}

enum State {
    /// Nothing is asked, or not all of it has come.
    Reading,
    /// An answer waits until it is due.
    Due(Exchange, Answer),
    /// The database is asked.
    Asking(Exchange),
    /// The socket takes no more for now.
    Writing(Exchange, Sent, After),
}

struct Loop {
    shared: Arc<Shared>,
    listener: Arc<Listener>,
    epoll: OwnedFd,
    clients: Slots<Client>,
    /// When which client's answer is due; keys of clients gone meanwhile open nothing.
    due: BinaryHeap<Reverse<(Instant, u64)>>,
    mailbox: Arc<Mailbox>,
    questions: Arc<Queue<Question>>,
    accept_again: Option<Instant>,
    scratch: Box<[u8]>,
}

/// Starts `loops` event loops on one listener, and a thread for each database session.
pub(crate) fn start(
    shared: &Arc<Shared>,
    listener: Listener,
    loops: usize,
) -> io::Result<Vec<JoinHandle<()>>> {
    let listener = Arc::new(listener);
    let questions = Arc::new(Queue::new(QUESTIONS));
    let mut threads = Vec::new();
    for number in 0..loops {
        let mut one = Loop::new(shared, &listener, &questions)?;
        let run = move || {
            wake_exactly();
            one.run();
            one.questions.close();
        };
        threads.push(Builder::new().name(format!("loop-{number}")).spawn(run)?);
    }
    for number in 0..shared.database.size() {
        let (shared, questions) = (Arc::clone(shared), Arc::clone(&questions));
        let thread = Builder::new().name(format!("database-{number}")).stack_size(STACK_BYTES);
        threads.push(thread.spawn(move || ask_database(&shared, &questions))?);
    }
    Ok(threads)
}

fn ask_database(shared: &Shared, questions: &Queue<Question>) {
    while let Some(Question { key, query, asked, reply_to }) = questions.pop() {
        let answer = shared.ask(&query, asked);
        let mut answers = reply_to.answers.lock().expect("nothing panics while the mailbox is locked");
        answers.push((key, answer));
        drop(answers);
        // It only fails when it is already as readable as can be.
        let _ = rustix::io::write(&reply_to.event, &1_u64.to_ne_bytes());
    }
}

impl Loop {
    fn new(
        shared: &Arc<Shared>,
        listener: &Arc<Listener>,
        questions: &Arc<Queue<Question>>,
    ) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let event = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &event, EventData::new_u64(MAIL), EventFlags::IN)?;
        epoll::add(&epoll, shared.stop.event(), EventData::new_u64(STOP), EventFlags::IN)?;
        let this = Self {
            shared: Arc::clone(shared),
            listener: Arc::clone(listener),
            epoll,
            clients: Slots::new(),
            due: BinaryHeap::new(),
            mailbox: Arc::new(Mailbox { answers: Mutex::default(), event }),
            questions: Arc::clone(questions),
            accept_again: None,
            scratch: vec![0; READ_BYTES].into_boxed_slice(),
        };
        this.watch_listener()?;
        Ok(this)
    }

    fn watch_listener(&self) -> io::Result<()> {
        // Exclusive: one new connection wakes one loop, not all.
        let flags = EventFlags::IN | EventFlags::EXCLUSIVE;
        Ok(epoll::add(&self.epoll, &self.listener.socket, EventData::new_u64(LISTENER), flags)?)
    }

    fn run(&mut self) {
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
        loop {
            let next = self.due.peek().map(|Reverse((at, _))| *at).into_iter().chain(self.accept_again).min();
            let timeout = next.map(|at| nap(at.saturating_duration_since(Instant::now())));
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), timeout.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
            let now = Instant::now();
            self.answer_due();
            for event in &events {
                match event.data.u64() {
                    STOP => return,
                    LISTENER => self.accept(),
                    MAIL => self.collect(),
                    key => self.on_event(key, event.flags, now),
                }
                // A long list of events must not make answers late.
                self.answer_due();
            }
            if self.accept_again.is_some_and(|at| at <= now) {
                self.accept_again = None;
                self.watch_listener().expect("the listener was removed when accepting paused");
            }
        }
    }

    fn answer_due(&mut self) {
        while let Some(Reverse((at, key))) = self.due.peek().copied() {
            if at > Instant::now() {
                return;
            }
            self.due.pop();
            let Some(client) = self.clients.get(key) else { continue };
            if let State::Due(exchange, answer) = std::mem::replace(&mut client.state, State::Reading) {
                self.send(key, exchange, &answer);
            }
        }
    }

    fn accept(&mut self) {
        for _ in 0..ACCEPT_BATCH {
            match self.listener.accept() {
                Ok(Some(socket)) => {
                    self.shared.log.connections.opened();
                    let connection = Connection::new(Arc::clone(&socket));
                    let key =
                        self.clients.insert(Client { connection, state: State::Reading, readable: false });
                    let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
                    if epoll::add(&self.epoll, &socket, EventData::new_u64(key), flags).is_err() {
                        self.close(key);
                    }
                }
                Ok(None) => return,
                Err(_) => {
                    self.shared.log.connections.accept_paused();
                    self.accept_again = Some(Instant::now() + ACCEPT_PAUSE);
                    epoll::delete(&self.epoll, &self.listener.socket)
                        .expect("the listener is watched while accepting is not paused");
                    return;
                }
            }
        }
    }

    fn collect(&mut self) {
        let mut count = [0; 8];
        // Reading only makes it quiet; the answers are in the list.
        let _ = rustix::io::read(&self.mailbox.event, &mut count);
        let mut answers = self.mailbox.answers.lock().expect("nothing panics while the mailbox is locked");
        let arrived = std::mem::take(&mut *answers);
        drop(answers);
        for (key, answer) in arrived {
            let Some(client) = self.clients.get(key) else { continue };
            if let State::Asking(exchange) = client.state {
                client.state = State::Reading;
                self.send(key, exchange, &answer);
            }
        }
    }

    fn on_event(&mut self, key: u64, flags: EventFlags, now: Instant) {
        let Some(client) = self.clients.get(key) else { return };
        if flags.intersects(EventFlags::HUP | EventFlags::ERR) {
            return self.close(key);
        }
        client.readable |= flags.intersects(EventFlags::IN | EventFlags::RDHUP);
        match client.state {
            State::Writing(..) if flags.contains(EventFlags::OUT) => self.resume(key),
            State::Reading if client.readable => self.read(key, Some(now)),
            _ => {}
        }
    }

    /// Reads and answers until there is nothing left to do without waiting.
    fn read(&mut self, key: u64, mut ready: Option<Instant>) {
        loop {
            let Some(client) = self.clients.get(key) else { return };
            if !matches!(client.state, State::Reading) {
                return;
            }
            let shared = &self.shared;
            let next = client
                .connection
                .next(&shared.log, |route, request, arrival| shared.reply(route, request, arrival));
            if let Some((exchange, reply)) = next {
                match reply {
                    Reply::Now(answer) => self.when_due(key, exchange, answer),
                    Reply::Ask(query) => self.ask(key, exchange, query),
                }
                continue;
            }
            if !client.readable {
                return;
            }
            match client.connection.receive(&mut self.scratch, ready.take()) {
                // A short read emptied the socket; more, or the end, will be a new event.
                Received::Bytes(n) => client.readable = n == self.scratch.len(),
                Received::Nothing => client.readable = false,
                Received::Closed => return self.close(key),
            }
        }
    }

    fn when_due(&mut self, key: u64, exchange: Exchange, answer: Answer) {
        let Some(client) = self.clients.get(key) else { return };
        match answer.not_before {
            Some(due) if due > Instant::now() => {
                client.state = State::Due(exchange, answer);
                self.due.push(Reverse((due, key)));
            }
            _ => self.send_only(key, exchange, &answer),
        }
    }

    fn ask(&mut self, key: u64, exchange: Exchange, query: Query) {
        let question = Question { key, query, asked: Instant::now(), reply_to: Arc::clone(&self.mailbox) };
        match self.questions.push(question) {
            Ok(()) => {
                if let Some(client) = self.clients.get(key) {
                    client.state = State::Asking(exchange);
                }
            }
            Err(_) => {
                self.send_only(
                    key,
                    exchange,
                    &Answer::text(503, "too many requests wait for the database\n"),
                );
            }
        }
    }

    /// Sends an answer that had to wait, and goes on with what the client sent meanwhile.
    fn send(&mut self, key: u64, exchange: Exchange, answer: &Answer) {
        self.send_only(key, exchange, answer);
        self.read(key, None);
    }

    fn send_only(&mut self, key: u64, exchange: Exchange, answer: &Answer) {
        let Some(client) = self.clients.get(key) else { return };
        let after = client.connection.push(&exchange, answer);
        client.state = State::Writing(exchange, Sent::from(answer), after);
        self.write(key);
    }

    /// The socket takes more again.
    fn resume(&mut self, key: u64) {
        self.write(key);
        self.read(key, None);
    }

    fn write(&mut self, key: u64) {
        let Some(client) = self.clients.get(key) else { return };
        let flushed = client.connection.flush();
        match std::mem::replace(&mut client.state, State::Reading) {
            State::Writing(exchange, sent, after) => match flushed {
                Ok(true) => {
                    if client.connection.finish(&self.shared.log, &exchange, &sent, after) == After::Close {
                        self.close(key);
                    }
                }
                Ok(false) => client.state = State::Writing(exchange, sent, after),
                Err(_) => {
                    client.state = State::Writing(exchange, sent, after);
                    self.close(key);
                }
            },
            other => client.state = other,
        }
    }

    fn close(&mut self, key: u64) {
        let Some(client) = self.clients.get(key) else { return };
        if let State::Due(exchange, _) | State::Asking(exchange) | State::Writing(exchange, ..) =
            &client.state
        {
            exchange.abandon(&self.shared.log);
        }
        self.clients.remove(key);
        self.shared.log.connections.closed();
    }
}
