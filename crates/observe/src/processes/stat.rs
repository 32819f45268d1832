use rustix::time::{ClockId, clock_gettime};
use std::fs;

/// What /proc/PID/stat says of a process. Times are in ticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stat {
    pub pid: u32,
    /// At most 15 bytes.
    pub name: String,
    /// It has ended, and is still waited for.
    pub ended: bool,
    pub parent: u32,
    pub flags: u64,
    pub major_faults: u64,
    /// User and system time of its threads, ended ones included.
    pub cpu: u64,
    /// Of its children that have ended and were waited for.
    pub children_cpu: u64,
    pub threads: u64,
    /// Since the machine started.
    pub start: u64,
}

impl Stat {
    /// None if there is no such process, or in an unknown format.
    pub fn read(pid: u32) -> Option<Self> {
        Self::parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(bytes);
        // A name may hold blanks and parentheses: the last one ends it.
        let (head, rest) = text.rsplit_once(") ")?;
        let (pid, name) = head.split_once(" (")?;
        let mut words = rest.split(' ');
        let state = words.next()?;
        // Numbers from the fourth on, as proc(5) counts; some after those used here may be negative.
        let n: Vec<u64> = words.take(19).map(|word| word.parse::<i64>().unwrap_or(0).max(0) as u64).collect();
        let at = |field: usize| n.get(field - 4).copied();
        Some(Self {
            pid: pid.parse().ok()?,
            name: name.to_owned(),
            ended: matches!(state, "Z" | "X"),
            parent: at(4)? as u32,
            flags: at(9)?,
            major_faults: at(12)?,
            cpu: at(14)? + at(15)?,
            children_cpu: at(16)? + at(17)?,
            threads: at(20)?,
            start: at(22)?,
        })
    }

    /// Ticks in nanoseconds.
    pub fn ns(&self, ticks: u64) -> u64 {
        ticks.saturating_mul(tick())
    }
}

/// How long a tick is: 10 ms nearly everywhere.
pub(super) fn tick() -> u64 {
    1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)
}

/// Now, as [`Stat::start`] counts.
pub(super) fn now() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    (now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64) / tick()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_be_anything() {
        let text = b"12 (a) S (b) R 1 12 12 0 -1 4194304 9 0 3 0 50 6 7 8 20 0 4 0 777 1000 20 18446744073709551615 1";
        let stat = Stat::parse(text).expect("it is one");
        let expected = Stat {
            pid: 12,
            name: "a) S (b".into(),
            ended: false,
            parent: 1,
            flags: 4_194_304,
            major_faults: 3,
            cpu: 56,
            children_cpu: 15,
            threads: 4,
            start: 777,
        };
        assert_eq!(stat, expected);
        for broken in
            ["", "12 (a", "12 (a) R 1 2", "x (a) R 1 12 12 0 -1 4194304 9 0 3 0 50 6 7 8 20 0 4 0 777"]
        {
            assert_eq!(Stat::parse(broken.as_bytes()), None, "{broken:?}");
        }
    }
}
