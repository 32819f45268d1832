//! Handovers without the kernel: between two tasks of one thread.

use crate::block::BlockResult;
use crate::sides::bind_to_last_processor;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// One round in this many is made before the clock starts.
const WARMUP_DIVISOR: u64 = 10;

/// Two futures that wake each other, on a minimal executor: the floor of a task's cost.
pub fn by_hand(handovers: u64) -> io::Result<BlockResult> {
    bind_to_last_processor()?;
    let rounds = handovers.div_ceil(2);
    let (there, back) = (Slot::default(), Slot::default());
    let took = Cell::new(Duration::ZERO);
    let first = async {
        let mut began = Instant::now();
        for round in 0..rounds + rounds / WARMUP_DIVISOR {
            if round == rounds / WARMUP_DIVISOR {
                began = Instant::now();
            }
            there.put(round);
            if back.take().await != !round {
                return;
            }
        }
        took.set(began.elapsed());
    };
    let second = async {
        for _ in 0..rounds + rounds / WARMUP_DIVISOR {
            back.put(!there.take().await);
        }
    };
    poll_both(first, second);
    measured(took.get(), rounds)
}

/// Through tokio channels that hold one value each, on its single-threaded runtime.
pub fn tokio(handovers: u64) -> io::Result<BlockResult> {
    bind_to_last_processor()?;
    let rounds = handovers.div_ceil(2);
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let (there, mut from_first) = mpsc::channel(1);
    let (back, mut from_second) = mpsc::channel(1);
    runtime.spawn(async move {
        while let Some(number) = from_first.recv().await {
            let number: u64 = number;
            if back.send(!number).await.is_err() {
                return;
            }
        }
    });
    let first = runtime.spawn(async move {
        let mut began = Instant::now();
        for round in 0..rounds + rounds / WARMUP_DIVISOR {
            if round == rounds / WARMUP_DIVISOR {
                began = Instant::now();
            }
            if there.send(round).await.is_err() || from_second.recv().await != Some(!round) {
                return Duration::ZERO;
            }
        }
        began.elapsed()
    });
    measured(runtime.block_on(first).map_err(io::Error::other)?, rounds)
}

fn measured(took: Duration, rounds: u64) -> io::Result<BlockResult> {
    if took == Duration::ZERO {
        return Err(io::Error::other("what came back is not the answer to what was sent"));
    }
    let value = took.as_nanos() as f64 / (2 * rounds) as f64;
    Ok(BlockResult { values: vec![value], operations: 2 * rounds, ..BlockResult::default() })
}

/// Room for one value and one waker.
#[derive(Default)]
struct Slot {
    value: Cell<Option<u64>>,
    waker: RefCell<Option<Waker>>,
}

impl Slot {
    fn put(&self, value: u64) {
        self.value.set(Some(value));
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    async fn take(&self) -> u64 {
        poll_fn(|context| match self.value.take() {
            Some(value) => Poll::Ready(value),
            None => {
                let mut waiting = self.waker.borrow_mut();
                if !waiting.as_ref().is_some_and(|known| known.will_wake(context.waker())) {
                    *waiting = Some(context.waker().clone());
                }
                Poll::Pending
            }
        })
        .await
    }
}

struct WakeFlag(AtomicBool);

impl Wake for WakeFlag {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

/// Polls whichever was woken, until the first has ended or neither can be woken any more.
fn poll_both(first: impl Future<Output = ()>, second: impl Future<Output = ()>) {
    let woken = [(); 2].map(|()| Arc::new(WakeFlag(AtomicBool::new(true))));
    let wakers = woken.clone().map(Waker::from);
    let [mut one, mut two] = wakers.each_ref().map(Context::from_waker);
    let (mut first, mut second) = (pin!(first), pin!(second));
    let mut second_ended = false;
    let was_woken =
        |at: usize| woken[at].0.load(Ordering::Acquire) && woken[at].0.swap(false, Ordering::AcqRel);
    loop {
        let mut idle = true;
        if was_woken(0) {
            idle = false;
            if first.as_mut().poll(&mut one).is_ready() {
                return;
            }
        }
        if !second_ended && was_woken(1) {
            idle = false;
            second_ended = second.as_mut().poll(&mut two).is_ready();
        }
        if idle {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sys::CpuAffinity;

    #[test]
    fn every_value_comes_and_goes() {
        let kept = CpuAffinity::current().expect("every kernel has it");
        for tasks in [by_hand, tokio] {
            let block = tasks(10_001).expect("each value came back as it should");
            assert_eq!((block.values.len(), block.operations), (1, 10_002));
            assert!(block.values[0] > 0.0);
        }
        kept.restore().expect("they were ours before");
    }

    #[test]
    fn who_is_never_woken_ends_it() {
        let slot = Slot::default();
        poll_both(async { assert_eq!(slot.take().await, 0, "nobody has put anything") }, async {});
    }
}
