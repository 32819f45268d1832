//! One loop's connections: which are being made, and which have room for another request.

use crate::connection_ceiling::ConnectionCeiling;
use crate::idle_limit::{IdleLimit, is_near};
use crate::protocol::Protocol;
use crate::resolved_target::ResolvedTarget;
use crate::reuse_limit::ReuseLimit;
use crate::slots::{SlotKey, Slots};
use crate::stream::Stream;
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use units::Nanos;

/// Connections too old for use that are closed before another is made: each costs a system call while a request
/// waits.
const MAX_STALE_CLOSED: usize = 16;

pub(crate) struct Connection {
    pub stream: Stream,
    pub protocol: Protocol,
    /// Answers carried so far.
    answers: u32,
    /// Whether the server is about to close it: it carries no more.
    spent: bool,
    /// When the last answer arrived, or connecting began, on the monotonic clock.
    idle_since_ns: u64,
    /// When connecting began, on the monotonic clock; `None` once made.
    begun_ns: Option<u64>,
    /// Its index in `with_room`.
    free_index: Option<u32>,
}

/// Connections by slot number, which is also their epoll token.
#[derive(Default)]
pub(crate) struct Connections {
    slots: Slots<Connection>,
    /// Those with room. The last is used next: it is the warmest, and the others may grow old and be closed.
    with_room: Vec<u32>,
    connecting: usize,
    /// How many have carried an answer, and the most in this trial.
    used: usize,
    most_used: usize,
    /// Those being made, oldest first; those made or closed meanwhile are skipped.
    connecting_queue: VecDeque<SlotKey>,
    /// Serial number of the next connection, and the step to the one after it.
    serial: (u64, u64),
    /// If all are to be used equally often: in which order; those closed meanwhile are skipped.
    rotation: Option<VecDeque<SlotKey>>,
    idle: IdleLimit,
    reuse: ReuseLimit,
    ceiling: ConnectionCeiling,
}

impl Connections {
    /// None yet. `serial` numbers them over all loops.
    pub fn new(serial: (u64, u64)) -> Self {
        Self { serial, ..Self::default() }
    }

    /// Uses them in turn from now on, or the warmest first again.
    pub fn take_turns(&mut self, on: bool) {
        self.rotation = on.then(|| self.slots.iter_mut().map(|(key, _)| key).collect());
    }

    /// Closes the last of them until at most this many are left.
    pub fn shrink(&mut self, to: usize) {
        let surplus = self.len().saturating_sub(to);
        let last: Vec<SlotKey> = self.slots.iter_mut().rev().take(surplus).map(|(key, _)| key).collect();
        last.into_iter().for_each(|key| self.close(key.number));
    }

    /// Closes at once, longest idle first: those idle since `before_ns` of the monotonic clock, but for `least`
    /// in all, and any above `most`.
    pub fn trim(&mut self, most: usize, least: usize, before_ns: u64) {
        let mut all: Vec<(u64, SlotKey)> =
            self.slots.iter_mut().map(|(key, connection)| (connection.idle_since_ns, key)).collect();
        all.sort_unstable_by_key(|(since, key)| (*since, key.number));
        let unneeded = all.iter().filter(|(since, _)| *since < before_ns).count();
        let surplus = unneeded.min(all.len().saturating_sub(least)).max(all.len().saturating_sub(most));
        all.into_iter().take(surplus).for_each(|(_, key)| self.close_at_once(key.number));
    }

    /// Closes idle connections, at once.
    pub fn close_idle(&mut self) {
        let all: Vec<SlotKey> = self.slots.iter_mut().map(|(key, _)| key).collect();
        all.into_iter().for_each(|key| self.close_if_idle(key.number));
    }

    /// Closes this one if idle.
    pub fn close_if_idle(&mut self, slot: u32) {
        if let Some(connection) = self.slots.get_mut(slot)
            && !connection.is_being_made()
            && connection.protocol.is_idle()
        {
            self.close_at_once(slot);
        }
    }

    /// By reset, so that no port is left in TIME-WAIT for a minute.
    fn close_at_once(&mut self, slot: u32) {
        if let Some(connection) = self.slots.get_mut(slot) {
            connection.stream.reset_at_close();
        }
        self.close(slot);
    }

    pub fn give_up_making(&mut self) {
        let being_made = self.slots.iter_mut().filter(|(_, connection)| connection.is_being_made());
        let being_made: Vec<SlotKey> = being_made.map(|(key, _)| key).collect();
        being_made.into_iter().for_each(|key| self.close(key.number));
    }

    pub fn len(&self) -> usize {
        self.slots.len()
    }

    pub fn connecting(&self) -> usize {
        self.connecting
    }

    /// A trial begins: what earlier ones were answered says nothing about it.
    pub fn trial_begins(&mut self) {
        self.most_used = self.used;
        self.ceiling.begin(sys::monotonic_ns(), self.slots.len());
    }

    pub fn may_grow(&mut self) -> bool {
        self.ceiling.allows(sys::monotonic_ns(), self.slots.len())
    }

    /// Begins a connection; the kernel reports it under its slot number.
    pub fn open(&mut self, endpoint: &ResolvedTarget, epoll: &OwnedFd) -> io::Result<u32> {
        let (serial, step) = self.serial;
        let begun_ns = sys::monotonic_ns();
        let stream = Stream::connect(endpoint, serial)?;
        stream.register(epoll, self.slots.next_number().into())?;
        self.serial = (serial + step, step);
        let key = self.slots.insert(Connection {
            stream,
            protocol: Protocol::Undecided,
            answers: 0,
            spent: false,
            idle_since_ns: begun_ns,
            begun_ns: Some(begun_ns),
            free_index: None,
        });
        if let Some(rotation) = &mut self.rotation {
            rotation.push_back(key);
        }
        self.connecting_queue.push_back(key);
        self.connecting += 1;
        Ok(key.number)
    }

    /// `None` if the slot is empty: an event may come late, after its connection was closed.
    pub fn get(&mut self, slot: u32) -> Option<&mut Connection> {
        self.slots.get_mut(slot)
    }

    /// The oldest connection that has taken longer than `limit` to make: packets to the target get lost, and
    /// the kernel would go on trying for minutes.
    pub fn overdue(&mut self, limit: Nanos) -> Option<u32> {
        while let Some(key) = self.connecting_queue.front().copied() {
            let begun = self.slots.get(key).and_then(|connection| connection.begun_ns);
            if begun.is_some_and(|begun| sys::monotonic_ns() - begun <= limit.0) {
                return None;
            }
            self.connecting_queue.pop_front();
            if begun.is_some() {
                return Some(key.number);
            }
        }
        None
    }

    /// The connection is made: it accepts requests from now on.
    pub fn mark_made(&mut self, slot: u32) {
        self.connecting -= 1;
        if let Some(connection) = self.get(slot) {
            connection.begun_ns = None;
        }
        self.update_free_list(slot);
    }

    /// A connection with room for a request. Closes those that the server is about to close first; but not if
    /// connections are held, as the point is how long they last.
    pub fn find_with_room(&mut self) -> Option<u32> {
        self.use_again();
        if self.rotation.is_some() {
            return self.next_in_turn();
        }
        for _ in 0..MAX_STALE_CLOSED {
            let warmest = self.with_room.last().copied()?;
            if !self.is_too_old(warmest) {
                return Some(warmest);
            }
            self.close(warmest);
        }
        None
    }

    fn next_in_turn(&mut self) -> Option<u32> {
        let warmest = self.with_room.last().copied()?;
        let rotation = self.rotation.as_mut()?;
        while let Some(key) = rotation.pop_front() {
            let Some(connection) = self.slots.get(key) else { continue };
            rotation.push_back(key);
            if connection.free_index.is_some() {
                return Some(key.number);
            }
        }
        Some(warmest)
    }

    /// Whether it has been idle for nearly as long as the server keeps such connections.
    fn is_too_old(&mut self, slot: u32) -> bool {
        let learned = self.idle.learned();
        let Some(connection) = self.get(slot) else { return false };
        let announced = connection.protocol.idle_limit();
        let Some(limit) = announced.into_iter().chain(learned).min() else { return false };
        if !connection.protocol.is_idle() {
            return false;
        }
        let idle = connection.idle_for(sys::monotonic_ns());
        self.idle.note_outlived(idle);
        is_near(idle, limit)
    }

    /// Answers arrived on the connection, at this moment of the monotonic clock.
    pub fn note_answers(&mut self, slot: u32, answers: usize, received_ns: u64) {
        self.ceiling.answered(answers, received_ns, self.slots.len());
        let Some(key) = self.slots.key(slot) else { return };
        let Some(connection) = self.slots.get_mut(slot) else { return };
        self.used += usize::from(!connection.is_used());
        self.most_used = self.most_used.max(self.used);
        connection.answers = connection.answers.saturating_add(answers as u32);
        connection.idle_since_ns = received_ns;
        connection.spent = self.reuse.note_answers(key, connection.answers, received_ns);
        self.ceiling.used(self.used);
    }

    /// Gives room again to those wrongly taken for spent.
    fn use_again(&mut self) {
        if !self.reuse.has_spent() {
            return;
        }
        for (key, _) in self.reuse.take_refuted(sys::monotonic_ns(), |key| self.slots.get(key).is_some()) {
            if self.slots.get(key).is_some()
                && let Some(connection) = self.slots.get_mut(key.number)
            {
                connection.spent = false;
                self.update_free_list(key.number);
            }
        }
    }

    /// After how many answers the target closes a connection unannounced, if learned.
    pub fn answers_each(&self) -> Option<u32> {
        self.reuse.learned()
    }

    /// Others wait for the places of those that have carried answers.
    pub fn note_places_full(&mut self) {
        self.ceiling.set_places(self.most_used);
    }

    /// How many the target has places for, if others had to wait for them.
    pub fn places(&self) -> Option<usize> {
        self.ceiling.places()
    }

    /// The server has closed the connection, on which nothing had been asked up to this moment of the monotonic
    /// clock.
    pub fn note_closed(&mut self, slot: u32, sent_ns: u64) {
        if let Some(connection) = self.get(slot)
            && connection.is_used()
        {
            let (idle, answers) = (connection.idle_for(sent_ns), connection.answers);
            let silently = connection.protocol.is_closed_silently();
            self.idle.note_closed(idle, sent_ns);
            if silently {
                self.reuse.note_closed(answers, idle);
            }
        }
    }

    /// Updates whether the connection is listed as having room.
    pub fn update_free_list(&mut self, slot: u32) {
        let index = self.with_room.len() as u32;
        let Some(connection) = self.get(slot) else { return };
        match (connection.protocol.room() > 0 && !connection.spent, connection.free_index) {
            (true, None) => {
                connection.free_index = Some(index);
                self.with_room.push(slot);
            }
            (false, Some(index)) => {
                connection.free_index = None;
                self.unlist(index);
            }
            _ => {}
        }
    }

    fn unlist(&mut self, index: u32) {
        self.with_room.swap_remove(index as usize);
        if let Some(moved) = self.with_room.get(index as usize).copied()
            && let Some(connection) = self.get(moved)
        {
            connection.free_index = Some(index);
        }
    }

    /// Closes it, whatever its state.
    pub fn close(&mut self, slot: u32) {
        let Some(connection) = self.slots.remove(slot) else { return };
        self.connecting -= usize::from(connection.begun_ns.is_some());
        self.used -= usize::from(connection.is_used());
        if let Some(index) = connection.free_index {
            self.unlist(index);
        }
    }
}

impl Connection {
    fn idle_for(&self, now_ns: u64) -> Nanos {
        Nanos(now_ns.saturating_sub(self.idle_since_ns))
    }

    pub fn is_used(&self) -> bool {
        self.answers > 0
    }

    pub fn is_being_made(&self) -> bool {
        self.begun_ns.is_some()
    }
}
