//! What waits to be sent.

use futures_core::Stream;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc::Receiver;

/// So many messages may wait: two minutes of slices, and what else there is to say. Who lets more pile up does not hear any more.
pub(crate) const WAITING: usize = 256;

/// Messages in their order. Each is given to `stamp` when its turn comes, which is when a time in it is true.
pub(crate) struct SendQueue<T, F> {
    waiting: Receiver<T>,
    stamp: F,
}

impl<T, F> SendQueue<T, F> {
    pub fn new(waiting: Receiver<T>, stamp: F) -> Self {
        Self { waiting, stamp }
    }
}

impl<T, F> SendQueue<T, F>
where
    F: Fn(T) -> T + Unpin,
{
    fn turn(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let lane = self.get_mut();
        lane.waiting.poll_recv(context).map(|next| next.map(&lane.stamp))
    }
}

/// As who calls sends them.
impl<T, F: Fn(T) -> T + Unpin> Stream for SendQueue<T, F> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        self.turn(context)
    }
}

/// As who answers sends them.
pub(crate) struct ResponseQueue<T, F>(pub SendQueue<T, F>);

impl<T, F: Fn(T) -> T + Unpin> Stream for ResponseQueue<T, F> {
    type Item = Result<T, tonic::Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.0).turn(context).map(|next| next.map(Ok))
    }
}
