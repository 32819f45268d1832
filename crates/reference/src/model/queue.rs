//! A queue between threads: first in, first out, with a bound.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};

pub(super) struct Queue<T> {
    state: Mutex<State<T>>,
    filled: Condvar,
    bound: usize,
}

struct State<T> {
    items: VecDeque<T>,
    closed: bool,
}

impl<T> Queue<T> {
    pub(super) fn new(bound: usize) -> Self {
        let state = State { items: VecDeque::new(), closed: false };
        Self { state: Mutex::new(state), filled: Condvar::new(), bound }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().expect("nothing panics while the queue is locked")
    }

    /// Gives the item back when the queue is full or closed.
    pub(super) fn push(&self, item: T) -> Result<(), T> {
        let mut state = self.lock();
        if state.closed || state.items.len() >= self.bound {
            return Err(item);
        }
        state.items.push_back(item);
        drop(state);
        self.filled.notify_one();
        Ok(())
    }

    /// Waits for an item; `None` once the queue is closed.
    pub(super) fn pop(&self) -> Option<T> {
        let mut state = self.lock();
        loop {
            if state.closed {
                return None;
            }
            if let Some(item) = state.items.pop_front() {
                return Some(item);
            }
            state = self.filled.wait(state).expect("nothing panics while the queue is locked");
        }
    }

    /// Ends all waiting; what is still queued is dropped.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.items.clear();
        drop(state);
        self.filled.notify_all();
    }
}
