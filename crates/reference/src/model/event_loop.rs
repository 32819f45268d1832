//! One thread for any number of connections: it only waits in one place, for events or for
//! the next answer that falls due. Database threads run the queries.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};

use super::mailbox::{LoopsState, PendingQuery};
use super::slots::Slots;
use super::{ACCEPT_BATCH, ACCEPT_PAUSE, EVENTS, LISTENER, READ_BYTES, STOP};
use crate::answer::Answer;
use crate::clinic::{HandlerResult, Query};
use crate::connection::{Connection, ConnectionReuse, Exchange, ReceiveResult, SentAnswer};
use crate::fault;
use crate::stop_signal::poll_timeout;

/// Keys of connections never reach this either.
const MAILBOX: u64 = STOP - 1;

struct Client {
    connection: Connection,
    state: ClientState,
    /// There may be bytes that no further event will announce.
    readable: bool,
}

enum ClientState {
    /// No complete request yet.
    Reading,
    /// An answer waits until it is due.
    Due(Exchange, Answer),
    /// A query is pending.
    Querying(Exchange),
    /// The socket accepts no more for now.
    Writing(Exchange, SentAnswer, ConnectionReuse),
}

/// One loop with its connections; all of its descriptors are in its own thread's table.
pub(super) struct EventLoop<'a> {
    loops: &'a LoopsState,
    number: usize,
    epoll: OwnedFd,
    clients: Slots<Client>,
    /// When each client's answer is due; keys of clients that have left open nothing.
    due: BinaryHeap<Reverse<(Instant, u64)>>,
    /// Connections accepted since it was another loop's turn.
    accepted: usize,
    accept_retry: Option<Instant>,
    scratch: Box<[u8]>,
}

impl<'a> EventLoop<'a> {
    /// Loop `number`, in the calling thread's descriptor table; it must run there, too.
    pub(super) fn new(loops: &'a LoopsState, number: usize) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, loops.mailboxes[number].event(), EventData::new_u64(MAILBOX), EventFlags::IN)?;
        epoll::add(&epoll, loops.state.stop.event(), EventData::new_u64(STOP), EventFlags::IN)?;
        let this = Self {
            loops,
            number,
            epoll,
            clients: Slots::new(),
            due: BinaryHeap::new(),
            accepted: 0,
            accept_retry: None,
            scratch: vec![0; READ_BYTES].into_boxed_slice(),
        };
        this.watch_listener()?;
        Ok(this)
    }

    fn watch_listener(&self) -> io::Result<()> {
        // Exclusive: one new connection wakes one loop, not all.
        let flags = EventFlags::IN | EventFlags::EXCLUSIVE;
        Ok(epoll::add(&self.epoll, &self.loops.listener.socket, EventData::new_u64(LISTENER), flags)?)
    }

    fn unwatch_listener(&self) {
        epoll::delete(&self.epoll, &self.loops.listener.socket)
            .expect("the listener is watched while accepting is not paused");
    }

    /// When the kernel has no watch to spare (`fs.epoll.max_user_watches`), accepting pauses.
    fn resume_accepting(&mut self) {
        if self.watch_listener().is_err() {
            self.accept_retry = Some(Instant::now() + ACCEPT_PAUSE);
        }
    }

    /// Serves until the service stops.
    pub(super) fn run(&mut self) {
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
        loop {
            let next = self.due.peek().map(|Reverse((at, _))| *at).into_iter().chain(self.accept_retry).min();
            let timeout = next.map(|at| poll_timeout(at.saturating_duration_since(Instant::now())));
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
                    LISTENER if self.accept_retry.is_none() => self.accept(),
                    // Accepting has paused since this event.
                    LISTENER => {}
                    MAILBOX => self.collect_answers(),
                    key => self.on_event(key, event.flags, now),
                }
                // A long list of events must not make answers late.
                self.answer_due();
            }
            if self.accept_retry.is_some_and(|at| at <= now) {
                self.accept_retry = None;
                self.resume_accepting();
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
            if let ClientState::Due(exchange, answer) =
                std::mem::replace(&mut client.state, ClientState::Reading)
            {
                self.send(key, exchange, &answer);
            }
        }
    }

    fn accept(&mut self) {
        for _ in 0..ACCEPT_BATCH {
            match self.loops.listener.accept() {
                Ok(Some(socket)) => self.add_client(socket),
                Ok(None) => break,
                Err(_) => {
                    self.loops.state.log.connections.accept_paused();
                    self.accept_retry = Some(Instant::now() + ACCEPT_PAUSE);
                    self.unwatch_listener();
                    // The kernel may have notified only this loop.
                    return self.loops.notify_other_loops(self.number);
                }
            }
        }
        if self.accepted >= ACCEPT_BATCH && self.loops.mailboxes.len() > 1 {
            // Of the sleeping loops, the kernel wakes the one that has watched longest.
            self.accepted = 0;
            self.unwatch_listener();
            self.resume_accepting();
        }
    }

    fn add_client(&mut self, socket: Arc<OwnedFd>) {
        self.accepted += 1;
        self.loops.state.log.connections.opened();
        let connection = Connection::new(Arc::clone(&socket));
        let key = self.clients.insert(Client { connection, state: ClientState::Reading, readable: false });
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        if epoll::add(&self.epoll, &socket, EventData::new_u64(key), flags).is_err() {
            self.close(key);
        }
    }

    fn collect_answers(&mut self) {
        let (arrived, look) = self.loops.mailboxes[self.number].collect();
        if look && self.accept_retry.is_none() {
            self.accept();
        }
        for (key, answer) in arrived {
            let Some(client) = self.clients.get(key) else { continue };
            if let ClientState::Querying(exchange) = client.state {
                client.state = ClientState::Reading;
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
            ClientState::Writing(..) if flags.contains(EventFlags::OUT) => self.resume(key),
            ClientState::Reading if client.readable => self.read(key, Some(now)),
            _ => {}
        }
    }

    /// Reads and answers until the next step would block.
    fn read(&mut self, key: u64, mut ready: Option<Instant>) {
        loop {
            let Some(client) = self.clients.get(key) else { return };
            if !matches!(client.state, ClientState::Reading) {
                return;
            }
            let state = &self.loops.state;
            let next = client
                .connection
                .next(&state.log, |route, request, arrival| state.handle(route, request, arrival));
            if let Some((exchange, reply)) = next {
                match reply {
                    HandlerResult::Answer(answer) => self.send_when_due(key, exchange, answer),
                    HandlerResult::Query(query) => self.submit_query(key, exchange, query),
                    HandlerResult::Fault(work) if work.blocks() => {
                        self.send_when_due(key, exchange, fault::blocking_refused())
                    }
                    // It blocks all connections of this loop, as such work does.
                    HandlerResult::Fault(work) => {
                        let answer = self.loops.state.run_fault(&work);
                        self.send_when_due(key, exchange, answer);
                    }
                }
                continue;
            }
            if !client.readable {
                return;
            }
            match client.connection.receive(&mut self.scratch, ready.take()) {
                // A short read emptied the socket; more data, or the end, will be a new event.
                ReceiveResult::Bytes(n) => client.readable = n == self.scratch.len(),
                ReceiveResult::WouldBlock => client.readable = false,
                ReceiveResult::Closed => return self.close(key),
            }
        }
    }

    fn send_when_due(&mut self, key: u64, exchange: Exchange, answer: Answer) {
        let Some(client) = self.clients.get(key) else { return };
        match answer.not_before {
            Some(due) if due > Instant::now() => {
                client.state = ClientState::Due(exchange, answer);
                self.due.push(Reverse((due, key)));
            }
            _ => self.queue_answer(key, exchange, &answer),
        }
    }

    fn submit_query(&mut self, key: u64, exchange: Exchange, query: Query) {
        let question = PendingQuery { key, query, submitted: Instant::now(), reply_to: self.number };
        match self.loops.queries.push(question) {
            Ok(()) => {
                if let Some(client) = self.clients.get(key) {
                    client.state = ClientState::Querying(exchange);
                }
            }
            Err(_) => {
                self.queue_answer(
                    key,
                    exchange,
                    &Answer::text(503, "too many requests wait for the database\n"),
                );
            }
        }
    }

    /// Sends an answer that had to wait, and continues with what the client sent meanwhile.
    fn send(&mut self, key: u64, exchange: Exchange, answer: &Answer) {
        self.queue_answer(key, exchange, answer);
        self.read(key, None);
    }

    fn queue_answer(&mut self, key: u64, exchange: Exchange, answer: &Answer) {
        let Some(client) = self.clients.get(key) else { return };
        let after = client.connection.push(&exchange, answer);
        client.state = ClientState::Writing(exchange, SentAnswer::from(answer), after);
        self.write(key);
    }

    /// The socket accepts more again.
    fn resume(&mut self, key: u64) {
        self.write(key);
        self.read(key, None);
    }

    fn write(&mut self, key: u64) {
        let Some(client) = self.clients.get(key) else { return };
        let ClientState::Writing(exchange, sent, after) = client.state else { return };
        match client.connection.flush() {
            Ok(true) => {
                client.state = ClientState::Reading;
                let log = &self.loops.state.log;
                if client.connection.finish(log, &exchange, &sent, after) == ConnectionReuse::Close {
                    self.close(key);
                }
            }
            Ok(false) => {}
            Err(_) => self.close(key),
        }
    }

    fn close(&mut self, key: u64) {
        let Some(client) = self.clients.get(key) else { return };
        if let ClientState::Due(exchange, _)
        | ClientState::Querying(exchange)
        | ClientState::Writing(exchange, ..) = &client.state
        {
            exchange.abandon(&self.loops.state.log);
        }
        self.clients.remove(key);
        self.loops.state.log.connections.closed();
    }
}
