//! The machine.

use crate::{field, number_field, parse_number};

/// Processor time since boot (`/proc/stat`), in ticks: see [`crate::tick_ns`]. Guests' time is part of `user`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuTimes {
    /// User mode, nice included.
    pub user: u64,
    /// Kernel mode, on behalf of programs.
    pub system: u64,
    /// Hard and soft interrupts.
    pub interrupts: u64,
    /// Idle, not waiting for a disk.
    pub idle: u64,
    /// Idle, waiting for a disk.
    pub iowait: u64,
    /// Stolen by the hypervisor.
    pub stolen: u64,
}

/// Those of all processors (`cpu`), or of one (`cpu3`).
pub fn parse_cpu_times(stat: &str, name: &str) -> Option<CpuTimes> {
    let mut words = field(stat, name)?.split_ascii_whitespace();
    let mut all = [0_u64; 8];
    for time in &mut all {
        *time = parse_number(words.next()?.as_bytes())?;
    }
    // So that any of them can be summed.
    all.iter().try_fold(0_u64, |sum, time| sum.checked_add(*time))?;
    let [user, nice, system, idle, iowait, hard, soft, stolen] = all;
    Some(CpuTimes { user: user + nice, system, interrupts: hard + soft, idle, iowait, stolen })
}

/// `/proc/stat`: the machine since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HostStat {
    /// Processors.
    pub cpus: u32,
    /// Their time, all together.
    pub times: CpuTimes,
    /// Context switches (`ctxt`).
    pub switches: Option<u64>,
    /// Processes and threads created (`processes`).
    pub created: Option<u64>,
    /// Threads ready or running now (`procs_running`).
    pub running: Option<u64>,
}

/// Parses it; `None` without processor times.
pub fn parse_host_stat(stat: &str) -> Option<HostStat> {
    Some(HostStat {
        cpus: count_processors(stat),
        times: parse_cpu_times(stat, "cpu")?,
        switches: number_field(stat, "ctxt"),
        created: number_field(stat, "processes"),
        running: number_field(stat, "procs_running"),
    })
}

/// The number of processors in `/proc/stat`.
pub fn count_processors(stat: &str) -> u32 {
    let is_one = |line: &&str| line.starts_with("cpu") && !line.starts_with("cpu ");
    stat.lines().filter(is_one).count() as u32
}

/// The machine's threads in `/proc/loadavg`: `0.20 0.18 0.12 3/630 11206`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadAvg {
    /// Threads ready or running: the same number as `procs_running` in `/proc/stat`, and far cheaper.
    pub running: u64,
    /// All threads.
    pub tasks: u64,
    /// The process number assigned last, in the reader's namespace.
    pub last: u64,
}

/// Parses it, without allocating.
pub fn parse_loadavg(text: &[u8]) -> Option<LoadAvg> {
    let mut words = text.trim_ascii().split(|byte| *byte == b' ').skip(3);
    let mut threads = words.next()?.split(|byte| *byte == b'/');
    let mut next = || parse_number(threads.next()?);
    Some(LoadAvg { running: next()?, tasks: next()?, last: parse_number(words.next()?)? })
}

/// How many numbers a kernel list has, such as that of the processors: `0-3,8` has five.
pub fn count_list(list: &str) -> Option<u64> {
    let parts = list.trim().split(',').map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        parse_number(last.as_bytes())?.checked_sub(parse_number(first.as_bytes())?)?.checked_add(1)
    });
    parts.sum()
}

/// The first and last ephemeral port (ip(7), `ip_local_port_range`).
pub fn parse_port_range(text: &str) -> Option<(u64, u64)> {
    let mut ends = text.split_ascii_whitespace().map(|end| parse_number(end.as_bytes()));
    Some((ends.next()??, ends.next()??))
}

/// The options in `/proc/PID/mounts` by which `/proc` hides other users' processes (proc(5), `hidepid`); `None`
/// if all are visible.
pub fn hiding_options(mounts: &str) -> Option<&str> {
    const HIDING: [&str; 6] = [
        "hidepid=1",
        "hidepid=2",
        "hidepid=4",
        "hidepid=noaccess",
        "hidepid=invisible",
        "hidepid=ptraceable",
    ];
    let options = mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(1);
        (words.next() == Some("/proc")).then(|| words.nth(1).unwrap_or_default())
    })?;
    options.split(',').any(|option| HIDING.contains(&option)).then_some(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges() {
        for (list, expected) in
            [("0-3,8\n", Some(5)), ("0", Some(1)), ("0-1", Some(2)), ("", None), ("3-1", None), ("0-x", None)]
        {
            assert_eq!(count_list(list), expected, "{list:?}");
        }
        assert_eq!(parse_port_range("32768\t60999\n"), Some((32_768, 60_999)));
        assert_eq!(parse_port_range("32768\n"), None);
    }

    #[test]
    fn a_proc_that_hides_says_so() {
        let mounts = |options: &str| format!("/dev/vda / ext4 rw 0 0\nproc /proc proc {options} 0 0\n");
        for options in ["rw,hidepid=2", "rw,nosuid,hidepid=invisible,gid=4"] {
            assert_eq!(hiding_options(&mounts(options)), Some(options));
        }
        for options in ["rw", "rw,hidepid=0", "rw,hidepid=off"] {
            assert_eq!(hiding_options(&mounts(options)), None, "{options}");
        }
        assert_eq!(hiding_options("proc /other/proc proc rw,hidepid=2 0 0\n"), None);
    }

    #[test]
    fn processors_by_name() {
        let text = "cpu  100 20 30 4000 50 6 7 8 90 10\ncpu0 50 10 15 2000 25 3 3 4 45 5\nintr 1 2 3\n";
        let all = CpuTimes { user: 120, system: 30, interrupts: 13, idle: 4000, iowait: 50, stolen: 8 };
        assert_eq!(parse_cpu_times(text, "cpu"), Some(all));
        assert_eq!(parse_cpu_times(text, "cpu0").map(|first| first.user), Some(60));
        assert_eq!(parse_cpu_times(text, "cpu1"), None);
        for broken in ["", "cpu  1 2 3\n", "intr 1\n", "cpu  a b c d e f g h\n"] {
            assert_eq!(parse_cpu_times(broken, "cpu"), None, "{broken:?}");
        }
        for broken in ["cpu  MAX 1 0 0 0 0 0 0", "cpu  0 0 MAX 0 0 1 0 0", "cpu 0 0 0 MAX 1 0 0 0"] {
            let text = broken.replace("MAX", &u64::MAX.to_string());
            assert_eq!(parse_cpu_times(&text, "cpu"), None, "{broken}");
        }
    }

    #[test]
    fn counters_by_name() {
        let text = "cpu  1 0 2 3 0 0 0 4 0 0\ncpu0 1 0 1 3 0 0 0 4 0 0\ncpu1 0 0 1 0 0 0 0 0 0 0\nintr 5 6\nctxt 12345\n\
                    btime 9\nprocesses 678\nprocs_running 3\nprocs_blocked 0\n";
        let times = CpuTimes { user: 1, system: 2, idle: 3, stolen: 4, ..CpuTimes::default() };
        let all = HostStat { cpus: 2, times, switches: Some(12345), created: Some(678), running: Some(3) };
        assert_eq!(parse_host_stat(text), Some(all));
        assert_eq!(parse_host_stat(&text.replace("ctxt", "other")), Some(HostStat { switches: None, ..all }));
        assert_eq!(parse_host_stat(&text.replace("cpu  ", "other ")), None);
    }

    #[test]
    fn what_the_kernel_writes() {
        let expected = LoadAvg { running: 3, tasks: 630, last: 11206 };
        assert_eq!(parse_loadavg(b"0.20 0.18 0.12 3/630 11206\n"), Some(expected));
        for broken in ["", "0.20\n", "1 2 3\n", "1 2 3 4 5\n", "1 2 3 4/ 5\n", "1 2 3 4/5\n"] {
            assert_eq!(parse_loadavg(broken.as_bytes()), None, "{broken}");
        }
    }
}
