//! The machine this runs on: what it is, and how much of it others took.

use record::Machine;
use std::fs::read_to_string;

/// What can be said of it; what cannot be read is left empty or zero.
pub(crate) fn describe() -> Machine {
    let uname = rustix::system::uname();
    let field = |path: &str, name: &str| {
        let text = read_to_string(path).ok()?;
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let memory = field("/proc/meminfo", "MemTotal")
        .and_then(|text| text.split_ascii_whitespace().next()?.parse::<u64>().ok())
        .map_or(0, |kib| kib * 1024);
    Machine {
        host: uname.nodename().to_string_lossy().into_owned(),
        processor: field("/proc/cpuinfo", "model name").unwrap_or_default(),
        cpus: std::thread::available_parallelism().map_or(0, |n| n.get() as u32),
        memory_bytes: memory,
        kernel: uname.release().to_string_lossy().into_owned(),
    }
}

/// Processor time of the whole machine since it started, in clock ticks (proc(5), /proc/stat).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ticks {
    total: u64,
    steal: u64,
}

impl Ticks {
    /// Now; none where /proc/stat cannot be read.
    pub fn now() -> Option<Self> {
        Self::parse(&read_to_string("/proc/stat").ok()?)
    }

    fn parse(stat: &str) -> Option<Self> {
        let line = stat.lines().next()?.strip_prefix("cpu ")?;
        let fields: Vec<u64> = line.split_ascii_whitespace().filter_map(|f| f.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; guest time is part of user.
        Some(Self { total: fields.get(..8)?.iter().sum(), steal: fields[7] })
    }

    /// The share of all processor time since `earlier` that the hypervisor gave to others.
    pub fn stolen_since(&self, earlier: &Self) -> f64 {
        let total = self.total.saturating_sub(earlier.total);
        if total == 0 { 0.0 } else { self.steal.saturating_sub(earlier.steal) as f64 / total as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_a_share_of_all_time() {
        let at = |text| Ticks::parse(text).expect("a line of /proc/stat");
        let earlier = at("cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1 2 3");
        let later = at("cpu  200 0 150 1600 0 0 0 50 0 0\n");
        assert!((later.stolen_since(&earlier) - 0.05).abs() < 1e-9);
        assert!(Ticks::parse("intr 5").is_none());
    }
}
