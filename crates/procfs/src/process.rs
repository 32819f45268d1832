//! Processes.

use crate::parse_number;
use memchr::{memchr, memrchr};
use std::fs;
use std::io;
use std::path::Path;

/// `/proc/PID/stat`, or a thread's, without the name. Times are in ticks: see [`tick_ns`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TaskStat {
    /// Process or thread number.
    pub pid: u32,
    /// `R`, `S`, `D`, …
    pub state: u8,
    /// The parent's number.
    pub parent: u32,
    /// Its process group.
    pub group: u32,
    /// The kernel's flags (`PF_…`, include/linux/sched.h).
    pub flags: u64,
    /// Page faults that needed a disk.
    pub major_faults: u64,
    /// User and system time; for a process, that of its threads, ended ones included.
    pub cpu: u64,
    /// That of its children that have ended and were waited for.
    pub children_cpu: u64,
    /// Threads of its process.
    pub threads: u64,
    /// When it started, since boot: with its number, this identifies it.
    pub start: u64,
}

impl TaskStat {
    /// `None` if there is no such process, or the format is unknown.
    pub fn read(pid: u32) -> Option<Self> {
        parse_stat(&fs::read(format!("/proc/{pid}/stat")).ok()?).map(|(stat, _)| stat)
    }

    /// It has ended, even if not yet waited for.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, b'Z' | b'X')
    }
}

/// Parses a `stat` file, without allocating: returns also the kernel's name, of at most 15 bytes (a kernel
/// thread's may be longer). The name may hold anything, even spaces and brackets, and ends at the last bracket.
pub fn parse_stat(text: &[u8]) -> Option<(TaskStat, &[u8])> {
    let (open, close) = (memchr(b'(', text)?, memrchr(b')', text)?);
    let name = text.get(open + 1..close)?;
    let mut fields = text[close + 1..].split(|byte| *byte == b' ').skip(1);
    let state = *fields.next()?.first()?;
    // Those in between are skipped; some may be negative.
    let mut after = |others: usize| parse_number(fields.nth(others)?);
    let stat = TaskStat {
        pid: parse_number(text[..open].trim_ascii())?.try_into().ok()?,
        state,
        parent: after(0)?.try_into().ok()?,
        group: after(0)?.try_into().ok()?,
        flags: after(3)?,
        major_faults: after(2)?,
        cpu: after(1)?.saturating_add(after(0)?),
        children_cpu: after(0)?.saturating_add(after(0)?),
        threads: after(2)?,
        start: after(1)?,
    };
    Some((stat, name))
}

/// The length of a tick, in nanoseconds: 10 ms nearly everywhere.
pub fn tick_ns() -> u64 {
    1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)
}

/// All visible processes, in no order.
pub fn pids() -> impl Iterator<Item = u32> {
    pids_in(Path::new("/proc"))
}

/// Those in a `/proc` elsewhere.
pub fn pids_in(proc: &Path) -> impl Iterator<Item = u32> {
    let entries = fs::read_dir(proc).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// A process and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// The kernel's name for it.
    pub name: String,
    /// The rest of its `stat` file.
    pub stat: TaskStat,
}

impl Process {
    /// A process that exists, ended or not.
    pub fn read(pid: u32) -> Option<Self> {
        let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
        let (stat, name) = parse_stat(&text)?;
        Some(Self { name: String::from_utf8_lossy(name).into_owned(), stat })
    }
}

/// A process, unless it has ended, even if not yet waited for.
pub fn running_process(pid: u32) -> Option<Process> {
    Process::read(pid).filter(|process| !process.stat.has_ended())
}

/// A process's name (`/proc/PID/comm`), which it may set itself; `None` if empty.
pub fn process_name(pid: u32) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// A process's arguments; empty for a kernel thread or if they may not be read.
pub fn arguments(pid: u32) -> Vec<String> {
    let text = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let text = text.strip_suffix(b"\0").unwrap_or(&text);
    if text.is_empty() {
        return Vec::new();
    }
    text.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// The file name of its program; `None` if that may not be read.
pub fn program(pid: u32) -> Option<String> {
    let path = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let name = path.file_name()?.to_string_lossy().into_owned();
    Some(name.trim_end_matches(" (deleted)").to_owned())
}

/// Whether a file could not be read because its process, or thread, is gone.
pub fn is_gone(error: &io::Error) -> bool {
    // ESRCH: the file is open, but its process is gone.
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(3)
}

/// The inodes of a process's sockets.
///
/// # Errors
/// If they may not be read, or it has ended.
pub fn socket_inodes(pid: u32) -> io::Result<Vec<u64>> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd"))?;
    let inodes = entries.flatten().filter_map(|entry| {
        let link = fs::read_link(entry.path()).ok()?;
        parse_socket_inode(link.to_str()?.as_bytes())
    });
    Ok(inodes.collect())
}

/// The inode in `socket:[4711]`.
pub fn parse_socket_inode(link: &[u8]) -> Option<u64> {
    parse_number(link.strip_prefix(b"socket:[")?.strip_suffix(b"]")?)
}

/// A namespace's identity (`/proc/PID/ns/net`); `None` if it may not be read.
pub fn namespace(pid: u32, kind: &str) -> Option<String> {
    let link = fs::read_link(format!("/proc/{pid}/ns/{kind}")).ok()?;
    Some(link.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::TcpListener;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_name_may_hold_brackets_and_spaces() {
        let text = b"12 (a) S (b) R 1 11 12 0 -1 4194304 9 0 3 0 50 6 7 8 20 0 4 0 777 1000 20 18446744073709551615 1\n";
        let expected = TaskStat {
            pid: 12,
            state: b'R',
            parent: 1,
            group: 11,
            flags: 4_194_304,
            major_faults: 3,
            cpu: 56,
            children_cpu: 15,
            threads: 4,
            start: 777,
        };
        assert_eq!(parse_stat(text), Some((expected, &b"a) S (b"[..])));
        assert!(!expected.has_ended() && TaskStat { state: b'Z', ..expected }.has_ended());
    }

    #[test]
    fn hostile_text_is_none() {
        for text in [
            "",
            "(",
            ")",
            ")(",
            "1 (a",
            "1 (a)",
            "1 (a) ",
            "1 (a) S",
            "1 (a) S 1 2",
            "1 (a) S -7 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
            "x (a) R 1 12 12 0 -1 4194304 9 0 3 0 50 6 7 8 20 0 4 0 777",
        ] {
            assert_eq!(parse_stat(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse_socket_inode(b"socket:[]"), None);
        assert_eq!(parse_socket_inode(b"socket:[12]"), Some(12));
    }

    proptest! {
        #[test]
        fn any_text_never_panics(text in prop::collection::vec(any::<u8>(), 0..120)) {
            let _ = (parse_stat(&text), parse_socket_inode(&text), parse_number(&text));
        }

        #[test]
        fn nearly_right_text_never_panics(text in "[0-9x() RSDa-f/.-]{0,80}") {
            let _ = parse_stat(text.as_bytes());
        }
    }

    #[test]
    fn this_process() {
        let own = std::process::id();
        assert!(pids().any(|pid| pid == own));
        let found = running_process(own).expect("it runs");
        assert_eq!((found.stat.pid, found.stat.parent), (own, std::os::unix::process::parent_id()));
        assert!(found.stat.threads > 1 && found.stat.start > 0);
        assert_eq!(arguments(own).first(), std::env::args().next().as_ref());
        assert!(program(own).is_some_and(|program| program.contains("procfs")));
        assert!(
            process_name(own)
                .is_some_and(|name| program(own).is_some_and(|program| program.starts_with(&name)))
        );
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let link = fs::read_link(format!("/proc/self/fd/{}", listener.as_raw_fd())).expect("it is open");
        let inode = parse_socket_inode(link.to_string_lossy().as_bytes()).expect("it is a socket");
        assert!(socket_inodes(own).expect("it is our own").contains(&inode));
        assert_eq!((running_process(u32::MAX), process_name(u32::MAX)), (None, None));
    }
}
