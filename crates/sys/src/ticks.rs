use procfs::CpuTimes;
use std::fs::read_to_string;
use std::time::Duration;

/// Processor time of all processors together since boot (proc_stat(5)), in clock ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticks {
    /// User mode.
    pub user: u64,
    /// Kernel mode, interrupts included.
    pub system: u64,
    /// Idle, or waiting for a disk.
    pub idle: u64,
    /// Stolen by the hypervisor.
    pub stolen: u64,
}

impl Ticks {
    /// Now; `None` if /proc/stat cannot be read.
    pub fn now() -> Option<Self> {
        procfs::parse_cpu_times(&read_to_string("/proc/stat").ok()?, "cpu").map(Self::from)
    }

    /// The time between `earlier` and this.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
            idle: self.idle.saturating_sub(earlier.idle),
            stolen: self.stolen.saturating_sub(earlier.stolen),
        }
    }

    /// The share of this time that the hypervisor stole.
    pub fn stolen_share(&self) -> f64 {
        let total = self.user + self.system + self.idle + self.stolen;
        if total == 0 { 0.0 } else { self.stolen as f64 / total as f64 }
    }

    /// User and kernel mode.
    pub fn busy(&self) -> Duration {
        Duration::from_secs_f64(
            (self.user + self.system) as f64 / rustix::param::clock_ticks_per_second() as f64,
        )
    }
}

impl From<CpuTimes> for Ticks {
    fn from(times: CpuTimes) -> Self {
        let CpuTimes { user, system, interrupts, idle, iowait, stolen } = times;
        Self { user, system: system + interrupts, idle: idle + iowait, stolen }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_counts() {
        let at = |text| Ticks::from(procfs::parse_cpu_times(text, "cpu").expect("a line of /proc/stat"));
        let earlier = at("cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1 2 3");
        let later = at("cpu  200 5 140 1500 95 5 5 50 7 0\n");
        let passed = later.since(&earlier);
        assert_eq!(passed, Ticks { user: 105, system: 50, idle: 795, stolen: 50 });
        assert!((passed.stolen_share() - 0.05).abs() < 1e-9);
        assert!(
            (passed.busy().as_secs_f64() * rustix::param::clock_ticks_per_second() as f64 - 155.0).abs()
                < 1e-6
        );
    }
}
