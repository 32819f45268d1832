//! Processes and threads as `/proc` tells of them (proc(5)). A file there vanishes when its process ends, so that
//! whatever is read may be none.

use std::fs;
use std::path::Path;

/// The fields of `/proc/PID/stat`, or of a thread's, that are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat<'a> {
    /// The kernel's name of it, at most 15 bytes (a kernel thread's may be longer).
    pub name: &'a [u8],
    /// `R`, `S`, `D`, …
    pub state: u8,
    pub parent: u32,
    /// Processor time of user and system, in ticks.
    pub cpu_ticks: u64,
    /// When it started, in ticks since the machine did: with its number, what it is.
    pub start: u64,
}

/// Reads a `stat` file. The name may hold anything, spaces and brackets too: it ends at the last bracket.
pub(crate) fn stat(text: &[u8]) -> Option<Stat<'_>> {
    let open = text.iter().position(|byte| *byte == b'(')?;
    let close = text.iter().rposition(|byte| *byte == b')')?;
    let name = text.get(open + 1..close)?;
    let mut fields = text[close + 1..].split(|byte| *byte == b' ').skip(1);
    let state = *fields.next()?.first()?;
    let parent = number(fields.next()?)?;
    let user = number(fields.nth(9)?)?;
    let system = number(fields.next()?)?;
    let start = number(fields.nth(6)?)?;
    let parent = u32::try_from(parent).ok()?;
    Some(Stat { name, state, parent, cpu_ticks: user.saturating_add(system), start })
}

/// A decimal number that is the whole of a text.
pub(crate) fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 { None } else { value.checked_mul(10)?.checked_add(digit.into()) }
    })
}

/// All processes there are to be seen, in no order.
pub(crate) fn processes() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// What a process is called, whose child it is and when it started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub pid: u32,
    pub name: String,
    pub parent: u32,
    pub start: u64,
}

/// A process, unless it has ended: one that nobody has waited for yet has ended too.
pub(crate) fn process(pid: u32) -> Option<Process> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = stat(&text)?;
    if matches!(stat.state, b'Z' | b'X') {
        return None;
    }
    let name = String::from_utf8_lossy(stat.name).into_owned();
    Some(Process { pid, name, parent: stat.parent, start: stat.start })
}

/// The arguments of a process; none of a kernel thread or if they may not be read.
pub(crate) fn arguments(pid: u32) -> Vec<String> {
    let text = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let text = text.strip_suffix(b"\0").unwrap_or(&text);
    if text.is_empty() {
        return Vec::new();
    }
    text.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// The file name of its program; none if that may not be read.
pub(crate) fn program(pid: u32) -> Option<String> {
    let path = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let name = path.file_name()?.to_string_lossy().into_owned();
    Some(name.trim_end_matches(" (deleted)").to_owned())
}

/// The inodes of the sockets a process has; an error if that may not be read.
pub(crate) fn sockets(pid: u32) -> std::io::Result<Vec<u64>> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd"))?;
    let inodes = entries.flatten().filter_map(|entry| {
        let link = fs::read_link(entry.path()).ok()?;
        socket_inode(link.to_str()?.as_bytes())
    });
    Ok(inodes.collect())
}

/// The inode in `socket:[4711]`.
pub(crate) fn socket_inode(link: &[u8]) -> Option<u64> {
    number(link.strip_prefix(b"socket:[")?.strip_suffix(b"]")?)
}

/// The identity of a namespace (`/proc/PID/ns/net`); none if it may not be read.
pub(crate) fn namespace(pid: u32, kind: &str) -> Option<String> {
    let link = fs::read_link(Path::new("/proc").join(pid.to_string()).join("ns").join(kind)).ok()?;
    Some(link.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_name_may_hold_brackets_and_spaces() {
        let text = b"42 (a) S (b) R 7 42 42 0 -1 4194304 1 2 3 4 11 22 5 6 20 0 3 0 98765 1 2\n";
        let expected = Stat { name: b"a) S (b", state: b'R', parent: 7, cpu_ticks: 33, start: 98765 };
        assert_eq!(stat(text), Some(expected));
    }

    #[test]
    fn hostile_text_is_none() {
        let texts: [&[u8]; 8] = [
            b"",
            b"(",
            b")",
            b")(",
            b"1 (a)",
            b"1 (a) ",
            b"1 (a) S",
            b"1 (a) S -7 1 1 1 1 1 1 1 1 1 1 1 1 1",
        ];
        for text in texts {
            assert_eq!(stat(text), None, "{}", String::from_utf8_lossy(text));
        }
        assert_eq!(number(b"99999999999999999999"), None);
        assert_eq!(number(b"12a"), None);
        assert_eq!(socket_inode(b"socket:[]"), None);
        assert_eq!(socket_inode(b"socket:[12]"), Some(12));
    }

    #[test]
    fn this_process() {
        let own = std::process::id();
        assert!(processes().contains(&own));
        let found = process(own).expect("it runs");
        assert_eq!(found.parent, std::os::unix::process::parent_id());
        assert_eq!(arguments(own).first(), std::env::args().next().as_ref());
        assert!(program(own).is_some_and(|name| name.contains("observe")));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let link = fs::read_link(format!("/proc/self/fd/{}", listener.as_raw_fd())).expect("it is open");
        let inode = socket_inode(link.to_string_lossy().as_bytes()).expect("it is a socket");
        assert!(sockets(own).expect("it is our own").contains(&inode));
        assert_eq!(process(u32::MAX), None);
    }
}
