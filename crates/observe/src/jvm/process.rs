//! What /proc tells of a process that may be a Java VM.

use std::fs::File;
use std::io::{self, Read};

/// More than a JVM's mappings, command line or environment ever have.
const MAX_BYTES: u64 = 8 << 20;
/// SIGQUIT's bit in the masks of /proc/PID/status.
const QUIT: u64 = 1 << (3 - 1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProcessKind {
    /// OpenJDK's VM, or a build of it.
    HotSpot,
    /// Eclipse's: no HotSpot counters or attach protocol.
    OpenJ9,
    /// No Java VM, or one compiled into its program.
    Other,
}

/// Fields of /proc/PID/status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Status {
    /// `R`, `S`, `T`, …
    pub state: char,
    /// Effective UID.
    pub user: u32,
    /// Effective GID.
    pub group: u32,
    /// Its PID in its own namespace.
    pub inner_pid: u32,
    /// Has a handler for SIGQUIT, which would otherwise kill it.
    pub handles_quit: bool,
}

pub(super) fn read_proc(pid: u32, name: &str) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(format!("/proc/{pid}/{name}"))?.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Fails if the process is gone, or its status is not as documented in proc_pid_status(5).
pub(super) fn status(pid: u32) -> io::Result<Status> {
    let text = read_proc(pid, "status")?;
    parse_status(&text).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("/proc/{pid}/status lacks State, Uid, Gid or SigCgt"),
        )
    })
}

fn parse_status(text: &str) -> Option<Status> {
    let field = |name: &str| procfs::field(text, name);
    let effective = |name: &str| field(name)?.split_whitespace().nth(1)?.parse().ok();
    // Kernels before 4.1 lack NSpid; the PID is then almost always the same.
    let inner = field("NSpid").or(field("Pid"))?;
    Some(Status {
        state: field("State")?.chars().next()?,
        user: effective("Uid")?,
        group: effective("Gid")?,
        inner_pid: inner.split_whitespace().last()?.parse().ok()?,
        handles_quit: u64::from_str_radix(field("SigCgt")?, 16).ok()? & QUIT != 0,
    })
}

/// Start time in ticks since boot: with the PID it identifies the process.
pub(super) fn started(pid: u32) -> Option<u64> {
    procfs::TaskStat::read(pid).map(|stat| stat.start)
}

/// Its kind, by the code that it maps. Name and arguments do not count: anything may be called java.
pub(super) fn kind(pid: u32) -> io::Result<ProcessKind> {
    Ok(kind_of(&read_proc(pid, "maps")?))
}

fn kind_of(maps: &str) -> ProcessKind {
    let code = |line: &&str| line.split_whitespace().nth(1).is_some_and(|access| access.contains('x'));
    let file =
        |line: &str| line.rsplit_once('/').map(|(_, name)| name.trim_end_matches(" (deleted)").to_owned());
    let mut kind = ProcessKind::Other;
    for name in maps.lines().filter(code).filter_map(file) {
        if name.starts_with("libj9vm") {
            return ProcessKind::OpenJ9;
        }
        if name == "libjvm.so" {
            kind = ProcessKind::HotSpot;
        }
    }
    kind
}

/// Whether an option is on its command line or in Java's environment variables for options. Option files
/// (`@file`) are not read.
pub(super) fn has_option(pid: u32, option: &str) -> bool {
    const VARIABLES: [&str; 3] = ["JAVA_TOOL_OPTIONS=", "_JAVA_OPTIONS=", "JDK_JAVA_OPTIONS="];
    let holds = |file: &str, counts: fn(&str) -> bool| {
        read_proc(pid, file)
            .is_ok_and(|text| text.split('\0').filter(|part| counts(part)).any(|part| part.contains(option)))
    };
    holds("cmdline", |_| true) || holds("environ", |part| VARIABLES.iter().any(|v| part.starts_with(v)))
}

/// Whether UIDs mean the same in its user namespace as in ours; none if unreadable.
pub(super) fn has_same_users(pid: u32) -> Option<bool> {
    Some(procfs::namespace(pid, "user")? == procfs::namespace(std::process::id(), "user")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_mapped_code_of_the_right_name_makes_a_jvm() {
        let map = |access: &str, path: &str| format!("7f00-7f10 {access} 00000000 fe:00 123  {path}\n");
        let cases = [
            (map("r-xp", "/usr/lib/jvm/17/lib/server/libjvm.so"), ProcessKind::HotSpot),
            (map("r-xp", "/usr/lib/jvm/17/lib/server/libjvm.so (deleted)"), ProcessKind::HotSpot),
            (map("r--p", "/usr/lib/jvm/17/lib/server/libjvm.so"), ProcessKind::Other),
            (map("r-xp", "/opt/libjvm.so.sh"), ProcessKind::Other),
            (map("r-xp", "/opt/libjvm.so/bash"), ProcessKind::Other),
            (map("r-xp", "/j9/libjvm.so") + &map("r-xp", "/j9/libj9vm29.so"), ProcessKind::OpenJ9),
            (String::new(), ProcessKind::Other),
            ("garbage\n/\n x\n".to_owned(), ProcessKind::Other),
        ];
        for (maps, kind) in cases {
            assert_eq!(kind_of(&maps), kind, "{maps}");
        }
    }

    #[test]
    fn reads_the_status_of_a_process_in_a_container() {
        let text = "Name:\tjava\nState:\tS (sleeping)\nPid:\t4711\nUid:\t0\t1000\t0\t0\nGid:\t0\t100\t0\t0\n\
                    NSpid:\t4711\t7\nSigCgt:\t2000000101005ccd\n";
        let expected = Status { state: 'S', user: 1000, group: 100, inner_pid: 7, handles_quit: true };
        assert_eq!(parse_status(text), Some(expected));
        assert_eq!(parse_status("State:\tS\n"), None);
    }

    #[test]
    fn a_process_that_handles_no_sigquit_is_told_apart() {
        let own = status(std::process::id()).expect("we are there");
        assert!(!own.handles_quit, "nothing in a test handles SIGQUIT");
        assert_eq!(kind(std::process::id()).expect("our own map"), ProcessKind::Other);
        assert!(started(std::process::id()).is_some_and(|at| at > 0));
    }
}
