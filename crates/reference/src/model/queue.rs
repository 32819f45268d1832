//! A bounded FIFO queue between threads.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};

pub(super) struct Queue<T> {
    state: Mutex<State<T>>,
    filled: Condvar,
    capacity: usize,
}

struct State<T> {
    items: VecDeque<T>,
    /// Threads in `pop`; an item for one of them does not wait.
    waiting: usize,
    closed: bool,
}

impl<T> Queue<T> {
    pub(super) fn new(capacity: usize) -> Self {
        let state = State { items: VecDeque::new(), waiting: 0, closed: false };
        Self { state: Mutex::new(state), filled: Condvar::new(), capacity }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().expect("nothing panics while the queue is locked")
    }

    /// Returns the item when the queue is full or closed.
    pub(super) fn push(&self, item: T) -> Result<(), T> {
        let mut state = self.lock();
        if state.closed || state.items.len() >= self.capacity.saturating_add(state.waiting) {
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
            state.waiting += 1;
            state = self.filled.wait(state).expect("nothing panics while the queue is locked");
            state.waiting -= 1;
        }
    }

    /// Ends all waiting; drops what is still queued.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.items.clear();
        drop(state);
        self.filled.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_counts_those_who_wait() {
        let queue = Queue::new(2);
        assert_eq!((queue.push(1), queue.push(2), queue.push(3)), (Ok(()), Ok(()), Err(3)));
        assert_eq!(
            (queue.pop(), queue.push(4), queue.pop(), queue.pop()),
            (Some(1), Ok(()), Some(2), Some(4))
        );
        queue.close();
        assert_eq!((queue.pop(), queue.push(5)), (None, Err(5)));
    }

    #[test]
    fn without_waiting_places_an_idle_thread_still_takes_one() {
        let queue = Queue::new(0);
        assert_eq!(queue.push(1), Err(1), "nobody takes");
        std::thread::scope(|scope| {
            let taker = scope.spawn(|| queue.pop());
            while queue.push(2).is_err() {
                std::thread::yield_now();
            }
            assert_eq!(taker.join().expect("no panic"), Some(2));
        });
    }
}
