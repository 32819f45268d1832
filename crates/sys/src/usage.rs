use std::time::Duration;

/// Whose usage is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageScope {
    /// All threads of this process.
    Process,
    /// The calling thread.
    Thread,
    /// Children of this process that have ended and were waited for, and theirs.
    Children,
}

/// Resources used since the start (getrusage(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResourceUsage {
    /// Processor time, user and kernel.
    pub processor: Duration,
    /// The part spent in the kernel.
    pub kernel: Duration,
    /// Context switches, because a thread waited or because another had to run.
    pub switches: u64,
    /// Page faults that needed no disk.
    pub minor_faults: u64,
}

/// Resources used since the start.
pub fn usage(scope: UsageScope) -> ResourceUsage {
    let who = match scope {
        UsageScope::Process => libc::RUSAGE_SELF,
        UsageScope::Thread => libc::RUSAGE_THREAD,
        UsageScope::Children => libc::RUSAGE_CHILDREN,
    };
    // SAFETY: all fields are numbers, for which zero is valid.
    let mut raw: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one rusage, into ours. It cannot fail: every Linux knows `who`.
    unsafe { libc::getrusage(who, &raw mut raw) };
    ResourceUsage {
        processor: duration(raw.ru_utime) + duration(raw.ru_stime),
        kernel: duration(raw.ru_stime),
        switches: raw.ru_nvcsw.unsigned_abs() + raw.ru_nivcsw.unsigned_abs(),
        minor_faults: raw.ru_minflt.unsigned_abs(),
    }
}

/// A time used, which is never negative.
pub(crate) fn duration(time: libc::timeval) -> Duration {
    Duration::from_secs(time.tv_sec.unsigned_abs()) + Duration::from_micros(time.tv_usec.unsigned_abs())
}

impl ResourceUsage {
    /// What was used since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            processor: self.processor.saturating_sub(earlier.processor),
            kernel: self.kernel.saturating_sub(earlier.kernel),
            switches: self.switches.saturating_sub(earlier.switches),
            minor_faults: self.minor_faults.saturating_sub(earlier.minor_faults),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_thread_that_works_and_sleeps_is_seen_to() {
        let before = (usage(UsageScope::Process), usage(UsageScope::Thread));
        std::thread::sleep(Duration::from_millis(1));
        let until = Instant::now() + Duration::from_secs(10);
        while usage(UsageScope::Thread).since(&before.1).processor < Duration::from_millis(5) {
            assert!(Instant::now() < until, "it works, and no time is charged");
        }
        let thread = usage(UsageScope::Thread).since(&before.1);
        assert!(thread.switches >= 1, "{thread:?}");
        assert!(usage(UsageScope::Process).since(&before.0).processor >= Duration::from_millis(5));
    }

    #[test]
    fn children_count_once_they_are_waited_for() {
        let before = usage(UsageScope::Children);
        let mut child = std::process::Command::new("/bin/true").spawn().expect("every Linux has it");
        child.wait().expect("ours");
        assert!(usage(UsageScope::Children).since(&before).minor_faults > 0);
    }
}
