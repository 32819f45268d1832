//! Time excluding waits for a processor.

use std::fs::read;
use std::time::{Duration, Instant};

/// Measures time without that in which this thread was ready but waiting for a processor, as the kernel counts it
/// (`run_delay`, the second number of schedstat). So a busy machine does not make reads look slow; where that
/// is not counted, it does.
pub struct Stopwatch {
    began: Instant,
    delay_before: Duration,
}

impl Stopwatch {
    pub fn begin() -> Self {
        Self { delay_before: run_delay(), began: Instant::now() }
    }

    /// Elapsed time, at least a nanosecond.
    pub fn elapsed(&self) -> Duration {
        let wall = self.began.elapsed();
        wall.saturating_sub(run_delay().saturating_sub(self.delay_before)).max(Duration::from_nanos(1))
    }
}

fn run_delay() -> Duration {
    let text = read("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(procfs::parse_schedstat(&text).map_or(0, |sched| sched.delay_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_passes_and_is_never_more_than_the_wall_shows() {
        let (span, began) = (Stopwatch::begin(), Instant::now());
        std::thread::sleep(Duration::from_millis(20));
        let passed = span.elapsed();
        assert!(
            passed >= Duration::from_nanos(1) && passed <= began.elapsed() + Duration::from_millis(1),
            "{passed:?}"
        );
        assert!(run_delay() <= run_delay());
    }
}
