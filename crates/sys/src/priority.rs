use crate::errors::check_errno;
use std::io;

/// Lets the calling thread run before all non-real-time ones (sched(7), `SCHED_FIFO` at its lowest priority),
/// until it sleeps. Not inherited by what it starts. Needs `CAP_SYS_NICE` or an `RLIMIT_RTPRIO`.
///
/// A thread that never sleeps then keeps others off its processor: the caller must see to it that it does.
pub fn set_real_time() -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: the call reads one structure, which outlives it, and only changes how this thread is scheduled.
    let result = unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            0,
            libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK,
            &raw const parameters,
        )
    };
    check_errno(result)
}

/// The shortest time slice that the kernel grants, in nanoseconds.
const MIN_SLICE_NS: u64 = 100_000;

/// The kernel's structure (sched_setattr(2)), in its first version.
#[repr(C)]
struct SchedAttributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    /// Since Linux 6.12 the time slice of a non-real-time thread. Earlier kernels use it for real-time ones
    /// only.
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

/// Lets the calling thread, when it wakes up, run before others with longer slices, instead of after theirs.
/// Its share of the processor stays the same. Needs no privilege.
pub fn set_short_slice() -> io::Result<()> {
    let attributes = SchedAttributes {
        size: size_of::<SchedAttributes>() as u32,
        policy: libc::SCHED_OTHER as u32,
        flags: 0,
        nice: rustix::process::getpriority_process(None)?,
        priority: 0,
        runtime_ns: MIN_SLICE_NS,
        deadline_ns: 0,
        period_ns: 0,
    };
    // SAFETY: the call reads one structure of the size that it states, which outlives it, and only changes how
    // this thread is scheduled.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    check_errno(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_shortened_by_anybody_and_nothing_else_is() {
        std::thread::spawn(|| {
            let facts = || {
                let text = std::fs::read_to_string("/proc/thread-self/sched").unwrap_or_default();
                let value = |key: &str| {
                    // The first line is the thread's name, which may begin with a key: priority::tests.
                    let mut lines = text.lines().skip(1).filter_map(|line| line.split_once(':'));
                    lines.find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim().to_owned())
                };
                (value("policy"), value("prio"), value("se.slice"))
            };
            let (policy, priority, before) = facts();
            set_short_slice().expect("no privilege is needed");
            let (policy_now, priority_now, now) = facts();
            assert_eq!((policy, priority), (policy_now, priority_now));
            // Earlier kernels have no slice to query, and some show nothing at all.
            let release = rustix::system::uname().release().to_string_lossy().into_owned();
            let mut numbers =
                release.split(|c: char| !c.is_ascii_digit()).map_while(|n| n.parse::<u32>().ok());
            if before.is_some() && (numbers.next(), numbers.next()) >= (Some(6), Some(12)) {
                assert_eq!(now, Some(MIN_SLICE_NS.to_string()), "before {before:?}, on {release}");
            }
        })
        .join()
        .expect("it does not panic");
    }

    #[test]
    fn one_thread_and_not_those_it_starts() {
        let thread = std::thread::spawn(|| {
            let policy = || {
                let text = std::fs::read_to_string("/proc/thread-self/stat").expect("it is our own");
                let rest = text.rsplit_once(')').expect("a name stands in brackets").1.to_owned();
                rest.split_whitespace().nth(38).map(str::to_owned)
            };
            match set_real_time() {
                Ok(()) => {
                    assert_eq!(policy().as_deref(), Some("1"));
                    let other = std::thread::spawn(policy).join().expect("it does not panic");
                    assert_eq!(other.as_deref(), Some("0"));
                }
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied),
            }
        });
        thread.join().expect("it does not panic");
    }
}
