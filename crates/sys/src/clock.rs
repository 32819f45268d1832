use rustix::time::{ClockId, clock_gettime};
use units::Moment;

/// The time by this clock, in nanoseconds.
pub fn clock_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The wall clock, which may be set.
pub fn now() -> Moment {
    Moment(clock_ns(ClockId::Realtime) / 1000)
}

/// The monotonic clock, in nanoseconds since an unspecified start; the same for all processes of this boot.
pub fn monotonic_ns() -> u64 {
    clock_ns(ClockId::Monotonic)
}

/// Processor time used by the calling thread, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    clock_ns(ClockId::ThreadCPUTime)
}
