//! Tasks without threads: futures that are ready at the first poll.

use std::collections::VecDeque;
use std::hint::black_box;
use std::io;
use std::pin::Pin;
use std::task::{Context, Waker};
use sys::monotonic_ns;

/// Launched together, then joined together: one alone is shorter than a few clock readings.
pub(super) const BATCH: u64 = 100;

/// Times of a batch: until all were launched, and until all had ended.
pub(super) type LaunchTimes = Vec<[u64; 2]>;

/// The minimal executor: a queue of futures, each polled in turn until ready.
pub(super) fn queued(batches: u64) -> LaunchTimes {
    let mut queue: VecDeque<Pin<Box<dyn Future<Output = ()>>>> = VecDeque::with_capacity(BATCH as usize);
    let mut context = Context::from_waker(Waker::noop());
    let mut times = Vec::with_capacity(batches as usize);
    for _ in 0..batches {
        let began = monotonic_ns();
        (0..BATCH).for_each(|n| queue.push_back(Box::pin(body(n))));
        let launched = monotonic_ns();
        while let Some(mut task) = queue.pop_front() {
            if task.as_mut().poll(&mut context).is_pending() {
                queue.push_back(task);
            }
        }
        times.push([launched - began, monotonic_ns() - began]);
    }
    times
}

pub(super) fn tokio(batches: u64) -> io::Result<LaunchTimes> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(async {
        let mut tasks = Vec::with_capacity(BATCH as usize);
        let mut times = Vec::with_capacity(batches as usize);
        for _ in 0..batches {
            let began = monotonic_ns();
            tasks.extend((0..BATCH).map(|n| tokio::spawn(body(n))));
            let launched = monotonic_ns();
            for task in tasks.drain(..) {
                task.await.map_err(io::Error::other)?;
            }
            times.push([launched - began, monotonic_ns() - began]);
        }
        Ok(times)
    })
}

/// The task. It holds a number, since a zero-sized future would not be allocated.
async fn body(number: u64) {
    black_box(number);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_batch_is_launched_before_it_has_ended() {
        for times in [queued(20), tokio(20).expect("it needs nothing")] {
            assert_eq!(times.len(), 20);
            assert!(times.iter().all(|[launched, ended]| 0 < *launched && launched < ended), "{times:?}");
        }
    }
}
