//! Processor time, one lock, a number of permits: as the kernel sees them in any service.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::database::WAIT_LIMIT;

/// Maximum pools of permits; each is kept until the service ends.
const POOLS_LIMIT: usize = 100;
/// Rounds of work between two readings of the thread's clock, each a system call.
const ROUNDS: u32 = 20_000;

/// What requests wait for.
#[derive(Default)]
pub(super) struct ContendedResources {
    lock: Mutex<()>,
    pools: Mutex<HashMap<usize, Arc<Permits>>>,
}

impl ContendedResources {
    /// Sleeps with the one lock held: a thread waits for it without a deadline, as for a mutex.
    pub(super) fn lock(&self, time: Duration, is_stopping: impl Fn() -> bool) {
        let _held = self.lock.lock().expect("nothing panics while it is held");
        if !is_stopping() {
            sleep(time);
        }
    }

    /// Sleeps with one of `size` permits: a thread waits for it with a deadline, as for a pooled
    /// connection.
    pub(super) fn permit(
        &self,
        size: usize,
        time: Duration,
        is_stopping: impl Fn() -> bool,
    ) -> Result<(), String> {
        let permits = {
            let mut pools = self.pools.lock().expect("nothing panics while it is held");
            if pools.len() >= POOLS_LIMIT && !pools.contains_key(&size) {
                return Err("too many different pools were asked for; restart the service".to_owned());
            }
            Arc::clone(pools.entry(size).or_insert_with(|| Arc::new(Permits::new(size))))
        };
        if !permits.acquire(Instant::now() + WAIT_LIMIT) {
            return Err("no permit came free within 30 s".to_owned());
        }
        if !is_stopping() {
            sleep(time);
        }
        permits.release();
        Ok(())
    }
}

struct Permits {
    free: Mutex<usize>,
    returned: Condvar,
}

impl Permits {
    fn new(size: usize) -> Self {
        Self { free: Mutex::new(size), returned: Condvar::new() }
    }

    /// `false` if none came free before `deadline`.
    fn acquire(&self, deadline: Instant) -> bool {
        let free = self.free.lock().expect("nothing panics while it is held");
        let left = deadline.saturating_duration_since(Instant::now());
        let waited = self.returned.wait_timeout_while(free, left, |free| *free == 0);
        let (mut free, _) = waited.expect("nothing panics while it is held");
        let is_free = *free > 0;
        *free -= usize::from(is_free);
        is_free
    }

    fn release(&self) {
        *self.free.lock().expect("nothing panics while it is held") += 1;
        self.returned.notify_one();
    }
}

/// Uses a processor for this long, by the calling thread's own clock: waiting for a processor is not
/// counted, so n processors do exactly n seconds of it in a second.
pub(super) fn burn(time: Duration, is_stopping: impl Fn() -> bool) {
    let cpu_time = || Duration::from_nanos(sys::thread_cpu_ns());
    let until = cpu_time() + time;
    let mut number = 0x9E37_79B9_7F4A_7C15_u64;
    while cpu_time() < until && !is_stopping() {
        for _ in 0..ROUNDS {
            number ^= number << 13;
            number ^= number >> 7;
            number ^= number << 17;
        }
        // Otherwise the compiler drops the unused number.
        std::hint::black_box(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::time::{ClockId, clock_gettime};
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn no_more_than_the_permits_are_out_at_once() {
        let contended = ContendedResources::default();
        let (out, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let seen = || {
                        most.fetch_max(out.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        sleep(Duration::from_millis(5));
                        out.fetch_sub(1, Ordering::SeqCst);
                        true
                    };
                    contended.permit(3, Duration::ZERO, seen).expect("30 s are enough");
                });
            }
        });
        assert!((1..=3).contains(&most.load(Ordering::SeqCst)), "{most:?} of 3 permits were out at once");
        let none = Permits::new(0);
        assert!(!none.acquire(Instant::now() + Duration::from_millis(5)), "a permit came from nowhere");
    }

    #[test]
    fn burning_uses_the_processor() {
        let before = clock_gettime(ClockId::ThreadCPUTime);
        burn(Duration::from_millis(20), || false);
        let after = clock_gettime(ClockId::ThreadCPUTime);
        let used = (after.tv_sec - before.tv_sec) * 1_000_000_000 + after.tv_nsec - before.tv_nsec;
        assert!(used >= 20_000_000, "{used} ns");
        burn(Duration::from_secs(3_600), || true);
    }
}
