use rustix::time::{ClockId, Timespec, clock_gettime};
use units::Moment;

fn nanos(t: Timespec) -> u64 {
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// The wall clock, which may be set.
pub fn now() -> Moment {
    Moment(nanos(clock_gettime(ClockId::Realtime)) / 1000)
}

/// The monotonic clock, in nanoseconds since an unspecified start; the same for all processes of this boot.
pub fn monotonic_ns() -> u64 {
    nanos(clock_gettime(ClockId::Monotonic))
}

/// Processor time used by the calling thread, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    nanos(clock_gettime(ClockId::ThreadCPUTime))
}
