//! The machine measured on, and whether anything else was running there.

use procfs::CpuTimes;
use std::fs::read_to_string;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// With a larger share of the machine used by others it is not quiet.
const MAX_BUSY_SHARE: f64 = 0.05;
/// Long enough for the clock ticks of /proc/stat (10 ms) to resolve one per cent.
const SAMPLE_TIME: Duration = Duration::from_secs(1);
/// Builds and tests just started may end in this time.
const PATIENCE: Duration = Duration::from_secs(30);

/// The processors that this process may use.
pub fn processors() -> Vec<u32> {
    sys::CpuAffinity::current().map(|allowed| allowed.list()).unwrap_or_default()
}

/// `AMD EPYC, 2 processors, Linux 6.18.44`.
pub fn describe() -> String {
    let uname = rustix::system::uname();
    let cpuinfo = read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = procfs::field(&cpuinfo, "model name");
    let kernel = uname.release().to_string_lossy().into_owned();
    format!("{}, {} processors, Linux {kernel}", model.unwrap_or(std::env::consts::ARCH), processors().len())
}

/// The one-minute load average, if readable.
pub fn load_average() -> Option<f64> {
    read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}

/// Today's date in UTC: `2026-11-21`.
pub fn date() -> String {
    let (year, month, day) = sys::now().date();
    format!("{year:04}-{month:02}-{day:02}")
}

/// Processor time since boot, in clock ticks (proc(5), /proc/stat).
#[derive(Debug, Clone, Copy)]
pub struct CpuTicks {
    total: u64,
    idle: u64,
    interrupts: u64,
    steal: u64,
}

/// Shares of the processor time between two readings.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CpuShares {
    /// Programs, and the kernel on their behalf.
    pub programs: f64,
    /// Interrupts, where the kernel counts them separately.
    pub interrupts: f64,
    /// Stolen by the hypervisor.
    pub stolen: f64,
}

impl CpuTicks {
    /// Of all processors; none where /proc/stat cannot be read.
    pub fn of_all() -> Option<Self> {
        Self::parse(&read_to_string("/proc/stat").ok()?, "cpu")
    }

    /// Of one processor.
    pub fn of(processor: u32) -> Option<Self> {
        Self::parse(&read_to_string("/proc/stat").ok()?, &format!("cpu{processor}"))
    }

    fn parse(stat: &str, name: &str) -> Option<Self> {
        let CpuTimes { user, system, interrupts, idle, iowait, stolen } =
            procfs::parse_cpu_times(stat, name)?;
        let idle = idle + iowait;
        Some(Self { total: user + system + interrupts + idle + stolen, idle, interrupts, steal: stolen })
    }

    /// Shares of the time since `earlier`.
    pub fn since(&self, earlier: &Self) -> CpuShares {
        let total = self.total.saturating_sub(earlier.total).max(1) as f64;
        let share = |now: u64, then: u64| now.saturating_sub(then) as f64 / total;
        let idle = share(self.idle, earlier.idle);
        let interrupts = share(self.interrupts, earlier.interrupts);
        let stolen = share(self.steal, earlier.steal);
        CpuShares { programs: (1.0 - idle - interrupts - stolen).max(0.0), interrupts, stolen }
    }
}

/// The share of the machine that others use, measured for a second at a time until it is small or
/// patience ends.
pub fn wait_until_quiet(print: &mut dyn FnMut(String)) -> f64 {
    let until = Instant::now() + PATIENCE;
    loop {
        let earlier = CpuTicks::of_all();
        sleep(SAMPLE_TIME);
        let shares =
            earlier.zip(CpuTicks::of_all()).map_or(CpuShares::default(), |(then, now)| now.since(&then));
        let used = shares.programs + shares.interrupts + shares.stolen;
        let ended = Instant::now() > until;
        if used <= MAX_BUSY_SHARE || ended {
            if used > MAX_BUSY_SHARE {
                print(format!(
                    "others still use {:.0} % of the machine: the figures will be doubtful",
                    used * 100.0
                ));
            }
            return used;
        }
        print(format!("others use {:.0} % of the machine; waiting for quiet", used * 100.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_all_time() {
        let stat = |cpu: &str| format!("cpu  {cpu}\ncpu0 1 0 0 9 0 0 0 0 0 0\nintr 5\n");
        let at = |cpu: &str| CpuTicks::parse(&stat(cpu), "cpu").expect("such a line");
        let (earlier, later) = (at("100 0 100 800 0 0 0 0 0 0"), at("200 0 150 1500 50 20 30 50 0 0"));
        let shares = later.since(&earlier);
        for (share, expected) in [(shares.programs, 0.15), (shares.interrupts, 0.05), (shares.stolen, 0.05)] {
            assert!((share - expected).abs() < 1e-9, "{shares:?}");
        }
        let one = CpuTicks::parse(&stat("0"), "cpu0").expect("such a line");
        assert_eq!((one.total, one.idle), (10, 9));
        assert!(CpuTicks::parse(&stat("0"), "cpu1").is_none());
    }
}
