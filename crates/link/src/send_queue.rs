//! Outgoing messages.

use futures_core::Stream;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc::Receiver;

/// Longest queue: two minutes of slices, and the rest. A peer that lets more pile up no longer listens.
pub(crate) const QUEUE_LENGTH: usize = 256;

/// Messages in order. `stamp` is applied when a message's turn comes, so that a time in it is accurate.
pub(crate) struct SendQueue<T, U> {
    messages: Receiver<T>,
    stamp: fn(T) -> U,
}

impl<T, U> SendQueue<T, U> {
    pub fn new(messages: Receiver<T>, stamp: fn(T) -> U) -> Self {
        Self { messages, stamp }
    }
}

impl<T, U> Stream for SendQueue<T, U> {
    type Item = U;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<U>> {
        let queue = self.get_mut();
        queue.messages.poll_recv(context).map(|next| next.map(queue.stamp))
    }
}
