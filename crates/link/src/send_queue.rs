//! Outgoing messages.

use futures_core::Stream;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc::Receiver;

/// Longest queue: two minutes of slices, and the rest. A peer that lets more pile up no longer listens.
pub(crate) const QUEUE_LENGTH: usize = 256;

/// Messages in order. `stamp` is applied when a message's turn comes, so that a time in it is accurate.
pub(crate) struct SendQueue<T, F> {
    messages: Receiver<T>,
    stamp: F,
}

impl<T, F> SendQueue<T, F> {
    pub fn new(waiting: Receiver<T>, stamp: F) -> Self {
        Self { messages: waiting, stamp }
    }
}

impl<T, F> SendQueue<T, F>
where
    F: Fn(T) -> T + Unpin,
{
    fn poll_message(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let lane = self.get_mut();
        lane.messages.poll_recv(context).map(|next| next.map(&lane.stamp))
    }
}

/// As the client sends them.
impl<T, F: Fn(T) -> T + Unpin> Stream for SendQueue<T, F> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        self.poll_message(context)
    }
}

/// As the server sends them.
pub(crate) struct ResponseQueue<T, F>(pub SendQueue<T, F>);

impl<T, F: Fn(T) -> T + Unpin> Stream for ResponseQueue<T, F> {
    type Item = Result<T, tonic::Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.0).poll_message(context).map(|next| next.map(Ok))
    }
}
