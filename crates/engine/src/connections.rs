//! One loop's connections: which are being made, which are idle, which wait for an answer.

use crate::answer::AnswerReader;
use crate::endpoint::Endpoint;
use crate::recorder::Arrival;
use crate::stream::Stream;
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use units::Nanos;

pub(crate) struct Connection {
    pub stream: Stream,
    pub reader: AnswerReader,
    /// Bytes of the request that did not fit into the kernel's buffer.
    pub unwritten: Vec<u8>,
    pub state: State,
}

#[derive(Clone, Copy)]
pub(crate) enum State {
    Connecting {
        /// On the monotonic clock.
        since_ns: u64,
    },
    Idle,
    /// Waits for an answer.
    Busy {
        arrival: Arrival,
        sent: Nanos,
        /// The arrival was decided when its trial ended; the answer is read and forgotten.
        orphan: bool,
    },
}

/// Connections by slot number, which is also their token in the kernel's events.
pub(crate) struct Connections {
    slots: Vec<Option<Connection>>,
    free: Vec<u32>,
    /// The last used is used next: it is the warmest, and the others may grow old and be closed.
    idle: Vec<u32>,
    connecting: usize,
    /// Those being made, oldest first; those made or closed meanwhile are passed over.
    made_next: VecDeque<(u32, u64)>,
    in_flight: usize,
    orphans: usize,
    /// Serial number of the next connection, and the step to the one after it.
    serial: (u64, u64),
    head_only: bool,
}

impl Connections {
    /// None yet. `serial` numbers them over all loops; `head_only`: answers have no body.
    pub fn new(serial: (u64, u64), head_only: bool) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            idle: Vec::new(),
            connecting: 0,
            made_next: VecDeque::new(),
            in_flight: 0,
            orphans: 0,
            serial,
            head_only,
        }
    }

    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub fn connecting(&self) -> usize {
        self.connecting
    }

    /// Sent and not done, orphans included.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub fn orphans(&self) -> usize {
        self.orphans
    }

    /// Begins a connection; the kernel will report it under its slot number.
    pub fn open(&mut self, endpoint: &Endpoint, epoll: &OwnedFd) -> io::Result<u32> {
        let (serial, step) = self.serial;
        let since_ns = sys::monotonic_ns();
        let stream = Stream::connect(endpoint, serial)?;
        let slot = self.free.last().copied().unwrap_or(self.slots.len() as u32);
        stream.register(epoll, u64::from(slot))?;
        self.serial = (serial + step, step);
        if self.free.pop().is_none() {
            self.slots.push(None);
        }
        self.slots[slot as usize] = Some(Connection {
            stream,
            reader: AnswerReader::new(self.head_only),
            unwritten: Vec::new(),
            state: State::Connecting { since_ns },
        });
        self.made_next.push_back((slot, since_ns));
        self.connecting += 1;
        Ok(slot)
    }

    /// None if the slot is empty: an event may come late, after its connection was closed.
    pub fn state(&self, slot: u32) -> Option<State> {
        self.slots.get(slot as usize)?.as_ref().map(|c| c.state)
    }

    /// # Panics
    /// If the slot is empty.
    pub fn get(&mut self, slot: u32) -> &mut Connection {
        self.slots[slot as usize].as_mut().expect("the slot is open")
    }

    /// The oldest connection that has been in the making for longer than `limit`: packets to the
    /// target get lost, and the kernel would go on trying for minutes.
    pub fn overdue(&mut self, limit: Nanos) -> Option<u32> {
        while let Some((slot, began)) = self.made_next.front().copied() {
            let is_being_made =
                matches!(self.state(slot), Some(State::Connecting { since_ns }) if since_ns == began);
            if is_being_made && sys::monotonic_ns() - began <= limit.0 {
                return None;
            }
            self.made_next.pop_front();
            if is_being_made {
                return Some(slot);
            }
        }
        None
    }

    /// The connection is made and carries nothing yet.
    pub fn made(&mut self, slot: u32) {
        self.connecting -= 1;
        self.get(slot).state = State::Idle;
        self.idle.push(slot);
    }

    pub fn take_idle(&mut self) -> Option<u32> {
        self.idle.pop()
    }

    /// A connection from [`Connections::take_idle`] carries this arrival from now on.
    pub fn carry(&mut self, slot: u32, arrival: Arrival, sent: Nanos) -> &mut Connection {
        self.in_flight += 1;
        let connection = self.get(slot);
        connection.state = State::Busy { arrival, sent, orphan: false };
        connection.reader.reset();
        connection
    }

    /// The answer is complete; the connection may carry another request if both sides `keep` it.
    pub fn done(&mut self, slot: u32, keep: bool) {
        let connection = self.get(slot);
        if !keep || !connection.unwritten.is_empty() {
            return self.close(slot);
        }
        let State::Busy { orphan, .. } = connection.state else {
            unreachable!("only a busy connection is answered")
        };
        connection.state = State::Idle;
        self.in_flight -= 1;
        self.orphans -= usize::from(orphan);
        self.idle.push(slot);
    }

    /// Closes it, whatever it does.
    pub fn close(&mut self, slot: u32) {
        let Some(connection) = self.slots[slot as usize].take() else { return };
        match connection.state {
            State::Connecting { .. } => self.connecting -= 1,
            State::Idle => self.idle.retain(|idle| *idle != slot),
            State::Busy { orphan, .. } => {
                self.in_flight -= 1;
                self.orphans -= usize::from(orphan);
            }
        }
        self.free.push(slot);
    }

    /// The trial is over: what is in flight is no longer counted, only waited for. Each arrival that
    /// was carried goes to `decide`.
    pub fn orphan_all(&mut self, mut decide: impl FnMut(&Arrival)) {
        for connection in self.slots.iter_mut().flatten() {
            if let State::Busy { arrival, orphan, .. } = &mut connection.state
                && !*orphan
            {
                decide(arrival);
                *orphan = true;
                self.orphans += 1;
            }
        }
    }

    /// Nobody waits for orphans any longer.
    pub fn close_orphans(&mut self) {
        for slot in 0..self.slots.len() as u32 {
            if matches!(self.state(slot), Some(State::Busy { orphan: true, .. })) {
                self.close(slot);
            }
        }
    }
}
