//! Which exchange's time is up next.

use crate::slots::Key;
use std::collections::VecDeque;
use units::Nanos;

/// One queue for each length of time-out: in each, what was sent first expires first. Exchanges
/// that are over are passed over.
pub(crate) struct Expiry {
    queues: Vec<(Nanos, VecDeque<(Nanos, Key)>)>,
}

impl Expiry {
    pub fn new() -> Self {
        Self { queues: Vec::new() }
    }

    /// The exchange expires `timeout` after it was due.
    pub fn push(&mut self, due: Nanos, timeout: Nanos, key: Key) {
        let at = match self.queues.iter().position(|(length, _)| *length == timeout) {
            Some(at) => at,
            None => {
                self.queues.push((timeout, VecDeque::new()));
                self.queues.len() - 1
            }
        };
        self.queues[at].1.push_back((due + timeout, key));
    }

    /// The next exchange that has expired by `now`; `open` says whether one is not over yet.
    pub fn pop(&mut self, now: Nanos, open: impl Fn(Key) -> bool) -> Option<Key> {
        for (_, queue) in &mut self.queues {
            while let Some((at, key)) = queue.front().copied() {
                let is_open = open(key);
                if is_open && at > now {
                    break;
                }
                queue.pop_front();
                if is_open {
                    return Some(key);
                }
            }
        }
        None
    }

    /// When the next one expires at the earliest.
    pub fn next(&self) -> Option<Nanos> {
        self.queues.iter().filter_map(|(_, queue)| queue.front()).map(|(at, _)| *at).min()
    }

    pub fn clear(&mut self) {
        self.queues.clear();
    }
}
