//! The one thread of a side, with its runtime.

use crate::Error;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Handle};
use tokio::sync::mpsc::Receiver;
use tokio::sync::oneshot;

/// Time for pending messages to arrive at the end.
pub(crate) const CLOSE_LIMIT: Duration = Duration::from_secs(1);

/// Ends on drop, once `parted` is done or [`CLOSE_LIMIT`] is over.
#[derive(Debug)]
pub(crate) struct RuntimeThread {
    handle: Handle,
    /// Dropped to end it.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl RuntimeThread {
    /// Starts it at low priority, away from `busy` processors if there are others. At the end it waits for `parted`,
    /// but not for long.
    pub fn start(busy: &[u32], parted: impl Future<Output = ()> + Send + 'static) -> Result<Self, Error> {
        let (over, is_over) = oneshot::channel::<()>();
        let (began, begins) = channel();
        let busy = busy.to_vec();
        let thread = std::thread::Builder::new().name("link".to_owned()).spawn(move || {
            sys::lower_priority(&busy);
            let runtime = match Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(why) => return drop(began.send(Err(why))),
            };
            let _ = began.send(Ok(runtime.handle().clone()));
            runtime.block_on(async move {
                // Nothing is ever sent: it resolves when the sender is dropped.
                let _ = is_over.await;
                let _ = tokio::time::timeout(CLOSE_LIMIT, parted).await;
            });
            runtime.shutdown_background();
        });
        let thread = thread.map_err(Error::Start)?;
        let ended = || Err(std::io::Error::other("its thread ended at once"));
        let handle = begins.recv().unwrap_or_else(|_| ended()).map_err(Error::Start)?;
        Ok(Self { handle, stop: Some(over), thread: Some(thread) })
    }

    /// Its runtime. Futures that other threads block on there are driven by this one.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for RuntimeThread {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The next message within this time. The wait does not rely on the runtime, whose thread yields to the load: the
/// caller may have a deadline.
pub(crate) fn receive_within<T>(from: &mut Receiver<T>, within: Duration) -> Option<Option<T>> {
    struct ThreadWaker(std::thread::Thread);
    impl Wake for ThreadWaker {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(ThreadWaker(std::thread::current())));
    let (mut context, until) = (Context::from_waker(&waker), Instant::now() + within);
    loop {
        if let Poll::Ready(next) = from.poll_recv(&mut context) {
            return Some(next);
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return None;
        }
        std::thread::park_timeout(left);
    }
}
